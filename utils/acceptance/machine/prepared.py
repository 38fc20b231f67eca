"""What the modules and variables of an environment make, in a shell of its own, as in a job."""

import functools
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acceptance.core import machine
from acceptance.core.text import clipped, one_line
from acceptance.machine import mpis
from acceptance.machine.mpis import MpiOnPath, mpi_on_path

#: Characters of what a module system says of a failure.
_SAID = 300
#: Begins the line on the standard error before each module.
_MARK = "== module "
#: What decides, of the variables around, how modules are loaded: what is cached is so for these.
_AROUND = ("PATH", "MODULEPATH", "LOADEDMODULES", "LMOD_CMD", "MODULESHOME")
#: A step is refused where the command fails, or where what it prints for the shell does. A module
#: that conflicts with loaded ones is loaded without them, as ReFrame does it in a job.
_FUNCTIONS = """
ask() {
    local text status
    text=$("$command" bash "$@"); status=$?
    eval "$text" >/dev/null && [ "$status" = 0 ]
}
unload_conflicts() {
    local words word
    words=$("$command" bash show "$1" 2>&1 | command -p sed -n "s/^ *conflict[^[:alnum:]]*//p")
    for word in $words; do
        word=${word%%[\\"\\')]*}
        case :$LOADEDMODULES: in *:"$word"[:/]*) ask unload "$word" 2>/dev/null ;; esac
    done
}
load() {
    [ -z "$2" ] || ask use "$2" || exit 3
    ask load "$1" 2>/dev/null || { unload_conflicts "$1"; ask load "$1" || exit 3; }
}
"""


@dataclass(frozen=True)
class Prepared:
    """The variables that a job of an environment has, and why they are not all that it states.

    `modules` are all that are loaded then, with their versions.
    """

    variables: Mapping[str, str]
    modules: tuple[str, ...] = ()
    fault: str = ""

    @property
    def path(self) -> str:
        """Return PATH."""
        return self.variables.get("PATH", os.defpath)

    @functools.cached_property
    def mpi(self) -> MpiOnPath | None:
        """Return the MPI on PATH; None where nothing tells."""
        return mpi_on_path(self.path, self.variables)

    def program(self, *names: str) -> Path | None:
        """Return the first of these names that is on PATH."""
        paths = (shutil.which(name, path=self.path) for name in names)
        return next((Path(path).absolute() for path in paths if path), None)


def prepared(environment: Mapping[str, Any]) -> Prepared:
    """Load the modules of an environment and set its variables, after those of its partition.

    An environment is as ReFrame's configuration has it, with `modules_system` and, in `before`,
    those of its system and partition, which have modules and variables too.
    """
    layers = [*environment.get("before", ()), environment]
    steps = tuple(step for layer in layers for step in _steps(layer))
    around = tuple(os.environ.get(name, "") for name in _AROUND)
    return _prepared(str(environment.get("modules_system") or "nomod"), steps, around)


def loads_modules(environment: Mapping[str, Any]) -> bool:
    """Tell whether a job of an environment loads modules; those of Spack nobody looks at here."""
    layers = [*environment.get("before", ()), environment]
    is_spack = environment.get("modules_system") == "spack"
    return not is_spack and any(layer.get("modules") for layer in layers)


def _steps(layer: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what a job does: a kind, what it is done with, and a folder or a value."""
    for module in layer.get("modules", ()):
        stated = {"name": module} if isinstance(module, str) else module
        kind = "restore" if stated.get("collection") else "load"
        yield kind, str(stated.get("name", "")), str(stated.get("path") or "")
    for name, value in dict(layer.get("env_vars", ())).items():
        yield "export", str(name), str(value)


@functools.cache
def _prepared(kind: str, steps: tuple[tuple[str, str, str], ...], around: object) -> Prepared:
    if not steps:
        return Prepared(dict(os.environ))
    named = [name for step, name, _ in steps if step != "export"]
    command, fault = _command(kind) if named else ("", "")
    if fault:
        steps = tuple(step for step in steps if step[0] == "export")
        fault = f"its modules ({', '.join(named)}) cannot be loaded: {fault}"
    done = machine.run(
        ["/bin/bash", "-c", _script(steps), "prepare", command],
        mpis.PATIENCE,
        env={**os.environ, **mpis.PLAIN},
    )
    entries = (entry.partition("=") for entry in done.out.split("\0") if entry)
    variables = {name: value for name, _, value in entries}
    if done.status != 0:
        fault = _said(done) if named and _MARK in done.err else f"its `env_vars`: {done.fault}"
        return Prepared(dict(os.environ), fault=fault)
    loaded = variables.get("LOADEDMODULES", "") if named and not fault else ""
    return Prepared(variables, tuple(filter(None, loaded.split(":"))), fault)


def _command(kind: str) -> tuple[str, str]:
    """Return the command of one of ReFrame's module systems, or why there is none."""
    here = mpis.find()
    title = f"{here.title} is here" if here else "no module system is set up here"
    if kind == "nomod":
        remedy = f', write "modules_system": "{here.reframe}" into it' if here else ""
        return "", f"the system states no `modules_system`; {title}{remedy}"
    if kind == "lmod":
        command = os.environ.get("LMOD_CMD", "")
        lacking = "LMOD_CMD names no program"
    elif kind in ("envmod", "tmod4"):
        command, lacking = "modulecmd", "no modulecmd is on PATH"
    else:
        return "", f"nothing here looks at what the modules system {kind} loads"
    found = shutil.which(command) if command else None
    return (found, "") if found else ("", f"{lacking}, for the modules system {kind}; {title}")


def _script(steps: tuple[tuple[str, str, str], ...]) -> str:
    """Return the commands, which print all variables at the end."""
    lines = ["command=$1", _FUNCTIONS]
    for kind, name, value in steps:
        if kind == "export":
            # As ReFrame writes it into a job.
            lines.append(f"export {name}={value}")
            continue
        lines.append(f"printf '%s\\n' {shlex.quote(_MARK + name)} >&2")
        words = f"load {shlex.quote(name)} {shlex.quote(value)}"
        lines.append(words if kind == "load" else f"ask restore {shlex.quote(name)} || exit 3")
    return "\n".join([*lines, "command -p env -0"])


def _said(done: machine.Done) -> str:
    """Return what the module system says of the last module, in one line."""
    name, _, text = done.err.rpartition(_MARK)[2].partition("\n")
    if done.late:
        return f"its module {name}: {done.fault}"
    paragraphs = [one_line(each) for each in text.split("\n\n") if each.strip()]
    wrong = [each for each in paragraphs if "error" in each.lower()]
    words = next(iter([*wrong, *paragraphs]), done.fault)
    return f"its module {name} does not load: {clipped(words, _SAID)}"
