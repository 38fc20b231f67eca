"""Judging night by night from what is kept, compared with judging from the beginning, bit by bit.

Run by `make bench`, or `python -m tests.bench.equality [sites [nights]]`, 100 series a site. Each
has every kind of noise, series that begin late, vanish and return, sessions that are stored late or
measured again, other software and nodes in turn; of each some session is deleted or changed, and
the judging is killed at some of its writes, and somebody acknowledges alerts. A difference is an
error.
"""

import random
import sys
import tempfile
from pathlib import Path
from unittest import mock

from acceptance.core.text import table
from acceptance.regressions import records
from acceptance.regressions.judge import judge
from tests.made_series import Acknowledging, Made, compare

SERIES, EACH = 100, 12


class Killed(BaseException):
    """As a kill: nothing catches it."""


def killed(made: Made, kept: Path, chance: random.Random) -> int:
    """Kill a judgement at one of its writes, most of them the last ones; return whether it was."""
    name = chance.choice(["add", "write"])
    with mock.patch.object(records.Kept, name, side_effect=Killed):
        try:
            judge(made.history, None, kept)
        except Killed:
            return 1
    return 0


def site(number: int, nights: int) -> list[int]:
    """Return what was compared of a site: series, judgements, changes and so on."""
    made, chance = Made(SERIES, number, nights), random.Random(number)
    changes = alerts = judged = kills = again = 0
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "measured")
        somebody = Acknowledging(Path(folder), chance)
        for night in range(nights):
            made.night(night)
            if chance.random() < 0.1:
                kills += killed(made, kept, chance)
            if night in (nights // 2, nights * 3 // 4):
                which = chance.randrange(len(made.sessions) // 2)
                if night == nights // 2:
                    del made.sessions[which]
                else:
                    one = made.sessions[which]
                    one.mark, one.values = "changed", one.values * 1.01
                made.forget()
                again += 1
            if night % EACH == EACH - 1 or night == nights - 1:
                found, told, _ = compare(made.history, kept, somebody)
                changes, alerts, judged = max(changes, found), alerts + told, judged + 1
            else:
                judge(made.history, None, kept)
    return [SERIES, judged, changes, alerts, somebody.covered, kills, again]


def why_not() -> str:
    """Return why this machine cannot run the bench: it always can."""
    return ""


def main() -> None:
    """Compare, and print a table."""
    sites, nights = (*map(int, sys.argv[1:]), *(5, 120)[len(sys.argv) - 1 :])
    rows = [site(number, nights) for number in range(1, sites + 1)]
    header = [
        "series",
        "judgements compared",
        "changes",
        "alerts",
        "acknowledged",
        "kills",
        "begun again",
    ]
    print(table(header, [[str(sum(column)) for column in zip(*rows, strict=True)]]))
    print(f"{sites} sites of {nights} nights: no bit differs")


if __name__ == "__main__":
    main()
