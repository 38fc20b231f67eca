"""`checks/all_pairs.py` on nodes in namespaces, with a program that writes what was made."""

import pytest

from acceptance.core.pairs import ALL_UNITS
from acceptance.suites import all_pairs, check_of
from tests import made_matrices, netns, patterns_program
from tests import stored as results
from tests.needs import skip_for
from tests.netns import DEVICE

FOUR = ("node1", "node2", "node3", "node4")
#: Prints nothing; the first rank leaves the file, of a further pass its own if it has one, and ends
#: with the status. A further pass may end with words instead.
PROGRAM = """\
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0
while [ "$1" != --output ]; do shift; done
[ $2 != all-pairs.txt ] && cat {folder}/ends >&2 2>/dev/null && exit 3
cp {folder}/$2 . 2>/dev/null || cp {folder}/made.txt $2
exit {status}
"""


def text(slow="", names=FOUR, lost=False, inside=None):
    """Return what the program writes of nodes; with a slow one, or a pair that failed.

    `inside`: they were measured inside, too, and this one is slow there.
    """
    records, rounds = [], range(1, len(names))
    if inside is not None:
        rates = [50.0 if name == inside else 100.0 for name in names]
        values = {"latency_us": [0.4] * len(names), "bandwidth_MBps": rates, "both_MBps": rates}
        records.append({"type": "round", "number": 0, **values})
    for shift in rounds:
        failed, row = lost and shift == 1, {"type": "round", "number": shift}
        if failed:
            why = "latency: node2 did not answer within 5 s"
            records.append({"type": "failed", "sender": 0, "receiver": 1, "why": why})
        for field in ("latency_us", "bandwidth_MBps", "both_MBps"):
            row[field] = values = []
            for rank, name in enumerate(names):
                is_slow = slow in (name, names[(rank + shift) % len(names)])
                value = 30.0 if field == "latency_us" else 50.0 if is_slow else 100.0
                values.append(None if failed and rank == 0 else round(value + rank / 10, 1))
        records.append(row)
    return made_matrices.written(names, records, len(rounds))


@pytest.fixture(scope="module")
def four_nodes(tmp_path_factory):
    skip_for(netns.why_no_open_mpi())
    with netns.Pair(tmp_path_factory.mktemp("pairs"), FOUR) as pair:
        yield pair


def measure(site, four_nodes, made, *options, status=0, cores=1, **facts):
    """Run the case on what was made; return it, and the gate's verdict."""
    folder = site.folder / "program"
    folder.mkdir(exist_ok=True)
    (folder / "made.txt").write_text(made)
    (folder / "patterns").write_text(PROGRAM.format(folder=folder, status=status))
    (folder / "patterns").chmod(0o755)
    environment = four_nodes.environment("openmpi", cores=cores)
    environment["features"].append("patterns")
    environment["extras"]["suites"] = {"patterns": str(folder)}
    # This program sends nothing, so that no device can have carried it.
    fabric = {"technology": "ethernet", **facts}
    four_nodes.join(site, environment, cores=cores, fabric=fabric)
    run = site.reframe("-c", "checks/all_pairs.py", "-r", *options)
    _, verdict = site.gate()
    assert verdict["selected"] == 1, run.output
    (case,) = results.session(site.database).cases
    return case, verdict


def test_a_slow_node_fails_the_case_and_is_named_everywhere(site, four_nodes):
    case, verdict = measure(site, four_nodes, text("node3"), "--mode=acceptance")
    kinds = [problem["kind"] for problem in verdict["problems"]]
    assert (case.result, kinds) == ("fail", ["case-failed", "node-slow"])
    assert case.fail_reason.startswith("performance error: node3 ")
    assert verdict["cases"][0]["culprits"]
    assert verdict["problems"][1]["place"] == ["pair:default", "node3", "", "openmpi", "bandwidth"]
    by_name = {metric.name: metric.value for metric in case.metrics}
    assert {*by_name} == {*all_pairs.metrics(inside=False)}
    assert (by_name["pairs"], by_name["rounds"]) == (12, 3)
    assert by_name["bandwidth_node_min_4194304"] < 60 < by_name["bandwidth_4194304"]
    assert case.keys["np"] == case.keys["nodes"] == "4"
    assert "repetitions" not in case.keys
    assert case.provenance["estimate"] == "0.4 s"
    assert check_of("patterns.all-pairs", "latency_node_max") == "checks/all_pairs.py"
    (path,) = (site.var / "output").rglob("all-pairs.txt")
    assert path.read_text() == text("node3")
    junit = site.acceptance("gate", "--format", "junit").output
    assert "no node is worse than the others" in junit
    assert 'type="node-slow"' in junit


