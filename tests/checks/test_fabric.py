"""The link check, and what is not true between nodes, through real ReFrame on a made fabric.

The hardware is made: a tree that stands for /sys of each node, and a launcher that starts the
ranks one after the other with a node's name and tree. All else is real.
"""

import json
import shutil
import socket

import pytest

from tests import stored as results
from tests.places import ROOT
from tests.recorded import REPLAYED
from tests.sysfs import Sysfs

QDR = '{"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8}'
PINGPONG = "imb/IMB-MPI1_PingPong.impi.txt"
#: Starts -n ranks: block over the nodes, or all on the first one; skips options of a launcher.
MPIEXEC = """\
#!/bin/sh
folder={folder}
[ "$1" = -n ] && number=$2
while [ "$1" != sh ]; do shift; done
rank=0
while [ $rank -lt "$number" ]; do
    node=node$((rank * {nodes} / number + 1))
    PMI_RANK=$rank MPI_LOCALRANKID=0 SYSFS=$folder/$node/sys \\
        PATH=$folder/$node/bin:$PATH "$@" || exit
    rank=$((rank + 1))
done
"""
#: The first rank prints what was recorded; each one sends `words` words of four octets.
PROGRAM = """\
#!/bin/sh
[ "$PMI_RANK" = 0 ] && {replayed} {folder}/output.txt
counter=$SYSFS/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data
[ -e "$counter" ] && echo $(($(cat "$counter") + {words})) > "$counter".new \\
    && mv "$counter".new "$counter"
{more}
exit 0
"""


class Fabric:
    """A cluster of two nodes of one core, with an InfiniBand adapter each."""

    def __init__(self, site):
        self.site, self.folder = site, site.folder
        self.nodes = {}
        for name in ("node1", "node2"):
            self.nodes[name] = Sysfs(self.folder / name, name)
            hostname = self.folder / name / "bin/hostname"
            hostname.parent.mkdir(parents=True, exist_ok=True)
            hostname.write_text(f"#!/bin/sh\necho {name}\n")
            hostname.chmod(0o755)

    def healthy(self, *names, **port):
        """Give nodes an adapter whose port and slot are QDR behind PCIe 2.0, unless told."""
        slot = {key: port.pop(key) for key in ("speed", "width", "most", "wide") if key in port}
        for name in names or self.nodes:
            self.nodes[name].adapter(**slot)
            self.nodes[name].port(**{"port_xmit_data": 1000, "port_rcv_data": 1000, **port})
        return self

    def start(
        self, output="", *, words=2**22, stand_on=2, facts=QDR, more="", extras="", mpi="mpich"
    ):
        """Write launcher, program and configuration."""
        (self.folder / "output.txt").write_text(output)
        tools = {
            "mpiexec": MPIEXEC.format(folder=self.folder, nodes=stand_on),
            "IMB-MPI1": PROGRAM.format(
                folder=self.folder, replayed=REPLAYED, words=words, more=more
            ),
        }
        (self.folder / "bin").mkdir()
        for name, text in tools.items():
            path = self.folder / "bin" / name
            path.write_text(text)
            path.chmod(0o755)
        self.site.add_system(f"""
            site_configuration = {{
                "systems": [{{
                    "name": "made", "hostnames": [".*"], "prefix": {str(self.site.var)!r},
                    "partitions": [{{
                        "name": "qdr", "scheduler": "local", "launcher": "mpiexec",
                        "environs": ["first", "recorded"], "max_jobs": 1,
                        "extras": {{"nodes": 2, "cores": 1, {extras} "fabric": {facts}}},
                    }}],
                }}],
                "environments": [
                    {{"name": "first", "target_systems": ["made"], "extras": {{"mpi": "mpich"}},
                      "env_vars": [["PATH", "{self.folder}/bin:$PATH"]]}},
                    {{"name": "recorded", "features": ["imb"], "target_systems": ["made"],
                      "extras": {{"suites": {{"imb": "{self.folder}/bin"}}, "mpi": "{mpi}"}},
                      "env_vars": [["PATH", "{self.folder}/bin:$PATH"]]}},
                ],
            }}
        """)

    def check_links(self):
        done = self.site.reframe("-c", "checks/fabric.py", "-r")
        return done, self.site.gate()

    def pingpong(self, output, *options, **how):
        self.start(output, **how)
        done = self.site.reframe(
            "-c", "checks/imb.py", "-r", "-n", "PingPong.*%placement=inter-node", *options
        )
        return done, self.site.gate()


