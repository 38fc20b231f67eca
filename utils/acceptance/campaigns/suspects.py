"""Nodes that were slow are measured again, with others that were not, before the verdict."""

from acceptance.campaigns.state import DONE, Progress, State
from acceptance.campaigns.steps import NODES, NODES_AGAIN
from acceptance.campaigns.verdict import sessions
from acceptance.core.paths import Workspace
from acceptance.launch import slurm_nodes
from acceptance.nodes import partners
from acceptance.references import ReferenceFault
from acceptance.rfm import ResultsFault
from acceptance.verdict import compare, tolerance_of


def add_step(state: State, workspace: Workspace) -> bool:
    """Add the step that measures suspects again, and store it; tell whether there are any.

    It is that of the nodes, pinned to suspects and partners. A campaign has one at most, so that
    one that was stopped in it goes on with it.
    """
    of_nodes = [step for step in state.steps if step.name == NODES and step.state == DONE]
    if not of_nodes or any(step.name == NODES_AGAIN for step in state.steps):
        return False
    pinned = slurm_nodes.write_pins(_pins(state, workspace))
    if not pinned:
        return False
    first = of_nodes[0]
    # Of two values of a variable ReFrame takes the last one.
    arguments = [*first.arguments, "-S", f"pinned={pinned}"]
    state.steps.append(Progress(NODES_AGAIN, first.files, arguments))
    state.save()
    return True


def _pins(state: State, workspace: Workspace) -> dict[str, list[str]]:
    """Return suspects and good partners of each partition that has suspects."""
    tolerance = tolerance_of(workspace.reference / "tolerances.yaml")
    try:
        comparisons = compare(sessions(state, workspace.results), (), tolerance)
    except (ResultsFault, ReferenceFault):  # reported when the verdict is given
        return {}
    pinned: dict[str, list[str]] = {}
    for place in sorted({comparison.kind.place for comparison in comparisons}):
        partition = place.partition(":")[2]
        # Only Slurm can be asked for nodes by their names.
        if partition in state.nodes:
            suspects, good = partners([each for each in comparisons if each.kind.place == place])
            if suspects:
                pinned[partition] = [*suspects, *good]
    return pinned
