"""The suites: what each of them measures, and how a machine gets one that nothing provides."""

from acceptance.core.paths import CONFIGURED, GET_SPACK, INSTALLED
from acceptance.suites.hpcc import benchmarks as hpcc
from acceptance.suites.imb import benchmarks as imb
from acceptance.suites.npb import benchmarks as npb
from acceptance.suites.osu import benchmarks as osu
from acceptance.suites.patterns import all_pairs
from acceptance.suites.patterns import benchmarks as patterns
from acceptance.suites.published import PUBLISHED
from acceptance.suites.records import Benchmark, Suite

_FOLDER = f"or name the folder of {{}} in the `extras` of an environment in {CONFIGURED}"
_WHEELS = "pip install impi-rt (x86_64)" if INSTALLED else "make setup (Python wheels, x86_64)"
#: How Spack builds a suite on this machine, whose key goes to the end.
_SPACK = f"{GET_SPACK}, then {'run them with' if INSTALLED else 'make run'} ACCEPTANCE_BUILD="

#: Key -> suite.
SUITES = {
    suite.key: suite
    for suite in (
        Suite(
            "imb",
            "Intel MPI Benchmarks",
            ("IMB-MPI1",),
            f"{_WHEELS}, {_FOLDER.format('IMB-MPI1')}",
            {f"imb.{name}": row for name, row in imb.BENCHMARKS.items()},
            further={"nodes": {f"imb.{name}": row for name, row in imb.PAIRS.items()}},
        ),
        Suite(
            "hpcc",
            "HPC Challenge",
            ("hpcc",),
            "Debian: hpcc openmpi-bin; or an MPI and a BLAS (libopenblas-dev), then "
            f"{_SPACK}hpcc; {_FOLDER.format('hpcc')}",
            {"hpcc": hpcc.BENCHMARK},
        ),
        Suite(
            "npb",
            "NAS Parallel Benchmarks",
            # Each number of processes and class may have a program of its own.
            (),
            "an MPI and gfortran (Debian: openmpi-bin libopenmpi-dev gfortran), then "
            f"{_SPACK}npb; {_FOLDER.format('its programs')}",
            {f"npb.{name}": row for name, row in npb.BENCHMARKS.items()},
        ),
        Suite(
            "osu",
            "OSU Micro-Benchmarks",
            tuple(f"osu_{name}" for name in osu.BENCHMARKS),
            f"an MPI (Debian: openmpi-bin libopenmpi-dev), then {_SPACK}osu; "
            f"{_FOLDER.format('its programs')}",
            {f"osu.{name}": row for name, row in osu.BENCHMARKS.items()},
            {"balance": osu.BALANCE},
            averages=True,
        ),
        Suite(
            "patterns",
            "Communication patterns",
            (patterns.PROGRAM,),
            f"a C compiler (Debian: gcc libc6-dev) and an MPI with mpicc ({_WHEELS}; or Debian: "
            f"openmpi-bin libopenmpi-dev), then {'run them' if INSTALLED else 'make run'}",
            {f"patterns.{name}": row for name, row in patterns.BENCHMARKS.items()},
            further={
                "all_pairs": {f"patterns.{name}": row for name, row in all_pairs.BENCHMARKS.items()}
            },
            compiler="mpicc",
        ),
    )
}

#: Check file (its stem) -> name in `reference/` -> benchmark.
_CHECKS = {check: rows for suite in SUITES.values() for check, rows in suite.checks.items()}

_BENCHMARKS = PUBLISHED | {name: row for rows in _CHECKS.values() for name, row in rows.items()}


def suite_of(check: str) -> Suite | None:
    """Return the suite whose programs, or results, a check file (its stem) takes; None: of none."""
    return next((suite for suite in SUITES.values() if check in suite.checks), None)


def find(benchmark: str) -> Benchmark:
    """Return the record of a benchmark of `reference/`.

    Of one that is not known it says nothing: no metrics, and nothing that can be compared.
    """
    return _BENCHMARKS.get(benchmark) or Benchmark(benchmark, ())


def units_of(benchmark: str) -> dict[str, str] | None:
    """Return the units of the metrics of a benchmark of `reference/`, of those without check too.

    None: neither a check nor a paper has such a benchmark.
    """
    record = _BENCHMARKS.get(benchmark)
    if record is None:
        return None
    units = {column.stem: column.unit for column in record.columns}
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
