"""Suites in images of containers: what Apptainer, or Singularity, finds in one.

An environment names the image of a suite (`extras["images"]`), a file. What runs it, with which
modules and variables, is the default of the partition's `container_platforms`, as ReFrame documents
them. Source of the command: the user guides of both, `apptainer exec`.
"""

import functools
import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.core import machine
from acceptance.core.text import clipped

#: ReFrame's platforms in which a process stays on the node and the CPUs that the launcher gave it.
PLATFORMS = ("Apptainer", "Singularity")
#: Seconds for a command inside an image; the first one on a node may have to unpack it.
_PATIENCE = 120
#: Characters of what a platform says of a failure.
_SAID = 300
#: Prints the executables below a folder, or on PATH; of other programs an image may have none.
_LIST = """
walk() {
    for each in "$1"/*; do
        if [ -d "$each" ] && ! [ -L "$each" ]; then walk "$each"
        elif [ -f "$each" ] && [ -x "$each" ]; then echo "$each"; fi
    done
}
if [ -n "$1" ]; then walk "$1"; exit; fi
IFS=:
for folder in $PATH; do
    for each in "$folder"/*; do if [ -f "$each" ] && [ -x "$each" ]; then echo "$each"; fi; done
done
exit 0
"""


class ImageFault(FileNotFoundError):
    """What keeps an image from being run, or that a program is not in it."""


@dataclass(frozen=True)
class Image:
    """An image: its file, the program that runs it, and the variables that this has in a job."""

    path: Path
    command: str
    variables: Mapping[str, str] = field(hash=False)

    @classmethod
    def of(cls, name: str, platform: str, variables: Mapping[str, str]) -> "Image":
        """Take an image and ReFrame's name of what runs it; raises ImageFault if either is not."""
        program, path = platform.lower(), Path(name)
        if platform not in PLATFORMS:
            what = f"is {platform}" if platform else "is not stated"
            raise ImageFault(
                f"it has the image {name}, and what runs it {what}: write "
                f'"container_platforms": [{{"type": "{PLATFORMS[0]}"}}] into the partition '
                f"({' or '.join(PLATFORMS)})"
            )
        if "://" in name or path.is_dir():
            raise ImageFault(
                f"{name} is no file, and may be another image tomorrow: make one of it "
                f"({program} build FILE.sif {name}), and name that"
            )
        if not path.is_file() or not os.access(path, os.R_OK):
            raise ImageFault(f"there is no image {name} that can be read")
        command = shutil.which(program, path=variables.get("PATH", os.defpath))
        if not command:
            raise ImageFault(
                f"no {program}, which runs {name}, is on the PATH of its jobs: name its module in "
                "the `modules` of container_platforms, or install it"
            )
        return cls(path.absolute(), command, variables)

    def run(self, *words: str) -> str:
        """Return what a command prints inside; raises ImageFault if it fails."""
        command = [self.command, "exec", "--pwd", "/", str(self.path), *words]
        done = machine.run(command, _PATIENCE, env=self.variables)
        if done.status != 0:
            said = clipped(done.fault, _SAID)
            raise ImageFault(f"{self.command} does not run {words[0]} of {self.path}: {said}")
        return done.out

    def find(self, folder: str, *names: str) -> Path:
        """Return the first of these programs, below a folder or, without one, on PATH inside.

        Without names any program does. Raises ImageFault.
        """
        paths = _listed(self, folder)
        alike = (path for name in names for path in paths if path.name == name)
        if path := next(alike if names else iter(paths), None):
            return path
        where = f"below {folder}" if folder else "on its PATH"
        what = " or ".join(names) or "a program"
        raise ImageFault(f"{what} is not in the image {self.path}, {where}")

    def read(self, program: Path) -> bytes:
        """Return what is in a file, as text; raises ImageFault."""
        return _read(self, program)

    def told(self) -> dict[str, str]:
        """Return what tells this image from others, and what runs it."""
        status = self.path.stat()
        digest = _checksum(self.path, status.st_size, status.st_mtime_ns)
        return {"image": f"{self.path.name} sha256:{digest}", "container": _platform(self)}


@functools.cache
def _listed(image: Image, folder: str) -> list[Path]:
    """Return the executables below a folder inside, the highest first, or those on PATH."""
    paths = map(Path, image.run("/bin/sh", "-c", _LIST, "sh", folder).splitlines())
    return sorted(paths, key=lambda path: (len(path.parts), path)) if folder else [*paths]


@functools.cache
def _read(image: Image, program: Path) -> bytes:
    return image.run("cat", str(program)).encode()


@functools.cache
def _platform(image: Image) -> str:
    """Return the version of what runs an image."""
    done = machine.run([image.command, "--version"], _PATIENCE, env=image.variables)
    return done.out.strip() or done.fault


@functools.cache
def _checksum(path: Path, size: int, changed: int) -> str:
    """Return the SHA-256 of a file, which its size and when it changed (ns) tell from others."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(2**20):
            found.update(block)
    return found.hexdigest()
