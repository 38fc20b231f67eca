#!/bin/sh
# Says since when this node runs, and for how long processes waited for a CPU so far:
#
#     sh waited.sh [SYSFS]
#
# As Linux tells it: /proc/uptime; how long some process of this job waited (us, cpu.pressure of its
# control group), or any one of the node where it has no group of its own; where there is neither,
# of each CPU /proc/schedstat (ns, the eighth number); and what a hypervisor kept for itself
# (/proc/stat, the eighth number). SYSFS and PROC stand for /sys and /proc in tests.

groups=${1:-/sys}/fs/cgroup
proc=${PROC:-/proc}
cat "$proc/uptime"
group=$(sed -n 's/^0:://p' "$proc/self/cgroup" 2>/dev/null)
# Slurm has one for each rank below that of the step.
group=${group%/user/task_*}
for file in "$groups$group/cpu.pressure" "$groups/unified$group/cpu.pressure" \
    "$proc/pressure/cpu" "$proc/schedstat"; do
    grep -sE '^(some|cpu)' "$file" && break
done
grep '^cpu ' "$proc/stat"
