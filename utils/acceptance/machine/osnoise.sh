#!/bin/sh
# Says what Linux's own tracers of noise saw on the CPUs of this process: sh osnoise.sh [TRACING]
#
# Each line begins with the name of the node, because a launcher mixes the lines of several:
#
#     node1 none /sys/kernel/tracing/current_tracer: Permission denied
#     node1 tracer osnoise mono OSNOISE_WORKLOAD ...
#     node1 event  make-94722 [002] d..3. 1371.794507: thread_noise: make:94722 start ...
#
# Nothing is switched on: that takes root, and costs others. Of each CPU the last 400 events are
# said. Source of the files: Linux, Documentation/trace: ftrace, osnoise-tracer, hwlat_detector.
tracing=${1:-/sys/kernel/tracing}
node=$(hostname 2>/dev/null || uname -n)
tracer=$(cat "$tracing/current_tracer" 2>&1) || {
    echo "$node none ${tracer#cat: }"
    exit 0
}
case $tracer in
    osnoise | hwlat) ;;
    *)
        echo "$node none $tracing/current_tracer is $tracer, of $(cat "$tracing/available_tracers")"
        exit 0
        ;;
esac
clock=$(sed 's/.*\[\(.*\)\].*/\1/' "$tracing/trace_clock")
echo "$node tracer $tracer $clock" $(cat "$tracing/osnoise/options" 2>/dev/null)
left=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "${STATUS:-/proc/self/status}"),
while [ -n "$left" ]; do
    range=${left%%,*}
    left=${left#*,}
    cpu=${range%-*}
    while [ "$cpu" -le "${range#*-}" ]; do
        [ -r "$tracing/per_cpu/cpu$cpu/trace" ] ||
            echo "$node none $tracing/per_cpu/cpu$cpu/trace cannot be read"
        grep -s -e '_noise: ' -e 'inner/outer(us)' "$tracing/per_cpu/cpu$cpu/trace" |
            tail -n 400 | sed "s/^/$node event /"
        cpu=$((cpu + 1))
    done
done
