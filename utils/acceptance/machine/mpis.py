"""The MPIs of a machine: of its modules, on PATH, of Debian, of Spack; one of each kind.

Modules, and MPIs among them, are those of Lmod, or of Environment Modules (Tcl). What modules and
variables of an environment make is found out in a shell of its own, as in a job.
"""

import functools
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, dropwhile
from pathlib import Path
from typing import Any

from acceptance.core import machine
from acceptance.core.text import clipped, one_line
from acceptance.machine import externals
from acceptance.machine.externals import identify, identity_of
from acceptance.machine.spack import Spack

#: Beginning of a part of a module's name -> MPI.
_NAMES = (
    ("openmpi", "openmpi"),
    ("mvapich", "mvapich2"),
    ("impi|intel-?mpi|intel-oneapi-mpi", "intel-mpi"),
    ("mpich", "mpich"),
    # As oneAPI's own modules are called.
    ("mpi", "intel-mpi"),
)


def modules(text: str) -> list[tuple[str, bool]]:
    """Read `module -t avail`: each module, and whether it is the default of its name.

    Lmod and Environment Modules both write a module a line, between lines with the folder and a
    colon; Lmod has a line `name/` for a name with versions, Environment Modules mark `(default)`.
    """
    listed = []
    for line in text.splitlines():
        word = line.strip()
        if not word or word.endswith((":", "/")) or " " in word:
            continue
        name, mark, _ = word.partition("(")
        listed.append((name, mark == "(" and "default" in word))
    return listed


def mpi_of(module: str) -> str | None:
    """Return which MPI a module may be, by its name; only loading it tells."""
    parts = module.lower().split("/")
    for word, mpi in _NAMES:
        if any(re.match(rf"({word})(?![a-z])", part) for part in parts):
            return mpi
    return None


#: Seconds for one command; module systems on slow file systems take some.
PATIENCE = 60
#: How many modules of MPIs are loaded to look at them; each takes a second or so.
MAX_LOADED = 12
#: What `modulecmd -V` says of 4.1 and newer.
_NEW = re.compile(r"\s*Modules\s+Release\s+(4\.[1-9]|[5-9]|\d\d)")
#: Pagers and colours are for people.
PLAIN = {
    "LMOD_PAGER": "none",
    "MODULES_PAGER": "",
    "MODULES_COLOR": "never",
    "LMOD_COLORIZE": "no",
}


@dataclass(frozen=True)
class Modules:
    """A module system: its command, and ReFrame's name of it; empty where ReFrame knows none."""

    command: str
    reframe: str
    title: str


def find() -> Modules | None:
    """Find the module system that this user's shell has been set up with; None without one."""
    if command := os.environ.get("LMOD_CMD"):
        return Modules(command, "lmod", "Lmod")
    known = shutil.which("modulecmd")
    for command in (os.environ.get("MODULES_CMD"), known):
        if command and Path(command).is_file():
            # ReFrame calls `modulecmd` by this name, and requires 4.1.
            new = known and _NEW.match(_run([command, "bash", "-V"]).err)
            return Modules(command, "envmod" if new else "", "Tcl modules")
    return None


def candidates(system: Modules) -> list[str]:
    """Return the modules that may be MPIs by their names.

    Of each name that is the default version or, without one, the last, as both systems list
    versions in order. `mpi/openmpi-x86_64` and `mpi/mpich-x86_64`, as Red Hat names them, are two
    names.
    """
    words = ["-t", "avail"] if system.reframe == "lmod" else ["avail", "-t"]
    done = _run([system.command, "bash", *words])
    chosen: dict[tuple[str, str], tuple[str, bool]] = {}
    for module, default in modules(done.err or done.out):
        if kind := mpi_of(module):
            name = module.rpartition("/")[0] or module, kind
            if default or not chosen.get(name, ("", False))[1]:
                chosen[name] = module, default
    return [module for module, _ in chosen.values()]


