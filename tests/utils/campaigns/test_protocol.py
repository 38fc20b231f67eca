"""Protocols: what they say, that anybody can check them, and what a change of them shows."""

import copy
import json
import signal
from types import SimpleNamespace

import msgspec
import pytest

from acceptance.campaigns import protocol
from acceptance.campaigns.markdown import markdown
from acceptance.campaigns.protocol import _case
from acceptance.core.kinds import TABLE
from acceptance.ledger import Case
from acceptance.machine import without_case
from acceptance.nodes import Aim
from tests import made_nodes
from tests.campaigns import NAMES, Held

ACCEPT = ("accept", "--vendor", "Maker | Sons", "--customer", "University")

METRIC = {
    "name": "bandwidth_peak", "value": 3000.0, "unit": "MB/s", "reference": 3849.6,
    "lower": -0.35, "upper": None, "judged_by": "limit of infiniband QDR 4x", "passed": True,
}  # fmt: skip
CASE = {
    "name": "OsuMpi %benchmark=bw %np=2", "system": "made", "partition": "qdr",
    "environment": "first", "filename": "/checks/osu.py", "suite": "osu", "run_index": 0,
    "result": "pass", "fail_phase": "", "fail_reason": "", "nodes": ["node1", "node2"],
    "fixture": False, "benchmark": "osu.bw", "keys": {"np": "2", "placement": "inter-node"},
    "declared": {"bandwidth_peak": "MB/s"}, "provenance": {"suite": "OSU 7.5", "mpi": "openmpi"},
    "findings": [], "session": "1234", "seconds": None, "metrics": [METRIC],
    "all_pairs": {}, "loaded": {}, "rails": {}, "folder": "", "output": "",
}  # fmt: skip
LINKS = {
    **CASE, "name": "LinkCheck %part=qdr", "suite": "fabric", "benchmark": "fabric.link",
    "keys": {"nodes": "2"}, "provenance": {},
    "metrics": [{
        **METRIC, "name": "nodes", "value": 2, "unit": "1", "reference": None, "lower": None,
        "judged_by": "",
    }],
}  # fmt: skip


def make(*cases, **changes):
    """Return a sound protocol of two nodes with these cases."""
    data = {
        "format": protocol.FORMAT, "version": protocol.VERSION, "campaign": "accept-1",
        "system": "made", "started": "s", "ended": "e", "operator": "", "vendor": "",
        "customer": "",
        "asked": {
            "mode": "acceptance", "reframe": [], "steps": [], "environments": [],
            "partitions": [{"name": "qdr", "extras": {"nodes": 2}}],
            "references": {}, "checks": {}, "tolerances": {},
        },
        "measured": [LINKS, *(cases or [CASE])],
        "verdict": {
            "verdict": "pass", "system": "made", "problems": [], "notes": [],
            "findings": [], "guidelines": {},
        },
        "claims": [],
        "versions": {"project": "0", "suites": {}},
        **changes,
    }  # fmt: skip
    return sealed(copy.deepcopy(data))


def sealed(data):
    """Draw the conclusions of a protocol, and compute its checksum."""
    data |= protocol.plain(protocol.conclusions(data))
    return {**data, "sha256": protocol.checksum(data)}


def failed(**changes):
    metric = {**METRIC, "value": 100.0, "passed": False}
    return {
        **CASE, "result": "fail", "fail_reason": "performance error: failed to meet reference",
        "metrics": [metric], **changes,
    }  # fmt: skip


def ids(data):
    return [finding["id"] for finding in data["findings"]]


# What follows


def test_a_sound_system_is_accepted():
    data = make()
    assert (data["outcome"], data["findings"]) == ("accepted", [])
    assert data["counts"] == {"cases": 2, "passed": 2, "judged": 1, "recorded": 1}
    assert protocol.differences(data) == []


def test_what_missed_its_reference_was_judged():
    data = make(failed())
    assert data["counts"] == {"cases": 2, "passed": 1, "judged": 1, "recorded": 1}


def test_a_missed_reference_rejects_it():
    told = {"kind": "case-failed", "text": "m"}
    verdict = {**make()["verdict"], "verdict": "fail", "problems": [told]}
    data = make(failed(), verdict=verdict)
    assert data["outcome"] == "rejected"
    assert ids(data) == [
        "BELOW-LIMIT:made:qdr+first:osu.bw:np=2;placement=inter-node:bandwidth_peak"
    ]
    assert data["findings"][0]["nodes"] == ["node1", "node2"]


