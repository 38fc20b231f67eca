#!/bin/sh
# usage: node.sh [PATH]...: says the routes of a node, which lead to Slurm's address, and which of
# the paths it sees, each part below a mark.
echo '== route'
cat /proc/net/route 2>/dev/null
echo '== paths'
for path; do
    if [ -e "$path" ]; then echo "yes $path"; else echo "no $path"; fi
done
