"""The codes of findings: how bad what each of them says is, and what to do about it.

What failed a case, and what is wrong with links and in a whole fabric have their kinds in capitals
as codes; those of other findings are named by the maps below.
"""

import re

from acceptance.core.findings import CRITICAL, INFO, MAJOR, MINOR, Kind
from acceptance.fabric import node
from acceptance.fabric.view.kinds import TABLE

_PAIRS = "reframe -c checks/all_pairs.py -r"

#: Kind of a culprit of all pairs -> code.
OF_PAIRS = {
    "node-slow": "PAIRS-NODE",
    "node-sends-slow": "PAIRS-NODE",
    "node-receives-slow": "PAIRS-NODE",
    "node-slow-inside": "PAIRS-INSIDE",
    "way-slow": "PAIRS-WAY",
    "way-slow-one-way": "PAIRS-WAY",
    "uplink-slow": "PAIRS-UPLINK",
    "cable-slow": "PAIRS-CABLE",
    "nodes-differ": "PAIRS-DIFFER",
    "pair-failed": "PAIRS-FAILED",
    "node-unsteady": "PAIRS-UNSTEADY",
    "not-judged": "PAIRS-NOT-JUDGED",
}


_FABRIC = "look at the links of its nodes first (acceptance accept, or reframe --mode=maintenance)"
_SLOW = (
    f"{_FABRIC}; then repeat it on other pairs of nodes: one that is slow with every partner is to "
    "blame itself; otherwise it is the way between them, or the MPI's settings"
)