def test_links_that_nobody_judged_are_a_reservation():
    told = {"kind": "links-not-judged", "text": "x", "found": "it states no fabric",
            "place": ["made:qdr"]}  # fmt: skip
    verdict = {**make()["verdict"], "findings": [told]}
    data = make(verdict=verdict)
    assert data["outcome"] == "accepted with reservations"
    assert ids(data) == ["LINKS-NOT-JUDGED:made:qdr"]
    assert data["findings"][0]["found"] == "it states no fabric"


def test_a_suite_that_nothing_provides_is_a_reservation():
    verdict = {
        **make()["verdict"],
        "findings": [msgspec.to_builtins(without_case("npb.py", "made", "r"))],
    }
    data = make(verdict=verdict)
    assert (data["outcome"], ids(data)) == (
        "accepted with reservations",
        ["NOT-PROVIDED:made:npb.py"],
    )


def test_nothing_that_judges_is_a_reservation_and_part_of_it_is_none():
    silent = {**CASE, "metrics": [{**LINKS["metrics"][0], "name": "latency_8"}]}
    assert make(silent)["outcome"] == "accepted with reservations"
    assert make(CASE, silent)["outcome"] == "accepted"
    assert ids(make(CASE, silent)) == ["RECORDED:made:qdr:osu"]


def test_a_node_that_did_not_answer_rejects_it():
    data = with_nodes(known={}, stated={"made:qdr": 4})
    assert (data["outcome"], ids(data)) == ("rejected", ["NODES-LEFT-OUT:made:qdr"])
    assert data["findings"][0]["found"] == "2 answered: node1, node2; 4 are stated"
    # Where Slurm has told the nodes the verdict says it of each.
    assert with_nodes()["outcome"] == "accepted"


def test_options_that_restrict_it_are_a_reservation():
    data = make(asked={**make()["asked"], "reframe": ["-n", "bw"]})
    assert (data["outcome"], ids(data)) == ("accepted with reservations", ["RESTRICTED:made"])


def test_what_cannot_be_judged_is_not_decided():
    data = make(verdict={**make()["verdict"], "verdict": "cannot-judge"})
    assert data["outcome"] == "not decided"


def test_a_claim_that_must_hold_and_fails_rejects_it():
    claim = {
        "paper": "made", "where": "contract", "expected": True, "state": "fails",
        "claimed": {"left": "made:new", "right": "made:old", "relation": ">=", "value": [20.0],
                    "unit": "%", "printed": "20"},
        "ours": {"value": 12.0, "unit": "%"},
    }  # fmt: skip
    data = make(claims=[claim])
    assert data["outcome"] == "rejected"
    (found,) = data["findings"]
    assert (found["id"], found["found"], found["expected"]) == (
        "CLAIM:made:contract:made:new:made:old:>=", "12.0 %", ">= 20.0 %",
    )  # fmt: skip
    assert make(claims=[{**claim, "expected": False}])["outcome"] == "accepted"
    assert make(claims=[{**claim, "state": "holds"}])["outcome"] == "accepted"
    unmeasured = {**claim, "state": "not measured", "ours": None, "detail": "no result of made:old"}
    data = make(claims=[unmeasured])
    assert data["outcome"] == "accepted with reservations"
    (found,) = data["findings"]
    assert (found["id"], found["found"], found["expected"]) == (
        "CLAIM-OPEN:made:contract:made:new:made:old:>=",
        "not measured: no result of made:old",
        ">= 20.0 %",
    )


def test_a_value_that_is_no_number_is_no_part_of_it():
    metrics = [METRIC, {**METRIC, "name": "latency", "value": float("nan")}]
    case = msgspec.convert({**CASE, "metrics": metrics}, Case)
    told = _case(SimpleNamespace(uuid="1234"), case)
    assert protocol.plain(told) == CASE


# What a change shows