@pytest.fixture
def fabric(site):
    return Fabric(site)


def problems(verdict):
    """Return the reason of the case that failed."""
    (message,) = [p["text"] for p in verdict["problems"] if p["kind"] == "case-failed"]
    return message


def scaled(output, factor):
    """Divide the times of a recorded PingPong, so that its bandwidths grow."""
    lines = []
    for line in output.splitlines():
        words = line.split()
        if len(words) == 4 and words[0].isdecimal():
            size, repetitions, time, _ = words
            time = float(time) / factor
            line = f"{size:>13} {repetitions:>12} {time:12.2f} {int(size) / time:12.2f}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def peak(output):
    return max(
        float(line.split()[3])
        for line in output.splitlines()
        if len(line.split()) == 4 and line.split()[0].isdecimal()
    )


# The link check


def test_a_healthy_fabric_passes_with_its_rate(fabric):
    fabric.healthy().start()
    done, (status, verdict) = fabric.check_links()
    assert (done.status, status) == (0, 0), done.output
    (case,) = results.session(fabric.site.database).cases
    assert {m.name: (m.value, m.unit) for m in case.metrics} == {
        "nodes": (2, "1"),
        "rate_min": (40000, "Mbit/s"),
    }
    assert verdict["recorded"] == 2


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        (
            {"rate": "10 Gb/sec (4X SDR)"},
            "node2 mlx5_0/1: 10 Gb/sec (4X SDR), expected 40 Gb/sec (4X QDR)",
        ),
        (
            {"speed": "2.5 GT/s PCIe"},
            "node2 mlx5_0 PCIe: 2.5 GT/s x8 (1.1), expected 5 GT/s x8 (2.0)",
        ),
        ({"width": 4}, "node2 mlx5_0 PCIe: 5 GT/s x4 (2.0), expected 5 GT/s x8 (2.0)"),
        ({"state": "1: DOWN", "phys_state": "3: Disabled"}, "node2 mlx5_0/1"),
    ],
)
def test_one_bad_node_fails_with_one_line(fabric, broken, line):
    fabric.healthy("node1").healthy("node2", **broken).start()
    done, (status, verdict) = fabric.check_links()
    assert (done.status, status) == (1, 1)
    message = problems(verdict)
    assert line in message
    assert message.count("node2") == 1
    assert "node1" not in message
    assert line in done.output


def test_counters_that_stand_are_told_with_their_growth_and_fail_nothing(fabric):
    fabric.healthy("node1").healthy("node2", link_downed=7).start()
    first = fabric.check_links()
    place = fabric.nodes["node2"].root / "class/infiniband/mlx5_0/ports/1/counters"
    (place / "link_downed").write_text("10\n")
    (place / "symbol_error").write_text("65535\n")
    second = fabric.check_links()
    told = []
    for done, (status, verdict) in (first, second):
        assert (done.status, status) == (0, 0), done.output
        counters = [one for one in verdict["findings"] if one["kind"] == "link-counters"]
        told.append([(one["what"], one["found"]) for one in counters])
        texts = [note for note in verdict["notes"] if "stands at" in note]
        assert texts == [f"links: {one['text']}" for one in counters]
    assert told == [
        [("link_downed", "7 (first reading)")],
        [("symbol_error", "65535 (+65535 in 0.0 days)"), ("link_downed", "10 (+3 in 0.0 days)")],
    ]
    assert "node2 mlx5_0/1: link_downed stands at 10 (+3 in 0.0 days)" in texts[1]


