"""One more night: time and memory of judging it from what is kept, beside judging all anew.

Run by `make bench`, or `python -m tests.bench.night SERIES NIGHTS`. The samples are made as
columns, so that nothing of reading them counts: that is measured by the bench `history`.
"""

import resource
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import numpy as np

from acceptance.core.text import table
from acceptance.ledger import Samples
from acceptance.regressions.history import (
    CaseHistory,
    CaseKey,
    History,
    PastSession,
    Sample,
    Series,
)
from acceptance.regressions.judge import judge
from acceptance.relations import false_alarms
from tests.made import FIRST, NIGHT

METRICS, SETS = 20, 4
#: Series and nights, where none are named.
SIZE = (10_000, 365)


def sessions(count: int) -> list[PastSession]:
    """Return nights."""
    return [
        PastSession(
            number, f"{number:08d}", FIRST + NIGHT * number, FIRST + NIGHT * number + 3600,
            "reframe -c checks -r", {("made", "compute")}, mark=str(number),
        )
        for number in range(count)
    ]  # fmt: skip


def site(series: int, nights: int) -> History:
    """Return a history whose samples nobody holds."""
    history = History(sessions=sessions(nights))
    sample = Sample(history.sessions[0], FIRST, (), (), ())
    for number in range(series // METRICS):
        key = CaseKey("made", "compute", "gnu", f"Osu %n={number}")
        case = CaseHistory(key, "osu", "osu.bw", id=number + 1)
        for metric in range(METRICS):
            which = number * METRICS + metric
            one = Series(case, f"bandwidth_{2**metric}", "MB/s", "higher", number=which)
            one.id = which + 1
            one.values, one.samples = array("d", [1.0]), [sample]
            case.series.append(one)
        history.cases.append(case)
    return history


def made(history: History, first: int, last: int) -> Samples:
    """Return the samples of the sessions `first` to `last`: 1 % of noise, and sets of nodes."""
    nights = range(first, last + 1)
    series = len(history.cases) * METRICS
    value = np.empty((series, len(nights)))
    for column, night in enumerate(nights):
        noise = np.random.default_rng(night).standard_normal(series)
        value[:, column] = 1000 * np.exp(0.01 * noise + 0.02 * (night % SETS))
    night = np.tile(np.arange(first, first + len(nights)), series)
    return Samples(
        np.repeat(np.arange(series), len(nights)), value.ravel(), night,
        FIRST + NIGHT * night + 60.0, (night % SETS).astype(np.uint32),
        np.ones(len(night), np.uint32), {each: (f"n{each}", "n9") for each in range(SETS)},
    )  # fmt: skip


def child(series: int, nights: int, kept: Path) -> None:
    """Judge, and print what it took and how large what is kept is."""
    history = site(series, nights)

    def samples(
        _: History, some: Sequence[Series], first: int | None = None, last: int | None = None
    ) -> Samples:
        every = made(history, first or 0, nights - 1 if last is None else last)
        own = np.isin(every.series, [one.number for one in some])
        columns = (every.series, every.value, every.session, every.time, every.nodes)
        chosen = (column[own] for column in (*columns, every.software))
        return Samples(*chosen, every.named)

    start, began = time.perf_counter(), time.process_time()
    with mock.patch.object(History, "samples", samples):
        judgement = judge(history, None, kept)
        findings = [*false_alarms.findings(judgement)]
    wall, cpu = time.perf_counter() - start, time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = kept.stat().st_size / 1e6
    print(f"{wall:.2f} {cpu:.2f} {peak:.0f} {size:.0f} {judgement.judged} {len(findings)}")


def why_not() -> str:
    """Return why this machine cannot run the bench: it always can."""
    return ""


def main() -> None:
    """Measure, and print a table."""
    series, nights = map(int, sys.argv[1:3] or SIZE)
    if len(sys.argv) > 3:
        child(series, nights, Path(sys.argv[3]))
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, count in (("from the beginning", nights - 1), ("one more night", nights)):
            # In a process of its own, whose memory nothing else has touched.
            command = [sys.executable, "-m", "tests.bench.night", str(series), str(count)]
            done = subprocess.run(
                [*command, f"{folder}/kept"], capture_output=True, text=True, check=True
            )
            rows.append([f"{series} x {count}", what, *done.stdout.split()])
    header = (
        "series x nights",
        "judged",
        "s",
        "CPU s",
        "peak MB",
        "kept MB",
        "series judged",
        "findings",
    )
    print(table(header, rows))


if __name__ == "__main__":
    main()
