"""What a campaign knows of the nodes that it measured, for its verdict and its protocol."""

from acceptance.campaigns.state import NOT_PROVIDED, State
from acceptance.campaigns.steps import ALL_PAIRS, NODES_AGAIN
from acceptance.rfm.configuration import Site
from acceptance.verdict import Nodes, stated_nodes


def of_campaign(state: State, configuration: Site) -> Nodes:
    """Return the nodes of a campaign's partitions, and how it was to measure them.

    Raises SiteFault for a system that there is none of.
    """
    system = configuration.system(state.asked.get("system") or None)["name"]
    of_pairs = [step for step in state.steps if step.name == ALL_PAIRS]
    return Nodes(
        known={f"{system}:{partition}": nodes for partition, nodes in state.nodes.items()},
        stated=stated_nodes(configuration, [system]),
        limited={f"{system}:{partition}": names for partition, names in state.limited.items()},
        every=state.kind == "accept",
        again=[
            attempt.session
            for step in state.steps
            for attempt in step.attempts
            if step.name == NODES_AGAIN and attempt.session
        ],
        paired=bool(of_pairs),
        unpaired="".join(step.reason for step in of_pairs if step.state == NOT_PROVIDED),
    )
