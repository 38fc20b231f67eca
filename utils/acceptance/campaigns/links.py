"""The links of a campaign: which nodes the link check has looked at, of those that Slurm has."""

from collections.abc import Iterable, Sequence

from acceptance.campaigns.steps import LINK_SUITE
from acceptance.core.text import shortened
from acceptance.fabric.view.kinds import BENCHMARK as VIEW
from acceptance.rfm import Case
from acceptance.rfm.session_schema import node_of_case
from acceptance.verdict import Nodes, Verdict, place_of

#: Names of nodes that a line shows.
_SHOWN = 8


def judge_links(verdict: Verdict, nodes: Nodes, cases: Sequence[Case]) -> None:
    """Fail for the nodes that are up and whose links nobody looked at.

    Where `every` node counts, one that is not up fails, too: in an acceptance. Elsewhere the line
    of the nodes tells it. Of a partition that the operator has limited to some nodes only these are
    judged.
    """
    known = {place.partition(":")[2] for place in nodes.known}
    verdict.problems = [
        problem
        for problem in verdict.problems
        if not (problem.kind == "nodes-left-out" and known.issuperset(problem.about))
    ]
    for place, slurm in nodes.known.items():
        if (count := nodes.stated.get(place, 0)) > len(slurm):
            verdict.fail(
                "nodes-unknown", f"{place} states {count} nodes, Slurm has {len(slurm)}", place
            )
        limited = nodes.limited.get(place, ())
        asked = [node for node in slurm if not limited or node.name in limited]
        up = [node.name for node in asked if node.up]
        seen = looked_at(case for case in cases if place_of(case) == place)
        if missing := [name for name in up if name not in seen]:
            verdict.fail(
                "nodes-not-looked-at",
                f"{place}: the links of {len(up) - len(missing)} of {len(up)} nodes that are up "
                f"were looked at; not: {shortened(missing, _SHOWN)}",
                place,
            )
        for node in (node for node in asked if nodes.every and not node.up):
            verdict.fail("node-not-up", f"{place}: {node.text}", place, node.name)


def looked_at(cases: Iterable[Case]) -> set[str]:
    """Return the nodes whose links cases have looked at, good or bad."""
    return {
        node
        for case in cases
        if case.suite == LINK_SUITE and case.benchmark != VIEW
        if case.metrics or any(finding.node for finding in case.findings)
        for node in (*case.nodes, node_of_case(case.name))
    }