def test_a_port_whose_errors_nobody_counts_is_told_and_not_taken_for_zero(fabric):
    fabric.healthy().start()
    fabric.nodes["node2"].uncounted()
    done, (status, verdict) = fabric.check_links()
    assert (done.status, status) == (0, 0), done.output
    assert any("node2 mlx5_0/1 counters: none of errors" in note for note in verdict["notes"])
    (case,) = results.session(fabric.site.database).cases
    assert case.provenance["counters"] == "node1"
    told = [(each.kind, each.node) for each in case.findings]
    assert told == [("link-uncounted", "node2")]


def test_a_node_without_an_adapter_is_named(fabric):
    fabric.healthy("node1").start()
    _, (status, verdict) = fabric.check_links()
    assert status == 1
    assert "node2: no InfiniBand adapter, expected 40 Gb/sec (4X QDR)" in problems(verdict)


def test_a_file_that_cannot_be_read_is_no_health(fabric):
    fabric.healthy()
    rate = fabric.nodes["node2"].root / "class/infiniband/mlx5_0/ports/1/rate"
    rate.unlink()
    # Root reads any file, but nobody a folder.
    rate.mkdir()
    fabric.start()
    _, (status, verdict) = fabric.check_links()
    assert status == 1
    assert "cannot be read" in problems(verdict)


def test_a_node_that_does_not_answer_is_missed(fabric):
    fabric.healthy().start(stand_on=1)
    _, (status, verdict) = fabric.check_links()
    assert status == 1
    assert "node1 begins twice" in problems(verdict)


def test_a_node_that_the_launcher_left_out_is_missed(fabric):
    fabric.healthy().start()
    launcher = fabric.folder / "bin/mpiexec"
    launcher.write_text(launcher.read_text().replace('-lt "$number"', "-lt 1"))
    _, (status, verdict) = fabric.check_links()
    assert status == 1
    assert "1 of 2 nodes answered: node1" in problems(verdict)


def test_distributed_each_node_has_a_case_of_its_own(fabric):
    fabric.healthy().start()
    done = fabric.site.reframe("-c", "checks/fabric.py", "-r", "--distribute=all")
    (case,) = results.session(fabric.site.database).cases
    # The one node of the local scheduler is this machine, which has no such adapter.
    name = socket.gethostname()
    assert f"%.nid={name}" in case.name
    assert f"{name}: no InfiniBand adapter" in case.fail_reason
    assert case.keys == {"nodes": "1"}
    assert done.status == 1


def test_this_machine_answers(site):
    done = site.reframe("-c", "checks/fabric.py", "-r")
    assert done.status == 0, done.output
    (case,) = results.session(site.database).cases
    assert [metric.name for metric in case.metrics] == ["nodes"]
    assert site.gate()[0] == 0


@pytest.mark.parametrize("options", [(), ("--distribute=all",)], ids=["job", "distributed"])
@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (QDR.replace('"rate"', '"Rate"'), "unknown key 'Rate' in a fabric; known: technology, "),
        (QDR.replace("infiniband", "IB"), "unknown technology: 'IB'; known: infiniband, "),
        (QDR.replace("QDR", "qdr"), "unknown rate of infiniband: 'qdr'; known: SDR, DDR, "),
        (QDR.replace("2.0", "2"), "unknown pcie: '2'; known: 1.0, 1.1, 2.0, "),
    ],
    ids=["key", "technology", "rate", "generation"],
)
def test_no_link_is_checked_by_facts_that_nobody_knows(fabric, facts, said, options):
    fabric.healthy(rate="10 Gb/sec (4X SDR)").start(facts=facts)
    done = fabric.site.reframe("-c", "checks/fabric.py", "-r", *options)
    assert done.status == 1
    (case,) = results.session(fabric.site.database).cases
    assert (case.result, case.metrics) == ("fail", ())
    assert f"made:qdr: {said}" in case.fail_reason


