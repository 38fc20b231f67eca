#!/bin/sh
# Says which caches this node has, a line for each cache of each CPU: cache LEVEL SIZE CPUS
# (SIZE as Linux writes it, 32768K; CPUS that share it). SYSFS stands for /sys in tests.
for cpu in "${SYSFS:-/sys}"/devices/system/cpu/cpu[0-9]*; do
    for cache in "$cpu"/cache/index[0-9]*; do
        [ -r "$cache/level" ] && [ -r "$cache/size" ] && [ -r "$cache/shared_cpu_list" ] || continue
        read -r level < "$cache/level"
        read -r size < "$cache/size"
        read -r cpus < "$cache/shared_cpu_list"
        echo "cache $level $size $cpus"
    done
done
echo end
