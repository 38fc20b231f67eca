#!/bin/sh
# Builds a suite for SimGrid, once: sh build.sh SUITE SOURCE FOLDER
#
# SOURCE is a folder or an archive. FOLDER is made whole or not at all; a second build of the same
# waits for the first one. (SMPI_PRETEND_CC: else configure's own programs do not run.)
set -e
suite=$1 source=$2 folder=$3
mkdir -p "${folder%/*}"
exec 9> "$folder.lock"
flock 9
[ ! -d "$folder" ] || exit 0
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
    [ ! -e Makefile ] || make distclean > /dev/null
    SMPI_PRETEND_CC=1 LD=/usr/bin/ld ./configure CC=smpicc CXX=smpicxx
    make
    ;;
imb)
    export CC="smpicc -DSMPI_NO_OVERRIDE_MALLOC" CXX="smpicxx -DSMPI_NO_OVERRIDE_MALLOC"
    find . -name '*.o' -delete
    make IMB-MPI1
    ;;
*)
    echo "$0: error: no build of $suite for SimGrid is known" >&2
    exit 1
    ;;
esac
mv "$folder.part" "$folder"
