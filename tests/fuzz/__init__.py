"""Fuzzing of all readers of foreign text, with inputs that an instrumented run leads to (atheris).

`python -m tests.fuzz --help` divides minutes over the readers of `tests.foreign`. They run in
processes of their own (`python -m tests.fuzz.child`), so that nothing of it leaks into another one,
and a reader that hangs or takes all memory ends alone. A fault, which is any exception but those
that the reader declares, is told with its shortest input; that becomes an example in a test.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.places import ROOT

#: Why there is nothing to fuzz with; empty where there is.
WHY_NOT = (
    ""
    if find_spec("atheris")
    else "no atheris: `make setup-test` installs it on Linux, x86_64, with Python 3.11 or later"
)
#: Bytes of an input; seconds of one, and MiB of a process, beyond which an input is a fault.
LONGEST, SLOW, MEMORY = 100_000, 20, 2048
#: What libFuzzer says of a reader.
LOG = "log.txt"
_COUNT = re.compile(r"^stat::number_of_executed_units:\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What became of a reader: how many inputs it had, and what each fault was, with its input."""

    reader: str
    inputs: int
    faults: list[dict[str, str]]


def fuzz(
    readers: Sequence[str], seconds: int, folder: Path, runs: int = -1, seed: int = 0
) -> list[Outcome]:
    """Fuzz each reader for some seconds, and `runs` inputs at most (-1: any number).

    What was found, and the inputs that it learnt, stay in the folder.
    """
    for name in readers:
        for kind in ("fault", "timeout", "oom", "crash"):
            for path in (folder / name).glob(f"{kind}-*"):
                path.unlink()
    command = ["nice", "-n", "10", sys.executable, "-m", "tests.fuzz.child", folder, seconds, runs]
    done = subprocess.run(
        [*map(str, command), str(seed), *readers], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'utils'}:{ROOT}"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"tests.fuzz.child ended with {done.returncode}: {done.stderr}")
    return [_outcome(name, folder / name) for name in readers]


def _outcome(name: str, folder: Path) -> Outcome:
    log = (folder / LOG).read_text(errors="replace")
    counted = _COUNT.search(log)
    faults = [json.loads(path.read_text()) for path in sorted(folder.glob("fault-*.json"))]
    left = [path for kind in ("timeout", "oom", "crash") for path in folder.glob(f"{kind}-*")]
    for path in left:
        faults.append({"error": path.name, "place": "", "input": repr(path.read_bytes()[:2000])})
    if not counted and not left:
        faults.append({"error": "its process was ended", "place": "", "input": log[-1000:]})
    return Outcome(name, int(counted[1]) if counted else 0, faults)