def test_what_the_link_check_finds_is_stored_as_data(fabric):
    fabric.healthy("node1").healthy("node2", rate="10 Gb/sec (4X SDR)").start()
    fabric.check_links()
    (case,) = results.session(fabric.site.database).cases
    (seen,) = case.findings
    assert (seen.kind, seen.fails, seen.node, seen.device) == (
        "link-rate", True, "node2", "mlx5_0/1",
    )  # fmt: skip
    assert (seen.found, seen.expected) == ("10 Gb/sec (4X SDR)", "40 Gb/sec (4X QDR)")
    assert seen.text in case.fail_reason


# Between nodes


def test_what_crossed_a_healthy_fabric_is_judged_by_the_limit(fabric, recorded):
    output = scaled(recorded(PINGPONG), 0.5)
    assert 3849.6 * 0.65 < peak(output) < 3849.6
    done, (status, verdict) = fabric.healthy().pingpong(output)
    assert (done.status, status) == (0, 0), done.output
    assert verdict["judged"] == {"limit of infiniband QDR 4x": 1}
    (case,) = results.session(fabric.site.database).cases
    assert case.provenance["bytes"].startswith(f"{4 * 2**22} or more")
    judged = {metric.name: metric for metric in case.metrics}["bandwidth_peak"]
    assert judged.reference == pytest.approx(3849.6, rel=1e-4)
    assert "8 lanes x 5 GT/s" in judged.judged_by


def test_too_little_of_the_limit_fails_and_the_trained_rate_is_named(fabric, recorded):
    output = scaled(recorded(PINGPONG), 0.1)
    assert peak(output) < 3849.6 * 0.65
    fabric.healthy("node1").healthy("node2", rate="10 Gb/sec (4X SDR)")
    done, (status, verdict) = fabric.pingpong(output)
    assert (done.status, status) == (1, 1)
    message = problems(verdict)
    assert "bandwidth_peak" in message
    cause = "cause may be: node2 mlx5_0/1: 10 Gb/sec (4X SDR), expected 40 Gb/sec (4X QDR)"
    assert cause in message
    assert cause in done.output


def test_better_than_the_wire_is_a_failure_with_its_values_stored(fabric, recorded):
    output = recorded(PINGPONG)
    assert peak(output) > 3849.6 * 1.02
    done, (status, verdict) = fabric.healthy().pingpong(output)
    assert (done.status, status) == (1, 1)
    assert "implausible: bandwidth_" in problems(verdict)
    assert "not measured over this fabric" in problems(verdict)
    (case,) = results.session(fabric.site.database).cases
    assert len(case.metrics) == 48


def test_ranks_on_one_node_are_misplaced(fabric, recorded):
    _, (status, verdict) = fabric.healthy().pingpong(scaled(recorded(PINGPONG), 0.5), stand_on=1)
    assert status == 1
    message = problems(verdict)
    assert "misplaced: asked for 1 ranks on each of 2 nodes, had 2 on node1" in message


def test_a_bandwidth_that_moved_no_bytes_is_a_failure(fabric, recorded):
    _, (status, verdict) = fabric.healthy().pingpong(scaled(recorded(PINGPONG), 0.5), words=100)
    assert status == 1
    assert (
        "only 400 bytes went over the infiniband of node1, the benchmark sends 4194304 at least"
        in problems(verdict)
    )


def test_a_link_that_failed_while_it_was_measured_fails_the_case(fabric, recorded):
    counter = "$SYSFS/class/infiniband/mlx5_0/ports/1/counters/link_downed"
    _, (status, verdict) = fabric.healthy().pingpong(
        scaled(recorded(PINGPONG), 0.5), more=f"echo 3 > {counter}"
    )
    assert status == 1
    assert "the link failed while it was measured: node1 mlx5_0/1 link_downed: 3 more" in problems(
        verdict
    )
    (case,) = results.session(fabric.site.database).cases
    assert {(seen.kind, seen.fails) for seen in case.findings} == {
        ("link-errors", False), ("link-failed", True),
    }  # fmt: skip