def load(system: Modules, module: str) -> Path | None:
    """Load a module in a shell of its own; return its MPI's folder of programs, None without."""
    ready = _in_shell(system.command, (("load", module, ""),))
    program = None if ready.fault else ready.program(*_STARTERS)
    is_loaded = module in os.environ.get("LOADEDMODULES", "").split(":")
    if program is None or (program == Prepared(os.environ).program(*_STARTERS) and not is_loaded):
        return None
    return program.parent


def _run(command: list[str]) -> machine.Done:
    return machine.run(command, PATIENCE, env={**os.environ, **PLAIN})


#: Programs that are there where an MPI is.
_STARTERS = ("mpicc", "mpirun", "mpiexec")
#: MPI -> plugins of srun that start it, the best first; a version may follow (pmix_v4).
_STARTS = {
    "openmpi": ("pmix", "pmi2"),
    "mpich": ("pmi2", "pmix"),
    "mvapich2": ("pmi2", "pmix"),
    "intel-mpi": ("pmi2", "pmix"),
}
#: Spack's packages of these MPIs.
_PACKAGES = ("openmpi", "mpich", "mvapich2", "mvapich", "intel-oneapi-mpi")


@dataclass(frozen=True)
class InstalledMpi:
    """An MPI: its name (`extras["mpi"]`), version, programs, where it was found, and its module."""

    name: str
    version: str
    programs: Path
    origin: str = ""
    module: str = ""

    def __str__(self) -> str:
        """Say what tells."""
        return f"{self.launcher}: {self.name} {self.version}"

    @property
    def prefix(self) -> Path:
        """Return the folder that all of it is in."""
        return self.programs.parent

    @property
    def package(self) -> str:
        """Return the name of Spack's package."""
        if self.name == "mvapich2" and not self.version.startswith(("1.", "2.")):
            return "mvapich"
        return "intel-oneapi-mpi" if self.name == "intel-mpi" else self.name

    @property
    def launcher(self) -> Path:
        """Return a program that is there where the MPI is."""
        paths = (self.programs / name for name in ("mpirun", "mpiexec"))
        return next((path for path in paths if path.exists()), self.programs)


@dataclass
class MpiSearch:
    """The MPIs of a machine, one of each kind; `others` has a line on each that is not used."""

    mpis: list[InstalledMpi] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    module_system: Modules | None = None

    def look_into(self, programs: Path, origin: str, module: str = "") -> None:
        """Take the MPI whose programs are in a folder, if it is the first of its kind."""
        identity = identify(programs)
        if not identity:
            self.others.append(f"{origin}: no MPI that is known here")
            return
        mpi = InstalledMpi(*identity, programs, origin, module)
        same = [known for known in self.mpis if known.name == mpi.name]
        if not same:
            self.mpis.append(mpi)
        elif all(known.prefix.resolve() != mpi.prefix.resolve() for known in same):
            self.others.append(f"{mpi.name} {mpi.version}: {mpi.origin}")


def find_mpis(prefixes: Path, spack: Spack | None) -> MpiSearch:
    """Find the MPIs of this machine; those of modules, which a site means to be used, first.

    Makes the links of Debian's MPIs below `prefixes`.
    """
    search = MpiSearch(module_system=find())
    if search.module_system:
        names = candidates(search.module_system)
        for name in names[:MAX_LOADED]:
            if programs := load(search.module_system, name):
                search.look_into(programs, f"module {name}", name)
            else:
                search.others.append(f"module {name}: brings no MPI, or does not load by itself")
        search.others += [f"module {name}: not looked at" for name in names[MAX_LOADED:]]
    debian = externals.mpi_names()
    for name in ("mpirun", "mpiexec"):
        path = shutil.which(name)
        # In /usr/bin several MPIs share one prefix, which Spack cannot use.
        if path and not (debian and Path(path).parent == Path("/usr/bin")):
            search.look_into(Path(path).parent, f"{name} on PATH")
    for name in debian:
        search.look_into(externals.prefix_of(name, prefixes) / "bin", "Debian's packages")
    for prefix in _installed(spack) if spack else ():
        search.look_into(prefix / "bin", "installed by Spack")
    return search


