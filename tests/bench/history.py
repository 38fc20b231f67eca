"""What it costs to judge a year of nights: time and memory, of 1,000 and of 10,000 series.

Run by `make bench`; asserts nothing, since the machines are shared. With arguments, series and
nights, it measures these instead.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from acceptance.core.table import table
from tests.made import Case, Database

METRICS = 20
SIZES = ((1000, 365), (10_000, 365))

#: Run in a process of its own, whose memory nothing else has touched.
JUDGE = """
import resource, sys, time
start, began = time.perf_counter(), time.process_time()
from pathlib import Path
from acceptance.regressions.history.reader import load
from acceptance.regressions.judge import judge
history = load(Path(sys.argv[1]))
read = time.perf_counter() - start
judgement = judge(history)
wall, cpu = time.perf_counter() - start, time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(read, wall, cpu, peak, judgement.judged, len(judgement.alerts))
"""


def make(path: Path, series: int, nights: int) -> None:
    """Make a database of quiet nights, `METRICS` metrics a case."""
    database, noise = Database(path), random.Random(1)
    database.connection.execute("PRAGMA synchronous = OFF")
    for _ in range(nights):
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


def measure(series: int, nights: int) -> list[object]:
    """Return a row: size, time to read and in all, processor time (s), peak of memory (MB)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.db")
        make(path, series, nights)
        done = subprocess.run(
            [sys.executable, "-c", JUDGE, str(path)], capture_output=True, text=True, check=True
        )
        read, wall, cpu, peak, judged, alerts = map(float, done.stdout.split())
        size = path.stat().st_size / 1e6
    return [
        f"{series} x {nights}", f"{size:.0f}", f"{read:.2f}", f"{wall:.2f}", f"{cpu:.2f}",
        f"{peak:.0f}", f"{judged:.0f}", f"{alerts:.0f}",
    ]  # fmt: skip


def why_not() -> str:
    """Return why this machine cannot run the bench: it always can."""
    return ""


def main() -> None:
    """Measure, and print a table."""
    sizes = [tuple(map(int, sys.argv[1:]))] if len(sys.argv) == 3 else SIZES
    header = ("series x nights", "database MB", "read s", "all s", "CPU s", "peak MB", "judged",
              "alerts")  # fmt: skip
    print(table(header, [measure(*size) for size in sizes]))
    print("goal: 1000 x 365 in less than 5 s and 500 MB; 10000 x 365 in ten times as long")


if __name__ == "__main__":
    main()