CODES = {
    "MISPLACED": Kind(
        MAJOR,
        "the ranks stood elsewhere: see variables of the user, and defaults of Slurm or the MPI, "
        "that override its options (SLURM_*, OMPI_MCA_*, I_MPI_*, taskset)",
    ),
    "IMPLAUSIBLE": Kind(
        CRITICAL,
        "the number was not measured over this fabric: see which device the MPI took (UCX_NET_"
        "DEVICES, FI_PROVIDER, btl), whether ranks shared a node, and whether the facts are right",
    ),
    "NO-BYTES": Kind(
        CRITICAL,
        "the messages went over another network: name the device to the MPI (UCX_NET_DEVICES, "
        "FI_PROVIDER, FI_TCP_IFACE, btl_tcp_if_include), and see whether `device` is right",
    ),
    "BELOW-BASELINE": Kind(MAJOR, f"{_SLOW}; or make a new baseline of what is right now"),
    "BELOW-PUBLISHED": Kind(MAJOR, _SLOW),
    "BELOW-LIMIT": Kind(MAJOR, f"{_SLOW}; see that the PCIe slot and payload are as the facts say"),
    "BELOW-REFERENCE": Kind(MAJOR, _SLOW),
    "ABOVE-REFERENCE": Kind(
        MINOR, "better than its reference allows: see whether it still measures the same thing"
    ),
    "CASE-FAILED": Kind(MAJOR, "read its output in the stage folder, then run it alone (-n NAME)"),
    "TIME-LIMIT": Kind(
        MAJOR,
        "see whether it hung (a rank without its fabric) or only needs longer (-S time_limit=30m); "
        "look at its nodes first",
    ),
    "BUILD-FAILED": Kind(
        MAJOR, "read the build's output in the stage folder; see compilers and MPI in spack-envs/"
    ),
    "JOB-ENDED": Kind(
        MAJOR, "Slurm ended the job: see the node (sinfo -R, scontrol show node, dmesg), and repeat"
    ),
    "JOB-BLOCKED": Kind(
        MAJOR,
        "Slurm would not have started it before somebody fixes what it says: nodes (sinfo -R), the "
        "partition's limits (scontrol show partition), account and QOS (sacctmgr); then repeat",
    ),
    "NOT-STARTED": Kind(MAJOR, "its nodes were busy: repeat, or let it wait: max_pending_time=2h"),
    "GUIDELINE": Kind(
        INFO, "tune the MPI's choice of the algorithm for this size, or report it to its makers"
    ),
    "CLAIM": Kind(MAJOR, "compare the two results that it is said of, and how they were measured"),
    "CLAIM-OPEN": Kind(
        MINOR,
        "measure both of its sides (acceptance claims --all says what is missing), or agree that "
        "it does not count",
    ),
    "REGRESSION": Kind(
        MAJOR, "see what changed at that time (acceptance history); acknowledge it when it is meant"
    ),
    "NODE-ABSENT": Kind(
        MAJOR,
        "see why Slurm gives it no jobs (sinfo -R, scontrol show node), repair and resume it, then "
        "measure again; or agree that it is no part of this acceptance",
    ),
    "NOT-MEASURED": Kind(MAJOR, "fix what kept it from being measured, and run it again"),
    "NOT-PROVIDED": Kind(MINOR, "provide the suite as it says, or agree that it is not needed"),
    "NOT-JUDGED": Kind(
        INFO,
        "nothing exists that could judge it: agree on a value and write it to reference/sites/",
    ),
    "RESTRICTED": Kind(MINOR, "run it again without these options, or agree on them"),
    "SET-UP": Kind(MAJOR, "fix the set-up: acceptance doctor says what is missing"),
    "LINKS-NOT-JUDGED": Kind(
        MINOR,
        "state the fabric of the partition with its rate in its `extras`, or agree that the links "
        "of its nodes are looked at otherwise",
    ),
    "NOT-BENCHMARKED": Kind(
        MAJOR,
        "bring these nodes up (sinfo -R) and run it again; or limit the acceptance to those that "
        "are to be accepted (--nodes LIST), which the protocol then says",
    ),
    "PAIRS-NODE": Kind(
        MAJOR,
        "it is slow with nearly all partners: see its cable at both ends, its port and its slot "
        "(lspci -vv, LnkSta), its error counters, what else runs on it; then measure again "
        f"({_PAIRS})",
    ),
    "PAIRS-INSIDE": Kind(
        MAJOR,
        "no link is part of it: compare it with a good node: memory channels, clock and power "
        "limits, BIOS, what else runs on it; take it out until it is as fast as the others "
        f"({_PAIRS})",
    ),
    "PAIRS-WAY": Kind(
        MAJOR,
        "both are good with others: see the route between them in this direction and its cables "
        "(ibtracert, ibdiagnet; Ethernet: the hash over uplinks), and the error counters of the "
        f"switches on it; then measure again ({_PAIRS})",
    ),
    "PAIRS-UPLINK": Kind(
        MAJOR,
        "see the cables between the switches of these two sets of nodes: one that is missing, slow "
        "(iblinkinfo) or counts errors (ibqueryerrors), and whether routes spread over all of them",
    ),
    "PAIRS-CABLE": Kind(
        MAJOR,
        "reseat this cable at both ends, then replace it, then try other ports; see its error "
        "counters (ibqueryerrors), and whether a port is limited (ibportstate); then measure again "
        f"({_PAIRS})",
    ),
    "PAIRS-DIFFER": Kind(
        MAJOR,
        "see what the slower ones have in common: a switch or its uplinks, a rack, a BIOS version, "
        "an image; nodes that are meant to differ belong into partitions of their own",
    ),
    "PAIRS-FAILED": Kind(
        CRITICAL,
        "messages between them did not arrive: see the links of both (ibstat, dmesg), the route "
        "(ibtracert) and the subnet manager's log; a node that fails with many is to blame itself",
    ),
    "PAIRS-UNSTEADY": Kind(
        MINOR,
        "it was slow while all nodes were busy, and good alone: see whether the fabric is meant to "
        f"be oversubscribed, and what else used it; measure again ({_PAIRS})",
    ),
    "PAIRS-NOT-JUDGED": Kind(
        MINOR,
        "measure again what it says was not enough: more nodes, and more time for their pairs "
        f"({_PAIRS} -S AllPairs.limit=3600)",
    ),
    "PAIRS-NOT-MEASURED": Kind(
        MINOR,
        "let all pairs be measured (checks/all_pairs.py: an environment with the feature patterns, "
        "which an mpicc provides); until then references alone judge a node, and no slow cable "
        "between two good nodes is found",
    ),
    "LIMITED": Kind(MINOR, "accept the other nodes as well, or agree that they do not count"),
    **{kind.upper(): row for kind, row in {**node.KINDS, **TABLE}.items()},
}

#: What ReFrame says of a job that it gave up -> code; the first that fits.
OF_REASONS = (
    (re.compile(r"it was blocked due to reason: "), "JOB-BLOCKED"),
    (re.compile(r"job timed out|exceeded timeout|JobTimeout", re.I), "TIME-LIMIT"),
)
