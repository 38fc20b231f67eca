"""Table of suites, kinds of mutations and outcomes: `python -m tests.mutations [--suite imb]`."""

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.mutations import KINDS, OUTCOMES, SUITES, TRACEBACK, read_all, trials


def table(counts: dict[str, Counter]) -> str:
    """Return the table of kinds and outcomes of each suite."""
    lines = [f"{'':24}" + "".join(f"{suite:>{10 * len(OUTCOMES)}}" for suite in counts)]
    lines.append(f"{'kind':24}" + "".join(f"{name:>10}" for _ in counts for name in OUTCOMES))
    for kind in (*KINDS, "all"):
        cells = (counter[kind, name] for counter in counts.values() for name in OUTCOMES)
        lines.append(f"{kind:24}" + "".join(f"{cell:10}" for cell in cells))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser("tests.mutations", description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--suite", action="append", choices=SUITES, help="default: all")
    parser.add_argument("--count", type=int, default=10000, help="mutations of each suite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", choices=OUTCOMES, help="print each trial that ended so")
    options = parser.parse_args()
    counts: dict[str, Counter] = {}
    for suite in options.suite or SUITES:
        counts[suite] = Counter()
        used, refused = read_all(suite, options.folders)
        print(f"{suite}: {len(used)} outputs; refused as they are: {', '.join(refused) or 'none'}")
        for trial in trials(suite, options.count, options.seed, options.folders):
            counts[suite].update([(trial.kind, trial.outcome), ("all", trial.outcome)])
            if trial.outcome == options.show:
                print(f"{suite}: {trial.path.name}: {trial.kind}: {trial.note}")
                for number, old, new in trial.changed[:2]:
                    print(f"  {number}: {old!r}\n  {number}: {new!r}")
    print(table(counts))
    return int(any(counter["all", TRACEBACK] for counter in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
