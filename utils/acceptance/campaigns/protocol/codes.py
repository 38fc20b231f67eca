"""Codes of findings on nodes and on links that nobody judged: how bad, and what to do about it."""

from dataclasses import dataclass

from acceptance.core.findings import CRITICAL, MAJOR, MINOR


@dataclass(frozen=True)
class Code:
    """What findings of one kind have in common."""

    severity: str
    remedy: str


_PAIRS = "reframe -c checks/all_pairs.py -r"
_AGAIN = "reframe -c checks/nodes.py -r -S pinned=PARTITION=NODE,PARTNER"

NODE_CODES = {
    "LINKS-NOT-JUDGED": Code(
        MINOR,
        "state the fabric of the partition with its rate in its `extras`, or agree that the links "
        "of its nodes are looked at otherwise",
    ),
    "NODE-SLOW": Code(
        MAJOR,
        "compare it with a good node: its links and slot (lspci -vv, LnkSta), clock and power "
        "limits, memory channels, BIOS, what else runs on it; take it out until it is as fast as "
        f"the others ({_AGAIN})",
    ),
    "NODES-DIFFER": Code(
        MAJOR,
        "see what the slower ones have in common: a switch or its uplinks, a rack, a BIOS version, "
        "an image; nodes that are meant to differ belong into partitions of their own",
    ),
    "NODES-BETTER": Code(
        MINOR,
        "see why so few are better: all others are slow for one reason, or these belong into a "
        "partition of their own",
    ),
    "PAIR-SLOW": Code(
        MAJOR,
        f"measure each with another partner ({_AGAIN}): one that is slow again is to blame; if "
        "none is, it is the way between them",
    ),
    "WAY-SLOW": Code(
        MAJOR,
        "see the route between the two, and its cables (ibtracert, ibdiagnet; Ethernet: the hash "
        "over uplinks), and the error counters of the switches on it",
    ),
    "ROUND-SLOW": Code(
        MINOR,
        "see whether the fabric is meant to be tapered; if not, uplinks or core switches are "
        "missing, or the routes do not spread over them",
    ),
    "NODE-UNSTEADY": Code(
        MINOR,
        f"measure it several times more ({_AGAIN}), and see its error counters, its clock, and "
        "what else ran on it",
    ),
    "NOT-BENCHMARKED": Code(
        MAJOR,
        "bring these nodes up (sinfo -R) and run it again; or limit the acceptance to those that "
        "are to be accepted (--nodes LIST), which the protocol then says",
    ),
    "NOT-COMPARED": Code(
        MINOR,
        "let all nodes be measured in pairs (checks/nodes.py, three nodes or more); until then "
        "references alone judge a node",
    ),
    "PAIRS-NODE": Code(
        MAJOR,
        "it is slow with nearly all partners: see its cable at both ends, its port and its slot "
        "(lspci -vv, LnkSta), its error counters, what else runs on it; then measure again "
        f"({_PAIRS})",
    ),
    "PAIRS-WAY": Code(
        MAJOR,
        "both are good with others: see the route between them in this direction and its cables "
        "(ibtracert, ibdiagnet; Ethernet: the hash over uplinks), and the error counters of the "
        f"switches on it; then measure again ({_PAIRS})",
    ),
    "PAIRS-UPLINK": Code(
        MAJOR,
        "see the cables between the switches of these two sets of nodes: one that is missing, slow "
        "(iblinkinfo) or counts errors (ibqueryerrors), and whether routes spread over all of them",
    ),
    "PAIRS-CABLE": Code(
        MAJOR,
        "reseat this cable at both ends, then replace it, then try other ports; see its error "
        "counters (ibqueryerrors), and whether a port is limited (ibportstate); then measure again "
        f"({_PAIRS})",
    ),
    "PAIRS-DIFFER": Code(
        MAJOR,
        "see what the slower ones have in common: a switch or its uplinks, a rack, a BIOS version, "
        "an image; nodes that are meant to differ belong into partitions of their own",
    ),
    "PAIRS-FAILED": Code(
        CRITICAL,
        "messages between them did not arrive: see the links of both (ibstat, dmesg), the route "
        "(ibtracert) and the subnet manager's log; a node that fails with many is to blame itself",
    ),
    "PAIRS-UNSTEADY": Code(
        MINOR,
        "it was slow while all nodes were busy, and good alone: see whether the fabric is meant to "
        f"be oversubscribed, and what else used it; measure again ({_PAIRS})",
    ),
    "PAIRS-NOT-JUDGED": Code(
        MINOR, "let at least four nodes be measured, and give it the time (-S AllPairs.limit=1h)"
    ),
    "PAIRS-NOT-MEASURED": Code(
        MINOR,
        "let all pairs be measured (checks/all_pairs.py: an environment with the feature patterns, "
        "two nodes or more); until then no slow cable between two good nodes is found",
    ),
    "LIMITED": Code(MINOR, "accept the other nodes as well, or agree that they do not count"),
}

#: Kind of a finding of the comparison of nodes -> code.
OF_NODES = {
    "node-slow": "NODE-SLOW",
    "nodes-differ": "NODES-DIFFER",
    "nodes-better": "NODES-BETTER",
    "pair-slow": "PAIR-SLOW",
    "way-slow": "WAY-SLOW",
    "round-slow": "ROUND-SLOW",
    "node-unsteady": "NODE-UNSTEADY",
}

#: Kind of a culprit of all pairs -> code.
OF_PAIRS = {
    "node-slow": "PAIRS-NODE",
    "node-sends-slow": "PAIRS-NODE",
    "node-receives-slow": "PAIRS-NODE",
    "way-slow": "PAIRS-WAY",
    "way-slow-one-way": "PAIRS-WAY",
    "uplink-slow": "PAIRS-UPLINK",
    "cable-slow": "PAIRS-CABLE",
    "nodes-differ": "PAIRS-DIFFER",
    "pair-failed": "PAIRS-FAILED",
    "node-unsteady": "PAIRS-UNSTEADY",
    "not-judged": "PAIRS-NOT-JUDGED",
}
