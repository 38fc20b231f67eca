"""The one table of kinds: what all findings of a kind have in common, whoever finds them.

The word of a kind in capitals begins the id of each of its findings. A test looks for kinds in the
sources that have no row, and for rows that nobody names.
"""

from functools import partial

from msgspec import Struct

CRITICAL, MAJOR, MINOR, INFO = "critical", "major", "minor", "info"
SEVERITIES = (CRITICAL, MAJOR, MINOR, INFO)

#: The questions that a verdict answers, in their order.
RUN, CASES, METRICS, NODES, ALIKE, STEADY, GUIDELINES = QUESTIONS = (
    "everything that was selected was run and stored",
    "every case passed",
    "every metric was measured",
    "every node was looked at and benchmarked",
    "no node is worse than the others",
    "nothing became worse",
    "the MPI follows the guidelines",
)


class Kind(Struct, frozen=True):
    """How bad findings of a kind are, what to do about them, and the question they answer with no.

    `unmeasured`: something was left unmeasured. They have an alert, and whoever has acknowledged it
    is not sent it again; but what was not measured has not passed, whoever knows of it. `sent`:
    alerts tell of them.
    """

    severity: str
    remedy: str
    question: str = CASES
    unmeasured: bool = False
    sent: bool = True


_LOOK = "look at the links of its nodes first (acceptance accept, or reframe --mode=maintenance)"
_SLOW = (
    f"{_LOOK}; then repeat it on other pairs of nodes: one that is slow with every partner is to "
    "blame itself; otherwise it is the way between them, or the MPI's settings"
)
_BASELINE = Kind(MAJOR, f"{_SLOW}; or make a new baseline of what is right now")
_NOT_OVER_IT = (
    "the number was not measured over this fabric: see which device the MPI took (UCX_NET_DEVICES, "
    "FI_PROVIDER, btl), whether ranks shared a node, and whether the facts are right"
)
_INSIDE = (
    "see which way the MPI takes inside a node (I_MPI_FABRICS, FI_PROVIDER; OMPI_MCA_btl, "
    "OMPI_MCA_pml; MPIR_CVAR_NOLOCAL, UCX_TLS), how large /dev/shm is (docker --shm-size), and "
    "whether processes may read each other's memory (kernel.yama.ptrace_scope, seccomp)"
)

#: What failed a case, what judged its metrics, and what nothing judged.
OF_CASES = {
    "misplaced": Kind(
        MAJOR,
        "the ranks stood elsewhere: see variables of the user, and defaults of Slurm or the MPI, "
        "that override its options (SLURM_*, OMPI_MCA_*, I_MPI_*, taskset)",
    ),
    "implausible": Kind(CRITICAL, _NOT_OVER_IT),
    "of-another-job": Kind(
        CRITICAL,
        "see what the program is: a wrapper that adds options, or prints a file of another run; "
        "whether the clocks of the nodes are right (chronyc tracking), and the time zone of a "
        "container; of repetitions whether the first message of an MPI takes seconds",
    ),
    "other-software": Kind(
        CRITICAL,
        "what an environment names is not what is there, as the text says: correct its modules, "
        "images, suites or versions; acceptance doctor looks at the same before a run",
    ),
    "version-unknown": Kind(
        INFO, "see yourself which version the program is, or state none: nothing tells it here"
    ),
    "no-bytes": Kind(
        CRITICAL,
        "the messages went over another network: name the device to the MPI (UCX_NET_DEVICES, "
        "FI_PROVIDER, FI_TCP_IFACE, btl_tcp_if_include), and see whether `device` is right",
    ),
    "below-baseline": _BASELINE,
    "off-baseline": _BASELINE,
    "below-published": Kind(MAJOR, _SLOW),
    "below-limit": Kind(MAJOR, f"{_SLOW}; see that the PCIe slot and payload are as the facts say"),
    "below-machine": Kind(MAJOR, _INSIDE),
    "slow-inside": Kind(MAJOR, _INSIDE),
    "below-reference": Kind(MAJOR, _SLOW),
    "above-reference": Kind(
        MINOR, "better than its reference allows: see whether it still measures the same thing"
    ),
    "case-failed": Kind(MAJOR, "read its output in the stage folder, then run it alone (-n NAME)"),
    "time-limit": Kind(
        MAJOR,
        "see whether it hung (a rank without its fabric) or only needs longer (-S time_limit=30m); "
        "look at its nodes first",
    ),
    "build-failed": Kind(
        MAJOR, "read the build's output in the stage folder; see compilers and MPI in spack-envs/"
    ),
    "job-ended": Kind(
        MAJOR, "Slurm ended the job: see the node (sinfo -R, scontrol show node, dmesg), and repeat"
    ),
    "job-blocked": Kind(
        MAJOR,
        "Slurm would not have started it before somebody fixes what it says: nodes (sinfo -R), the "
        "partition's limits (scontrol show partition), account and QOS (sacctmgr); then repeat",
    ),
    "not-started": Kind(MAJOR, "its nodes were busy: repeat, or let it wait: max_pending_time=2h"),
    "shared-machine": Kind(INFO, "measure it again while nobody else uses the machine"),
    "recorded-otherwise": Kind(
        INFO, "record what is judged with what is here by `acceptance baseline`, then measure again"
    ),
    "unjudged-inside": Kind(
        INFO, "measure it again while nothing else runs on the node; it needs python3, nothing more"
    ),
    "recorded": Kind(
        INFO,
        "nothing exists that could judge it: agree on a value and write it to reference/sites/",
    ),
    "near-limit": Kind(
        INFO, "look why it scatters, and why it lies so near; or measure it more often (--again)"
    ),
    "unpatched": Kind(
        MAJOR,
        "run it with a ReFrame that all patches fit: acceptance doctor names those that do not",
        RUN,
        unmeasured=True,
    ),
    "unexpected-pass": Kind(
        INFO,
        "see whether what it waited for is mended, then take it back: acceptance alerts ack "
        "--remove PATTERN",
    ),
    "claim": Kind(MAJOR, "compare the two results that it is said of, and how they were measured"),
    "claim-open": Kind(
        MINOR,
        "measure both of its sides (acceptance claims --all says what is missing), or agree that "
        "it does not count",
    ),
    "guideline": Kind(
        INFO,
        "tune the MPI's choice of the algorithm for this size, or report it to its makers",
        GUIDELINES,
    ),
    "suffers-load": Kind(
        INFO,
        "see which uplinks its routes share with those that load the network, whether routes are "
        "adaptive and congestion control is on; its past, and claims, judge what it measured",
    ),
}

