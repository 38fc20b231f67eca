#!/bin/sh
# Says where this rank stands, then becomes the program: sh rank.sh PROGRAM [ARGUMENT]...
#
# The launcher starts it in place of the program, so that what is told is told by the very process
# that will measure. One line on standard error:
#
#     placement rank=3 node=node17 cpus=4,6-7 sockets=0,1 cores=0:2,1:0,1:1
#
# cpus: what the process may run on; sockets and cores (socket:core): what these belong to. A core
# has the number of its first hardware thread, as each die of a socket may count its core_id from 0.
# With ACCEPTANCE_LINKS=FOLDER the first rank of each node also writes what the script
# ACCEPTANCE_LINK_SCRIPT says of the node's links before and after the program, to
# FOLDER/NODE.before and FOLDER/NODE.after; of several launches before the first, after the last.
# With ACCEPTANCE_GPUS=N each rank of a node has another one of its N GPUs first, for programs that
# take the first one. All stay visible: CUDA copies from one to another only where it sees both.
# With ACCEPTANCE_UCX each rank has UCX say in that folder, in RANK.ucx, which adapters it takes,
# unless the site has UCX log elsewhere.
# The program has its number in ACCEPTANCE_RANK, whatever launched it.
# SYSFS and STATUS stand for /sys and /proc/self/status in tests.

sysfs=${SYSFS:-/sys}
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${MV2_COMM_WORLD_RANK:-${SLURM_PROCID:-${FLUX_TASK_RANK:-}}}}}}
export ACCEPTANCE_RANK="$rank"
first=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${MV2_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-${FLUX_TASK_LOCAL_ID:-0}}}}}
node=$(hostname 2>/dev/null || uname -n 2>/dev/null || cat /proc/sys/kernel/hostname 2>/dev/null)

cpus=
while read -r key value; do
    [ "$key" = Cpus_allowed_list: ] && cpus=$value
done < "${STATUS:-/proc/self/status}"

sockets=,
cores=,
left=$cpus,
while [ -n "$left" ]; do
    range=${left%%,*}
    left=${left#*,}
    cpu=${range%-*}
    while [ "$cpu" -le "${range#*-}" ]; do
        topology=$sysfs/devices/system/cpu/cpu$cpu/topology
        socket='?'
        core=$cpu
        [ -r "$topology/physical_package_id" ] && read -r socket < "$topology/physical_package_id"
        [ -r "$topology/core_id" ] && read -r core < "$topology/core_id"
        # Not `read`: shells read byte by byte, and to that Linux gives nothing of this file.
        threads=$(cat "$topology/thread_siblings_list" 2>/dev/null) && core=${threads%%,*}
        # Linux writes -1 for a core or a socket that it does not know.
        core=${core%%-*}
        core=${core:-$cpu}
        case $socket in -*) socket='?' ;; esac
        case $sockets in *",$socket,"*) ;; *) sockets=$sockets$socket, ;; esac
        case $cores in *",$socket:$core,"*) ;; *) cores=$cores$socket:$core, ;; esac
        cpu=$((cpu + 1))
    done
done
sockets=${sockets#,}
cores=${cores#,}
echo "placement rank=$rank node=$node cpus=$cpus sockets=${sockets%,} cores=${cores%,}" >&2

if [ -n "$ACCEPTANCE_GPUS" ]; then
    gpus=$CUDA_VISIBLE_DEVICES count=0 turn=0
    [ -n "$gpus" ] || while [ "$count" -lt "$ACCEPTANCE_GPUS" ]; do
        gpus=$gpus${gpus:+,}$count
        count=$((count + 1))
    done
    while [ "$turn" -lt "$first" ]; do
        case $gpus in *,*) gpus=${gpus#*,},${gpus%%,*} ;; esac
        turn=$((turn + 1))
    done
    export CUDA_VISIBLE_DEVICES="$gpus"
fi

if [ -n "$ACCEPTANCE_UCX" ] && [ -n "$rank" ] && [ -z "$UCX_LOG_LEVEL$UCX_LOG_FILE" ]; then
    mkdir -p "$ACCEPTANCE_LINKS"
    # Its whole path: the program may run in another folder, and UCX ends one whose log it cannot
    # open. To UCX % and : are not of a name.
    logs=$(cd "$ACCEPTANCE_LINKS" && pwd)
    case $logs in
        *[%:]*) ;;
        *) [ -w "$logs" ] && export UCX_LOG_LEVEL=info UCX_LOG_FILE="$logs/$rank.ucx" ;;
    esac
fi

if [ -z "$ACCEPTANCE_LINKS" ] || [ "$first" != 0 ]; then
    exec "$@"
fi
mkdir -p "$ACCEPTANCE_LINKS"
[ -s "$ACCEPTANCE_LINKS/$node.before" ] ||
    sh "$ACCEPTANCE_LINK_SCRIPT" "$sysfs" > "$ACCEPTANCE_LINKS/$node.before"
"$@"
status=$?
sh "$ACCEPTANCE_LINK_SCRIPT" "$sysfs" > "$ACCEPTANCE_LINKS/$node.after"
exit $status
