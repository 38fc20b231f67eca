#!/bin/sh
# Nights of a simulated fat tree: healthy ones, then one with a node's cable at half its rate, and
# what is said of it. Every line that begins with $ is run as it stands; nothing is prepared.
#
# usage: demo.sh FOLDER    from the root of the clone, with env.sh in force; FOLDER is made anew
set -eu
for program in smpirun smpicc; do
    command -v $program >/dev/null || {
        echo "demo: there is no SimGrid here; Debian: apt install libsimgrid-dev, or: spack install simgrid" >&2
        exit 2
    }
done
rm -rf "$1"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cp -r reference "$folder/reference"
export ACCEPTANCE_VAR="$folder" ACCEPTANCE_REFERENCE="$folder/reference"
export ACCEPTANCE_FATTREE="${ACCEPTANCE_FATTREE:-16,4,4}" ACCEPTANCE_PATTERNS="$folder/patterns"
checks="-c checks/fabric.py -c checks/all_pairs.py"
began=$(date +%s)

show() {
    echo
    echo "\$ $*"
    "$@"
}

night() {
    # shellcheck disable=SC2086 # its words are options
    show reframe --system simulated-fattree $checks -r --mode=nightly | grep -E '^\$|\] \(|PASSED|FAILED'
}

echo "A fat tree that nobody has ($ACCEPTANCE_FATTREE: nodes, of a leaf, spines): all of this is simulated."
show make -s -C checks/src/patterns MPICC=smpicc "BUILD=$ACCEPTANCE_PATTERNS"
echo
echo "Two healthy nights; what they gave judges the next ones, and no cable may be elsewhere then."
night
night
show acceptance baseline --system simulated-fattree --write | sed -n '2p;$p'
show acceptance fabric accept --system simulated-fattree --reason healthy
echo
echo "A third night, judged."
night
show acceptance gate --send
echo
echo "In the fourth night the cable of n5 is at half of its rate."
export ACCEPTANCE_FAULT=cable-half:n5
night || :
status=0
show acceptance gate --send >"$folder/verdict" || status=$?
cat "$folder/verdict"
show acceptance alerts || :
show acceptance report
echo
echo "Why it is slow, by the curves of its pairs and of good ones:"
# The words of a line of the verdict that is folded.
tr -s ' \n' ' ' <"$folder/verdict" | grep -o 'beside good pairs G [^;]*instead of HDR' | tail -n 1 || {
    echo "demo: the gate told no cause" >&2
    exit 1
}
echo
echo "$(($(date +%s) - began)) s in all; everything it left is in $folder"
[ $status = 1 ] || { echo "demo: the gate did not fail (status $status)" >&2; exit 1; }