#: Kind of what the history shows -> what one and several of them are called.
HISTORY = {
    "regression": ("regression", "regressions"),
    "drift": ("drift", "drifts"),
    "vanished": ("vanished metric", "vanished metrics"),
    "unit": ("changed unit", "changed units"),
    "machine": ("change of the machine", "changes of the machine"),
}

_MISSED = "fix what kept it from being measured, and run it again"
_SET_UP = "fix the set-up: acceptance doctor says what is missing"
#: What kept a run, or part of it, from being measured or judged.
OF_RUNS = {
    **dict.fromkeys(
        (
            *("error", "lost", "interrupted", "no-cases", "not-stored", "fewer-cases", "no-run"),
            *("no-suite", "step-not-run", "check-without-case", "last-run", "campaign", "verdict"),
        ),
        Kind(MAJOR, _MISSED, RUN, unmeasured=True),
    ),
    **dict.fromkeys(("sessions-gone", "unreadable-session"), Kind(MAJOR, _MISSED, RUN)),
    **dict.fromkeys(
        ("no-database", "unreadable-database", "no-accounting"),
        Kind(MAJOR, _SET_UP, RUN, unmeasured=True),
    ),
    **dict.fromkeys(("references", "reference-unmet", "perflogs"), Kind(MAJOR, _SET_UP, RUN)),
    "claims": Kind(MAJOR, _SET_UP, RUN),
    "alerts": Kind(MAJOR, _SET_UP, RUN, sent=False),
    "guidelines": Kind(MAJOR, _SET_UP, GUIDELINES),
    "many": Kind(MAJOR, "see each of the failures that it stands for: acceptance gate", CASES),
    "protocol": Kind(MAJOR, "see the findings of the protocol", RUN, sent=False),
    "not-measured": Kind(MAJOR, _MISSED, unmeasured=True),
    "left-out": Kind(MAJOR, _MISSED),
    "unfinished": Kind(MAJOR, _MISSED, unmeasured=True),
    "nothing-measured": Kind(MAJOR, _MISSED, METRICS, unmeasured=True),
    **dict.fromkeys(("no-metrics", "missing-metrics"), Kind(MAJOR, _MISSED, METRICS)),
    "impossible-value": Kind(CRITICAL, _NOT_OVER_IT, METRICS),
    "not-provided": Kind(MINOR, "provide the suite as it says, or agree that it is not needed"),
    "restricted": Kind(MINOR, "run it again without these options, or agree on them"),
    **dict.fromkeys(
        HISTORY,
        Kind(
            MAJOR,
            "see what changed at that time (acceptance history); acknowledge it when it is meant",
            STEADY,
        ),
    ),
    "false-alarms": Kind(
        MINOR,
        "see how the metric that has most of them scatters (acceptance history); steady it (pinned "
        "ranks, a fixed clock, nobody else on the nodes, longer runs); until then believe an alert "
        "of it only when another metric moved, too",
        STEADY,
    ),
}

