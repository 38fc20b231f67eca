"""The suites: the modules of this folder that have a `SUITE`."""

import importlib
import pkgutil
import re

from acceptance import suites
from acceptance.suites.paper_only import PUBLISHED
from acceptance.suites.records import Benchmark, Suite


def _collected() -> dict[str, Suite]:
    names = (module.name for module in pkgutil.iter_modules(suites.__path__))
    modules = [importlib.import_module(f"{suites.__name__}.{name}") for name in sorted(names)]
    found: list[Suite] = [module.SUITE for module in modules if hasattr(module, "SUITE")]
    return {suite.key: suite for suite in found}


#: Key -> suite.
SUITES = _collected()

#: Check file (its stem) -> name in `reference/` -> benchmark.
_CHECKS = {check: rows for suite in SUITES.values() for check, rows in suite.checks.items()}

_BENCHMARKS = PUBLISHED | {name: row for rows in _CHECKS.values() for name, row in rows.items()}


def class_of(benchmark: str) -> str:
    """Return the name of a class of checks that is called as a benchmark: `osu_latency`."""
    return re.sub(r"\W", "_", benchmark)


#: Name of a class -> the benchmark that it is called as.
_CLASSES = {class_of(name): name for name in _BENCHMARKS}


def of_class(name: str) -> str:
    """Return the benchmark that a class is called as; the name itself where there is none."""
    return _CLASSES.get(name, name)


def suite_of(check: str) -> Suite | None:
    """Return the suite whose programs, or results, a check file (its stem) takes; None: of none."""
    return next((suite for suite in SUITES.values() if check in suite.checks), None)


def find(benchmark: str) -> Benchmark:
    """Return the record of a benchmark of `reference/`.

    Of one that is not known it says nothing: no metrics, nothing that can be compared, and no mode
    leaves it out.
    """
    return _BENCHMARKS.get(benchmark) or Benchmark(benchmark, (), since_mode="smoke")


def units_of(benchmark: str) -> dict[str, str] | None:
    """Return the units of the metrics of a benchmark of `reference/`, of those without check too.

    None: neither a check nor a paper has such a benchmark.
    """
    record = _BENCHMARKS.get(benchmark)
    if record is None:
        return None
    units = {column.stem: column.unit for column in (*record.columns, *record.percentiles)}
    return {stem: units.get(stem) or units["bandwidth"] for stem in record.stems}


def check_of(benchmark: str, metric: str) -> str | None:
    """Return the file of the check that produces a metric of `reference/`; None if none does."""
    for check, rows in _CHECKS.items():
        if benchmark in rows and metric in rows[benchmark].stems:
            return f"checks/{check}.py"
    return None


def has_check(benchmark: str) -> bool:
    """Tell whether any check runs a benchmark of `reference/`."""
    return any(benchmark in rows for rows in _CHECKS.values())
