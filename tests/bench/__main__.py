"""All benches in their order, or those that are named: `python -m tests.bench [NAME ...]`.

Says first which of them cannot run on this machine, and why; ends with 0 unless one that can fails.
A bench is a module here with `why_not()`, which is empty where it can run whole. Where it can run
in part, `in_part()` says what is missing.
"""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Callable, Mapping
from types import ModuleType

BENCHES = (
    "harness", "builds", "history", "night", "equality", "detection", "sequential", "alone",
    "bisect", "families", "false_alarms", "guidelines",
    "culprits", "causes", "power", "cables", "fabric", "simulation", "cluster", "detours",
    "year",
)  # fmt: skip


def start(name: str) -> int:
    """Run a bench in a process of its own, which nothing else has warmed; return its status."""
    return subprocess.run([sys.executable, "-m", f"tests.bench.{name}"]).returncode


def run(benches: Mapping[str, ModuleType], start: Callable[[str], int] = start) -> int:
    """Run the benches that can run here; return 1 when one of them fails."""
    reasons = {name: bench.why_not() for name, bench in benches.items()}
    for name, bench in benches.items():
        if reasons[name]:
            print(f"{name}: cannot run here: {reasons[name]}")
        elif part := getattr(bench, "in_part", str)():
            print(f"{name}: runs in part: {part}")
    failed = []
    for name in (name for name, reason in reasons.items() if not reason):
        print(f"\n{name}", flush=True)
        if start(name):
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def main() -> int:
    parser = argparse.ArgumentParser("tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    names = parser.parse_args().names or BENCHES
    if unknown := sorted({*names} - {*BENCHES}):
        parser.error(f"no bench {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    return run({name: importlib.import_module(f"tests.bench.{name}") for name in names})


if __name__ == "__main__":
    sys.exit(main())
