"""The suites: what each of them measures, and how a machine gets one that nothing provides."""

from collections.abc import Mapping
from dataclasses import dataclass

from acceptance.suites.hpcc import benchmarks as hpcc
from acceptance.suites.imb import benchmarks as imb
from acceptance.suites.npb import benchmarks as npb
from acceptance.suites.osu import benchmarks as osu


@dataclass(frozen=True)
class Suite:
    """A benchmark suite.

    `key` is the feature that environments name and the stem of the check's file. `programs` are
    those that the checks run, where these are always the same. `metrics` is benchmark -> stems of
    its metrics.
    """

    key: str
    title: str
    programs: tuple[str, ...]
    how_to_get: str
    metrics: Mapping[str, tuple[str, ...]]


SUITES = {
    suite.key: suite
    for suite in (
        Suite(
            "imb",
            "Intel MPI Benchmarks",
            ("IMB-MPI1",),
            "make setup (Python wheels, x86_64), or name the folder of IMB-MPI1 in the `extras` of "
            "an environment in config/systems/",
            {f"imb.{name}": imb.stems(name) for name in imb.BENCHMARKS},
        ),
        Suite(
            "hpcc",
            "HPC Challenge",
            ("hpcc",),
            "Debian: hpcc openmpi-bin; or an MPI and a BLAS (libopenblas-dev), then make spack, "
            "then make run; or name the folder of hpcc in the `extras` of an environment in "
            "config/systems/",
            {"hpcc": hpcc.stems()},
        ),
        Suite(
            "npb",
            "NAS Parallel Benchmarks",
            # Each number of processes and class may have a program of its own.
            (),
            "an MPI and gfortran (Debian: openmpi-bin libopenmpi-dev gfortran), then make spack, "
            "then make run; or name the folder of its programs in the `extras` of an environment "
            "in config/systems/",
            {f"npb.{name}": tuple(column.stem for column in npb.METRICS) for name in npb.NAMES},
        ),
        Suite(
            "osu",
            "OSU Micro-Benchmarks",
            tuple(f"osu_{name}" for name in osu.BENCHMARKS),
            "an MPI (Debian: openmpi-bin libopenmpi-dev), then make spack, then make run; or name "
            "the folder of its programs in the `extras` of an environment in config/systems/",
            {f"osu.{name}": osu.stems(name) for name in osu.BENCHMARKS},
        ),
    )
}


#: Check files that measure nothing themselves -> the suite whose results they take.
DERIVED = {"balance": "osu"}


def check_of(benchmark: str, metric: str) -> str | None:
    """Return the file of the check that produces a metric of `reference/`; None if none does."""
    for suite in SUITES.values():
        if metric in suite.metrics.get(benchmark, ()):
            return f"checks/{suite.key}.py"
    return None


def has_check(benchmark: str) -> bool:
    """Tell whether any check runs a benchmark of `reference/`."""
    return any(benchmark in suite.metrics for suite in SUITES.values())
