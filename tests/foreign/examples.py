"""Texts that the readers of `tests.foreign` know: recorded ones, made ones, and those of tests."""

import json
from datetime import datetime, timezone
from functools import cache

import msgspec

from acceptance.alerts.acknowledgements import Ack
from acceptance.alerts.notify import State
from acceptance.campaigns import state as campaign
from acceptance.fabric.outputs import parse_netdiscover
from acceptance.verdict import Verdict
from tests import alerted, made, made_applications, made_detours, made_loaded, made_matrices
from tests.ibsim import fat_tree
from tests.mutations import files
from tests.places import ROOT
from tests.recorded import runs
from tests.utils.campaigns import test_protocol
from tests.utils.fabric import test_accepted, test_inside, test_link_report
from tests.utils.machine import test_osnoise, test_schedulers, test_spack
from tests.utils.references import made as made_references
from tests.utils.references import test_external
from tests.utils.rfm import test_run_log

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=timezone.utc)
#: Characters of the longest recorded output that is an example: longer ones say the same again.
LONGEST = 40_000


def recorded(folder, begins=""):
    """Return the outputs in a folder of `tests/data`, each of those that stand in one file."""
    if folder in ("osu", "imb"):
        texts = [
            one for path in files(folder) for _, one in runs(folder, path.read_text("latin-1"))
        ]
    else:
        paths = sorted((ROOT / "tests/data" / folder).glob(f"{begins}*"))
        texts = [path.read_text("latin-1") for path in paths]
    return [one for one in texts if len(one) <= LONGEST] or [min(texts, key=len)]


# Suites


def loaded():
    return [made_loaded.text(nodes=4, cycles=1, count=3)]


def detours():
    return [made_detours.text([[]], usual=200)]


def all_pairs():
    rows = [
        {"type": "round", "round": 1, "failed": 0, "to": [1, 0],
         "latency_us": [2.0, 2.1], "bandwidth_MBps": [900.0, 910.0], "both_MBps": [800.0, 810.0]},
    ]  # fmt: skip
    return [made_matrices.written(("node1", "node2"), rows, 1)]


def cpmd():
    return [made_applications.of_both()]


def namd():
    return [made_applications.of_namd()]


def himeno():
    return [made_applications.of_himeno()]


def specmpi():
    return [made_applications.of_spec()]


# Fabric and nodes

LEAF, NODE = "0x248a070300a00000", "0x98039b0300500001"
READING = [
    *("reading/ibnetdiscover.out", "reading/iblinkinfo.out", "reading/ibqueryerrors.out"),
    *("reading/dump_lfts.out", "reading/ibnetdiscover.status", "reading/iblinkinfo.status"),
    *("reading/ibqueryerrors.status", "reading/dump_lfts.status", "reading/begin", "reading/end"),
]


def netdiscover():
    return [fat_tree(2, 2, 1).net + "\n"]


@cache
def topology():
    return parse_netdiscover(netdiscover()[0])[0]


def linkinfo():
    lines = [
        f'{NODE} "     node0016 mlx5_0"     44    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)',
        f'==>  {LEAF}     29    4[  ] "leaf04" (Could be 12X )\n',
        f'{LEAF} "               leaf04"     29    6[  ] ==(                Down/ Polling)',
        '==>             [  ] "" ( )\n',
    ]
    return ["".join(lines)]


def query_errors():
    return [
        f'Errors for {LEAF} "leaf03"\n   GUID {LEAF} port ALL: [SymbolErrorCounter == 500]\n'
        f"   GUID {LEAF} port 2: [SymbolErrorCounter == 500] [PortXmitData == 2736 (10.688KB)]\n\n"
        "## Summary: 22 nodes checked, 1 bad nodes found\n"
        "##          53 ports checked, 1 ports have errors beyond threshold\n## Thresholds: \n"
    ]


