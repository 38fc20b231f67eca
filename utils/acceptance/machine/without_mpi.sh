#!/bin/sh
# Prints what this node did without MPI at most ten minutes ago, as without_mpi.py says it:
#
#     sh without_mpi.sh FOLDER [PYTHON]
#
# FOLDER, which nodes may share, keeps it for the next job with as many CPUs. PYTHON runs it where
# there is no python3. Where it cannot be measured, nothing is printed, and why is on standard error.
file=$1/$(hostname 2>/dev/null || uname -n)-$(nproc 2>/dev/null).json
if [ -z "$(find "$file" -mmin -10 2>/dev/null)" ]; then
    python=$(command -v python3) || python=$2
    mkdir -p "$1" && "$python" -I "${0%.sh}.py" > "$file.$$" && mv "$file.$$" "$file" ||
        rm -f "$file.$$"
fi
cat "$file"
