"""Fuzz the readers of foreign text, one after the other, for some minutes in all."""

import argparse
import resource
import sys
import time

from tests import tested
from tests.foreign import READERS
from tests.fuzz import WHY_NOT, fuzz
from tests.places import HERE


def main() -> int:
    parser = argparse.ArgumentParser("tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="of all; default: 60")
    parser.add_argument("--reader", action="append", choices=READERS, help="default: all")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--record", action="store_true", help="keep the figures in tests/tested")
    options = parser.parse_args()
    if WHY_NOT:
        print(WHY_NOT, file=sys.stderr)
        return 2
    names = options.reader or [*READERS]
    each = max(1, round(60 * options.minutes / len(names)))
    began = time.monotonic()
    outcomes = fuzz(names, each, HERE.var / "fuzz", seed=options.seed)
    for one in outcomes:
        print(f"{one.reader}: {one.inputs} inputs, {len(one.faults)} faults")
        for fault in one.faults:
            print(f"  {fault['error']}\n  {fault['place']}: {fault['input'][:400]!r}")
    inputs, faults = sum(one.inputs for one in outcomes), sum(len(one.faults) for one in outcomes)
    minutes = (time.monotonic() - began) / 60
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = (usage.ru_utime + usage.ru_stime) / 60
    print(
        f"{len(names)} readers, {inputs} inputs, {minutes:.1f} minutes, {worked:.1f} of a core, "
        f"{faults} faults"
    )
    if options.record:
        figures = {
            "readers of foreign text": str(len(names)),
            "inputs": f"{inputs:,}",
            "minutes": f"{minutes:.0f}, of a core {worked:.0f}",
            "faults at the end": str(faults),
        }
        tested.record("fuzz", "make fuzz", figures)
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
