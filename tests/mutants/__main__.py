"""Draw faults in our code, and count which ones a quick test sees: `python -m tests.mutants`.

The tests of the rooms that faults are drawn in are tried first, then those of all other rooms.
"""

import argparse
import contextlib
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from acceptance.nodes.detours import lower
from tests import tested
from tests.mutants import ROOMS, Mutant, draw
from tests.mutants.covering import Covering
from tests.places import HERE, ROOT

FOLDER = HERE.var / "mutants"
#: Seconds that a mutant may take beside those that its tests took without it, and factor on these:
#: one that runs for ever is seen.
GRACE, FACTOR = 20, 4


class Server:
    """What runs tests in the copy: `tests.mutants.server`."""

    def __init__(self, root: Path, log: Path):
        self.seconds: dict[str, float] = {}
        ours = f"{ROOT}/"
        path = [entry for entry in os.environ["PATH"].split(":") if not entry.startswith(ours)]
        variables = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("RFM_", "ACCEPT", "MAKE"))},
            "PATH": ":".join([f"{root}/utils/bin", f"{root}/.venv/bin", *path]),
            "PYTHONPATH": f"{root}/utils:{root}",
            "RFM_CONFIG_FILES": f"{root}/config/settings.py",
            "ACCEPTANCE_VAR": f"{root}/var",
            "ACCEPTANCE_MACHINE": f"{root}/var",
        }
        command = [sys.executable, "-m", "tests.mutants.server", str(log)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=root, env=variables, text=True, **pipes)

    def ask(self, files, limit, tests=(), options=(), traced=False):
        """Return its answer to an order; None if it found no end in so many seconds."""
        order = {
            "files": files, "limit": limit, "tests": tests, "options": options, "traced": traced
        }  # fmt: skip
        print(json.dumps(order), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def run(self, tests, *options):
        """Run tests; return the names of those that fail, or why nothing was told of any."""
        files = [*dict.fromkeys(test.partition("::")[0] for test in tests)]
        limit = GRACE + FACTOR * sum(self.seconds[test] for test in tests)
        answer = self.ask(files, limit, tests, options)
        if answer is None:
            return ["no end"]
        return answer["failed"] or ([] if answer["status"] == 0 else [f"exit {answer['status']}"])


def copy() -> Path:
    """Copy the clone as it is now, with what is not committed; return the copy's folder."""
    root = FOLDER / "tree"
    shutil.rmtree(root, ignore_errors=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    (root / "var").mkdir()
    for name in (".venv", "var/wheels"):
        with contextlib.suppress(FileNotFoundError):
            (root / name).symlink_to((ROOT / name).resolve(strict=True))
    return root


_times = itertools.count(1)


@contextlib.contextmanager
def applied(root: Path, mutant: Mutant):
    """Have the copy be the mutant.

    Each time the file is of another second: by that, and its length, Python knows its bytecode.
    """
    path = root / mutant.path
    whole = path.read_text(encoding="utf-8")
    try:
        for text in (mutant.code, whole):
            path.write_text(text, encoding="utf-8")
            os.utime(path, (next(_times) * 10, next(_times) * 10))
            if text is mutant.code:
                yield
    finally:
        path.write_text(whole, encoding="utf-8")
        os.utime(path, (next(_times) * 10, next(_times) * 10))


class Killers:
    """The test that saw each mutant last, in a file: it is tried first when the mutant is again."""

    def __init__(self, path: Path):
        self.path = path
        self.tests = json.loads(path.read_text()) if path.exists() else {}

    def key(self, mutant: Mutant) -> str:
        return hashlib.sha256(f"{mutant.path} {mutant.code}".encode()).hexdigest()[:20]

    def keep(self, mutant: Mutant, test: str) -> None:
        self.tests[self.key(mutant)] = test
        self.path.write_text(json.dumps(self.tests, indent=1))


def try_on(root, covering: Covering, killers: Killers, mutant, most: float, without=()) -> str:
    """Return the test that sees a mutant, or how else it ends; nothing if it survives.

    `without`: tests that did not see it.
    """
    server, last = covering.server, killers.tests.get(killers.key(mutant))
    with applied(root, mutant):
        for tests in ([last] * (last in covering.seconds), *covering.tests(mutant, most, without)):
            if tests and (failed := server.run(tests, "-x")):
                killers.keep(mutant, failed[0])
                return failed[0]
    return ""


def share(killed: int, of: int) -> str:
    """Return a share with Wilson's interval of 95 %."""
    low, high = lower(killed, of), 1 - lower(of - killed, of)
    return f"{killed} of {of} killed, {killed / of:.0%} ({low:.0%} to {high:.0%})"


def main() -> int:
    parser = argparse.ArgumentParser("tests.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", choices=[[], *ROOMS], metavar="ROOM")
    parser.add_argument("--count", type=int, default=20, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seconds", type=float, default=60, help="of tests that a mutant meets, the quickest first"
    )
    options = parser.parse_args()
    rooms = options.rooms or ROOMS
    root = copy()
    server = Server(root, FOLDER / "log")
    covering = Covering(root, FOLDER / "traces", server, rooms)
    server.seconds = covering.seconds
    others = len(covering.not_passed)
    print(f"{len(covering.seconds)} quick tests; {others} are skipped, slow or fail", flush=True)
    killers, ends = Killers(FOLDER / "killers.json"), {}
    drawn = {room: draw(root, room, options.count, options.seed) for room in rooms}
    for mutant in itertools.chain(*drawn.values()):
        ends[mutant] = try_on(root, covering, killers, mutant, options.seconds)
        print(f"{ends[mutant] or 'not yet':60} {mutant}", flush=True)
    tried = {
        mutant: {*itertools.chain(*covering.tests(mutant, options.seconds))}
        for mutant, end in ends.items()
        if not end
    }
    covering.take_others()
    for mutant, tests in tried.items():
        ends[mutant] = try_on(root, covering, killers, mutant, options.seconds, tests)
        print(f"{ends[mutant] or 'SURVIVED':60} {mutant}", flush=True)
    # Who fails without a fault, too, sees none.
    told = [test for test in dict.fromkeys(ends.values()) if test in covering.seconds]
    broken = {*server.run(told)}
    figures = {}
    for room, mutants in drawn.items():
        killed = sum(bool(ends[mutant]) and ends[mutant] not in broken for mutant in mutants)
        figures[room] = share(killed, len(mutants))
        print(f"{room:12}{figures[room]}")
    for test in broken:
        print(f"fails without a fault: {test}")
    if not options.rooms:
        command = f"make mutants COUNT={options.count} SEED={options.seed}"
        tested.record("mutants", command, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
