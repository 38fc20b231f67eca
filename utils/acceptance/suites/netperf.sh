#!/bin/sh
# usage: netperf.sh NETSERVER SECONDS DEVICES TECHNOLOGY SPEED NETPERF [OPTION]...
#
# One of the two ranks of a job, started by machine/rank.sh, which tells it its number: rank 0 is
# the client and becomes NETPERF, rank 1 the server. The server listens at the address of the
# node's fabric alone: that of the first of DEVICES (with commas; an adapter stands for its
# interfaces), else of an interface of TECHNOLOGY, at SPEED (Mb/s) if any has that. Its port is one
# that is free. It ends when the client has ended, or its own parent, or after SECONDS.
# The folder of the job, which both see, has netperf.server: NODE DEVICE ADDRESS PORT; and
# netperf.ended once the client has ended. SYSFS stands for /sys in tests.

netserver=$1 seconds=$2 devices=$3 technology=$4 speed=$5 netperf=$6
shift 6
sysfs=${SYSFS:-/sys}
PATH=$PATH:/usr/sbin:/sbin
node=$(hostname 2>/dev/null || uname -n)

fail() {
    echo "netperf.sh: $node: $*" >&2
    exit 1
}

# The interfaces that DEVICES or TECHNOLOGY stand for, the best ones first.
interfaces() {
    if [ -n "$devices" ]; then
        for device in $(echo "$devices" | tr , ' '); do
            port=${device##*/}
            # Not of sysfs, which in a namespace may be that of another one.
            ip link show dev "$device" > /dev/null 2>&1 && echo "$device"
            for folder in "$sysfs/class/infiniband/${device%/*}/device/net"/*; do
                [ -d "$folder" ] || continue
                number=$(cat "$folder/dev_port")
                [ "$port" = "$device" ] || [ "$number" = $((port - 1)) ] || continue
                echo "${folder##*/}"
            done
        done
        return
    fi
    kind=1 others=
    case $technology in infiniband | omni-path) kind=32 ;; esac
    for folder in "$sysfs/class/net"/*; do
        [ "$(cat "$folder/type")" = "$kind" ] || continue
        [ -e "$folder/device" ] || [ -z "$technology" ] || continue
        if [ "$(cat "$folder/speed" 2>/dev/null)" = "$speed" ]; then
            echo "${folder##*/}"
        else
            others="$others ${folder##*/}"
        fi
    done
    echo "$others"
}

address_of() {
    ip -4 -o address show dev "$1" up | sed -n 's/.* inet \([0-9.]*\).*/\1/p' | head -n 1
}

# Tell whether something listens at a port: Linux lists it in hexadecimal, with the state 0A.
listens() {
    grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$1") 0*:0000 0A" /proc/net/tcp
}

# Netserver is a child of `timeout`, which ends it where nothing of this shell is left to do so.
serve() {
    command -v ip > /dev/null || fail "no program ip (Debian: iproute2)"
    [ -x "$netserver" ] || fail "$netserver: missing or not executable"
    for device in $(interfaces); do
        address=$(address_of "$device")
        [ -z "$address" ] || break
    done
    [ -n "$address" ] || fail "no interface of the fabric is up and has an IPv4 address:" \
        "${devices:-${technology:-any}}, which is" $(interfaces)
    trap '[ -z "$server" ] || kill "$server" 2>/dev/null' EXIT
    trap 'exit 143' HUP INT TERM
    tries=0
    while [ "$tries" -lt 10 ]; do
        tries=$((tries + 1))
        port=$((20000 + ($$ * 7 + tries * 613) % 12000))
        ! listens "$port" || continue
        timeout --foreground "$seconds" \
            "$netserver" -D -4 -L "$address" -p "$port" > netperf.netserver 2>&1 &
        server=$!
        until listens "$port"; do
            kill -0 "$server" 2>/dev/null || continue 2
            sleep 0.1
        done
        echo "$node $device $address $port" > netperf.server.part
        mv netperf.server.part netperf.server
        while kill -0 "$server" 2>/dev/null && kill -0 "$PPID" 2>/dev/null; do
            ls > /dev/null  # over NFS a name may be taken for missing for long
            [ ! -e netperf.ended ] || exit 0
            sleep 0.5
        done
        fail "netserver ended before the client did: $(tail -n 1 netperf.netserver)"
    done
    fail "no port for $netserver at $address of $device: $(tail -n 1 netperf.netserver)"
}

ask() {
    trap ': > netperf.ended' EXIT
    trap 'kill "$client" 2>/dev/null; exit 143' HUP INT TERM
    tries=0
    until [ -e netperf.server ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "no server began within 60 s"
        ls > /dev/null
        sleep 0.2
    done
    read -r other device address port < netperf.server
    version=$("$netperf" -V | sed -n 's/.*version \([^ ]*\).*/\1/p')
    case $version in
        2.[5-9]* | 2.[1-9][0-9]* | [3-9].*) ;;
        *) fail "$netperf is version ${version:-unknown}; 2.5 and newer are read" ;;
    esac
    echo "netperf $version client=$node server=$other device=$device address=$address port=$port"
    # A child, so that a signal for this shell is not held up until it ends.
    "$netperf" -H "$address,4" -p "$port" "$@" &
    client=$!
    wait "$client"
}

case $ACCEPTANCE_RANK in
    0) ask "$@" ;;
    1) serve ;;
    *) fail "rank '$ACCEPTANCE_RANK' of a job of two" ;;
esac
