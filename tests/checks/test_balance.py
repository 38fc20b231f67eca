"""`checks/balance.py` through real ReFrame: ratios of recorded results, and of none."""

import re
import shutil

import pytest

from acceptance.core.paths import ROOT
from tests import stored as results

LATENCY = "osu/osu_latency.openmpi.txt"
CHECKS = ("-c", "checks/osu.py", "-c", "checks/balance.py")
SIZES = [2**n for n in range(23)]


def slower(output, factor):
    """Return an output whose values are this many times as large, in the same columns."""

    def row(found):
        return f"{found[1]}{float(found[2]) * factor:{len(found[2])}.2f}"

    return re.sub(r"^(\d+)( +\d+\.\d+)$", row, output, flags=re.MULTILINE)


def values_of(output):
    rows = re.findall(r"^(\d+)\s+(\d+\.\d+)$", output, flags=re.MULTILINE)
    return {int(size): float(value) for size, value in rows}


def replay(site, inside, outside, *, nodes=2, program="osu_latency"):
    """Make a site whose program prints one output inside a node, and then another one."""
    script = site.replay(inside, program, "osu")
    (site.folder / "outside.txt").write_text(outside)
    script.write_text(
        f"#!/bin/sh\ncd {site.folder}; echo run >> runs.txt\n"
        'case "$(wc -l < runs.txt)" in 1) cat output.txt;; *) cat outside.txt;; esac\n'
    )
    path = site.folder / "site.py"
    path.write_text(path.read_text().replace('"nodes": 2', f'"nodes": {nodes}'))
    site.launch_replay()
    return script


def run(site, *options, benchmark="latency", over="inter-node", **environment):
    name = f"CommunicationBalance%benchmark={benchmark}%.*%over={over}"
    return site.reframe(*CHECKS, "-r", "-n", name, "-S", "validate=no", *options, **environment)


def cases(site):
    return {case.name.split()[0]: case for case in results.session(site.database).cases}


def balance(site):
    return cases(site)["CommunicationBalance"]


@pytest.mark.parametrize(
    ("nodes", "over", "other"), [(2, "inter-node", "OsuBenchmark"), (1, "loopback", "OsuLoopback")]
)
def test_a_ratio_is_what_is_inside_over_what_is_outside(site, recorded, nodes, over, other):
    inside, outside = recorded(LATENCY), slower(recorded(LATENCY), 8)
    replay(site, inside, outside, nodes=nodes)
    done = run(site, over=over)
    assert done.status == 0, done.output
    found = balance(site)
    above, below = values_of(inside), values_of(outside)
    assert {metric.name: metric.value for metric in found.metrics} == {
        f"ratio_{size}": pytest.approx(above[size] / below[size]) for size in SIZES
    }
    assert {metric.unit for metric in found.metrics} == {"1"}
    assert found.declared == {f"ratio_{size}": "1" for size in SIZES}
    assert found.benchmark == "cbr.latency"
    assert f"%over={over}" in found.name
    assert found.provenance["suite"] == "OSU 7.4"
    assert {*cases(site)} == {"CommunicationBalance", "OsuBenchmark", other}


def test_the_loopback_is_in_the_keys_of_a_ratio_over_it(site, recorded):
    replay(site, recorded(LATENCY), recorded(LATENCY), nodes=1)
    assert run(site, over="loopback").status == 0
    assert balance(site).keys == {"np": "2", "placement": "intra-node", "intranode": "loopback"}


@pytest.mark.parametrize(("factor", "status"), [(2, 0), (2.2, 0), (3, 1), (1.5, 1)])
def test_a_baseline_judges_a_ratio_on_both_sides(site, recorded, factor, status):
    folder = site.folder / "reference"
    shutil.copytree(ROOT / "reference", folder)
    (folder / "sites").mkdir(exist_ok=True)
    (folder / "sites/replay.csv").write_text(
        "where,system,partition,benchmark,metric,parameters,relation,value,unit,printed,note\n"
        "session of 2026-11-20,replay,default,cbr.latency,ratio,"
        "np=2;message_size=4194304;placement=intra-node,=,0.5,1,0.5,\n"
    )
    replay(site, recorded(LATENCY), slower(recorded(LATENCY), factor))
    done = run(site, ACCEPTANCE_REFERENCE=str(folder))
    assert done.status == status, done.output
    found = {metric.name: metric for metric in balance(site).metrics}["ratio_4194304"]
    assert found.judged_by == "baseline replay, session of 2026-11-20"
    assert found.passed == (status == 0)


