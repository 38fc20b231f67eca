"""What papers have measured with programs that no check runs: metrics and units of each.

A paper with another such program adds its row here; until then its file is refused.
"""

from acceptance.suites.records import Benchmark, Column

#: The codes of SPEC MPI2007, medium suite.
_SPECMPI = (
    *("104.milc", "107.leslie3d", "113.GemsFDTD", "115.fds4", "121.pop2", "122.tachyon"),
    *("126.lammps", "127.wrf2", "128.GAPgeofem", "129.tera_tf", "130.socorro", "132.zeusmp2"),
    "137.lu",
)


def _row(name: str, unit: str, *stems: str) -> Benchmark:
    return Benchmark(name, tuple(Column(stem, stem, unit) for stem in stems))


#: Name in `reference/` -> its metrics.
PUBLISHED = {
    "himeno": _row("himeno", "Gflop/s", "performance"),
    "hardware": Benchmark(
        "hardware",
        (
            Column("cpus_per_node", "cpus_per_node", "1"),
            Column("clock", "clock", "GHz"),
            Column("peak_per_node", "peak_per_node", "Gflop/s"),
        ),
    ),
    **{
        name: _row(name, "s", "time")
        for name in (
            "namd.apoa1",
            *(f"cpmd.{name}" for name in ("c120", "si512", "si512-60")),
            *(f"specmpi.{name}" for name in _SPECMPI),
        )
    },
}
