"""Runs tests in the clone where it stands: an order a line, each in a process of its own.

That is forked from one that has imported what is foreign and nothing of ours: half of a start is
imports. Orders and answers are JSON; an order with `traced` asks which lines each test runs.
"""

import contextlib
import importlib
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import coverage
import pytest

PRELOADED = (
    *("_strptime", "aiosmtpd.controller", "apprise", "argcomplete", "duckdb", "hypothesis"),
    *("jinja2", "jsonschema", "msgspec", "networkx", "numpy", "plotly.graph_objects"),
    *("prometheus_client", "pybtex.database.input.bibtex", "sqlite3", "xdist.scheduler", "yaml"),
)
#: Bytes that tests may take: a fault can have them ask for all that there is.
_MEMORY = 4 * 2**30
OPTIONS = ("-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "--no-header", "--no-summary")


class Chosen:
    """Of the tests that are collected those that are asked for, in their order."""

    def __init__(self, tests):
        self.places = {test: number for number, test in enumerate(tests)}
        self.failed = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        chosen = [item for item in items if item.nodeid in self.places]
        items[:] = sorted(chosen, key=lambda item: self.places[item.nodeid])

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)


class Traced:
    """Which lines of the package each test runs, of those that pass, and its seconds.

    What fixtures of a file or a folder run is told under that path, which begins the names of all
    tests that take them.
    """

    def __init__(self):
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, include=["utils/acceptance/*"]
        )
        self.seconds, self.not_passed, self.now = defaultdict(float), set(), [""]

    @contextlib.contextmanager
    def _named(self, name):
        self.now.append(name)
        self.coverage.switch_context(name)
        try:
            yield
        finally:
            self.now.pop()
            self.coverage.switch_context(self.now[-1])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        with self._named(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        name = self.now[-1] if fixturedef.scope == "function" else request.node.nodeid
        with self._named(name):
            return (yield)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.not_passed.add(report.nodeid)

    def answer(self):
        self.coverage.stop()
        data, root = self.coverage.get_data(), Path.cwd()
        lines = defaultdict(lambda: defaultdict(list))
        for name in data.measured_files():
            relative = str(Path(name).relative_to(root))
            for line, contexts in data.contexts_by_lineno(name).items():
                for context in filter(None, contexts):
                    lines[relative][context].append(line)
        seconds = {test: t for test, t in self.seconds.items() if test not in self.not_passed}
        return {"seconds": seconds, "not_passed": sorted(self.not_passed), "lines": lines}


def run(order):
    """Run the tests of an order; return the answer."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        words = [*OPTIONS, *order["options"], f"--basetemp={folder}/t", *order["files"]]
        if order["traced"]:
            plugin = Traced()
            plugin.coverage.start()
        else:
            plugin = Chosen(order["tests"])
        status = pytest.main(words, plugins=[plugin])
    return plugin.answer() if order["traced"] else {"status": status, "failed": plugin.failed}


def answer(order, log):
    """Carry out an order in a process of its own; return the answer, None if it found no end."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        os.close(read)
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
        with contextlib.suppress(BaseException), open(write, "w") as told:
            told.write(json.dumps(run(order)))
        os._exit(0)
    os.close(write)
    end, parts = time.monotonic() + order["limit"], []
    with open(read, "rb", buffering=0) as told:
        while select.select([told], [], [], max(0, end - time.monotonic()))[0]:
            if not (part := told.read(2**16)):
                break
            parts.append(part)
        else:
            parts = [b"null"]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return b"".join(parts).decode() or '{"status": -1, "failed": ["died"]}'


if __name__ == "__main__":
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with open(sys.argv[1], "a") as log:
        for line in sys.stdin:
            print(answer(json.loads(line), log), flush=True)
