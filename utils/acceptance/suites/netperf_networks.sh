#!/bin/sh
# usage: netperf_networks.sh COMMAND [ARGUMENT]...: runs a command as two ranks on this machine, each
# in a network namespace of its own. All that is in them is net0, the two ends of one cable that is
# none (veth), with the addresses 198.18.0.1 and 198.18.0.2, which are for measurements (RFC 2544).
# Root may do so, and others where Linux lets them be root of a namespace of users. The networks end
# with the ranks.

PATH=$PATH:/usr/sbin:/sbin
if [ "$1" != inside ]; then
    users=
    [ "$(id -u)" = 0 ] || users=--map-root-user
    exec unshare $users --net sh "$0" inside "$@"
fi
shift

# Rank 1 waits for its end of the cable.
PMI_RANK=1 unshare --net sh -c '
    until ip address add 198.18.0.2/30 dev net0 2>/dev/null; do
        kill -0 "$PPID" || exit 1
        sleep 0.1
    done
    ip link set net0 up
    exec "$@"' rank "$@" &
other=$!
trap 'kill "$other" 2>/dev/null' EXIT
trap 'exit 143' HUP INT TERM
own=$(readlink /proc/self/ns/net)
while [ "$(readlink "/proc/$other/ns/net")" = "$own" ]; do sleep 0.1; done
ip link add net0 type veth peer name net0 netns "$other" &&
    ip address add 198.18.0.1/30 dev net0 && ip link set net0 up || exit 1
PMI_RANK=0 "$@" &
first=$!
trap 'kill "$first" "$other" 2>/dev/null; exit 143' HUP INT TERM
wait "$first" || exit
wait "$other"
