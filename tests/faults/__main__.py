"""Put each fault of the table into a command, and look what became of it.

Exit status: 0 no row has a question answered with no; 1 some have; 2 nothing could be looked at.
"""

import argparse
import functools
import importlib
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from pathlib import Path

from acceptance.core.text import one_line, table
from tests import started, tested
from tests.faults.examine import BROKEN, Outcome, examine
from tests.faults.inject import without_root
from tests.faults.place import ACCEPT, NIGHT, RUN, Place
from tests.faults.rows import ROWS

_HEADER = ("fault, moment", "lost", "falsely green", "next run", "the line")
#: Says that this process is in a mount namespace of its own.
_INSIDE = "FAULTS_INSIDE"


def parser():
    """Return the parser of the options, the values of `ARGS`."""
    found = argparse.ArgumentParser("make faults", description=__doc__)
    found.add_argument("rows", nargs="*", metavar="PATTERN", help="only rows with such names")
    found.add_argument("--list", action="store_true", help="list the rows, and end")
    found.add_argument("--jobs", type=int, default=2, help="rows at a time (default: 2)")
    found.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="keep what bad rows left there, and go on with those that are not done",
    )
    return found


def main(words):
    """Print the table; return the exit status."""
    options = parser().parse_args(words)
    chosen = [
        row for row in ROWS
        if not options.rows or any(re.search(each, row.name) for each in options.rows)
    ]  # fmt: skip
    if options.list or not chosen:
        print("\n".join(row.name for row in chosen) or "no row has such a name")
        return 0 if options.list else 2
    folder = options.keep or Path(tempfile.mkdtemp(prefix="faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        outcomes = _look(chosen, folder.resolve(), options.jobs)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(table(_HEADER, [each.cells for each in outcomes]))
    if len(chosen) == len(ROWS):
        tested.record("faults", "make faults", figures(outcomes))
    return int(any(each.bad for each in outcomes))


def _look(chosen, folder, jobs):
    for name in ("base", *(f"measured-{kind.split()[-1]}" for kind in (RUN, NIGHT, ACCEPT))):
        shutil.rmtree(folder / name, ignore_errors=True)
    base = Place(folder / "base")
    (base.folder / "go").touch()
    status, said = base.run(RUN, started=True)
    assert status == 0, said
    kept = folder / "seconds.json"
    seconds = json.loads(kept.read_text()) if kept.exists() else {}
    for kind in {row.kind for row in chosen if row.seconds} - seconds.keys():
        measured = Place.after(base, folder / f"measured-{kind.split()[-1]}")
        measured.stop_reports(stopped=kind != RUN)
        begun = time.monotonic()
        assert measured.run(kind, started=True)[0] == 0, measured.said
        seconds[kind] = time.monotonic() - begun
    kept.write_text(json.dumps(seconds))
    started._connection()  # for all of them
    for name in ("cli.campaigns", "cli.gate", "report", "duckdb"):
        importlib.import_module(name if name == "duckdb" else f"acceptance.{name}")
    work = functools.partial(_one, base=base, folder=folder, seconds=seconds)
    known = {row.name: _kept(row, folder) for row in chosen}
    numbers = [ROWS.index(row) for row in chosen if known[row.name] is None]
    with multiprocessing.Pool(jobs, maxtasksperchild=1) as pool:
        for outcome in pool.imap_unordered(work, numbers):
            known[outcome.name] = outcome
            print(f"make faults: {' | '.join(outcome.cells)}", file=sys.stderr, flush=True)
    return [known[row.name] for row in chosen]


def _file(row, folder):
    return folder / f"{re.sub(r'[^a-z0-9]+', '-', row.name.lower())}.json"


def _kept(row, folder):
    """Return what became of a row before, in a folder that is gone on with; None: it was bad."""
    path = _file(row, folder)
    outcome = Outcome(**json.loads(path.read_text())) if path.exists() else None
    return None if outcome is None or outcome.bad else outcome


def _one(number, base, folder, seconds):
    row = ROWS[number]
    if why := row.why_not():
        return Outcome(row.name, not_looked=why)
    more = {"seconds": seconds[row.kind]} if row.seconds else {}
    place = folder / f"{number:03}"
    shutil.rmtree(place, ignore_errors=True)
    try:
        outcome = examine(row, base, place, **more)
        _file(row, folder).write_text(json.dumps(asdict(outcome)))
        return outcome
    except Exception:  # the row itself is broken: that is no answer
        return Outcome(row.name, not_looked=f"{BROKEN}{one_line(traceback.format_exc())[-300:]}")


def figures(outcomes):
    """Return the figures that are kept."""
    looked = [each for each in outcomes if not each.not_looked]
    missing = [f"{each.name}: {each.not_looked}" for each in outcomes if each.not_looked]
    return {
        "rows looked at": f"{len(looked)} of {len(outcomes)}",
        "something lost": str(sum(bool(each.lost) for each in looked)),
        "falsely green": str(sum(bool(each.green) for each in looked)),
        "next run broken": str(sum(bool(each.next) for each in looked)),
        "without a line": str(sum(not each.line for each in looked)),
        "not looked at": "; ".join(missing) or "none",
    }


if __name__ == "__main__":
    if not without_root() and _INSIDE not in os.environ:
        os.environ[_INSIDE] = "yes"
        command = ["unshare", "--mount", "--propagation", "private", sys.executable]
        os.execvp(command[0], [*command, "-m", "tests.faults", *sys.argv[1:]])
    sys.exit(main(sys.argv[1:]))