def plugin(mpi: str, plugins: Sequence[str]) -> str:
    """Return the plugin with which srun starts an MPI; empty where it has none that does."""
    for kind in _STARTS[mpi]:
        if kind in plugins:
            return kind
        if versions := [name for name in plugins if name.startswith(f"{kind}_")]:
            return versions[-1]
    return ""


def _installed(spack: Spack) -> list[Path]:
    """Return the MPIs that a Spack has installed for its user, whose configuration counts here."""
    find = [str(spack.program), "find", "--format={prefix}", *_PACKAGES]
    lines = machine.run(find, timeout=120).out.splitlines()
    return [Path(line) for line in lines if Path(line).is_dir()]


#: Characters of what a module system says of a failure.
_SAID = 300
#: Begins the line on the standard error before each module.
_MARK = "== module "
#: What decides, of the variables around, how modules are loaded: what is cached is so for these.
_AROUND = ("PATH", "MODULEPATH", "LOADEDMODULES", "LMOD_CMD", "MODULESHOME")
#: How EasyBuild ends a module, of Lua or Tcl.
_BUILT = re.compile(r"^(?:--|#) Built with EasyBuild version (\S+)$", re.MULTILINE)
#: Takes the steps of a job.
_PREPARE = Path(__file__).with_name("prepare.sh")


@dataclass(frozen=True)
class Prepared:
    """The variables that a job of an environment has, and why they are not all that it states.

    `modules` are all that are loaded then, with their versions.
    """

    variables: Mapping[str, str]
    modules: tuple[str, ...] = ()
    fault: str = ""

    @functools.cached_property
    def mpi(self) -> InstalledMpi | None:
        """Return the MPI whose launcher comes first on PATH; None where nothing tells."""
        if program := self.program("mpirun", "mpiexec"):
            done = machine.run([str(program), "--version"], timeout=60, env=self.variables)
            identity = identity_of(done.out) or identify(program.parent, self.variables)
            return InstalledMpi(*identity, program.parent) if identity else None
        return None

    def program(self, *names: str) -> Path | None:
        """Return the first of these names that is on PATH."""
        path = self.variables.get("PATH", os.defpath)
        paths = (shutil.which(name, path=path) for name in names)
        return next((Path(path).absolute() for path in paths if path), None)

    def brings(self, program: Path) -> bool:
        """Tell whether a program's folder is on PATH by the modules and variables, or may be.

        It is not where no folder has moved behind it, unless one of the modules was loaded before.
        """
        before, after = (
            [*dict.fromkeys(map(Path, each.get("PATH", "").split(":")))]
            for each in (os.environ, self.variables)
        )
        was_loaded = {*self.modules} & {*os.environ.get("LOADEDMODULES", "").split(":")}
        if was_loaded or program.parent not in before:
            return True
        ahead = before[: before.index(program.parent)]
        behind = dropwhile(lambda folder: folder != program.parent, after)
        return not {*ahead}.isdisjoint(behind)

    def easybuild(self, program: Path) -> tuple[str, str]:
        """Return the version of the software of EasyBuild that has a program, and what built it.

        Empty where no loaded module of EasyBuild's says so: it sets EBROOT and EBVERSION, and ends
        with a comment (`make_module_footer`). Where EESSI has it, that says for which processors.
        """
        files = map(Path, filter(None, self.variables.get("_LMFILES_", "").split(":")))
        texts = [machine.read_text(path) for path in files]
        for name, root in self.variables.items():
            software = name.removeprefix("EBROOT")
            if software in ("", name) or not program.is_relative_to(root or "/-"):
                continue
            made = (_BUILT.search(text) for text in texts if re.search(rf"\b{name}\b", text))
            by = next((f"EasyBuild {found[1]}" for found in made if found), "EasyBuild")
            if version := self.variables.get("EESSI_VERSION"):
                by += (
                    f", EESSI {version} {self.variables.get('EESSI_SOFTWARE_SUBDIR', '')}".rstrip()
                )
            return self.variables.get(f"EBVERSION{software}", ""), by
        return "", ""


