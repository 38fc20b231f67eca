#!/bin/sh
# Prints the nodes of this job by which a launcher knows them, a line each, in the order of ranks:
#
#     sh hosts.sh FILE
#
# Slurm's own names where it has given the nodes, else what the ranks said of themselves in FILE
# (`rank.sh`), or SimGrid of them (`smpirun -map`), of which each node had one.
if [ -n "$SLURM_JOB_NODELIST" ] && command -v scontrol > /dev/null; then
    scontrol show hostnames "$SLURM_JOB_NODELIST"
else
    sed -n -e 's/^placement rank=\([0-9]*\) node=\([^ ]*\) .*/\1 \2/p' \
        -e 's/^.*\[rank \([0-9]*\)\] -> \([^ ]*\)$/\1 \2/p' "$1" | sort -n | cut -d ' ' -f 2
fi
