#!/bin/sh
# Leave what the programs of infiniband-diags say of the whole fabric in a folder, as it is; nothing
# is judged here, nothing else is read, nothing is changed. The reader is outputs.py beside it.
#
# usage: fabric.sh FOLDER [-C adapter] [-P port] [-t seconds]
#
# Of each program: NAME.out, NAME.err, and NAME.status with its exit status, `missing` where it is
# not installed, `late` where it did not end in time (-t, default 60 s each). Beside these: `begin`
# and `end` (seconds since 1970), `asked` (the options), `versions`. `end` is written last: without
# it the reading is not complete. The counters of a standing fabric are read, never reset.
set -u
LC_ALL=C
export LC_ALL
PATH=$PATH:/usr/sbin:/sbin

[ $# -ge 1 ] || { echo "usage: fabric.sh FOLDER [-C adapter] [-P port] [-t seconds]" >&2; exit 2; }
folder=$1
shift
options= limit=60
while [ $# -ge 2 ]; do
    case $1 in
        -C | -P) case $2 in *[!A-Za-z0-9_.-]* | '' | -*) echo "fabric.sh: $1 $2?" >&2; exit 2 ;; esac
            options="$options $1 $2" ;;
        -t) limit=$2 ;;
        *) break ;;
    esac
    shift 2
done
[ $# = 0 ] || { echo "fabric.sh: what is $1?" >&2; exit 2; }
mkdir -p "$folder" && folder=$(cd -P -- "$folder" && pwd -P) || exit 1
for file in "$folder"/*; do
    [ ! -e "$file" ] || { echo "fabric.sh: $folder is not empty" >&2; exit 2; }
done

# What a program may leave where it runs, too.
cd "$folder" || exit 1

# read_with NAME COMMAND...: run it for at most $limit seconds.
read_with() {
    name=$1
    shift
    if ! command -v "$1" >/dev/null 2>&1; then
        echo missing >"$folder/$name.status"
        return 1
    fi
    "$@" >"$folder/$name.out" 2>"$folder/$name.err" </dev/null &
    program=$!
    (
        trap 'kill "$sleeper" 2>/dev/null; exit 0' TERM
        sleep "$limit" & sleeper=$!
        wait "$sleeper"
        echo late >"$folder/$name.late"
        kill "$program" 2>/dev/null
        sleep 2
        kill -9 "$program" 2>/dev/null
    ) >/dev/null 2>&1 &
    watch=$!
    wait "$program" 2>/dev/null
    status=$?
    kill "$watch" 2>/dev/null
    wait "$watch" 2>/dev/null
    [ ! -e "$folder/$name.late" ] || { rm -f "$folder/$name.late"; status=late; }
    echo "$status" >"$folder/$name.status"
    [ "$status" = 0 ]
}

date +%s >"$folder/begin"
echo "$options" >"$folder/asked"
# All of them look at what one discovery found, so that they cannot contradict each other.
cache=$folder/cache
# Without a threshold of the site's, so that no counter is left out.
: >"$folder/thresholds"
# shellcheck disable=SC2086 # the options are words, checked above
if read_with ibnetdiscover ibnetdiscover $options --cache "$cache"; then
    read_with iblinkinfo iblinkinfo $options --line --load-cache "$cache"
    read_with ibqueryerrors ibqueryerrors $options --threshold-file "$folder/thresholds" --load-cache "$cache"
    read_with traffic ibqueryerrors $options --counters --switch --load-cache "$cache"
    lfts=dump_fts
    for each in dump_fts dump_lfts.sh dump_lfts; do
        command -v "$each" >/dev/null 2>&1 && lfts=$each && break
    done
    read_with dump_lfts "$lfts" $options
fi
rm -f "$cache" "$folder/thresholds"
ibnetdiscover --version >"$folder/versions" 2>&1 </dev/null
date +%s >"$folder/end"