_of_nodes = partial(Kind, question=NODES)
_of_pairs = partial(Kind, question=ALIKE)
#: Nodes that were not looked at, or not measured.
OF_NODES = {
    "node-absent": _of_nodes(
        MAJOR,
        "see why the scheduler gives it no jobs (Slurm: sinfo -R, scontrol show node; PBS: "
        "pbsnodes; Flux: flux resource status), repair and resume it, then measure again; or agree "
        "that it is no part of this acceptance",
    ),
    **dict.fromkeys(
        ("nodes-not-looked-at", "nodes-unknown", "nodes-left-out"), _of_nodes(MAJOR, _MISSED)
    ),
    "not-benchmarked": _of_nodes(
        MAJOR,
        "bring these nodes up (sinfo -R) and run it again; or limit the acceptance to those that "
        "are to be accepted (--nodes LIST), which the protocol then says",
    ),
    "limited": _of_nodes(MINOR, "accept the other nodes as well, or agree that they do not count"),
    "links-not-judged": _of_nodes(
        MINOR,
        "state the fabric of the partition with its rate in its `extras`, or agree that the links "
        "of its nodes are looked at otherwise",
    ),
    "pairs-not-measured": _of_pairs(
        MINOR,
        "let all pairs be measured (checks/all_pairs.py: an environment with the feature patterns, "
        "which an mpicc provides); until then references alone judge a node, and no slow cable "
        "between two good nodes is found",
    ),
}

_PAIRS = "reframe -c checks/all_pairs.py -r"
#: What is behind slow pairs of nodes.
OF_PAIRS = {
    **dict.fromkeys(
        ("node-slow", "node-sends-slow", "node-receives-slow"),
        _of_pairs(
            MAJOR,
            "it is slow with nearly all partners: see its cable at both ends, its port and its "
            "slot (lspci -vv, LnkSta), its error counters, what else runs on it; then measure "
            f"again ({_PAIRS})",
        ),
    ),
    "node-slow-inside": _of_pairs(
        MAJOR,
        "no link is part of it: compare it with a good node: memory channels, clock and power "
        "limits, BIOS, what else runs on it; take it out until it is as fast as the others "
        f"({_PAIRS})",
    ),
    **dict.fromkeys(
        ("way-slow", "way-slow-one-way"),
        _of_pairs(
            MAJOR,
            "both are good with others: see the route between them in this direction and its "
            "cables (ibtracert, ibdiagnet; Ethernet: the hash over uplinks), and the error "
            f"counters of the switches on it; then measure again ({_PAIRS})",
        ),
    ),
    "uplink-slow": _of_pairs(
        MAJOR,
        "see the cables between the switches of these two sets of nodes: one that is missing, slow "
        "(iblinkinfo) or counts errors (ibqueryerrors), and whether routes spread over all of them",
    ),
    "cable-slow": _of_pairs(
        MAJOR,
        "reseat this cable at both ends, then replace it, then try other ports; see its error "
        "counters (ibqueryerrors), and whether a port is limited (ibportstate); then measure again "
        f"({_PAIRS})",
    ),
    "nodes-differ": _of_pairs(
        MAJOR,
        "see what the slower ones have in common: a switch or its uplinks, a rack, a BIOS version, "
        "an image; nodes that are meant to differ belong into partitions of their own",
    ),
    "pair-failed": _of_pairs(
        CRITICAL,
        "messages between them did not arrive: see the links of both (ibstat, dmesg), the route "
        "(ibtracert) and the subnet manager's log; a node that fails with many is to blame itself",
    ),
    "node-unsteady": _of_pairs(
        MINOR,
        "it was slow while all nodes were busy, and good alone: see whether the fabric is meant to "
        f"be oversubscribed, and what else used it; measure again ({_PAIRS})",
    ),
    "not-judged": _of_pairs(
        MINOR,
        "measure again what it says was not enough: more nodes, and more time for their pairs "
        f"({_PAIRS} -S AllPairs.limit=3600)",
    ),
}

