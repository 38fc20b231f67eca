"""Which lines of the package and the checks the tests run: the table of `make lines`."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.tested import record

COVERAGE = (sys.executable, "-m", "coverage")


def room(path: str) -> str:
    """Return the room of a file: a package of `acceptance`, or the checks."""
    parts = Path(path).parts
    if parts[0] == "checks":
        return "checks"
    inside = parts[parts.index("acceptance") + 1 :]
    return inside[0] if inside[1:] else "(root)"


def rooms(report: dict) -> dict[str, tuple[int, int]]:
    """Return of each room, by its name, the lines that were run and all; of coverage's report."""
    run, every = Counter(), Counter()
    for path, found in report["files"].items():
        run[room(path)] += found["summary"]["covered_lines"]
        every[room(path)] += found["summary"]["num_statements"]
    return {name: (run[name], every[name]) for name in sorted(every)}


def share(run: int, every: int) -> str:
    """Return a share of lines as text, never 100 % where one is missing."""
    return f"{1000 * run // every / 10:.1f} % of {every:,}"


def main() -> int:
    """Print and keep the table of what `coverage run` has left; return the exit status."""
    kept = Path("var/lines")
    if not list(kept.glob("data*")):
        print("lines: nothing was run: make lines", file=sys.stderr)
        return 2
    if list(kept.glob("data.*")):
        subprocess.run([*COVERAGE, "combine", "-q", "--append"], check=True)
    report = kept / "lines.json"
    subprocess.run([*COVERAGE, "json", "-q", "-o", report], check=True)
    found = rooms(json.loads(report.read_text()))
    total = tuple(map(sum, zip(*found.values(), strict=True)))
    figures = {name: share(*pair) for name, pair in found.items() if pair[1]}
    figures["all lines"] = share(*total)
    for name, text in figures.items():
        print(f"{name:14} {text}")
    worst = min((pair[0] / pair[1], name) for name, pair in found.items() if pair[1])
    record("lines", "make lines", {
        "lines that tests run": figures["all lines"],
        "the room with the least": f"{worst[1]}, {figures[worst[1]]}",
    })  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
