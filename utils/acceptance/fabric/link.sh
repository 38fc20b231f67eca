#!/bin/sh
# Print what the adapters and interfaces of this node trained at, and their counters; nothing is
# judged here. The form, and the reader, is utils/acceptance/fabric/link_report.py.
#
# usage: link.sh [sysfs]    (default /sys; the tests give a made tree)
#
# For nodes that have nothing but a POSIX shell: of other programs it uses cat, ls and hostname or
# uname, and lldpctl where it is there. Every line begins with the name of the node, because a
# launcher mixes the lines of its nodes; the last one gives the number of those before it, so that a
# missing line shows.
# Source of the files: Linux, Documentation/ABI, sysfs-class-infiniband, sysfs-class-net*,
# sysfs-bus-pci; of Slingshot's telemetry its driver, docs/ABI/testing/sysfs-class-cxi; of counters
# of bytes drivers/infiniband/hw/bnxt_re/hw_counters.c, mana/counters.c.
set -u
LC_ALL=C
export LC_ALL
unset CDPATH

root=${1:-${SYSFS:-/sys}}
# Without links, so that paths of devices, which are without, can be cut down to it.
root=$(cd -P -- "$root" 2>/dev/null && pwd -P) || root=${1:-${SYSFS:-/sys}}
node=$(hostname 2>/dev/null || uname -n 2>/dev/null || cat /proc/sys/kernel/hostname 2>/dev/null)
case $node in
    '' | *[[:space:]]*)
        echo "link.sh: this node has no name: '$node'" >&2
        exit 1
        ;;
esac
lines=0
slots=' '

say() {
    printf '%s %s\n' "$node" "$*"
    lines=$((lines + 1))
}

unreadable() {
    say unreadable "${1#"$root"/}"
}

# A link that leads nowhere is there too.
is_there() {
    [ -e "$1" ] || [ -L "$1" ]
}

# facts SUBJECT FOLDER NAME...: say what the files hold; those that are not there are passed over,
# as drivers and kernels differ in what they offer.
facts() {
    subject=$1 folder=$2
    shift 2
    is_there "$folder" || return 0
    # In a folder that cannot be searched, all files look as if they were not there.
    if ! [ -d "$folder" ] || ! [ -x "$folder" ]; then
        unreadable "$folder"
        return 0
    fi
    for name; do
        is_there "$folder/$name" || continue
        value=
        # The shell's own `read` saves a process a file, but does not tell an error from an end
        # without a newline; `cat` does.
        { IFS= read -r value <"$folder/$name"; } 2>/dev/null ||
            value=$(cat "$folder/$name" 2>/dev/null) || value=
        if [ -n "$value" ]; then
            say "$subject" "$name" "$value"
        else
            unreadable "$folder/$name"
        fi
    done
}

# slot FOLDER: say, once, what the slot of a PCI device runs at.
slot() {
    # An adapter and its interface share one.
    case $slots in
        *" ${1##*/} "*) return 0 ;;
    esac
    slots="$slots${1##*/} "
    facts "slot ${1##*/}" "$1" \
        current_link_speed current_link_width max_link_speed max_link_width
}

# device SUBJECT FOLDER: say on what bus the device sits, its driver and, once, its PCI slot.
device() {
    if ! is_there "$2/device"; then
        say "$1" device none
        return 0
    fi
    if ! place=$(cd -P -- "$2/device" 2>/dev/null && pwd -P); then
        say "$1" device unreadable
        unreadable "$2/device"
        return 0
    fi
    bus=$(cd -P -- "$place/subsystem" 2>/dev/null && pwd -P) || bus=unknown
    say "$1" device "${bus##*/}"
    driver=$(cd -P -- "$place/driver" 2>/dev/null && pwd -P) && say "$1" driver "${driver##*/}"
    [ "${bus##*/}" = pci ] || return 0
    say "$1" pci "${place##*/}"
    slot "$place"
}

# can_list FOLDER: both, as names can be listed in a folder that does not let their files be reached.
can_list() {
    [ -x "$1" ] && ls "$1/" >/dev/null 2>&1
}

