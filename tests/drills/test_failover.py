"""A drill of fail-over: real messages over two rails a node, one of which is then down."""

import re

import pytest

from acceptance.fabric import Facts, limit
from tests import netns, patterns_program
from tests import stored as results
from tests.needs import skip_for
from tests.netns import DEVICE, NAMES, SECOND

#: Two rails of 1 Gb/s, of which so much is let through that no burst exceeds the limit.
SHAPED = "800mbit"
FACTS = {"technology": "ethernet", "rate": "1", "device": f"{DEVICE},{SECOND}", "mtu": 1500}
ONE = {**FACTS, "device": DEVICE}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    skip_for(netns.why_no_open_mpi())
    with (
        netns.Pair(tmp_path_factory.mktemp("nodes"), rails=2) as pair,
        pair.shaped(SHAPED),
        pair.trained(1000, *NAMES),
    ):
        yield pair


@pytest.fixture(scope="module")
def folder():
    return patterns_program.build("openmpi").parent


def measure(site, pair, folder):
    """Run a case of all pairs over the rails that are up; return it, and ReFrame's output."""
    environment = pair.environment("openmpi", over=pair.subnets)
    environment["features"].append("patterns")
    environment["extras"]["suites"] = {"patterns": str(folder)}
    pair.join(site, environment, fabric=FACTS)
    run = site.reframe("-c", "checks/all_pairs.py", "-r")
    (case,) = results.session(site.database).cases
    return case, run.output


def test_both_rails_carry_a_case(site, pair, folder):
    case, output = measure(site, pair, folder)
    assert case.provenance["rails"].startswith("2 of 2 used"), output
    for node in NAMES:
        for rail in (DEVICE, SECOND):
            assert re.search(rf"{node} {rail} \d{{7,}} bytes", case.provenance["rails"])
    assert not [each for each in case.findings if each.kind in ("rail-idle", "rail-down")]


def test_with_one_rail_down_the_case_runs_says_which_and_whether_the_bandwidth_is_what_is_left(
    site, pair, folder
):
    pair.run("node2", "ip", "link", "set", SECOND, "down")
    case, output = measure(site, pair, folder)
    found = {(each.kind, each.node, each.device): each for each in case.findings if each.fails}
    assert ("rail-down", "node2", SECOND) in found, output
    # That of node1 is up, and not to blame.
    assert not [kind for kind, node, _ in found if kind.startswith("rail-") and node == "node1"]
    assert case.provenance["rails"].startswith("1 of 2 used")
    # All of it was measured, over the other rail.
    assert case.metrics
    told = found["rail-down", "node2", SECOND].text
    assert "(down)" in told
    match = re.search(
        r"; (?P<name>\S+) is (?P<value>\S+) MB/s, (?P<part>\d+) % of the (?P<most>\S+) that "
        r"ethernet 1 Gb/s carries at most .*: (?P<less>less than )?what is left$",
        told,
    )
    assert match, told
    peak = max(each.value for each in case.metrics if each.name == match["name"])
    most = limit(Facts.read(ONE)).bandwidth
    assert float(match["value"]) == pytest.approx(peak, rel=1e-3)
    assert float(match["most"]) == pytest.approx(most, rel=1e-3)
    assert bool(match["less"]) is (peak < 0.65 * most)