def test_mvapich2_leaves_ranks_where_they_were_put(fabric, recorded):
    told = fabric.folder / "told"
    done, (status, _) = fabric.healthy().pingpong(
        scaled(recorded(PINGPONG), 0.5), mpi="mvapich2",
        more=f'echo "$MV2_ENABLE_AFFINITY" >> {told}',
    )  # fmt: skip
    assert (done.status, status) == (0, 0), done.output
    assert told.read_text() == "0\n0\n"


def test_symbol_errors_are_shown_and_fail_nothing(fabric, recorded):
    counter = "$SYSFS/class/infiniband/mlx5_0/ports/1/counters/symbol_error"
    done, (status, verdict) = fabric.healthy().pingpong(
        scaled(recorded(PINGPONG), 0.5), more=f"echo 7 > {counter}"
    )
    assert (done.status, status) == (0, 0), done.output
    assert any("mlx5_0/1 symbol_error: 7 more (0 to 7)" in note for note in verdict["notes"])
    (case,) = results.session(fabric.site.database).cases
    assert [(seen.kind, seen.what, seen.fails) for seen in case.findings] == [
        *[("link-errors", "symbol_error", False)] * 2
    ]


@pytest.mark.parametrize("placement", ["inter-node", "intra-node"])
def test_nothing_is_measured_by_facts_that_nobody_knows(fabric, recorded, placement):
    facts = '{"technology": "infiniband", "rate": "WARP"}'
    fabric.healthy().start(recorded(PINGPONG), facts=facts, extras='"verify_placement": False,')
    site = fabric.folder / "site.py"
    site.write_text(site.read_text().replace('"cores": 1', '"cores": 2'))
    name = f"PingPong.*%np=2.*%placement={placement}"
    fabric.site.reframe("-c", "checks/imb.py", "-r", "-n", name)
    status, verdict = fabric.site.gate()
    assert status == 1
    assert "made:qdr: unknown rate of infiniband: 'WARP'; known: SDR" in problems(verdict)


def test_swapped_cables_of_ethernet_are_told_against_what_was_accepted(fabric):
    shutil.copytree(ROOT / "reference", fabric.folder / "reference")
    fabric.site.environment["ACCEPTANCE_REFERENCE"] = str(fabric.folder / "reference")

    def plug(**ports):
        for name, port in ports.items():
            fabric.nodes[name].interface("eth2", speed=10000)
            script = fabric.folder / name / "bin/lldpctl"
            answer = {"eth2": {"chassis": {"leaf01": {"id": {"type": "mac", "value": "0"}}},
                               "port": {"id": {"type": "ifname", "value": port}}}}  # fmt: skip
            script.write_text(
                f"#!/bin/sh\necho '{json.dumps({'lldp': {'interface': [answer]}})}'\n"
            )
            script.chmod(0o755)

    plug(node1="swp1", node2="swp2")
    fabric.start(facts='{"technology": "ethernet", "rate": "10"}')
    done, (status, verdict) = fabric.check_links()
    assert (done.status, status) == (0, 0), done.output
    assert any("cables of Ethernet: nothing accepted yet" in note for note in verdict["notes"])
    accepted = fabric.site.acceptance("fabric", "accept", "--reason", "as built")
    assert "2 cables of Ethernet: accepted" in accepted.output, accepted.errors
    plug(node1="swp2", node2="swp1")
    done, (status, verdict) = fabric.check_links()
    assert (done.status, status) == (1, 1)
    message = problems(verdict)
    assert "node1 eth2 - leaf01[swp1]: at leaf01[swp2], the port of node2 eth2" in message
    assert "node2 eth2 - leaf01[swp2]: at leaf01[swp1], the port of node1 eth2" in message
    assert [alert["finding"]["nodes"] for alert in verdict["alerts"]] == [["node1"], ["node2"]]
