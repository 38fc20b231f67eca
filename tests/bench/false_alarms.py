"""False alarms that nights of each kind of noise have, as the report tells them, and the promise.

Run by `make bench`; asserts nothing. The noise is of the kinds of `detection.py`, of 2 %.
`python -m tests.bench.false_alarms NIGHTS...` takes other numbers of nights, `FEWEST` at least.
"""

import sys
import time
from collections.abc import Iterator

from acceptance.core.text import table
from acceptance.regressions.judge import judge
from acceptance.relations import false_alarms
from tests.bench.detection import FAMILIES, series
from tests.made_series import healthy

#: Metrics, and nights, where none are named.
METRICS, NIGHTS = 100, (60, 365)


def by_noise(nights: int, seed: int = 31) -> Iterator[list[object]]:
    for noise in FAMILIES:
        judgement = judge(healthy(series(noise, nights, METRICS, seed)[0]))
        started = time.process_time()
        rates = false_alarms.of_judgement(judgement)
        seconds = time.process_time() - started
        told = [one.share(each) for one in rates for each in (one.promised, one.seen, one.most)]
        broken = ", ".join(one.what for one in rates if one.broken)
        yield [noise, nights, *told, broken or "none", f"{seconds:.2f}"]


def why_not() -> str:
    """Return why this machine cannot run the bench: it always can."""
    return ""


def main() -> None:
    counts = [*map(int, sys.argv[1:])] or NIGHTS
    head = ["noise", "nights", *2 * ("promised", "seen", "at most"), "finding", "CPU s"]
    print(f"{METRICS} metrics, by their own nights: false alarms a year, comparisons (%) with a "
          "false word:\n")  # fmt: skip
    print(table(head, [row for count in counts for row in by_noise(count)], width=120))


if __name__ == "__main__":
    main()