def change(path, value):
    """Return a protocol with something else at a path, and the checksum of that."""
    data = make(failed())
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return {**data, "sha256": protocol.checksum(data)}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("outcome",), "accepted", "outcome: accepted is written, rejected follows"),
        (("findings",), [], "follows from the results, and is missing"),
        (("findings", 0, "severity"), "info", "says something else than follows"),
        (("findings", 0, "nodes"), ["node9"], "says something else than follows"),
        (("findings", 0, "id"), "LINK-RATE:node9", "LINK-RATE:node9 does not follow"),
        (("measured", 1, "metrics", 0, "value"), 3000.0, "bandwidth_peak does not follow"),
        (("measured", 1, "result"), "pass", "passed, with bandwidth_peak outside its reference"),
        (("counts", "passed"), 2, "counts: "),
        (("findings",), make(failed())["findings"] * 2, "of 2 only 1 have an id of their own"),
        (("verdict", "problems"), [{"kind": "error", "text": "m"}], "pass is written, with 1"),
    ],
)
def test_a_change_with_a_checksum_of_its_own_is_seen(path, value, said):
    found = protocol.differences(change(path, value))
    assert any(said in line for line in found), found
    assert not any(line.startswith("checksum") for line in found)


def test_a_node_that_was_taken_out_of_the_link_check_is_seen():
    data = with_nodes(known={}, stated={"made:qdr": 4})
    data["measured"][0]["nodes"] = ["node1"]
    seen = "\n".join(protocol.differences(data))
    assert "finding NODES-LEFT-OUT:made:qdr says something else than follows" in seen


def test_any_change_without_is_seen_by_the_checksum():
    data = make()
    data["vendor"] = "another"
    (line,) = protocol.differences(data)
    assert line.startswith(f"checksum: {data['sha256']} is written, its content has ")


def test_the_checksum_does_not_hang_on_the_order_of_keys_or_on_blanks():
    data = make()
    again = json.loads(json.dumps(dict(reversed(data.items())), indent=7))
    assert protocol.checksum(again) == data["sha256"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "x"}'])
def test_what_is_no_protocol_is_refused(site, text):
    path = site.folder / "p.json"
    path.write_text(text)
    done = site.acceptance("accept", "verify", path)
    assert done.status == 2
    assert str(path) in done.errors
    assert "Traceback" not in done.errors


def test_another_version_is_no_protocol_that_can_be_verified(site):
    path = site.folder / "p.json"
    path.write_text(json.dumps(make(version=1)))
    done = site.acceptance("accept", "verify", path)
    assert (done.status, done.output) == (2, "")
    assert "no interconnect acceptance protocol of version 5; of version 1 is" in done.errors


def test_a_protocol_without_its_parts_is_malformed():
    data = make()
    del data["measured"][0]["keys"]
    with pytest.raises(ValueError, match="malformed"):
        protocol.differences(data)


def test_the_markdown_has_all_metrics_and_keeps_its_tables_whole():
    data = make(failed(name="a | b"))
    data["vendor"] = "Maker | Sons"
    text = markdown(sealed(data))
    assert "**Rejected**" in text
    assert "| bandwidth_peak | 100 | MB/s | fail | >= 2502.24 MB/s (limit of" in text
    assert "Maker \\| Sons" in text
    assert TABLE["below-limit"].remedy in text


# A real one


