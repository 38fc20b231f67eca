"""Programs: others, run to their end; files of Python; this process; this release and ReFrame's.

Numbers of processes come again, also after the machine was started: `boot` and `ticks` tell which
process one is.
"""

import functools
import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from acceptance.core.paths import SECRETS


@dataclass(frozen=True)
class Done:
    """How a program ended: what it printed, its exit status, and why it failed, in a line.

    `status` is None where it did not start, or did not end in time (`late`). `fault` is empty where
    it ended with 0; it has the first line that the program printed, if it printed any.
    """

    out: str = ""
    err: str = ""
    status: int | None = None
    fault: str = ""
    late: bool = False


def run(
    command: Sequence[str],
    timeout: float,
    *,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    text: str = "",
) -> Done:
    """Run a program with `text` on its standard input, for at most `timeout` s; raises nothing.

    It has no variable that is secret. Bytes that are no text are replaced.
    """
    try:
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            env=without_secrets(os.environ if env is None else env),
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        return Done(fault=f"{command[0]} did not end within {timeout:g} s", late=True)
    except OSError as err:
        return Done(fault=f"{command[0]} cannot be run: {err.strerror or err}")
    if done.returncode == 0:
        return Done(done.stdout, done.stderr, 0)
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    fault = lines[0] if lines else f"{command[0]} ends with status {done.returncode}"
    return Done(done.stdout, done.stderr, done.returncode, fault)


def without_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for others: without `core.paths.SECRETS`."""
    return {name: value for name, value in variables.items() if name not in SECRETS}


def keep_others_out() -> None:
    """Let no file that this process makes be one that everybody may write.

    A mask that lets the group alone write (002) is wanted where several people run the same clone.
    One that lets everybody (000) is nobody's wish: it counts as 022.
    """
    mask = os.umask(0o077)
    os.umask(mask if mask & 0o002 else mask | 0o022)


def code_of(path: Path) -> CodeType:
    """Return the code of a file, compiled once as long as the file is the same."""
    known = path.stat()
    return _compiled(str(path), known.st_ino, known.st_mtime_ns, known.st_size)


@functools.lru_cache(64)
def _compiled(path: str, *_same: int) -> CodeType:
    return compile(Path(path).read_bytes(), path, "exec")


def names_in(path: Path) -> dict[str, Any]:
    """Run a file as `runpy.run_path` does, in a module of its own, and return its names."""
    module = ModuleType("<run_path>")
    module.__file__ = str(path)
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        exec(code_of(path), module.__dict__)
    finally:
        if before is None:
            del sys.modules[module.__name__]
        else:
            sys.modules[module.__name__] = before
    return module.__dict__


def read_text(path: Path) -> str:
    """Return the text of a file; empty where it cannot be read."""
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8")
    return ""


def boot() -> str:
    """Return which start of which machine this is, and in which namespace processes count."""
    with suppress(OSError):
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot_id} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


def ticks(process: int) -> str:
    """Return when a process began, in ticks since the start of the machine; empty where it ended.

    Source: proc_pid_stat(5), field 22, and the state in field 3.
    """
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


_NAME = "interconnect-acceptance"


def version() -> str:
    """Return the version of the installed distribution."""
    import importlib.metadata  # slow to load, and few commands ask

    return importlib.metadata.version(_NAME)


def supported_reframe() -> tuple[str, str]:
    """Return the oldest release of ReFrame that is supported, and the first that no longer is.

    They are stated in one place, the requirements of the distribution (pyproject.toml).
    """
    import importlib.metadata

    required = " ".join(importlib.metadata.requires(_NAME) or [])
    stated = re.search(r"reframe-hpc(\S+)", required)
    bounds = dict(re.findall(r"(>=|<)([\d.]+)", stated[1])) if stated else {}
    return bounds[">="], bounds["<"]


def unsupported_reframe(installed: str, *, too_old: bool = False) -> str:
    """Return why a release of ReFrame is not supported, empty if it is; `too_old`: only that."""
    oldest, first = supported_reframe()
    if _numbers(oldest) <= _numbers(installed) and (
        too_old or _numbers(installed) < _numbers(first)
    ):
        return ""
    return f"ReFrame {installed} is not supported: it must be at least {oldest}, and before {first}"


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", release)[:3]))


def commit(root: Path) -> str:
    """Return the commit of a clone, `-dirty` where files differ from it; empty: nothing tells it.

    An installed copy and an unpacked sdist have that which they were built from in their file
    `COMMIT` (utils/hatch_build.py). A folder inside a clone of something else has none.
    """
    if not (root / ".git").exists():
        return read_text(root / "COMMIT").partition(" ")[0]
    done = run(["git", "describe", "--always", "--dirty", "--tags"], 30, folder=root)
    return "" if done.fault else done.out.strip()
