"""What it costs to judge a night: time and memory, of 1,000 and of 10,000 series, of years.

Beside today's code stands that of `BEFORE`, which decoded every session on every night. Run by
`make bench`; asserts nothing, since the machines are shared. With arguments, series and nights, it
measures these instead.
"""

import io
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from acceptance.core.text import table
from tests.made import Case, Database
from tests.places import ROOT

METRICS = 20
SIZES = ((1000, 365), (1000, 3650), (10_000, 365))
#: The last commit without a store.
BEFORE = "15ba17b"

#: Run in a process of its own, whose memory nothing else has touched.
JUDGE = """
import inspect, resource, sys, time
start, began = time.perf_counter(), time.process_time()
from pathlib import Path
from acceptance.regressions.history.reader import load
from acceptance.regressions.judge import judge
place = Path(sys.argv[1])
with_store = "store" in inspect.signature(load).parameters
history = load(place, **({"store": place.parent / "samples.duckdb"} if with_store else {}))
read = time.perf_counter() - start
judgement = judge(history, **({"kept": place.parent / "detection"} if with_store else {}))
wall, cpu = time.perf_counter() - start, time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(read, wall, cpu, peak, judgement.judged, len(judgement.alerts))
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


def before(folder: Path) -> Path | None:
    """Return the code of `BEFORE`; None where the clone does not have it."""
    done = subprocess.run(
        ["git", "archive", BEFORE, "utils"], capture_output=True, cwd=ROOT, check=False
    )
    if done.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "utils"


def judged(path: Path, code: Path = ROOT / "utils") -> list[str]:
    """Judge a database: time to read and in all, processor time (s), peak (MB), what was judged."""
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(path)],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(code)},
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
    """Return rows: the code before, the first night with a store, and one more night."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, store = folder / "results.db", folder / "samples.duckdb"
        database, noise = make(path, series, nights)
        size = f"{series} x {nights}"
        rows: list[list[object]] = []
        old = before(folder / "before")
        rows.append(
            [size, f"before ({BEFORE})", *(judged(path, old) if old else ["not here"] * 6), ""]
        )
        first = judged(path)
        each = store.stat().st_size / (series * nights)
        rows.append([size, "first night", *first, f"{each:.1f}"])
        add_night(database, series, noise)
        rows.append([size, "one more night", *judged(path), ""])
    return rows


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
        "goals: one more night on 10000 x 365 under 2 s and 200 MB, on 100000 x 365 under 15 s and "
        "500 MB; a first one of 10000 x 365 read in under 30 s; 16 bytes a sample; ten years of "
        "1000 series as fast as one"
    )


if __name__ == "__main__":
    main()
