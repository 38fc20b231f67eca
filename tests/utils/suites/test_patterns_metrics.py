"""`suites/patterns.py`: the metrics of real outputs, and which phases they are of."""

from dataclasses import replace

import pytest

from acceptance.core import words as names
from acceptance.core.errors import ParseError
from acceptance.suites import check_of, patterns, units_of
from acceptance.suites.patterns import parse

AAPC, CUMULATIVE = patterns.BENCHMARKS["aapc"], patterns.BENCHMARKS["cumulative_pairwise"]


def read(recorded, name, file, processes):
    """Return the sizes, the output and the metrics of a recording, which has sizes of its own."""
    output = parse(recorded(f"patterns/{file}"))
    sizes = output.options.sizes or ()
    row = replace(patterns.BENCHMARKS[name], sizes=sizes)
    return sizes, output, patterns.metrics(row, processes, output)


PHASES = {"nearest": (1, 4), "second-phase": (2,), "farthest": (2, 3)}


def test_rates_of_a_group_of_phases_are_those_of_its_streams(recorded):
    sizes, output, found = read(recorded, "simple_pairwise", "simple-pairwise_np5.openmpi.txt", 5)
    rows = {(row.size_B, row.phase): row for row in output.rows}
    size = sizes[-1]
    for stem, column, over in (
        ("bandwidth", "mean_MBps", lambda values: sum(values) / len(values)),
        ("bandwidth_min", "min_MBps", min),
        ("bandwidth_max", "max_MBps", max),
    ):
        for pattern, phases in {
            "nearest": (1, 4),
            "second-phase": (2,),
            "farthest": (2, 3),
        }.items():
            value = over([getattr(rows[size, phase], column) for phase in phases])
            assert found[f"{stem}.pattern.{pattern}_{size}"] == (pytest.approx(value), "MB/s")
        whole = over([getattr(rows[size, phase], column) for phase in range(1, 5)])
        assert found[f"{stem}_{size}"] == (pytest.approx(whole), "MB/s")
    assert len(found) == 3 * 4 * len(sizes)


def test_table_1_has_all_its_columns(recorded):
    _, output, found = read(recorded, "b_eff", "b-eff_np2.impi.txt", 2)
    row = output.rows[-1]
    assert {name: value for name, (value, _) in found.items()} == {
        "b_eff": row.b_eff_MBps,
        "b_eff_per_process": row.per_process_MBps,
        "bandwidth_lmax.pattern.rings+random": row.at_lmax_MBps,
        "bandwidth_lmax_per_process.pattern.rings+random": row.at_lmax_per_process_MBps,
        "bandwidth_lmax.pattern.rings": row.at_lmax_rings_MBps,
        "bandwidth_lmax_per_process.pattern.rings": row.at_lmax_rings_per_process_MBps,
        "bandwidth_pingpong": row.ping_pong_MBps,
        "latency_pingpong": row.latency_us,
    }


def test_each_distance_has_its_latencies_bandwidths_and_peak(recorded):
    sizes, output, found = read(recorded, "distance", "distance_np3.openmpi.txt", 3)
    rows = {(row.size_B, row.distance): row for row in output.rows}
    assert len(found) == 2 * (2 * len(sizes) + 1)
    for distance in (1, 2):
        last = rows[sizes[-1], distance]
        assert found[f"latency.distance.{distance}_{sizes[-1]}"] == (last.latency_us, "us")
        peak = max(rows[size, distance].bandwidth_MBps for size in sizes)
        assert found[f"bandwidth_peak.distance.{distance}"] == (peak, "MB/s")


def test_a_run_of_other_sizes_or_another_pattern_is_refused(recorded):
    output = parse(recorded("patterns/aapc_np2.mpich.txt"))
    with pytest.raises(ParseError, match=r"out: aapc: .*no row of \(131072, 1\)"):
        patterns.metrics(AAPC, 2, output, "out")
    with pytest.raises(ParseError, match=r"no row of \(2,\)"):
        patterns.metrics(patterns.BENCHMARKS["b_eff"], 2, output)


@pytest.mark.parametrize("name", patterns.BENCHMARKS)
def test_each_metric_has_a_stem_that_references_can_name(name):
    row = patterns.BENCHMARKS[name]
    for processes in (2, 3, 4, 33, 512, 1500):
        found = patterns.metrics(row, processes)
        for metric, (value, unit) in found.items():
            stem, _ = names.read_metric(metric)
            assert value is None
            assert check_of(f"patterns.{name}", stem) == "checks/patterns.py"
            assert units_of(f"patterns.{name}")[stem] == unit


@pytest.mark.parametrize("processes", [*range(2, 34), 512, 1025, 3000])
def test_groups_are_the_phases_of_their_distances(processes):
    run = patterns.phases(AAPC, processes)
    assert (run[0], run[-1], len(run)) == (1, processes - 1, min(processes - 1, 511))
    groups = {keys.get("pattern", ""): phases for keys, phases in patterns.groups(AAPC, processes)}
    assert groups.pop("") == run
    assert bool(groups) == (processes > 3)
    if groups:
        assert groups["nearest"] == [1, processes - 1]
        assert {min(p, processes - p) for p in groups["farthest"]} == {processes // 2}
        assert groups.pop("second-phase", [2]) == [2]
        assert sorted(phase for phases in groups.values() for phase in phases) == run


@pytest.mark.parametrize(
    ("processes", "pairs"), [(2, [1]), (3, [1]), (8, [1, 2, 4]), (13, [1, 2, 4, 6])]
)
def test_pairs_that_communicate_at_once_are_1_2_4_and_all(processes, pairs):
    assert [keys["pairs"] for keys, _ in patterns.groups(CUMULATIVE, processes)] == pairs


def test_the_checksum_is_that_of_the_sources_alone(tmp_path):
    (tmp_path / "main.c").write_text("int main(void) {}\n")
    first = patterns.checksum(tmp_path)
    (tmp_path / "main.o").write_text("built")
    assert patterns.checksum(tmp_path) == first
    (tmp_path / "main.c").write_text("int main(void) { }\n")
    assert patterns.checksum(tmp_path) != first
