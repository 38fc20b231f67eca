"""`checks/loaded.py` on nodes in namespaces, with a program that prints what was made."""

import pytest

from acceptance.suites import check_of, loaded
from tests import made_loaded, netns
from tests import stored as results
from tests.made_loaded import TIMES
from tests.needs import skip_for

FOUR = ("node1", "node2", "node3", "node4")
PROGRAM = """\
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0
echo "$@" > {folder}/asked
cat {folder}/made.txt
"""


def times(load, quantity, *_):
    """Return times of which incast makes three."""
    return [TIMES[quantity] * (3 if load == "incast" else 1)] * 20


@pytest.fixture(scope="module")
def four_nodes(tmp_path_factory):
    skip_for(netns.why_no_open_mpi())
    with netns.Pair(tmp_path_factory.mktemp("loaded"), FOUR) as pair:
        yield pair


def measure(site, four_nodes, made, *options):
    """Run the case on what was made; return it, and what ReFrame printed."""
    folder = site.folder / "program"
    folder.mkdir()
    (folder / "made.txt").write_text(made)
    (folder / "patterns").write_text(PROGRAM.format(folder=folder))
    (folder / "patterns").chmod(0o755)
    environment = four_nodes.environment("openmpi")
    environment["features"].append("patterns")
    environment["extras"]["suites"] = {"patterns": str(folder)}
    # This program sends nothing, so that no device can have carried it.
    four_nodes.join(site, environment, fabric={"technology": "ethernet"})
    run = site.reframe("-c", "checks/loaded.py", "-r", *options)
    cases = results.session(site.database).cases
    assert cases, run.output
    return cases[0], folder


def test_what_load_does_is_measured_stored_and_shown(site, four_nodes):
    made = made_loaded.text(nodes=4, names=[*FOUR], times=times)
    case, folder = measure(site, four_nodes, made)
    assert case.result == "pass", case.fail_reason
    asked = (folder / "asked").read_text().split()
    assert asked == ["loaded", "--cycles", "4", "--time", "5", "--share", "0.5",
                     "--bytes", "131072", "--ranks", "1"]  # fmt: skip
    values = {metric.name: metric.value for metric in case.metrics}
    assert values["latency_factor.pattern.incast_8"] == pytest.approx(3)
    assert values["latency_factor.pattern.nothing_8"] == pytest.approx(1)
    # 320 messages: no percentile is known.
    assert {*values} == {
        n for n in loaded.asked() if not any(p in n for p in ("_p9", "_p1", "_p0"))
    }
    assert "P99 requires 1000 messages" in case.provenance["not known"]
    assert case.provenance["load"].startswith("2 victims beside 2 aggressors (incast 1000 MB/s")
    assert (case.keys["np"], case.keys["nodes"], case.keys.get("share")) == ("4", "4", None)
    assert check_of("patterns.loaded", "latency_p99_factor") == "checks/loaded.py"
    assert case.loaded["unrouted"] == "routes are read of InfiniBand only"
    status, verdict = site.gate()
    assert (status, verdict["problems"]) == (0, [])
    site.acceptance("report", "-o", str(site.folder / "web"))
    (page,) = (site.folder / "web/sessions").glob("*-*.html")
    text = page.read_text()
    assert "<h3>Under load</h3>" in text
    assert "<td>incast</td><td>latency</td>" in text
    assert "<td>3.00</td>" in text
    assert "who suffers cannot be told of fewer than 4 cycles, or 4 victims" in text
    assert "no leaf and no uplink is named: routes are read of InfiniBand only" in text


def test_an_output_that_is_cut_fails_the_case_with_its_line(site, four_nodes):
    made = made_loaded.text(nodes=4, names=[*FOUR], times=times)
    case, _ = measure(site, four_nodes, made[: made.index('{"type":"end"}')])
    assert case.result == "fail"
    assert "the output ends without its end: the program did not finish" in case.fail_reason


def test_more_ranks_than_a_node_has_cores_are_refused(site, four_nodes):
    case, folder = measure(site, four_nodes, "", "-S", "Loaded.per_node=5000")
    assert case.result == "fail"
    assert "patterns.loaded: 5000 processes on a node of" in case.fail_reason
    assert not (folder / "asked").exists()