def tables():
    lines = []
    for guid, device in topology().devices.items():
        if device.kind == "switch":
            lines.append(
                f"Unicast lids [0x0-0x2c] of switch DR path slid 0; dlid 0; 0 guid {guid} (leaf01):"
            )
            lines += ["  Lid  Out   Destination", "       Port     Info "]
            lines += [
                f"0x{lid:04x} 00{lid % 3 + 1} : (Switch portguid {guid}: 'x')" for lid in range(4)
            ]
    return ["\n".join([*lines, ""])]


def reading():
    outputs = (netdiscover()[0], linkinfo()[0], query_errors()[0], tables()[0])
    return ["\f".join([*outputs, *["0\n"] * 4, "1795706259\n", "1795706260\n"])]


def links():
    return [test_link_report.GOOD]


def ucx():
    start = "[1795706259.015979] [node1:23787:0]     ucp_worker.c:1763 UCX  INFO  "
    return [
        f"{start}ep_cfg[1]: tag(rc_mlx5/mlx5_0:1 rc_mlx5/mlx5_1:1);\n"
        f"{start}  0x252d990 inter-node cfg#2 tag(rc_mlx5/mlx5_2:1 cuda_copy/cuda)\n"
        f"{start}ep_cfg[2]: tag(sysv/memory cma/memory tcp/ib1)\n"
    ]


def unaided():
    return [msgspec.json.encode(test_inside.NODE).decode()]


def waited():
    return [f"{test_inside.report('1.50', 5, 7)}\f{test_inside.report('2.50', 9, 8)}"]


def facts():
    given = {
        "technology": "infiniband", "rate": "HDR", "lanes": 4, "device": "mlx5_0/1, mlx5_1/1",
        "pcie": "3.0", "pcie_lanes": "16", "cable": 2.5, "gpus": 4, "gpu_kind": "cuda",
    }  # fmt: skip
    return [json.dumps(given)]


def accepted():
    return [json.dumps(test_accepted.FILE)]


def fabric_state():
    return [json.dumps({
        "time": 1.0, "counters": {f"{LEAF}[2]": {"SymbolErrorCounter": 5}},
        "since": {"port down leaf01[3]": "2026-11-22T18:00:00+00:00"},
        "fabric": test_accepted.FABRIC, "traffic": {f"{LEAF}[1] {NODE}[1]": [1, 2, None]},
    })]  # fmt: skip


def node():
    route = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
    route += "eth2\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n"
    return [f"== links\n{test_link_report.GOOD}== route\n{route}== paths\nyes /a\n== end\n"]


# Schedulers, launchers, MPIs, Spack


def stderr():
    return [
        "slurmstepd: error: *** JOB 12 ON node1 CANCELLED AT 2026-11-20T09:00:00 DUE TO TIME LIMIT "
        "***\nsrun: error: node1: task 0: Killed\n",
        "hello\n" + "-" * 60 + "\nMPI_ABORT was invoked on rank 0\n" + "-" * 60 + "\n",
        "=>> PBS: job killed: walltime 61 exceeded limit 60\n",
    ]


def pbs():
    return [test_schedulers.PBS, *recorded("slurm", "pbsnodes")]


def flux():
    return [f"{json.dumps(test_schedulers.R)}\f{test_schedulers.STATUS}"]


def identities():
    return ["mpirun (Open MPI) 4.1.6\n", "MPICH Version:    \t4.0.2\n", "MVAPICH2 2.3.7 Wed\n"]


def osnoise():
    events = "".join(
        f"n event {line}\n" for line in test_osnoise.EVENTS.splitlines() if "_noise" in line
    )
    return [f"n tracer osnoise mono NO_OSNOISE_WORKLOAD\n{events}m none no right to trace\n"]


def ranks():
    return [
        "placement rank=0 node=n1 cpus=0-1,4 sockets=0,1 cores=0:0,1:0\n"
        "placement rank=1 node=n2 cpus=0 sockets=? cores=?\nother\n",
        "[0.000000] [smpi/INFO] [rank 0] -> n1\n[0.000000] [smpi/INFO] [rank 1] -> n2\n",
    ]


def lock():
    return [json.dumps(test_spack.LOCK)]


# What a site writes


def _table(header, *rows):
    return "\n".join([header, *rows, ""])


