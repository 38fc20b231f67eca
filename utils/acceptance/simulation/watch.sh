#!/bin/sh
# Runs a simulation and ends it when it takes more memory than that: sh watch.sh MB PROGRAM ...
#
# What Linux limits is no measure: most of what a simulation maps it never touches.
limit=$1
shift
"$@" <&0 &
pid=$!
(
    while sleep 0.2 && kill -0 "$pid"; do
        kb=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status")
        [ $((${kb:-0} / 1024)) -le "$limit" ] || { kill -9 "$pid"; exit 3; }
    done
) 2> /dev/null &
watch=$!
trap 'kill -9 $pid $watch 2> /dev/null' HUP INT TERM
{ wait "$pid"; } 2> /dev/null
status=$?
{ kill "$watch"; wait "$watch"; } 2> /dev/null
[ $? != 3 ] || echo "the simulation took more memory than the $limit MB that it may" \
    "(ACCEPTANCE_SIMULATION_MB allows more; fewer ranks, or smaller messages, take less)" >&2
exit "$status"