_CABLE = "reseat the cable at both ends, then replace it, then try other ports"
_SLOT = Kind(
    MAJOR,
    "reseat the adapter; see whether the slot has the lanes and the generation (dmidecode -t slot, "
    "lspci -vv: LnkCap against LnkSta) and the BIOS does not limit it; then try another slot",
)
#: What is seen of a node's links. `link-counters` stand above zero, `link-failed` while something
#: was measured. DEVICE in a remedy stands for the device that was seen.
OF_LINKS = {
    "link-rate": Kind(
        CRITICAL,
        f"{_CABLE}; see both ends with ibdiagnet or mlxlink -d DEVICE, and whether the switch's "
        "port is limited (ibportstate)",
    ),
    "link-state": Kind(
        CRITICAL,
        "see that the cable is in and the subnet manager runs (ibstat, sminfo; Ethernet: ip link, "
        f"the switch's port); {_CABLE}",
    ),
    "link-missing": Kind(
        CRITICAL,
        "see whether the adapter is there (lspci) and its driver has loaded it (dmesg, ibstat, ip "
        "link); if it is, name the right one as `device` in the fabric facts; if not, reseat or "
        "replace it",
    ),
    "link-errors": Kind(
        MINOR,
        f"{_CABLE}; clear and watch the counters (perfquery -R, ibqueryerrors; ethtool -S), and "
        "see the signal with mlxlink -d DEVICE -c",
    ),
    "link-counters": Kind(
        MINOR, f"clear it (perfquery -R), and see whether it grows; where it does, {_CABLE}"
    ),
    "link-uncounted": Kind(
        INFO, "ask its maker for counters (rdma statistic show, ethtool -S), and watch those"
    ),
    "link-failed": Kind(
        CRITICAL, f"the link went down under load: {_CABLE}; see dmesg and the switch's log"
    ),
    "link-reset": Kind(
        MAJOR, "see why node or adapter restarted in the middle (dmesg, uptime), then repeat"
    ),
    "link-unreadable": Kind(
        MAJOR, "let users read these files below /sys; without them nothing is known of the link"
    ),
    "rail-down": Kind(
        CRITICAL,
        "messages took the other rails: see that the cable is in and the port enabled (ibstat, ip "
        f"link, the switch's port); {_CABLE}",
    ),
    "rail-idle": Kind(
        MAJOR,
        "name all rails to the MPI (UCX_NET_DEVICES and UCX_MAX_RNDV_RAILS, MV2_NUM_HCAS, "
        "btl_tcp_if_include), and see whether it reaches the others over DEVICE (addresses, "
        "subnets); or state fewer `ports` in the fabric facts",
    ),
    "rail-uneven": Kind(
        MINOR,
        "see whether the rails run at the same rate (ibstat DEVICE, ethtool DEVICE) and how the "
        "MPI splits messages; or state a larger `uneven` in the fabric facts",
    ),
    "adapter-other": Kind(CRITICAL, _NOT_OVER_IT),
    "rail-moved": Kind(INFO, "nothing, as long as the bandwidth is the same"),
    "gpu-missing": Kind(
        CRITICAL,
        "see whether it is there (lspci) and what its driver says (dmesg, nvidia-smi, rocm-smi); "
        "if all are there, correct `gpus` and `gpu_kind` in the fabric facts",
    ),
    "pcie-speed": _SLOT,
    "pcie-width": _SLOT,
    "eth-speed": Kind(
        CRITICAL,
        "see both ends (ethtool DEVICE, the switch's port): autonegotiation on, no fixed speed, a "
        f"transceiver of the right speed; {_CABLE}",
    ),
    "eth-duplex": Kind(
        MAJOR, "let both ends negotiate (ethtool -s DEVICE autoneg on); one end is set by hand"
    ),
    "mtu": Kind(
        MAJOR, "set it on the node (ip link set DEVICE mtu N), and on every switch at least as much"
    ),
}