def values():
    return [_table(made_references.VALUES, made_references.LATENCY, made_references.PEAK)]


def claims():
    return [_table(made_references.CLAIMS, made_references.RATIO, made_references.ORDER)]


def partitions():
    rows = [
        made_references.partition(*names) for names in (("koop", "qdr", "Q;R"), ("saini", "a", "X"))
    ]
    return [_table(made_references.SYSTEMS, rows[0], rows[1].replace("infiniband", ""))]


def papers():
    return [made_references.PAPERS]


def recordings():
    header = "where,partition,benchmark,metric,parameters,unit,values"
    return [_table(header, "r,default,imb.PingPong,latency,np=2,us,=1.5;8=1.6")]


def external():
    return [test_external.FILE]


def tolerances():
    return [made_references.TOLERANCES]


def acks():
    ack = Ack("made:* latency_*", "known", NOW.date(), "operator", NOW)
    return [msgspec.json.encode([ack]).decode()]


def extras():
    given = {"nodes": 4, "guidelines": "fail", "verify_placement": False, "packed": True,
             "site_x": 1, "fabric": {"technology": "ethernet"}, "inferred": ["fabric"]}  # fmt: skip
    return [json.dumps(given)]


def environment():
    return [json.dumps({"mpi": "openmpi", "suites": {"osu": "/opt"}, "spack": {"mpi": "openmpi"}})]


def sides():
    return [
        *("last-2", "night", "3f2a9c01", "2026-10-01..2026-11-01", "..2026-10-01", "local"),
        *("sys:part+env*@night-1,openmpi=5.0.6", "+mpich,mpi!=4.?", "nightly-2026-11-20T2200"),
    ]


# What is stored


@cache
def _session():
    cases = [made.one_night(0, number) for number in range(2)]
    cases[0].findings = ({"kind": "link", "text": "a port at SDR"},)
    runs_of = [case.data("u", number, 1.0e9 + number) for number, case in enumerate(cases)]
    info = {
        "data_version": "4.2", "hostname": "login1", "uuid": "u", "time_start": "x",
        "time_start_unix": 1.0e9, "time_end": "x", "time_end_unix": 1.1e9, "time_elapsed": 1e8,
        "cmdline": "reframe -r", "user": "o", "version": "4.10.4", "workdir": "/", "num_cases": 2,
        "num_failures": 0, "num_aborted": 0, "num_skipped": 0, "run": "r",
    }  # fmt: skip
    runs = [{"num_cases": 2, "run_index": 0, "testcases": runs_of}]
    return json.dumps({"session_info": info, "runs": runs, "restored_cases": []})


def sessions():
    return [_session()]


def findings():
    return [json.dumps({"kind": "link", "text": "a port at SDR", "nodes": "n1,n2", "fails": "yes"})]


def alerts():
    seen = alerted.replace(alerted.ALERT, opened=NOW, seen=NOW, told={"ops": NOW})
    return [msgspec.json.encode(State([seen])).decode()]


def campaigns():
    attempt = campaign.Attempt("r", "2026-11-21T22:00:00+00:00", session="u")
    step = campaign.Step("osu", ("osu.py",), ("-r",), campaign.RUNNING, attempts=[attempt])
    state = campaign.begin(ROOT / "var/none", "nightly", {"system": "made"}, [step], NOW)
    stored = {name: getattr(state, name) for name in state.__struct_fields__[:-1]}
    return [msgspec.json.encode(stored).decode()]


def protocol():
    return [json.dumps(test_protocol.make())]


def marks():
    mark = {"number": 1, "began": "2026-11-21T22:00:00+00:00", "arguments": ["-r"], "host": "h",
            "boot": "b s", "process": 77, "ticks": "1", "ended": 2}  # fmt: skip
    stat = "77 (sh) S " + " ".join(map(str, range(40)))
    return [f"{json.dumps(mark)}\fb\ns\nh\n{stat}\nsh\0reframe\0-r\0--session-extras=run=x\0"]


def log():
    return [test_run_log.RUN.format(1)]


def verdict():
    return [msgspec.json.encode(Verdict(session="u", system="made")).decode()]
