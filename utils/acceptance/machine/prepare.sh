#!/bin/bash
# usage: prepare.sh COMMAND [KIND NAME VALUE]...: does what a job does before its program starts, and
# prints all variables that it then has. COMMAND is that of the module system. The kinds are
#     load NAME FOLDER    a module, of a folder if one is stated
#     restore NAME ""     a collection of modules
#     export NAME VALUE   a variable, as ReFrame writes it into a job
# Names of modules go to the standard error, each before what the module system says of it.
command=$1
shift

# A step is refused where the command fails, or where what it prints for the shell does.
ask() {
    local text status
    text=$("$command" bash "$@"); status=$?
    eval "$text" >/dev/null && [ "$status" = 0 ]
}

unload_conflicts() {
    local words word
    words=$("$command" bash show "$1" 2>&1 | command -p sed -n "s/^ *conflict[^[:alnum:]]*//p")
    for word in $words; do
        word=${word%%[\"\')]*}
        case :$LOADEDMODULES: in *:"$word"[:/]*) ask unload "$word" 2>/dev/null ;; esac
    done
}

# A module that conflicts with loaded ones is loaded without them, as ReFrame does it in a job.
load() {
    [ -z "$2" ] || ask use "$2" || exit 3
    ask load "$1" 2>/dev/null || { unload_conflicts "$1"; ask load "$1" || exit 3; }
}

while [ $# -gt 0 ]; do
    [ "$1" = export ] || printf '== module %s\n' "$2" >&2
    case $1 in
        load) load "$2" "$3" ;;
        restore) ask restore "$2" || exit 3 ;;
        export) eval "export $2=$3" || exit 2 ;;
    esac
    shift 3
done
command -p env -0