def prepared(environment: Mapping[str, Any]) -> Prepared:
    """Load the modules of an environment and set its variables, after those of its partition.

    An environment is as ReFrame's configuration has it, with `modules_system` and, in `before`,
    those of its system and partition, which have modules and variables too; in `after`, that of
    what runs its container.
    """
    layers = [*environment.get("before", ()), environment, *environment.get("after", ())]
    steps = tuple(step for layer in layers for step in _steps(layer))
    around = tuple(os.environ.get(name, "") for name in _AROUND)
    return _prepared(str(environment.get("modules_system") or "nomod"), steps, around)


def loads_modules(environment: Mapping[str, Any]) -> bool:
    """Tell whether a job of an environment loads modules; those of Spack nobody looks at here."""
    layers = [*environment.get("before", ()), environment]
    is_spack = environment.get("modules_system") == "spack"
    return not is_spack and any(layer.get("modules") for layer in layers)


#: What a job does: a kind, what it is done with, and a folder or a value.
Step = tuple[str, str, str]


def _steps(layer: Mapping[str, Any]) -> Iterator[Step]:
    """Yield what a job does."""
    for module in layer.get("modules", ()):
        stated = {"name": module} if isinstance(module, str) else module
        kind = "restore" if stated.get("collection") else "load"
        yield kind, str(stated.get("name", "")), str(stated.get("path") or "")
    for name, value in dict(layer.get("env_vars", ())).items():
        yield "export", str(name), str(value)


@functools.cache
def _prepared(kind: str, steps: tuple[Step, ...], around: object) -> Prepared:
    named = [name for step, name, _ in steps if step != "export"]
    command, fault = _command(kind) if named else ("", "")
    if not fault:
        return _in_shell(command, steps)
    exports = tuple(step for step in steps if step[0] == "export")
    fault = f"its modules ({', '.join(named)}) cannot be loaded: {fault}"
    return replace(_in_shell("", exports), fault=fault)


def _in_shell(command: str, steps: tuple[Step, ...]) -> Prepared:
    """Take steps in a shell of its own, modules with a `command`; return what that makes."""
    if not steps:
        return Prepared(dict(os.environ))
    shell = ["/bin/bash", str(_PREPARE), command, *chain.from_iterable(steps)]
    done = machine.run(shell, PATIENCE, env={**os.environ, **PLAIN})
    if done.status != 0:
        fault = _said(done) if _MARK in done.err else f"its `env_vars`: {done.fault}"
        return Prepared(dict(os.environ), fault=fault)
    entries = (entry.partition("=") for entry in done.out.split("\0") if entry)
    variables = {name: value for name, _, value in entries}
    loaded = variables.get("LOADEDMODULES", "") if command else ""
    return Prepared(variables, tuple(filter(None, loaded.split(":"))))


def _command(kind: str) -> tuple[str, str]:
    """Return the command of one of ReFrame's module systems, or why there is none."""
    here = find()
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


def _said(done: machine.Done) -> str:
    """Return what the module system says of the last module, in one line."""
    name, _, text = done.err.rpartition(_MARK)[2].partition("\n")
    if done.late:
        return f"its module {name}: {done.fault}"
    paragraphs = [one_line(each) for each in text.split("\n\n") if each.strip()]
    wrong = [each for each in paragraphs if "error" in each.lower()]
    words = next(iter([*wrong, *paragraphs]), done.fault)
    return f"its module {name} does not load: {clipped(words, _SAID)}"
