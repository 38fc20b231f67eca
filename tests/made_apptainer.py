"""A program that takes the place of Apptainer: of its `exec` what its user guide documents.

It runs a command in a mount namespace of its own. There the folder that an image names is at /mnt,
what is `HIDDEN` outside is gone, and only what is bound (-B) is seen of it. As of Apptainer, the
command has the CPUs, the variables and the network that it was started with, but for PATH and
LD_LIBRARY_PATH, which are the image's. An option that it does not know is refused.

An image is a file of lines: the first as of a real one, then `root FOLDER`, `NAME=VALUE` of its
variables, and `cpus LIST`: to these a command inside is bound.
"""

from pathlib import Path

from tests.places import ROOT

VERSION = "apptainer version 1.3.4"
#: Not seen inside, as the home of a user where a site does not mount it.
HIDDEN = ROOT
_SCRIPT = r"""#!/bin/bash
die() { echo "FATAL:   $*" >&2; exit 255; }
[ "$1" = --version ] && { echo @VERSION@; exit; }
[ "$1" = exec ] || die "unknown command \"$1\" for \"apptainer\""
shift
binds=() folder=$PWD
while [ $# -gt 0 ]; do
    case $1 in
        -B) binds+=("$2"); shift 2 ;;
        -B*) binds+=("${1#-B}"); shift ;;
        --pwd) folder=$2; shift 2 ;;
        -*) die "unknown flag: $1" ;;
        *) break ;;
    esac
done
image=$1
shift
[ -f "$image" ] || die "could not open image $image: no such file or directory"
read -r first < "$image"
[ "$first" = '#!/usr/bin/env run-singularity' ] || die "image format not recognized"
[ $# -gt 0 ] || die "requires at least 2 arg(s), only received 1"
if [ -z "$INSIDE" ]; then
    export INSIDE=1
    exec unshare --mount "$0" exec "${binds[@]/#/-B}" --pwd "$folder" "$image" "$@"
fi
unset INSIDE
kept=/media
mount -t tmpfs none "$kept" || die "no mounts"
for each in "${!binds[@]}"; do
    mkdir "$kept/$each"
    IFS=: read -r from _ _ <<< "${binds[each]}"
    mount --bind "$from" "$kept/$each" || die "mount source $from doesn't exist"
done
around=() variables=(PATH=/usr/bin:/bin LD_LIBRARY_PATH=/.singularity.d/libs)
while read -r word rest; do
    case $word in
        root) mount --bind "$rest" /mnt || die "no root" ;;
        cpus) around=(taskset -c "$rest") ;;
        *=*) variables+=("$word") ;;
    esac
done < "$image"
mount -t tmpfs none "@HIDDEN@" || die "no mounts"
for each in "${!binds[@]}"; do
    IFS=: read -r from to how <<< "${binds[each]}"
    mkdir -p "${to:-$from}"
    mount --bind ${how:+-o "$how"} "$kept/$each" "${to:-$from}" || die "cannot mount $from"
done
umount -R "$kept"
cd "$folder" || die "chdir to $folder"
exec env "${variables[@]}" "${around[@]}" "$@"
"""


def install(folder: Path) -> Path:
    """Write the program into a folder; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "apptainer"
    program.write_text(_SCRIPT.replace("@VERSION@", VERSION).replace("@HIDDEN@", str(HIDDEN)))
    program.chmod(0o755)
    return program


def image(path: Path, root: Path, *lines: str) -> Path:
    """Write an image whose `root` is at /mnt inside."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/usr/bin/env run-singularity", f"root {root}", *lines, ""]))
    return path