def test_a_node_that_is_slow_inside_alone_is_told_as_that(site, four_nodes):
    case, verdict = measure(site, four_nodes, text(inside="node3"), cores=2)
    kinds = [problem["kind"] for problem in verdict["problems"]]
    assert (case.result, kinds) == ("fail", ["case-failed", "node-slow-inside"])
    assert "node3 is slow inside, between its own cores" in case.fail_reason
    by_name = {metric.name: metric.value for metric in case.metrics}
    assert {*by_name} == {*all_pairs.metrics()}
    assert by_name["bandwidth_inside_4194304"] == 2 * by_name["bandwidth_inside_min_4194304"] == 100
    assert (case.keys["np"], case.keys["nodes"]) == ("8", "4")
    assert case.all_pairs["values"][-1]["quantity"] == "latency inside"
    assert "all pairs of 4 nodes measured, and inside of each, in 3 rounds" in " ".join(
        site.acceptance("gate").output.split()
    )


def test_of_several_passes_each_pair_has_the_median(site, four_nodes):
    (site.folder / "program").mkdir()
    (site.folder / "program/all-pairs-2.txt").write_text(text("node3"))
    passes = ("-S", "AllPairs.passes=3", "-S", "AllPairs.aim=0.2,0.95,0.01")
    case, verdict = measure(site, four_nodes, text(), "--mode=acceptance", *passes)
    assert (case.result, verdict["problems"]) == ("pass", [])
    assert case.all_pairs["passes"] == 3
    assert case.all_pairs["aim"] == {"detect": 0.2, "power": 0.95, "false": 0.01}
    assert "4 nodes measured, not inside of each, in 3 rounds, each at least 3 times" in " ".join(
        site.acceptance("gate").output.split()
    )
    assert len([*(site.var / "output").rglob("all-pairs-?.txt")]) == 2


def test_a_pass_that_ended_early_is_no_pass(site, four_nodes):
    (site.folder / "program").mkdir()
    (site.folder / "program/all-pairs-2.txt").write_text(text()[:-40])
    case, _ = measure(site, four_nodes, text(), "-S", "AllPairs.passes=2")
    assert case.result == "fail"
    assert "all-pairs-2.txt" in case.fail_reason


def test_of_a_job_that_ended_among_its_passes_the_culprits_are_told_and_why_it_ended(
    site, four_nodes
):
    (site.folder / "program").mkdir()
    # Its first pass leaves its file; the second one says something, and ends.
    (site.folder / "program/ends").write_text("patterns: no memory\n")
    passes = ("-S", "AllPairs.passes=2")
    case, verdict = measure(site, four_nodes, text("node3"), "--mode=acceptance", *passes)
    assert case.result == "fail"
    assert "exited with status 3: patterns: no memory" in case.fail_reason
    assert "node-slow" in [problem["kind"] for problem in verdict["problems"]]
    assert case.all_pairs["passes"] == 1


def test_of_two_nodes_the_limit_of_the_fabric_judges_the_pair_and_nobody_tells_which(
    site, two_nodes
):
    names = ("node1", "node2")
    case, verdict = measure(site, two_nodes, text(names=names), rate="10", device=DEVICE)
    (problem, *others) = verdict["problems"]
    assert (case.result, others) == ("fail", [])
    assert "bandwidth_node_min_4194304" in problem["text"]
    assert "the worst pairs: node" in problem["text"]
    assert "which of the two nodes it is nobody can tell" in problem["text"]
    (entry,) = verdict["nodes"].values()
    assert [each["kind"] for of in entry["all_pairs"] for each in of["culprits"]] == ["not-judged"]


def test_two_real_nodes_are_measured_with_each_other_and_inside(site, two_nodes):
    folder = patterns_program.build("openmpi").parent
    environment = two_nodes.environment("openmpi", cores=2)
    environment["features"].append("patterns")
    environment["extras"]["suites"] = {"patterns": str(folder)}
    two_nodes.join(site, environment, cores=2)
    run = site.reframe("-c", "checks/all_pairs.py", "-r")
    (case,) = results.session(site.database).cases
    # A busy machine may let a node look slow inside.
    assert {each.kind for each in case.findings if each.fails} <= {"nodes-differ"}, run.output
    assert {metric.name for metric in case.metrics} == {*all_pairs.metrics()}
    assert [*case.all_pairs["nodes"]] == ["node1", "node2"]
    assert {*case.all_pairs["quantities"]} == {*ALL_UNITS}
    assert "over the fabric of each node" in case.provenance["bytes"]


def test_pairs_that_failed_are_named_although_the_program_fails(site, four_nodes):
    case, _ = measure(site, four_nodes, text(lost=True), status=1)
    assert case.result == "fail"
    assert "node1 -> node2: " in case.fail_reason
    assert "node2 did not answer within 5 s" in case.fail_reason
    assert case.all_pairs["pairs"] == 11
    assert "11 of 12 pairs of 4 nodes measured" in str(
        site.acceptance("gate").output.split()
    ).replace("', '", " ")


def test_what_a_job_had_measured_before_it_ended_early_is_kept(site, four_nodes):
    whole = text("node3")
    case, verdict = measure(site, four_nodes, whole[: whole.index('{"type":"round","number":3')])
    assert "the file has no end" in verdict["problems"][0]["text"]
    assert (case.all_pairs["pairs"], case.all_pairs["rounds"]) == (8, 2)
