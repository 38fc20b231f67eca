"""Which tests run a line: found once for each test file, and kept until it changes.

Of a file of the package that changed since then it is only known which tests ran it.
"""

import functools
import hashlib
import itertools
import json
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

from tests.mutants import Mutant

#: Seconds of a test that is quick.
QUICK = 30
#: Tests that are tried first.
FIRST = 40
#: A test of another room is tried as late as one of its own that takes so many times as long.
_FOREIGN = 5


class Covering:
    """The quick tests of rooms, with their seconds, and who runs which lines of the package.

    `server` runs those tests whose trace is not in `kept` yet, in the copy `root`.
    """

    def __init__(self, root: Path, kept: Path, server, rooms: Sequence[str]):
        self.root, self.kept, self.server = root, kept, server
        self.seconds: dict[str, float] = {}
        self.not_passed: list[str] = []
        self.lines: dict[str, dict[str, set[int]]] = defaultdict(dict)
        self.rooms: list[str] = []
        self.take(rooms)

    def take_others(self) -> None:
        """Take the tests of all other rooms, too."""
        folders = sorted((self.root / "tests/utils").iterdir())
        self.take([f.name for f in folders if f.is_dir() and f.name not in self.rooms])

    def take(self, rooms: Sequence[str]) -> None:
        """Take the tests of rooms, too."""
        self.rooms += rooms
        missing, common = defaultdict(dict), _digest(_shared(self.root))
        for path in dict.fromkeys(each for room in rooms for each in _test_files(self.root, room)):
            name = str(path.relative_to(self.root))
            trace = self.kept / f"{_digest([path], common)}.json"
            if not trace.exists():
                missing[path.parent][name] = trace
            else:
                self._take(json.loads(trace.read_text()))
        for folder, traces in missing.items():
            print(f"tracing {len(traces)} files of {folder.relative_to(self.root)}", flush=True)
            options = [f"--timeout={QUICK}"]
            traced = self.server.ask(files=[*traces], options=options, traced=True, limit=3600)
            for name, trace in traces.items():
                part = _part(traced, name)
                part["sources"] = {path: self._digest_of(path) for path in part["lines"]}
                trace.parent.mkdir(parents=True, exist_ok=True)
                trace.write_text(json.dumps(part))
                self._take(part)

    def _take(self, trace: dict) -> None:
        self.seconds |= trace["seconds"]
        self.not_passed += trace["not_passed"]
        for path, contexts in trace["lines"].items():
            is_same = self._digest_of(path) == trace["sources"][path]
            for context, lines in contexts.items():
                self.lines[path].setdefault(context, set()).update(lines if is_same else ())

    @functools.cache  # noqa: B019
    def _digest_of(self, path: str) -> str:
        return _digest([self.root / path]) if (self.root / path).exists() else ""

    def tests(
        self, mutant: Mutant, most: float, without: Container[str] = ()
    ) -> tuple[list[str], list[str]]:
        """Return the tests to try first on a mutant, and then, each file's together.

        First come the quickest of those that run its lines, then the others, and those that run
        anything of its file: what runs at the import, or once for all, is nobody's line. All of
        them took less than `most` s.
        """
        room = f"tests/utils/{Path(mutant.path).parts[2]}/"
        here = self.lines.get(mutant.path, {})
        run = {context for context, lines in here.items() if lines & {*mutant.lines}}
        of_line = sorted(self._named(run), key=self.seconds.__getitem__)
        others = self._named({*here}) | {test for test in self.seconds if test.startswith(room)}
        ordered = [*of_line, *sorted(others - {*of_line}, key=self.seconds.__getitem__)]
        ordered = [test for test in ordered if test not in without]
        spent = itertools.accumulate(self.seconds[test] for test in ordered)
        ordered = [test for test, seconds in zip(ordered, spent, strict=True) if seconds < most]
        first = min(FIRST, len(of_line)) or len(ordered)
        return self._by_file(ordered[:first], room), self._by_file(ordered[first:], room)

    def _named(self, contexts: set[str]) -> set[str]:
        """Return the tests of contexts: their own, and of paths all below them."""
        paths = tuple(contexts - self.seconds.keys())
        return {test for test in self.seconds if test in contexts or test.startswith(paths)}

    def _by_file(self, tests: list[str], room: str) -> list[str]:
        """Return the tests of each file together, those of the quickest file first."""
        files = defaultdict(list)
        for test in self.seconds:
            if test in tests:
                files[test.partition("::")[0]].append(test)
        costs = {
            path: sum(self.seconds[test] for test in of) * (path.startswith(room) or _FOREIGN)
            for path, of in files.items()
        }
        return [test for path in sorted(files, key=costs.__getitem__) for test in files[path]]


def _part(traced: dict, name: str) -> dict:
    """Return of a trace of many files what is of one of them."""
    start = f"{name}::"
    ours = {
        path: {
            context: lines
            for context, lines in contexts.items()
            if context.startswith(start) or start.startswith(context)
        }
        for path, contexts in traced["lines"].items()
    }
    seconds = {test: t for test, t in traced["seconds"].items() if test.startswith(start)}
    not_passed = [test for test in traced["not_passed"] if test.startswith(start)]
    return {"seconds": seconds, "not_passed": not_passed, "lines": ours}


def _test_files(root: Path, room: str) -> list[Path]:
    return sorted((root / "tests/utils" / room).rglob("test_*.py"))


def _shared(root: Path) -> list[Path]:
    """Return what a test file takes of others."""
    folders = (root / "tests", *(root / "tests").glob("utils"))
    return sorted(each for of in folders for each in of.glob("*.py") if each.stem[:5] != "test_")


def _digest(paths: Iterable[Path], start: str = "") -> str:
    digest = hashlib.sha256(start.encode())
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]
