"""Cases over several rails, through real ReFrame on the made fabric of `test_fabric`."""

import pytest

from tests import stored as results
from tests.checks.test_fabric import PINGPONG, Fabric, peak, scaled

#: Two QDR rails behind slots of PCIe 2.0 x8: 3849.6 MB/s each.
RAILS = (
    '{"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8, '
    '"device": "mlx5_0/1,mlx5_1/1"}'
)
#: The second adapter of a node sends as many words as its file says, the first one as started.
SECOND = """\
counter=$SYSFS/class/infiniband/mlx5_1/ports/1/counters/port_xmit_data
echo $(($(cat "$counter") + $(cat {folder}/second))) > "$counter".new
mv "$counter".new "$counter"
[ ! -e {folder}/ucx ] || cat {folder}/ucx > "$UCX_LOG_FILE"
"""
WORDS = 2**22


def over_two(output):
    """Return a recorded PingPong whose large messages take two rails, and no time is too short."""
    slow, fast = (scaled(output, factor).splitlines() for factor in (0.5, 0.9))
    sizes = [int(line.split()[0]) if line.strip()[:1].isdigit() else 0 for line in slow]
    lines = zip(sizes, slow, fast, strict=True)
    return "\n".join(large if size > 2**17 else small for size, small, large in lines) + "\n"


class Rails(Fabric):
    """Two nodes with two adapters each."""

    def measure(self, output, second, **how):
        """Run a case in which the second rails send so many words; return it and its verdict."""
        (self.folder / "second").write_text(f"{second}\n")
        if not (self.folder / "bin").exists():
            more = SECOND.format(folder=self.folder)
            self.start(output, words=WORDS, facts=RAILS, more=more, **how)
        done = self.site.reframe(
            "-c", "checks/imb.py", "-r", "-n", "PingPong.*%placement=inter-node"
        )
        _, verdict = self.site.gate()
        (case,) = results.session(self.site.database).cases
        return case, verdict, done


@pytest.fixture
def fabric(site):
    made = Rails(site).healthy()
    for node in made.nodes.values():
        node.adapter("mlx5_1", "0000:04:00.0")
        node.port(name="mlx5_1", port_xmit_data=1000, port_rcv_data=1000)
    return made


def test_shares_are_stored_and_traffic_that_moved_is_no_regression(fabric, recorded):
    output = over_two(recorded(PINGPONG))
    case, verdict, done = fabric.measure(output, WORDS)
    assert (case.result, done.status) == ("pass", 0), done.output
    assert case.provenance["rails"].startswith("2 of 2 used, which carry 7699.2 MB/s at most (2 ")
    for node in ("node1", "node2"):
        for rail in ("mlx5_0/1", "mlx5_1/1"):
            assert f"{node} {rail} {4 * WORDS} bytes (50 %)" in case.provenance["rails"]
    assert not [each for each in verdict["findings"] if each["kind"].startswith("rail-")]
    assert case.provenance["adapters"] == "mlx5_0/1, mlx5_1/1: ranks 0, 1 (counters)"
    said = "[1.5] [node1:7:0] ucp_worker.c:1763 UCX  INFO  ep_cfg[1]: tag(rc_mlx5/mlx5_1:1)"
    (fabric.folder / "ucx").write_text(f"{said}\n")
    # Four of six words now take the second rail: 6 in place of 4, and in place of 4 and 2.
    (fabric.folder / "bin/IMB-MPI1").write_text(
        (fabric.folder / "bin/IMB-MPI1").read_text().replace(f"+ {WORDS}", f"+ {WORDS // 2}")
    )
    case, verdict, done = fabric.measure(output, 3 * WORDS // 2)
    assert (case.result, done.status) == ("pass", 0), done.output
    assert case.provenance["adapters"] == "mlx5_1/1: ranks 0, 1 (UCX)"
    told = {(each["kind"], *each["nodes"]): each for each in verdict["findings"]}
    for node in ("node1", "node2"):
        assert told["rail-moved", node]["text"] == (
            f"{node} mlx5_1/1 carried 75 % of {8 * WORDS} bytes, 50 % before: traffic moved "
            "between rails at the same sum, no regression"
        )
        uneven = f"{node} mlx5_0/1 share: 25 % of the bytes, expected 50 %, within 20 % of it"
        assert f"links, during 1 of the cases: {uneven}" in verdict["notes"]


def test_a_case_over_one_of_two_rails_fails_and_is_held_against_what_is_left(fabric, recorded):
    output = over_two(recorded(PINGPONG))
    place = fabric.nodes["node2"].root / "class/infiniband/mlx5_1/ports/1"
    (place / "state").write_text("1: DOWN\n")
    case, verdict, _ = fabric.measure(output, 0)
    kinds = {(each.kind, each.node, each.device) for each in case.findings if each.fails}
    assert kinds == {
        ("rail-down", "node2", "mlx5_1/1"),
        ("implausible", "", ""),
    }
    assert peak(output) > 6000  # true of two rails only
    assert "infiniband QDR 4x carries at most 3849.6" in case.fail_reason
    assert ": more than what is left" in case.fail_reason
    assert "1 of 2 used" in case.provenance["rails"]
    assert "node2 mlx5_1/1: carried nothing of 16777216 bytes (DOWN), expected" in case.fail_reason
    assert case.fail_reason.count("what is left") == 1
    assert "carried nothing" in verdict["problems"][0]["text"]