def test_an_acceptance_is_resumed_and_its_protocol_checked(site):
    held = Held(site)
    process = held.start(*ACCEPT)
    held.kill(process, signal.SIGTERM)
    folder = site.folder / "signed"
    # Where no protocol can be written nothing is measured for hours before.
    refused = held.run("accept", "--output", held.log / "nowhere")
    assert refused.status == 2
    assert "no protocol can be written there: Not a directory" in refused.errors
    # Who signs it need not be said again.
    done = held.run("accept", "--output", folder)
    assert done.status == 0, done.output
    assert len(held.states) == 1
    data = json.loads((folder / "protocol.json").read_text())
    assert data["outcome"] == "accepted with reservations"
    codes = [one.partition(":")[0] for one in ids(data)]
    # What was recorded of Allreduce has a value that stands out, more or less by the other one.
    assert set(codes) - {"GUIDELINE"} == {
        *("LINKS-NOT-JUDGED", "RECORDED", "NOT-PROVIDED", "RESTRICTED"),
    }
    # Both cases of both sessions are in it, each once.
    ran = [one["benchmark"] for one in data["measured"] if one["suite"] == "imb"]
    assert sorted(ran) == sorted(f"imb.{name}" for name in NAMES)
    links = [step["arguments"] for step in data["asked"]["steps"] if step["name"] == "links"]
    assert "^maintenance$" in links[0]
    assert data["versions"]["suites"]["imb"][0]["suite"] == "IMB 2021.11"
    assert set(data["asked"]["references"]) >= {"koop2008.csv", "tolerances.yaml"}
    assert data["sha256"] in (folder / "protocol.md").read_text()
    assert data["sha256"] in done.output
    report = site.var / "report"
    assert done.output.splitlines()[-1] == f"report: {report}/index.html"
    assert "accepted with reservations" in (report / "index.html").read_text()
    (page,) = report.glob("protocol/*.html")
    assert data["sha256"] in page.read_text()
    assert "does not agree" not in page.read_text()
    checked = site.acceptance("accept", "verify", folder / "protocol.json")
    assert checked.status == 0, checked.output
    assert checked.output.endswith("agrees with itself\n")
    # What was changed by hand is seen, in either file.
    path = folder / "protocol.md"
    path.write_text(path.read_text().replace("Reservations".lower(), "joy"))
    checked = site.acceptance("accept", "verify", folder / "protocol.json")
    assert checked.status == 1
    assert f"DIFFERS  {path} is not what protocol.json gives" in checked.output
    shown = site.acceptance("accept", "show", folder / "protocol.json")
    assert shown.output.startswith("# Acceptance of replay\n")
    assert "For the vendor, Maker | Sons: ____" in shown.output


# Nodes


def with_nodes(slow=(), passed=False, **known):
    """Return a protocol of four nodes whose pairs were measured; `passed`: good when alone."""
    up = [{"name": name, "state": "idle", "reason": "", "up": True} for name in NODES]
    asked = {"known": {"made:qdr": up}, "stated": {}, "limited": {}, "every": True}
    case = {**CASE, "nodes": NODES, **paired(slow, passed)}
    return make(case, asked={**make()["asked"], "nodes": {**asked, **known}})


NODES = ["node1", "node2", "node3", "node4"]


def paired(slow=(), passed=False):
    found = made_nodes.measured(slow, names=tuple(NODES), passed=passed)
    return json.loads(msgspec.json.encode(made_nodes.stored(found)))


def test_equal_nodes_are_accepted_with_a_table_of_their_values():
    data = with_nodes()
    assert (data["outcome"], ids(data)) == ("accepted", [])
    text = markdown(data)
    assert "| nodes | made:qdr: benchmarked 4 of 4 nodes;" in text
    assert "### Nodes of made:qdr+first" in text
    header, _, median, first, *_ = text.partition("### Nodes of")[2].splitlines()[2:]
    assert header.startswith("| node | bandwidth, MB/s | both, MB/s | latency, us | bandwidth ")
    assert median.startswith("| median | 10000 | 9000 | 2 | ")
    assert first.startswith("| node1 | 10000 (+0%) | 9000 (+0%) | 2 (+0%) | 10000 (+0%) |")
    assert protocol.differences(data) == []


def test_what_it_could_have_seen_is_told_with_the_chance_of_each_loss():
    data = with_nodes()
    (seen,) = data["could_have_seen"]
    assert seen["place"] == "made:qdr+first"
    of_one = {each["loss"]: each["accepted"] for each in seen["chances"] if each["slow"] == 1}
    assert of_one == {0.05: 1.0, 0.1: 1.0, 0.15: 0.0, 0.2: 0.0}
    text = markdown(data).partition("## What this acceptance could have seen")[2]
    assert "| slow | loses 5.0% | loses 10.0% | loses 15.0% | loses 20.0% |" in text
    assert "| 2 of the nodes | 100.0% | 100.0% | 100.0% | 100.0% |" in text
    assert "Of cables between switches no chance is known: " in text
    assert "only references and limits judge them" in markdown(make())


def test_chances_that_were_made_better_are_seen():
    data = with_nodes()
    data["could_have_seen"][0]["chances"][0]["accepted"] = 0.0
    data = {**data, "sha256": protocol.checksum(data)}
    assert protocol.differences(data) == [
        "what it could have seen: something else is written than follows from the results"
    ]


