"""What it costs to judge a night: time and memory, of 1,000 and of 10,000 series, of years.

Run by `make bench`; asserts nothing, since the machines are shared. With arguments, series and
nights, it measures these instead.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from acceptance.core.text import table
from tests.made import Case, Database
from tests.places import ROOT

METRICS = 20
SIZES = ((1000, 365), (1000, 3650), (10_000, 365))

#: Run in a process of its own, whose memory nothing else has touched.
JUDGE = """
import resource, sys, time
start, began = time.perf_counter(), time.process_time()
from pathlib import Path
from acceptance import ledger
from acceptance.regressions.history import load
from acceptance.regressions.judge import judge
place = Path(sys.argv[1])
history = load(ledger.of_file(place, place.parent / "ledger"))
read = time.perf_counter() - start
judgement = judge(history, kept=place.parent / "detection")
wall, cpu = time.perf_counter() - start, time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(read, wall, cpu, peak, judgement.judged, len(judgement.incidents))
"""


def make(path: Path, series: int, nights: int) -> tuple[Database, random.Random]:
    """Make a database of quiet nights, `METRICS` metrics a case."""
    database, noise = Database(path), random.Random(1)
    database.connection.execute("PRAGMA synchronous = OFF")
    for _ in range(nights):
        add_night(database, series, noise)
    return database, noise


def add_night(database: Database, series: int, noise: random.Random) -> None:
    """Add a quiet night."""
    database.add([case(number, noise) for number in range(series // METRICS)])


def case(number: int, noise: random.Random) -> Case:
    """Return a case with a sample of each of its metrics."""
    return Case(
        name=f"OsuMpi %benchmark=b{number} %np=2 %placement=inter-node",
        benchmark=f"osu.b{number}",
        nodes=(f"node{noise.randrange(64):02d}", f"node{noise.randrange(64):02d}"),
        metrics={
            f"bandwidth_{2**size}": (1000.0 * 2 ** (size / 3) * noise.gauss(1, 0.01), "MB/s")
            for size in range(METRICS)
        },
    )


def judged(path: Path) -> list[str]:
    """Judge a database: time to read and in all, processor time (s), peak (MB), what was judged."""
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(path)],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    read, wall, cpu, peak, series, alerts = map(float, done.stdout.split())
    return [
        f"{read:.2f}",
        f"{wall:.2f}",
        f"{cpu:.2f}",
        f"{peak:.0f}",
        f"{series:.0f}",
        f"{alerts:.0f}",
    ]


def measure(series: int, nights: int) -> list[list[object]]:
    """Return rows: the first night, and one more."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "results.db"
        database, noise = make(path, series, nights)
        size = f"{series} x {nights}"
        first = judged(path)
        stored = sum(file.stat().st_size for file in (path.parent / "ledger").iterdir())
        add_night(database, series, noise)
        return [
            [size, "first night", *first, f"{stored / (series * nights):.1f}"],
            [size, "one more night", *judged(path), ""],
        ]


def why_not() -> str:
    """Return why this machine cannot run the bench: it always can."""
    return ""


def main() -> None:
    """Measure, and print a table."""
    sizes = [tuple(map(int, sys.argv[1:]))] if len(sys.argv) == 3 else SIZES
    header = ("series x nights", "", "read s", "all s", "CPU s", "peak MB", "judged", "alerts",
              "bytes a sample")  # fmt: skip
    print(table(header, [row for size in sizes for row in measure(*size)]))
    print(
        "goals: one more night on 10000 x 365 under 3 s and 250 MB, on 100000 x 365 under 30 s and "
        "700 MB; a first one of 10000 x 365 under 40 s; ten years of 1000 series as fast as one"
    )


if __name__ == "__main__":
    main()
