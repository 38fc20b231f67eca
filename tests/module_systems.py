"""Lmod and Environment Modules of Debian, set up for a test as a login shell has them.

The packages exclude each other: of Environment Modules only the files are taken, into `var/`.
"""

import subprocess
from pathlib import Path

from tests import needs
from tests.places import PATIENCE, ROOT

LMOD = Path("/usr/share/lmod/lmod/libexec/lmod")
#: Where the files of the package environment-modules are, if it is not installed.
UNPACKED = ROOT / "var/environment-modules"


def _tcl() -> Path | None:
    """Return the program of Environment Modules; None where it cannot be had."""
    places = (Path("/usr/lib"), UNPACKED / "usr/lib")
    found = [path for place in places for path in place.glob("*/modulecmd.tcl")]
    if found or not (needs.find("apt-get") and needs.find("tclsh")):
        return next(iter(found), None)
    UNPACKED.mkdir(parents=True, exist_ok=True)
    script = "apt-get download -qq environment-modules && dpkg-deb -x environment-modules_*.deb ."
    subprocess.run(["sh", "-c", script], cwd=UNPACKED, capture_output=True, timeout=PATIENCE)
    return next(iter((UNPACKED / "usr/lib").glob("*/modulecmd.tcl")), None)


def variables(kind: str, folder: Path, modules: Path) -> dict[str, str] | str:
    """Return the variables of a shell with ReFrame's `lmod` or `envmod`; or why there is none.

    What is to be found by its name goes into `folder`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = LMOD if kind == "lmod" else _tcl()
    if command is None or not command.is_file():
        return needs.why_not(str(LMOD) if kind == "lmod" else "tclsh") or (
            f"no {kind} here: apt-get gives no package environment-modules to take it from"
        )
    start = folder / "start.sh"
    start.write_text(f'module() {{ eval "$({command} bash "$@")"; }}\nexport -f module\n')
    shell = {"MODULEPATH": str(modules), "LOADEDMODULES": "", "BASH_ENV": str(start)}
    if kind == "lmod":
        return {**shell, "LMOD_CMD": str(command), "MODULESHOME": str(command.parents[1])}
    named = folder / "modulecmd"
    named.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    named.chmod(0o755)
    return {**shell, "MODULES_CMD": str(command)}