def test_what_was_asked_and_not_seen_is_a_reservation():
    case = {**CASE, "nodes": NODES, **paired()}
    found = made_nodes.measured(names=tuple(NODES), aim=Aim(0.05, 0.95, 0.01))
    case["all_pairs"] = json.loads(msgspec.json.encode(found))
    data = make(case, asked=with_nodes()["asked"])
    assert (data["outcome"], ids(data)) == (
        "accepted with reservations", ["NOT-JUDGED:made:qdr:first"],
    )  # fmt: skip
    assert "; that a node loses 5.0% was to be seen with 95%.\n" in markdown(data)
    told = protocol.differences({**data, "findings": [], "outcome": "accepted"})
    assert "finding NOT-JUDGED:made:qdr:first follows from the results, and is missing" in told


def test_one_node_of_which_a_loss_was_to_be_seen_is_a_reservation():
    asked = {"known": {}, "stated": {"made:qdr": 1}, "limited": {}, "every": True}
    case = {**CASE, "nodes": NODES[:1]}
    for detect, outcome, found in (
        (0.0, "accepted", []),
        (0.05, "accepted with reservations", ["PAIRS-NOT-MEASURED:made:qdr"]),
    ):
        nodes = {**asked, "detect": detect}
        data = make(case, asked={**make()["asked"], "nodes": nodes})
        assert (data["outcome"], ids(data)) == (outcome, found)
    assert "one node has no pair, and that it loses 5.0% was to be seen" in markdown(data)


def test_a_slow_node_rejects_it_by_name_with_its_value_and_the_median():
    data = with_nodes(["node3"])
    assert data["outcome"] == "rejected"
    (found,) = data["findings"]
    assert found["id"] == "NODE-SLOW:made:qdr:node3:first:bandwidth"
    assert (found["severity"], found["nodes"]) == ("critical", ["node3"])
    assert found["expected"].startswith("at least about 10000 MB/s")
    assert "(5000 instead of 10000 MB/s)" in found["found"]
    assert "| node3 | 5000 (-50%) |" in markdown(data)


def test_a_node_that_was_good_alone_is_a_reservation():
    data = with_nodes(["node3"], passed=True)
    assert (data["outcome"], [each["severity"] for each in data["findings"]]) == (
        "accepted with reservations", ["minor"],
    )  # fmt: skip
    assert data["findings"][0]["id"].startswith("NODE-UNSTEADY:made:qdr:node3")
    assert "measured again alone: 1.00" in data["findings"][0]["found"]


def test_nodes_that_nobody_benchmarked_reject_it():
    more = [
        {"name": "node5", "state": "idle", "reason": "", "up": True},
        {"name": "node6", "state": "down", "reason": "no power", "up": False},
    ]
    known = with_nodes()["asked"]["nodes"]["known"]["made:qdr"]
    data = with_nodes(known={"made:qdr": known + more})
    # That it is not up is a finding of its own.
    assert (data["outcome"], ids(data)) == (
        "rejected", ["NODE-ABSENT:made:qdr:node6", "NOT-BENCHMARKED:made:qdr"],
    )  # fmt: skip
    assert data["findings"][1]["found"] == "benchmarked 4 of 6 nodes; not: node5"
    assert "not up: node6 is down (no power)" in markdown(data)


def test_an_acceptance_that_was_limited_to_nodes_says_so():
    data = with_nodes(limited={"made:qdr": NODES[:2]})
    assert (data["outcome"], ids(data)) == ("accepted with reservations", ["LIMITED:made:qdr"])
    assert "limited by the operator to 2 of 4 nodes" in markdown(data)


def test_nodes_that_were_not_compared_are_a_reservation_with_the_remedy():
    asked = {**with_nodes()["asked"], "reframe": []}
    data = make({**CASE, "nodes": NODES}, asked=asked)
    assert (data["outcome"], ids(data)) == (
        "accepted with reservations", ["PAIRS-NOT-MEASURED:made:qdr"],
    )  # fmt: skip
    assert "an mpicc provides" in data["findings"][0]["found"]
    assert "No nodes were compared with each other." in markdown(data)


def test_a_culprit_that_was_taken_out_is_seen():
    data = with_nodes(["node3"])
    data["measured"][1] |= paired()
    data = {**data, "sha256": protocol.checksum(data)}
    seen = "\n".join(protocol.differences(data))
    assert "nodes: something else is written than follows" in seen
    assert "finding NODE-SLOW:made:qdr:node3:first:bandwidth does not follow" in seen
