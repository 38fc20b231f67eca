"""The rows of the table, as data: the fault, what it is put into, and what is to be said of it."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tests import needs
from tests.faults import inject, slurm
from tests.faults.inject import ALL, COMMAND, YOUNGEST
from tests.faults.place import ACCEPT, DATABASE, NIGHT, RUN, SLURM

#: Kills of each command.
MOMENTS = 20


@dataclass(frozen=True)
class Row:
    """A fault in a command of some `kind`.

    `put` gives, for a place, the context that puts it there. `said` is a regular expression of the
    line that tells of it; where all was measured nonetheless nothing need be told. `why_not` says
    why it cannot be put here. `seconds`: it is told how long the command takes.
    """

    name: str
    kind: str
    put: Callable[..., AbstractContextManager]
    said: str
    why_not: Callable[[], str | None] = lambda: None
    seconds: bool = False


def _row(name, kind, put, said, why_not=lambda: None, seconds=False, **how):
    return Row(name, kind, functools.partial(put, kind=kind, **how), said, why_not, seconds)


#: What is said of a command that was killed, by the gate.
_KILLED = r"was killed|was stopped|ended before it left a mark|is not over|ReFrame stopped before"
_NO_ROOM = r"No space left on device|disk is full|make room"


def _kills():
    for kind in (RUN, NIGHT, ACCEPT):
        for number in range(MOMENTS):
            whom = (ALL, YOUNGEST, ALL, COMMAND)[number % 4]
            yield _row(
                f"kill {number + 1} of {kind}", kind, inject.killed,
                part=(number + 0.5) / MOMENTS, whom=whom, seed=number, said=_KILLED, seconds=True,
            )  # fmt: skip


def _full():
    root = inject.without_root
    for below in (
        *("stage", "output", DATABASE, "ledger", "verdicts", "runs", "log", "perflogs"),
        *("report", "detection", "tmp"),
    ):
        yield _row(
            f"disk full: {below}", RUN, inject.full, below=below, said=_NO_ROOM, why_not=root
        )
    for below in ("campaigns", "verdicts", "ledger", DATABASE):
        yield _row(
            f"disk full: {below}, nightly", NIGHT, inject.full, below=below, said=_NO_ROOM,
            why_not=root,
        )  # fmt: skip
    yield _row(
        "disk full: alerts, nightly", NIGHT, inject.full, below="alerts", red=True, said=_NO_ROOM,
        why_not=root,
    )  # fmt: skip
    for kind, left in ((RUN, 0), (RUN, 16), (RUN, 64), (RUN, 256), (NIGHT, 0), (NIGHT, 32)):
        yield _row(
            f"disk full: all of var/, {kind}, {left} KiB left", kind, inject.full,
            below="", left=left << 10, said=_NO_ROOM, why_not=root,
        )  # fmt: skip
    for size in (4 << 10, 16 << 10, 64 << 10):
        yield _row(
            f"quota: {size >> 10} KiB a file", RUN, inject.quota, size=size,
            said="File too large|File size limit|disk I/O error|database or disk is full",
        )  # fmt: skip


def _others():
    root, gcc = inject.without_root, functools.partial(needs.why_not, "gcc")
    for kind in (RUN, NIGHT):
        yield _row(
            f"read-only var/, {kind}", kind, inject.read_only, said="Read-only file system",
            why_not=root,
        )  # fmt: skip
    twice = (
        r"runs since|measured on the same cores|is under way|was too busy|held it|locks do not work"
    )
    for first, second in ((RUN, RUN), (NIGHT, NIGHT), (RUN, NIGHT)):
        yield Row(
            f"two at once: {first}, {second}", first,
            functools.partial(inject.together, kinds=(first, second)), twice,
        )  # fmt: skip
    for kind in (RUN, NIGHT):
        yield _row(
            f"locks refused, {kind}", kind, inject.without_locks, locks="refused",
            said=r"[Nn]o locks available|cannot be locked|database is locked", why_not=gcc,
        )  # fmt: skip
    for first, second in ((RUN, RUN), (NIGHT, NIGHT)):
        yield Row(
            f"locks granted twice: {first}, {second}", first,
            functools.partial(inject.together, kinds=(first, second), locks="granted"),
            twice, gcc,
        )  # fmt: skip
    day, nothing = 86400, "no case of imb measured anything|fail in "
    berlin = {"zone": "Europe/Berlin", "broken": False}
    for name, kind, how in (
        ("clock a day back", RUN, {"before": -day}),
        ("clock a day back", NIGHT, {"before": -day}),
        ("clock a year ahead", RUN, {"before": 365 * day}),
        ("clock an hour back in the middle", RUN, {"then": -3600, "broken": False}),
        ("clock a day back in the middle", NIGHT, {"then": -day, "broken": False}),
        ("daylight saving ends in the middle", RUN, {**berlin, "at": "2026-10-25T02:59:57"}),
        ("daylight saving begins in the middle", RUN, {**berlin, "at": "2027-03-28T01:59:57"}),
    ):
        yield _row(f"{name}, {kind}", kind, inject.clock, said=nothing, why_not=gcc, **how)
    for name, kind, more, said, named in (
        ("2 GB of output", RUN, "truncate -s 2G rfm_job.out", "fail in .*too long to be read", {}),
        ("a program that hangs", RUN, "sleep 3000", "timed out|time limit", {"limit": "3s"}),
        ("a program that hangs", NIGHT, "sleep 3000", "timed out|time limit", {"limit": "3s"}),
        ("a segfault after a full table", RUN, "kill -SEGV $$", "exit code|exited with|signal", {}),
        ("a child left behind", RUN, "sleep 3000 >/dev/null 2>&1 &", "", {"red": False}),
        ("a child that holds the output", RUN, "sleep 3000 &", "", {"red": False}),
    ):
        yield _row(f"{name}, {kind}", kind, inject.program, more=more, said=said, **named)
    for name, how in (
        ("a node without the shared folder, of a rank", {"node": "node2"}),
        ("a node without the shared folder, of the batch script", {"node": "node1"}),
        ("Slurm's controller goes away", {"controller": True}),
    ):
        yield _row(
            f"{name}, {SLURM}", SLURM, slurm.away, why_not=slurm.why_not,
            said="fail in|cannot be asked", **how,
        )  # fmt: skip


ROWS = (*_kills(), *_full(), *_others())
