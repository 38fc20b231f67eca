"""What counters, medians and facts say of a made fabric, beside the faults of `test_faults`."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from acceptance.core import state_files
from acceptance.core.findings import Finding
from acceptance.fabric import Facts, kinds, outputs, stored, view
from acceptance.fabric import seen as seeing
from acceptance.fabric.errors import limit
from acceptance.machine import SchedulerFault
from tests.utils.fabric import faults as those

FOUND, _ = those.made(those.small())
KNOWN = those.accepted(FOUND)
LINK = next(link for link in FOUND.links if all("248a" in end.guid for end in link.ends))
END = LINK.ends[0]
HOUR = 3600.0


def seen(errors, before=None, *, hours=1.0, found=FOUND, known=KNOWN, away=None):
    kept = None if before is None else stored.kept_of(before)
    state = stored.State(0.0 if before is None else 1e9, kept)
    told, kept = view.judge(
        found, errors, hosts=view.Hosts({}, those.HDR, away or {}), accepted=known, before=state,
        now=1e9 + hours * HOUR,
    )  # fmt: skip
    return told, kept


def words(told):
    return [each.kind.removeprefix("fabric-") for each in told]


def test_of_a_node_only_the_adapters_that_are_declared_have_facts():
    declared = Facts.read({"technology": "infiniband", "rate": "HDR", "device": "mlx5_0/1,mlx5_2"})
    hosts = view.Hosts({"node1": declared}, None)
    assert hosts.rate("node1", "node1 mlx5_0") == hosts.rate("node1", "node1 mlx5_2")
    assert hosts.rate("node1", "node1 mlx5_0") == hosts.rate("node1", "node1") == declared.port_rate
    assert hosts.rate("node1", "node1 mlx5_1") is None
    assert hosts.rate("node2", "node2 mlx5_0") is None
    assert view.Hosts({}, declared).rate("node2", "node2 mlx5_0") == declared.port_rate


@pytest.mark.parametrize(
    ("before", "now", "hours", "expected"),
    [
        ({}, {"SymbolErrorCounter": 700}, 1, ["standing"]),  # 765 an hour are allowed
        ({}, {"SymbolErrorCounter": 900}, 1, ["errors"]),
        ({}, {"SymbolErrorCounter": 900}, 2, ["standing"]),
        ({}, {"SymbolErrorCounter": 10}, 0, ["standing"]),
        ({}, {"SymbolErrorCounter": 11}, 0, ["errors"]),
        ({"SymbolErrorCounter": 500}, {"SymbolErrorCounter": 500}, 1, ["standing"]),
        ({"SymbolErrorCounter": 500}, {"SymbolErrorCounter": 20}, 1, ["standing", "reset"]),
        ({"SymbolErrorCounter": 5000}, {"SymbolErrorCounter": 4000}, 1, ["errors", "reset"]),
        ({"SymbolErrorCounter": 500}, {}, 1, ["reset"]),
        ({"SymbolErrorCounter": 65535}, {"SymbolErrorCounter": 65535}, 1, ["standing"]),
        ({"LinkDownedCounter": 7}, {"LinkDownedCounter": 8}, 24, ["errors"]),
        ({"PortXmitDiscards": 0}, {"PortXmitDiscards": 101}, 24, ["errors"]),
        ({"PortXmitWait": 5}, {"PortXmitWait": 500000}, 24, ["congestion"]),
        ({}, {"PortRcvSwitchRelayErrors": 500}, 1, []),  # multicast of its own makes these
    ],
)
def test_a_counter_is_judged_by_its_growth(before, now, hours, expected):
    told, _ = seen({END: now}, {END: before}, hours=hours)
    assert words(told) == expected
    for each in told:
        if each.kind == kinds.ERRORS:
            assert those.named([each]) == [("errors", FOUND.link_text(LINK))]


def test_a_full_counter_is_said_to_be_full():
    (told,), _ = seen({END: {"LinkDownedCounter": 255}}, {END: {"LinkDownedCounter": 255}})
    assert "255, where it stops counting" in told.text
    for last, full in ((255, " (and full)"), (254, "")):
        told, _ = seen({END: {"LinkDownedCounter": last}}, {END: {"LinkDownedCounter": 100}})
        assert f"LinkDownedCounter +{last - 100}{full} in 1.0 h" in told[0].text


def test_a_host_may_go_down_with_its_node():
    link = next(link for link in FOUND.links if "9803" in link.ends[1].guid)
    told, _ = seen({link.ends[0]: {"LinkDownedCounter": 2}}, {})
    assert words(told) == ["standing"]


def test_many_standing_counters_are_few_lines():
    standing = {link.ends[0]: {"LinkDownedCounter": 1} for link in FOUND.links}
    told, _ = seen(standing, standing)
    assert len(told) == 11
    assert "22 ports more stand above 0" in told[-1].text


def test_the_limit_is_the_bit_error_rate_at_the_rate_of_the_link():
    most, why = limit("SymbolErrorCounter", LINK, 100.0, of_host=False)
    # 4 lanes of 53.125 Gb/s, 3600 s, 1e-12; three standard deviations of that many.
    assert most == pytest.approx(76500 + 3 * 76500**0.5)
    assert "765 an hour (a bit error rate of 1e-12)" in why


def test_without_counters_those_of_the_last_reading_stay():
    _, kept = seen(None, {END: {"LinkDownedCounter": 7}})
    assert (kept.time, kept.counters) == (1e9, {str(END): {"LinkDownedCounter": 7}})


def test_a_state_is_kept_and_read_back(tmp_path):
    var, errors = tmp_path, {END: {"LinkDownedCounter": 7, "PortRcvSwitchRelayErrors": 3}}
    _, kept = seen(errors, {}, known=None)
    path = stored.state_path(var, "made")
    state_files.write(path, kept)
    again = stored.read_state(path)
    assert again.counters == {str(END): {"LinkDownedCounter": 7}}
    assert (again.time, again.since) == (kept.time, kept.since)
    assert stored.read_state(tmp_path / "none").counters is None


def test_a_port_that_did_not_answer_once_has_neither_counted_anew_nor_grown(tmp_path):
    workspace = SimpleNamespace(var=tmp_path, reference=tmp_path)
    silent = (Finding("half", "1 question of counters got no answer", True, (), "ibqueryerrors"),)
    counted = {END: {"LinkDownedCounter": 7}}
    found = []
    for number, (counters, faults) in enumerate([(counted, ()), ({}, silent), (counted, ())]):
        reading = outputs.Reading(tmp_path, FOUND, counters, faults=faults, end=10**9 + number)
        told = seeing.judge_readings([reading], "made", view.Hosts({}, those.HDR), workspace)
        state_files.write(stored.state_path(tmp_path, "made"), told.state)
        found.append([each for each in words(told.deviations) if each != "not-judged"])
    assert found == [["standing"], [], ["standing"]]


def test_since_when_is_the_first_reading_that_showed_it():
    found, _ = those.made(*those.spoilt(those.small, [those.faults(those.small())["width"]]))
    (first,), kept = seen({}, {}, found=found)
    assert "since" not in first.text
    (second,), later = view.judge(
        found, {}, hosts=view.Hosts({}, those.HDR), accepted=KNOWN, before=kept, now=1e9 + 9e6
    )
    assert f"(since {stored.stamp(kept.time)[:10]})" in second.text
    assert later.since == kept.since
    (), gone = view.judge(
        FOUND, {}, hosts=view.Hosts({}, those.HDR), accepted=KNOWN, before=later, now=1e9 + 9.1e6
    )
    assert gone.since == {}


def test_a_lost_link_of_a_node_that_is_not_up_is_a_note():
    found = replace(FOUND, links=tuple(
        link for link in FOUND.links if FOUND.node_of.get(link.ends[1].guid) != "node0005"
    ))  # fmt: skip
    (lost,), _ = seen({}, {}, found=found)
    assert (lost.kind, lost.node, lost.fails) == (kinds.LOST, "node0005", True)
    (away,), _ = seen({}, {}, found=found, away={"node0005": "node0005 is drained (fan)"})
    assert (away.kind, away.fails) == (kinds.AWAY, False)
    assert "node0005 is drained (fan)" in away.text


def test_a_faster_link_than_accepted_is_told_and_fails_nothing():
    slow = replace(LINK, speed="EDR")
    old = replace(FOUND, links=tuple(slow if link == LINK else link for link in FOUND.links))
    (told,), _ = seen({}, {}, known=those.accepted(old))
    assert (told.kind, told.fails) == (kinds.FASTER, False)


def older(spine):
    tree = those.small()
    for end, (_, _) in list(tree.cables.items()):
        if end[0] == spine:
            tree.train(end, "4xEDR")
    return those.made(tree)[0]


def test_a_switch_that_is_slower_on_all_of_its_links_may_be_an_older_one():
    told, _ = seen({}, {}, found=older("spine02"), known=None)
    assert words(told) == ["older", "not-judged"]
    assert told[0].device == "spine02"
    told, _ = seen({}, {}, found=older("spine02"))  # what was accepted knows better
    assert words([each for each in told if each.fails]) == ["speed"] * 4


def test_hosts_of_no_partition_are_compared_with_what_was_accepted_only():
    tree = those.small()
    tree.train(("node0001", 1), "4xEDR")
    found, _ = those.made(tree)
    of_partition = {f"node{number:04}": those.HDR for number in range(2, 17)}
    told, _ = view.judge(
        found, {}, hosts=view.Hosts(of_partition), accepted=None, before=stored.State(1e9, {}),
        now=1e9,
    )  # fmt: skip
    assert those.named(told) == []
    assert "1 link of hosts that belong to no partition" in told[0].text


def test_hosts_of_a_scheduler_that_does_not_answer_are_said_to_be_judged_by_no_facts(monkeypatch):
    def silent(*_):
        raise SchedulerFault("sinfo: Unable to contact slurm controller")

    monkeypatch.setattr(seeing, "nodes_of", silent)
    hosts = seeing.hosts_of([(those.HDR, "slurm", ())])
    told, _ = view.judge(
        FOUND, {}, hosts=hosts, accepted=KNOWN, before=stored.State(1e9, {}), now=1e9
    )
    (said,) = told
    assert (said.kind, said.fails) == (kinds.NOT_JUDGED, False)
    assert said.text.endswith("the facts of a partition: sinfo: Unable to contact slurm controller")


def test_an_adapter_that_the_facts_do_not_declare_is_not_judged_by_them():
    facts = Facts.read({"technology": "infiniband", "rate": "HDR", "device": "mlx5_1"})
    hosts = view.Hosts({"node0001": facts})
    assert hosts.rate("node0001", "node0001 mlx5_0") is None
    assert hosts.rate("node0001", "node0001 mlx5_1") == facts.port_rate


def test_hosts_without_facts_are_compared_with_each_other():
    tree = those.small()
    tree.train(("node0001", 1), "1xHDR")
    told, _ = view.judge(
        those.made(tree)[0], {}, hosts=view.Hosts({}), accepted=None, before=stored.State(1e9, {}),
        now=1e9,
    )  # fmt: skip
    assert those.named(told) == [("width", "node0001[1] - leaf01[1]")]


def test_a_leaf_with_fewer_uplinks_is_named_where_nothing_was_accepted():
    tree = those.small()
    tree.unplug(("leaf02", 5))
    found, _ = those.made(tree)
    told, _ = seen({}, {}, found=found, known=None)
    assert those.named(told) == [("uplinks", "leaf02")]
    told, _ = seen({}, {}, found=found)  # the lost cable says it
    assert words(told) == ["lost"]
    told, _ = seen({}, {}, found=found, known=those.accepted(found))
    assert told == []


def test_a_fault_at_a_leaf_whose_name_ends_alike_explains_no_missing_uplink():
    tree = those.small()
    tree.names["leaf01"] = "rack2-leaf02"
    tree.train(("leaf01", 5), "1xHDR")
    tree.unplug(("leaf02", 5))
    told, _ = seen({}, {}, found=those.made(tree)[0], known=None)
    assert those.named(told) == [
        ("uplinks", "leaf02"), ("width", "rack2-leaf02[5] - spine01[1]"),
    ]  # fmt: skip


def test_three_cables_in_a_circle_are_three_moved_ones():
    tree = those.small()
    ends = [(f"leaf0{number}", 5) for number in (1, 2, 3)]
    fars = [tree.cables[end][0] for end in ends]
    for end, far in zip(ends, [*fars[1:], fars[0]], strict=True):
        tree.plug(end, far, "4xHDR")
    told, _ = seen({}, {}, found=those.made(tree)[0])
    assert words(told) == ["moved"] * 3
