#!/bin/sh
# Builds a suite for SimGrid, once: sh build.sh SUITE SOURCE FOLDER BEGAN [PROGRAM ...]
#
# SOURCE is a folder or an archive; a PROGRAM is named as those of NPB 3.3: cg.S.16. FOLDER is made
# whole or not at all; a second build of the same waits for the first one. What failed since BEGAN
# (ns of the epoch) is not tried again: it fails with the same output, which is written at the end.
# (SMPI_PRETEND_CC: else configure's own programs do not run.)
set -e
suite=$1 source=$2 folder=$3 began=$4
shift 4
mkdir -p "${folder%/*}"
exec 9> "$folder.lock"
flock 9
[ ! -d "$folder" ] || exit 0
if [ "$(date -r "$folder.failed" +%s%N 2> /dev/null || echo 0)" -gt "$began" ]; then
    cat "$folder.failed" >&2
    exit 1
fi
finish() {
    status=$?
    cat "$folder.log" >&3
    [ "$status" = 0 ] || mv "$folder.log" "$folder.failed"
    exit "$status"
}
trap finish EXIT
exec 3>&2 > "$folder.log" 2>&1
rm -rf "$folder.part"
mkdir "$folder.part"
if [ -d "$source" ]; then
    cp -R "$source/." "$folder.part"
else
    tar -xf "$source" -C "$folder.part" --strip-components=1
fi
cd "$folder.part"
case $suite in
osu)
    [ -x configure ] || {
        echo "$0: error: $source has no configure (autoreconf -fi makes it)" >&2
        exit 1
    }
    # The times of a copy say nothing. Where some file seems newer than what is made of it, make
    # runs autoconf and configure once more, without what configure needs here.
    find . -exec touch -h -r configure {} +
    [ ! -e Makefile ] || make distclean > /dev/null
    SMPI_PRETEND_CC=1 LD=/usr/bin/ld ./configure CC=smpicc CXX=smpicxx
    make
    ;;
imb)
    export CC="smpicc -DSMPI_NO_OVERRIDE_MALLOC" CXX="smpicxx -DSMPI_NO_OVERRIDE_MALLOC"
    find . -name '*.o' -delete
    make IMB-MPI1
    ;;
npb)
    # 3.4 is Fortran 90, and 3.3 is Fortran 77.
    if [ -d NPB3.4-MPI ]; then
        cd NPB3.4-MPI
        fortran=smpif90
    elif [ -d NPB3.3-MPI ]; then
        cd NPB3.3-MPI
        fortran=smpiff
    else
        echo "$0: error: $source has neither NPB3.4-MPI nor NPB3.3-MPI" >&2
        exit 1
    fi
    # Both have code that gfortran 10 and later refuse by themselves.
    flags='-O2 -std=legacy -fallow-invalid-boz'
    mkdir -p bin
    cat > config/make.def << END
MPIFC = $fortran
MPIF77 = $fortran
FLINK = $fortran
MPICC = smpicc
CLINK = smpicc
FFLAGS = $flags
FLINKFLAGS = $flags
CFLAGS = -O2
CLINKFLAGS = -O2
CC = cc
BINDIR = ../bin
RAND = randi8
END
    for program in "$@"; do
        processes=${program##*.} name=${program%%.*}
        class=${program#*.} class=${class%.*}
        make "$name" CLASS="$class" NPROCS="$processes"
    done
    cd "$folder.part"
    ;;
*)
    echo "$0: error: no build of $suite for SimGrid is known" >&2
    exit 1
    ;;
esac
mv "$folder.part" "$folder"
