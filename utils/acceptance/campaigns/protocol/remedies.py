"""Findings: what is wrong, where, how bad it is, and what to do about it.

Each has an id that is the same whenever the same thing is wrong in the same place: a code of
`CODES`, and after it node and device, or partition, benchmark and metric.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from acceptance.campaigns.protocol.codes import NODE_CODES, Code
from acceptance.campaigns.protocol.fabric_codes import FABRIC_CODES
from acceptance.core.findings import CRITICAL, INFO, MAJOR, MINOR, SEVERITIES, Observation
from acceptance.nodes import FAILING


@dataclass(frozen=True)
class ProtocolFinding:
    """One thing that is wrong. `nodes` are those concerned, none where no node is to blame.

    `source` names what it was concluded from: a case and its place, a problem of the gate.
    """

    id: str
    severity: str
    nodes: tuple[str, ...]
    what: str
    found: str
    expected: str
    remedy: str
    source: str

    @property
    def code(self) -> str:
        """Return the first part of the id."""
        return self.id.partition(":")[0]

    def as_data(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {**asdict(self), "nodes": list(self.nodes)}


_CABLE = "reseat the cable at both ends, then replace it, then try another port of the switch"
_SLOT = (
    "reseat the adapter; see whether the slot has the lanes and the generation (dmidecode -t slot, "
    "lspci -vv: LnkCap against LnkSta) and the BIOS does not limit it; then try another slot"
)
_FABRIC = "look at the links of its nodes first (acceptance accept, or reframe --mode=maintenance)"
_SLOW = (
    f"{_FABRIC}; then repeat it on other pairs of nodes: one that is slow with every partner is to "
    "blame itself; otherwise it is the way between them, or the MPI's settings"
)

CODES = {
    "LINK-RATE": Code(
        CRITICAL,
        f"{_CABLE}; see both ends with ibdiagnet or mlxlink -d DEVICE, and whether the switch's "
        "port is limited (ibportstate)",
    ),
    "LINK-STATE": Code(
        CRITICAL,
        f"see that the cable is in and the subnet manager runs (ibstat, sminfo; Ethernet: ip link, "
        f"the switch's port); {_CABLE}",
    ),
    "LINK-MISSING": Code(
        CRITICAL,
        "see whether the adapter is there (lspci) and its driver has loaded it (dmesg, ibstat, ip "
        "link); if it is, name the right one as `device` in the fabric facts; if not, reseat or "
        "replace it",
    ),
    "LINK-ERRORS": Code(
        MINOR,
        f"{_CABLE}; clear and watch the counters (perfquery -R, ibqueryerrors; ethtool -S), and "
        "see the signal with mlxlink -d DEVICE -c",
    ),
    "LINK-COUNTERS": Code(
        MINOR, f"clear it (perfquery -R), and see whether it grows; where it does, {_CABLE}"
    ),
    "LINK-FAILED": Code(
        CRITICAL, f"the link went down under load: {_CABLE}; see dmesg and the switch's log"
    ),
    "LINK-RESET": Code(
        MAJOR, "see why node or adapter restarted in the middle (dmesg, uptime), then repeat"
    ),
    "LINK-UNREADABLE": Code(
        MAJOR, "let users read these files below /sys; without them nothing is known of the link"
    ),
    "PCIE-SPEED": Code(MAJOR, _SLOT),
    "PCIE-WIDTH": Code(MAJOR, _SLOT),
    "ETH-SPEED": Code(
        CRITICAL,
        "see both ends (ethtool DEVICE, the switch's port): autonegotiation on, no fixed speed, a "
        f"transceiver of the right speed; {_CABLE}",
    ),
    "ETH-DUPLEX": Code(
        MAJOR, "let both ends negotiate (ethtool -s DEVICE autoneg on); one end is set by hand"
    ),
    "MTU": Code(
        MAJOR, "set it on the node (ip link set DEVICE mtu N), and on every switch at least as much"
    ),
    "MISPLACED": Code(
        MAJOR,
        "the ranks stood elsewhere: see variables of the user, and defaults of Slurm or the MPI, "
        "that override its options (SLURM_*, OMPI_MCA_*, I_MPI_*, taskset)",
    ),
    "IMPLAUSIBLE": Code(
        CRITICAL,
        "the number was not measured over this fabric: see which device the MPI took (UCX_NET_"
        "DEVICES, FI_PROVIDER, btl), whether ranks shared a node, and whether the facts are right",
    ),
    "NO-BYTES": Code(
        CRITICAL,
        "the messages went over another network: name the device to the MPI (UCX_NET_DEVICES, "
        "FI_PROVIDER, FI_TCP_IFACE, btl_tcp_if_include), and see whether `device` is right",
    ),
    "BELOW-BASELINE": Code(MAJOR, f"{_SLOW}; or make a new baseline of what is right now"),
    "BELOW-PUBLISHED": Code(MAJOR, _SLOW),
    "BELOW-LIMIT": Code(MAJOR, f"{_SLOW}; see that the PCIe slot and payload are as the facts say"),
    "BELOW-REFERENCE": Code(MAJOR, _SLOW),
    "ABOVE-REFERENCE": Code(
        MINOR, "better than its reference allows: see whether it still measures the same thing"
    ),
    "CASE-FAILED": Code(MAJOR, "read its output in the stage folder, then run it alone (-n NAME)"),
    "TIMEOUT": Code(
        MAJOR,
        "see whether it hung (a rank without its fabric) or only needs longer (-S time_limit=30m); "
        "look at its nodes first",
    ),
    "BUILD-FAILED": Code(
        MAJOR, "read the build's output in the stage folder; see compilers and MPI in spack-envs/"
    ),
    "JOB-ENDED": Code(
        MAJOR, "Slurm ended the job: see the node (sinfo -R, scontrol show node, dmesg), and repeat"
    ),
    "JOB-BLOCKED": Code(
        MAJOR,
        "Slurm would not have started it before somebody fixes what it says: nodes (sinfo -R), the "
        "partition's limits (scontrol show partition), account and QOS (sacctmgr); then repeat",
    ),
    "JOB-WAITED": Code(MAJOR, "its nodes were busy: repeat, or let it wait: max_pending_time=2h"),
    "GUIDELINE": Code(
        INFO, "tune the MPI's choice of the algorithm for this size, or report it to its makers"
    ),
    "CLAIM": Code(MAJOR, "compare the two results that it is said of, and how they were measured"),
    "CLAIM-OPEN": Code(
        MINOR,
        "measure both of its sides (acceptance claims --all says what is missing), or agree that "
        "it does not count",
    ),
    "REGRESSION": Code(
        MAJOR, "see what changed at that time (acceptance history); acknowledge it when it is meant"
    ),
    "NODE-ABSENT": Code(
        MAJOR,
        "see why Slurm gives it no jobs (sinfo -R, scontrol show node), repair and resume it, then "
        "measure again; or agree that it is no part of this acceptance",
    ),
    "NOT-MEASURED": Code(MAJOR, "fix what kept it from being measured, and run it again"),
    "NOT-PROVIDED": Code(MINOR, "provide the suite as it says, or agree that it is not needed"),
    "NOT-JUDGED": Code(
        INFO,
        "nothing exists that could judge it: agree on a value and write it to reference/sites/",
    ),
    "RESTRICTED": Code(MINOR, "run it again without these options, or agree on them"),
    "SET-UP": Code(MAJOR, "fix the set-up: acceptance doctor says what is missing"),
    **(NODE_CODES | FABRIC_CODES),
}

#: Kind of the observation of a link (`acceptance.fabric.Deviation`) -> code.
OF_DEVIATIONS = {
    "port-rate": "LINK-RATE",
    "port-state": "LINK-STATE",
    "no-adapter": "LINK-MISSING",
    "slot-speed": "PCIE-SPEED",
    "slot-width": "PCIE-WIDTH",
    "interface-speed": "ETH-SPEED",
    "duplex": "ETH-DUPLEX",
    "mtu": "MTU",
    "errors": "LINK-ERRORS",
    "full": "LINK-ERRORS",
    "reset": "LINK-RESET",
    "vanished": "LINK-MISSING",
    "unreadable": "LINK-UNREADABLE",
}

#: Kind of an observation that failed a case, and is no deviation of a link -> code.
OF_FAULTS = {
    "link-failed": "LINK-FAILED",
    "misplaced": "MISPLACED",
    "implausible": "IMPLAUSIBLE",
    "no-bytes": "NO-BYTES",
    "time-limit": "TIMEOUT",
    "job-ended": "JOB-ENDED",
    "not-started": "JOB-WAITED",
}

#: What ReFrame says of a job that it gave up -> code; the first that fits.
OF_REASONS = (
    (re.compile(r"it was blocked due to reason: "), "JOB-BLOCKED"),
    (re.compile(r"job timed out|exceeded timeout|JobTimeout", re.I), "TIMEOUT"),
)

#: Source of the reference that judged a metric -> code of a value that is worse than it may be.
OF_SOURCES = {
    "baseline": "BELOW-BASELINE",
    "published": "BELOW-PUBLISHED",
    "limit": "BELOW-LIMIT",
}

#: Kind of a problem of the gate -> code; None: the cases, or what follows, say it
#: more exactly.
OF_PROBLEMS: dict[str, str | None] = {
    "case-failed": None,
    "guideline": None,
    "left-out": None,
    "nodes-left-out": None,
    "nodes-not-benchmarked": None,
    **dict.fromkeys(FAILING),
    "protocol": None,
    **dict.fromkeys(("regression", "drift", "vanished", "unit", "machine")),
    "node-not-up": "NODE-ABSENT",
    "impossible-value": "IMPLAUSIBLE",
    "off-baseline": "BELOW-BASELINE",
    "no-accounting": "SET-UP",
    "no-database": "SET-UP",
    "unreadable-database": "SET-UP",
    "guidelines": "SET-UP",
    "references": "SET-UP",
    "reference-unmet": "SET-UP",
    "alerts": "SET-UP",
    "perflogs": "SET-UP",
    **dict.fromkeys(
        (
            *("error", "lost", "interrupted", "no-cases", "not-stored", "fewer-cases", "no-run"),
            *("unfinished", "nothing-measured", "missing-metrics", "no-metrics", "last-run"),
            *("check-without-case", "no-suite", "step-not-run"),
            *("nodes-not-looked-at", "nodes-unknown"),
        ),
        "NOT-MEASURED",
    ),
}


def make(
    code: str,
    place: Sequence[str],
    what: str,
    *,
    found: str = "",
    expected: str = "",
    nodes: Iterable[str] = (),
    source: str = "",
    severity: str = "",
    remedy: str = "",
) -> ProtocolFinding:
    """Return a finding of a code; `place` is the stable rest of its id."""
    kind = CODES[code]
    return ProtocolFinding(
        ":".join((code, *(part.replace(" ", "") for part in place if part))),
        severity or kind.severity,
        tuple(dict.fromkeys(nodes)),
        what,
        found,
        expected,
        remedy or kind.remedy,
        source,
    )


def of_deviation(deviation: Observation, source: str = "") -> ProtocolFinding:
    """Return what a deviation of a link is as a finding."""
    counter = deviation.what if deviation.kind in ("errors", "full", "vanished", "reset") else ""
    path = deviation.found.split()[0] if deviation.kind == "unreadable" else ""
    code = OF_DEVIATIONS[deviation.kind]
    remedy = CODES[code].remedy.replace("DEVICE", deviation.device.split("/")[0] or "DEVICE")
    return make(
        code,
        (deviation.node, deviation.device, counter, path),
        " ".join(filter(None, (deviation.node, deviation.device, deviation.what))),
        found=deviation.found,
        expected=deviation.expected,
        nodes=(deviation.node,),
        source=source,
        remedy=remedy,
    )


def merged(findings: Iterable[ProtocolFinding]) -> list[ProtocolFinding]:
    """Return one finding for each id, that of the first with the nodes of all; the worst first."""
    by_id: dict[str, ProtocolFinding] = {}
    for finding in findings:
        known = by_id.get(finding.id, finding)
        nodes = tuple(dict.fromkeys((*known.nodes, *finding.nodes)))
        by_id[finding.id] = replace(known, nodes=nodes)
    return sorted(
        by_id.values(), key=lambda finding: (SEVERITIES.index(finding.severity), finding.id)
    )
