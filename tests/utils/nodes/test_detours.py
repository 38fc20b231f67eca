"""`nodes/detours.py`: who made a message late, by made runs of which that is known."""

import pytest

from acceptance.nodes import Causes
from acceptance.nodes.detours import NETWORK as BY_NETWORK
from acceptance.nodes.detours import UNEXPLAINED, clock_of, lower
from acceptance.suites.detours import Measured
from tests.made_detours import NETWORK, RECEIVER, SENDER, WAY, text

#: What happens to a message -> who is named.
CAUSES = {
    ((0, SENDER, 300.0),): "node1",
    ((0, RECEIVER, 300.0),): "node2",
    ((1, SENDER, 300.0),): "node2",
    ((1, RECEIVER, 300.0),): "node1",
    ((0, NETWORK, 300.0),): BY_NETWORK,
    ((1, NETWORK, 300.0),): BY_NETWORK,
    # A message that was late anyway, by more than its receiver was away.
    ((0, NETWORK, 300.0), (0, RECEIVER, 30.0)): BY_NETWORK,
    ((0, NETWORK, 150.0), (0, RECEIVER, 150.0)): UNEXPLAINED,
    ((1, SENDER, 150.0), (1, NETWORK, 150.0)): UNEXPLAINED,
}


def causes(*late, **how):
    return Causes.of(Measured(text(late, **how)))


@pytest.mark.parametrize("events", CAUSES)
@pytest.mark.parametrize("drift", [0.0, 60e-6])
def test_who_made_a_message_late_is_named(events, drift):
    found = causes(*[events] * 30, drift=drift)
    assert found.shares == {CAUSES[events]: 1.0}
    (tail,) = found.tails
    assert len(tail.late) == 30
    for late in tail.late:
        assert late.sender + late.network + late.receiver == pytest.approx(late.excess)
        assert late.excess == pytest.approx(sum(us for *_, us in events), abs=1)


def test_both_messages_of_an_exchange_may_be_late():
    found = causes(*[((0, RECEIVER, 200.0), (1, NETWORK, 100.0))] * 10)
    assert found.shares == {"node2": 0.5, BY_NETWORK: 0.5}


def test_the_second_clock_is_followed_as_it_runs_away():
    measured = Measured(text(drift=40e-6, ahead=5e5))
    clock = clock_of(measured.of(next(iter(measured.pairs)), "fastest"))
    assert clock.drift == pytest.approx(40e-6, abs=2e-6)
    assert clock.ahead_at(1e5) == pytest.approx(5e5 + 4, abs=0.5)
    assert clock.scatter < 0.2
    assert clock.half == pytest.approx(WAY, abs=1.5)


def test_what_clocks_are_apart_by_is_given_to_nobody():
    late, lines = [((0, RECEIVER, 12.0), (1, NETWORK, 12.0))] * 5, []
    for number, line in enumerate(text(late).splitlines(keepends=True)):
        if '"fastest"' in line and number % 2:
            # A clock that was set while it was measured.
            head, _, stamps = line.rpartition("[")
            moved = [int(each) + 30000 for each in stamps.rstrip("]}\n").split(",")]
            line = f"{head}[{','.join(map(str, moved))}]}}\n"
        lines.append(line)
    assert causes(*late).shares.keys() == {"node2", BY_NETWORK}
    assert Causes.of(Measured("".join(lines))).shares == {UNEXPLAINED: 1.0}


def test_a_node_that_makes_most_messages_late_is_a_finding():
    noisy = [((0, RECEIVER, 300.0),)] * 90
    (finding,) = causes(*noisy, *[((1, NETWORK, 300.0),)] * 10, waited=3000.0).findings()
    assert (finding.kind, finding.nodes, finding.fails) == ("node-noisy", ("node2",), False)
    assert finding.text.startswith(
        "node2, with node1: it made 90 of 100 late messages late (2.25% of all), by 3"
    )
    assert "CPU 1 was away 0.90% of its time, up to 900 us at once" in finding.text
    assert "since other processes had it (2 times)" in finding.text


@pytest.mark.parametrize(
    ("waited", "words"),
    [(None, "Linux does not tell who had it"), (0.0, "interrupts, the firmware or a hypervisor")],
)
def test_who_had_the_core_is_told_as_far_as_linux_tells(waited, words):
    (finding,) = causes(*[((0, SENDER, 300.0),)] * 50, waited=waited).findings()
    assert finding.nodes == ("node1",)
    assert words in finding.text


def test_the_network_that_makes_most_messages_late_is_a_finding_of_no_node():
    (finding,) = causes(*[((0, NETWORK, 300.0),), ((1, NETWORK, 300.0),)] * 20).findings()
    assert (finding.kind, finding.nodes) == ("network-late", ())
    assert "40 of 40 late messages late" in finding.text


@pytest.mark.parametrize(
    "late",
    [
        [],
        # Too few, and nodes that are alike.
        [((0, RECEIVER, 300.0),)] * 12,
        [((0, RECEIVER, 300.0),), ((1, RECEIVER, 300.0),)] * 50,
        # 32 of 40 could be less than two thirds.
        [*[((0, RECEIVER, 300.0),)] * 29, *[((1, NETWORK, 300.0),)] * 11],
    ],
)
def test_what_does_not_stand_out_is_no_finding(late):
    found = causes(*late)
    assert [*found.findings()] == []
    assert ("none of 2000 exchanges was late" in found.text()) == (not late)


def test_metrics_are_never_zero_and_shares_add_up():
    nothing = causes().metrics()
    assert all(value > 0 for value, _ in nothing.values())
    values = causes(*[((0, RECEIVER, 300.0),), ((0, NETWORK, 300.0),)] * 20).metrics()
    shares = [values[name][0] for name in ("late_by_nodes", "late_by_network")]
    assert shares == [0.5, 0.5]
    assert values["detours"] == (20.0, "1")
    assert values["detours_lost_max"] == (9005.0, "us")
    assert values["latency_8"][0] == pytest.approx(WAY, abs=1)


def test_more_late_messages_than_are_written_count_as_many():
    found = causes(*[((0, RECEIVER, 300.0),)] * 500, usual=10000)
    (tail,) = found.tails
    assert (tail.pair.slow, len(tail.late)) == (500, 200)
    assert tail.weight == 2.5
    assert "late messages late (2.50% of all)" in next(found.findings()).text


def test_two_ranks_of_one_node_are_told_apart():
    found = causes(*[((0, RECEIVER, 300.0),)] * 30, nodes=("node1", "node1"))
    assert found.shares == {"node1 (rank 1)": 1.0}
    (finding,) = found.findings({"node1": "osnoise: backup"})
    assert finding.nodes == ("node1",)
    assert finding.text.startswith("node1 (rank 1), with node1 (rank 0): ")
    assert finding.text.endswith("; its kernel: osnoise: backup")


def test_the_interval_of_a_share_is_wilsons():
    # By hand: (p + z^2/2n - z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), z = 1.96.
    assert lower(8, 10) == pytest.approx(0.4902, abs=1e-4)
    assert lower(90, 100) == pytest.approx(0.8256, abs=1e-4)