def test_nothing_is_measured_twice(site, recorded):
    replay(site, recorded(LATENCY), slower(recorded(LATENCY), 2))
    name = "%benchmark=latency"
    done = site.reframe(*CHECKS, "-r", "-n", name, "-S", "validate=no")
    assert done.status == 0, done.output
    assert (site.folder / "runs.txt").read_text().splitlines() == ["run", "run"]
    status, verdict = site.gate()
    assert (status, verdict["ran"]) == (0, 3)


def test_bandwidths_are_divided_in_the_same_way_and_peaks_are_not(site, recorded):
    text = recorded("osu/osu_mbw_mr.openmpi.v7.2.txt")
    replay(site, text, text, program="osu_mbw_mr")
    done = run(site, "-S", "sizes=1:64", benchmark="mbw_mr")
    assert done.status == 0, done.output
    found = balance(site)
    assert [metric.name for metric in found.metrics] == [f"ratio_{2**n}" for n in range(7)]
    assert {metric.value for metric in found.metrics} == {1.0}
    assert found.benchmark == "cbr.mbw"
    assert found.keys == {"np": "2", "placement": "intra-node", "pairs": "1", "buffers": "same"}


@pytest.mark.parametrize("broken", ["inside", "outside"])
def test_there_is_no_ratio_of_a_case_that_failed(site, recorded, broken):
    text = recorded(LATENCY)
    zero = re.sub(r"^(1024\s+)\S+$", r"\g<1>0.00", text, flags=re.MULTILINE)
    assert zero != text
    replay(site, *((zero, text) if broken == "inside" else (text, zero)))
    assert run(site).status == 1
    assert balance(site).result == "fail_deps"
    assert balance(site).metrics == ()
    status, verdict = site.gate()
    assert status == 1
    messages = [problem["text"] for problem in verdict["problems"]]
    assert any("latency is zero" in message for message in messages)
    assert any("1 cases not run, since what they need failed" in message for message in messages)


def test_sweeps_of_other_sizes_make_no_ratio(site, recorded):
    text = recorded(LATENCY)
    short = "".join(re.split(r"^(?=2097152)", text, flags=re.MULTILINE)[:1])
    replay(site, text, short, nodes=1)
    done = run(site, "-S", "OsuLoopback.sizes=1:1048576", over="loopback")
    assert done.status == 1
    _, verdict = site.gate()
    assert "metrics missing: ratio_2097152, ratio_4194304" in verdict["problems"][0]["text"]


def test_without_the_results_that_it_divides_nothing_is_green(site, recorded):
    replay(site, recorded(LATENCY), recorded(LATENCY))
    done = site.reframe("-c", "checks/balance.py", "-r")
    assert "could not resolve dependency" in done.output + done.errors
    status, verdict = site.gate()
    assert status == 1
    kinds = {problem["kind"] for problem in verdict["problems"]}
    assert {"lost", "no-cases"} <= kinds


def test_an_mpi_without_a_way_through_the_loopback_has_no_ratio_over_it(site, recorded):
    replay(site, recorded(LATENCY), recorded(LATENCY), nodes=1)
    path = site.folder / "site.py"
    path.write_text(path.read_text().replace("['osu']", "['osu', 'no-loopback']"))
    listed = site.reframe(*CHECKS, "-l").output
    assert "OsuBenchmark" in listed
    assert "OsuLoopback" not in listed
    assert "CommunicationBalance" not in listed


def test_ratios_have_no_more_processes_than_both_sides(site, recorded):
    replay(site, recorded(LATENCY), recorded(LATENCY), nodes=4)
    path = site.folder / "site.py"
    path.write_text(path.read_text().replace('"cores": 2', '"cores": 4'))
    listed = site.reframe(*CHECKS, "-l").output
    pattern = r"CommunicationBalance %benchmark=(\S+) %np=(\d+) %placement=(\S+) %over=(\S+)"
    assert set(re.findall(pattern, listed)) == {
        *((name, "2", "intra-node", "inter-node") for name in ("latency", "bw", "bibw")),
        *(("mbw_mr", np, "intra-node", "inter-node") for np in "24"),
    }