_WANTED = "if it is wanted: acceptance fabric accept --reason TEXT; if not, put it back"
_LOST = Kind(
    CRITICAL, f"see that both ends are plugged in and their devices on; {_CABLE}; {_WANTED}"
)
_NEW = Kind(MINOR, _WANTED)
_SWAPPED = Kind(MAJOR, f"swap the two cables back; {_WANTED}")
_MOVED = Kind(MAJOR, f"plug it into its port again; {_WANTED}")
#: What is seen of a whole fabric.
OF_FABRICS = {
    "fabric-width": Kind(
        CRITICAL, f"{_CABLE}: lanes are missing; see both ends (iblinkinfo, mlxlink)"
    ),
    "fabric-speed": Kind(
        CRITICAL,
        f"{_CABLE}; see whether a port is limited (ibportstate), or the cable is of another speed",
    ),
    "fabric-state": Kind(
        CRITICAL,
        "see the log of the subnet manager (sminfo says where it is), why it does not "
        "take the link into service",
    ),
    "fabric-lost": _LOST,
    "fabric-new": _NEW,
    "fabric-swapped": _SWAPPED,
    "fabric-moved": _MOVED,
    "fabric-replaced": _NEW,
    "fabric-switch": Kind(
        CRITICAL, f"see whether it is on and managed, and its uplinks; {_WANTED}"
    ),
    "fabric-errors": Kind(MAJOR, f"{_CABLE} before it fails; see the signal with mlxlink -c"),
    "fabric-uplinks": Kind(
        MAJOR, "see which of its ports should be uplinks (acceptance fabric); plug them in"
    ),
    "fabric-rail": Kind(
        MAJOR,
        "plug its cable into a leaf of its rail; if the order of the adapters differs on this node "
        f"(their descriptions say it), mend that; {_WANTED}",
    ),
    "fabric-not-looked": Kind(
        MAJOR,
        "install infiniband-diags where it looks, and let its user open "
        "/dev/infiniband/umad*; state who looks: view in the facts of the fabric",
    ),
    "fabric-faster": Kind(MINOR, "acceptance fabric accept --reason TEXT takes it over"),
    "fabric-renamed": Kind(
        MINOR, "see whether an adapter went to another node, or its description is wrong"
    ),
    "fabric-away": Kind(MINOR, "bring its node up, and look again"),
    "fabric-older": Kind(MINOR, "see whether this switch is an older one, or all of it is limited"),
    "fabric-standing": Kind(
        MINOR, f"clear it (ibclearerrors), see whether it grows; where it does, {_CABLE}"
    ),
    "fabric-reset": Kind(INFO, "see who reset the counters, or which devices restarted"),
    "fabric-not-judged": Kind(
        INFO,
        "let it be read again (reframe --mode=maintenance; cables of Ethernet are told by lldpd, "
        "which must run on each node and answer its user), then accept what is right: acceptance "
        "fabric accept --reason TEXT",
    ),
    "fabric-structure": Kind(INFO, "know of it when one of these fails"),
    "fabric-unused": Kind(
        INFO, "see whether routes lead over it (dump_lfts): few nodes may have sent over others"
    ),
    "fabric-shifted": Kind(INFO, "nothing: the cables together carried as much"),
    "fabric-congestion": Kind(
        INFO, "compare with the uplinks beside it: routes may not spread over them"
    ),
}
#: The same of Ethernet, by its nodes.
OF_CABLES = {
    "cable-lost": _LOST,
    "cable-new": _NEW,
    "cable-swapped": _SWAPPED,
    "cable-moved": _MOVED,
}

#: What makes most of the late messages late, which fails nothing.
OF_LATE = {
    "node-noisy": Kind(
        INFO,
        "see which process has this core while a job runs (pidstat -wt, perf sched; as root the "
        "osnoise tracer of Linux); turn off or move what need not run there (services, kernel "
        "threads, interrupts: irqaffinity, isolcpus, nohz_full), or leave a core of each node free",
    ),
    "network-late": Kind(
        INFO,
        "see who else uses the links and the uplinks between these nodes (acceptance fabric, "
        "counters of waiting: PortXmitWait, pause frames), and moderated interrupts (ethtool -c)",
    ),
}

#: Kind -> what all findings of it have in common.
TABLE: dict[str, Kind] = {
    **OF_CASES, **OF_RUNS, **OF_NODES, **OF_PAIRS, **OF_LINKS, **OF_FABRICS, **OF_CABLES,
    **OF_LATE,
}  # fmt: skip

#: Kinds that say what was not measured or not judged. All others say what is wrong.
NOT_JUDGED = frozenset((
    *OF_RUNS.keys() - HISTORY.keys() - {"impossible-value", "many"},
    *OF_NODES.keys() - {"node-absent"},
    *("job-blocked", "not-started", "shared-machine", "unpatched", "link-uncounted"),
    *("recorded-otherwise", "unjudged-inside", "recorded", "claim-open", "not-judged"),
    *("link-unreadable", "fabric-not-looked", "fabric-not-judged"),
))  # fmt: skip


def of(kind: str) -> Kind:
    """Return the row of a kind; one that a later release has stored is a case that failed."""
    return TABLE.get(kind, OF_CASES["case-failed"])