# look CLASS: say whether the class has been listed. Fails unless it has.
look() {
    if [ -d "$root/class" ] && [ -x "$root/class" ] && ! is_there "$root/class/$1"; then
        say class "$1" none
        return 1
    fi
    if ! can_list "$root/class/$1"; then
        say class "$1" unreadable
        unreadable "$root/class/$1"
        return 1
    fi
    say class "$1" listed
}

# has_folder PATH: pass over files between the folders (bonding_masters), but not a dead link.
has_folder() {
    [ -d "$1" ] && return 0
    [ -L "$1" ] && unreadable "$1"
    return 1
}

adapter() {
    device "adapter ${1##*/}" "$1"
    facts "adapter ${1##*/}" "$1" node_guid
    # Adapters in software have none: the kernel gives an empty line, or no file at all.
    version=
    { IFS= read -r version <"$1/fw_ver"; } 2>/dev/null || :
    [ -z "$version" ] || say "adapter ${1##*/}" fw_ver "$version"
    ! is_there "$1/fw_ver" || cat "$1/fw_ver" >/dev/null 2>&1 || unreadable "$1/fw_ver"
    is_there "$1/ports" || return 0
    if ! can_list "$1/ports"; then
        unreadable "$1/ports"
        return 0
    fi
    for port in "$1"/ports/*; do
        has_folder "$port" || continue
        this="port ${1##*/} ${port##*/}"
        facts "$this" "$port" state phys_state rate link_layer
        facts "$this" "$port/counters" symbol_error link_error_recovery link_downed \
            port_rcv_errors local_link_integrity_errors excessive_buffer_overrun_errors \
            port_xmit_discards port_xmit_data port_rcv_data
        is_there "$port/counters" && continue
        # Drivers that answer no management datagrams (RoCE: bnxt_re, irdma, mana, ...; efa) have no
        # such folder; some count bytes, under these names.
        say "$this" counters none
        facts "$this" "$port/hw_counters" rx_bytes tx_bytes
    done
}

interface() {
    device "net ${1##*/}" "$1"
    facts "net ${1##*/}" "$1" type operstate speed duplex mtu carrier_changes
    facts "net ${1##*/}" "$1/statistics" \
        rx_bytes tx_bytes rx_errors tx_errors rx_dropped tx_dropped
    facts "net ${1##*/}" "$1/device/telemetry" hni_sts_rx_ok_octets hni_sts_tx_ok_octets
}

# gpu FOLDER: say that a PCI device is a GPU, of a vendor who has CUDA or ROCm, and its slot. AMD also
# made displays of servers (ES1000), of the class of its GPUs; what takes ROCm has the driver amdgpu.
# Source of the classes (display 03, accelerator 12): PCI Code and ID Assignment Specification.
gpu() {
    class='' vendor=''
    { IFS= read -r class <"$1/class" && IFS= read -r vendor <"$1/vendor"; } 2>/dev/null || return 0
    case $class-$vendor in
        0x0300*-0x10de | 0x0302*-0x10de) say gpu "${1##*/}" cuda ;;
        0x0380*-0x1002 | 0x1200*-0x1002) say gpu "${1##*/}" rocm ;;
        0x0300*-0x1002)
            driver=$(cd -P -- "$1/driver" 2>/dev/null && pwd -P)
            [ "${driver##*/}" = amdgpu ] || return 0
            say gpu "${1##*/}" rocm
            ;;
        *) return 0 ;;
    esac
    slot "$1"
}

# neighbours: say in one line what lldpd knows of the other ends of the cables, as JSON.
neighbours() {
    PATH=$PATH:/usr/sbin:/sbin
    if ! command -v lldpctl >/dev/null 2>&1; then
        say lldp none
        return 0
    fi
    limit=$(command -v timeout) || limit=
    value=$(${limit:+"$limit" 10} lldpctl -f json 2>/dev/null) || value=unreadable
    set -f # its words are no patterns
    # shellcheck disable=SC2086 # one space is enough between them
    say lldp ${value:-unreadable}
    set +f
}

say link 1
if look infiniband; then
    for path in "$root"/class/infiniband/*; do
        has_folder "$path" && adapter "$path"
    done
fi
if look net; then
    for path in "$root"/class/net/*; do
        has_folder "$path" && interface "$path"
    done
fi
for path in "$root"/bus/pci/devices/*; do
    gpu "$path"
done
neighbours
say end "$lines"
