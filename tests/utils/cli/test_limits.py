"""`site/fabric_limits.py` and `fabric/plausibility.py` on the project's own systems."""

import json

import pytest

from acceptance import references
from acceptance.cli import main as cli
from acceptance.core.paths import Workspace
from acceptance.fabric import FabricFault, latency_floor
from acceptance.fabric.limits import exceeds
from acceptance.fabric.plausibility import factor
from acceptance.rfm import configuration
from acceptance.site.fabric_limits import partition_limits, peaks
from acceptance.suites import find
from tests.places import REFERENCE, ROOT


@pytest.fixture(scope="module")
def library():
    return references.load(REFERENCE)


@pytest.fixture(scope="module")
def systems(tmp_path_factory):
    """Load the configuration; that makes the folder of the log."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCEPTANCE_VAR", str(tmp_path_factory.mktemp("var")))
        return configuration.load([ROOT / "config/settings.py"]).systems


@pytest.fixture(scope="module")
def found(systems, library):
    return {row.partition: row for row in partition_limits(systems, library)}


@pytest.fixture(autouse=True)
def _own_log(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCEPTANCE_VAR", str(tmp_path))
    monkeypatch.delenv("RFM_CONFIG_FILES", raising=False)


def system(name, **partitions):
    return {
        "name": name,
        "partitions": [
            {"name": key, "extras": {"fabric": fabric} if fabric else {}}
            for key, fabric in partitions.items()
        ],
    }


@pytest.mark.parametrize(
    ("facts", "ratio"),
    [
        ({"technology": "infiniband", "rate": "EDR", "lanes": 4}, 0.990),
        ({"technology": "omni-path", "rate": "100"}, 0.990),
        ({"technology": "slingshot", "rate": "200"}, 0.903),
        ({"technology": "roce", "rate": "200"}, 1.000),
    ],
)
def test_without_references_a_peak_of_another_machine_stands_beside_the_limit(
    library, facts, ratio
):
    (row,) = partition_limits([system("made", part=facts)], library)
    assert row.peak.where.startswith("another machine: g")
    assert row.peak.ratio == pytest.approx(ratio, abs=5e-4)
    assert not exceeds(row.peak.value, row.limit.bandwidth)
    # Nobody has published one of two ports, of half of the lanes, or of CN5000.
    for other in (
        {**facts, "ports": 2},
        {"technology": "infiniband", "rate": "EDR", "lanes": 2},
        {"technology": "omni-path", "rate": "400"},
    ):
        (row,) = partition_limits([system("made", part=other)], library)
        assert row.peak is None


def test_every_partition_that_states_a_fabric_has_a_row(found, systems, library):
    configured = {system["name"] for system in systems}
    papers = {name for name in library.partitions if name.partition(":")[0] in configured}
    assert papers
    assert found.keys() >= papers


@pytest.mark.parametrize(
    ("partition", "compared"),
    [
        ("koop2008:ddr-pcie1", 2),
        ("koop2008:ddr-pcie2", 3),
        ("koop2008:qdr-pcie2", 7),
        ("subramoni2009:nh-qdr", 2),
        ("kandadai2009:ib-ddr", 12),
        ("kandadai2009:eth-10g", 12),
        ("kandadai2009:eth-1g", 12),
    ],
)
def test_no_published_value_is_above_its_limit(partition, compared, found, library):
    row = found[partition]
    published = peaks(library, partition, row.limit.bandwidth)
    published = [peak for peak in published if peak.where.startswith("published ")]
    assert len(published) >= compared
    for peak in published:
        assert not exceeds(peak.ratio, 1), peak
    assert row.peak == published[0]
    # A bound that no peak comes near to is no use.
    assert row.peak.ratio > 0.6


def test_no_other_partition_with_a_limit_has_a_published_value_to_compare(found, library):
    papers = [row for row in found.values() if row.partition.split(":")[0] in library.papers]
    compared = [row.partition for row in papers if row.peak and row.peak.ratio]
    assert [name.split(":")[1] for name in compared] == [
        "dell-poweredge",
        *("ib-ddr", "eth-10g", "eth-1g", "ddr-pcie1", "ddr-pcie2", "qdr-pcie2", "nh-qdr"),
    ]


def test_no_published_latency_is_below_its_floor(found, library):
    compared = 0
    for row in library.values:
        fullname = f"{row.system}:{row.partition}"
        if row.metric == "latency" and row.unit == "us" and fullname in found:
            assert row.value > latency_floor(found[fullname].facts, size=1)
            compared += 1
    assert compared > 5


@pytest.mark.parametrize(
    ("partition", "peak", "ratio"),
    [
        ("koop2008:ddr-pcie1", "osu.bw", 1301 / (2000 * 512 / 532)),
        ("koop2008:ddr-pcie2", "osu.bw", 1942 / (2000 * 4096 / 4122)),
        ("koop2008:qdr-pcie2", "osu.bw", 2575 / (4000 * 512 / 532)),
        ("kandadai2009:eth-1g", "netperf.TCP_STREAM", 949 / (1000 * 8960 / 9038)),
    ],
)
def test_the_nearest_published_value_stands_in_the_row(partition, peak, ratio, found):
    assert found[partition].peak.benchmark == peak
    assert found[partition].peak.ratio == pytest.approx(ratio)


def test_tcp_in_packets_of_1500_bytes_is_what_kandadai2009_measured(library):
    facts = {"technology": "ethernet", "rate": "1", "mtu": 1500}
    (row,) = partition_limits([system("kandadai2009", **{"eth-1g": facts})], library)
    assert row.limit.bandwidth == pytest.approx(118.66, abs=0.01)
    assert 0.999 < row.peak.ratio < 1


@pytest.mark.parametrize(
    ("benchmark", "nodes", "mapping", "expected"),
    [
        ("imb.PingPong", 2, "block", 1),
        ("imb.PingPing", 2, "block", 1),
        ("imb.Sendrecv", 2, "block", 2),
        ("imb.Sendrecv", 16, "cyclic", 2),
        ("imb.Exchange", 2, "block", 2),
        ("imb.Exchange", 16, "block", 2),
        ("imb.Uniband", 2, "block", 1),
        ("imb.Uniband", 8, "block", 4),
        ("imb.Biband", 2, "block", 2),
        ("imb.Biband", 8, "block", 8),
        ("osu.bw", 2, "block", 1),
        ("osu.bibw", 2, "block", 2),
        ("osu.put_bw", 2, "block", 1),
        ("osu.get_bw", 2, "block", 1),
        ("netperf.TCP_STREAM", 2, "block", 1),
        ("netperf.UDP_STREAM", 2, "block", None),
        ("imb.Allreduce", 2, "block", None),
        ("osu.alltoall", 2, "block", None),
        ("hpcc", 2, "block", None),
        ("patterns.b_eff", 2, "block", None),
        ("cbr.bw", 2, "block", None),
    ],
)
def test_a_benchmark_adds_up_so_many_links(benchmark, nodes, mapping, expected):
    assert factor(find(benchmark), nodes, mapping) == expected


@pytest.mark.parametrize(
    ("nodes", "mapping", "pairs", "expected"),
    [
        (2, "block", 1, 1),
        (2, "block", 4, 1.6),
        (2, "block", None, 2),
        (8, "block", 1, 4),
        (3, "block", 3, 3),
        (2, "cyclic", 1, 2),
    ],
)
def test_pairs_that_take_turns_have_a_shorter_average_time(nodes, mapping, pairs, expected):
    assert factor(find("osu.mbw_mr"), nodes, mapping, pairs) == pytest.approx(expected)


def test_the_sum_of_pairs_in_turn_is_as_large_as_the_factor():
    """OMB's formula, on a link of 1 that serves one pair of unit messages after the other."""
    for pairs in (1, 2, 4, 8):
        average = sum(range(1, pairs + 1)) / pairs
        assert pairs / average == pytest.approx(factor(find("osu.mbw_mr"), pairs=pairs))


def test_values_inside_a_node_are_not_compared(library):
    published = peaks(library, "subramoni2009:nh-qdr", 1000.0)
    assert {peak.value for peak in published} == {3029, 5236}


def test_without_a_limit_the_largest_value_comes_first(library):
    values = [peak.value for peak in peaks(library, "koop2008:qdr-pcie2", None)]
    assert values == sorted(values, reverse=True)
    assert len(values) == 7


def test_partitions_without_a_fabric_are_left_out(library):
    some = [system("mine", fast={"technology": "ethernet", "rate": "100"}, local=None)]
    (row,) = partition_limits(some, library)
    assert (row.partition, row.peak) == ("mine:fast", None)


@pytest.mark.parametrize(
    ("only", "words"),
    [
        (
            "mine:slow",
            r"no system or partition 'mine:slow'; there are mine:fast, mine:none; did you mean "
            r"mine:\w+ or mine:\w+\?",
        ),
        ("mine:none", "mine:none: no fabric is stated"),
        (None, "mine:five: lanes is 5; it can be 1, 2, 4, 8, 12"),
    ],
)
def test_what_cannot_be_is_refused_with_the_partition(only, words, library):
    fast = {"technology": "infiniband", "rate": "EDR"}
    some = [system("mine", fast=fast, none=None)]
    if only is None:
        some.append(system("mine", five={**fast, "lanes": 5}))
    with pytest.raises(FabricFault, match=f"^{words}$"):
        list(partition_limits(some, library, only))


def test_facts_are_refused_with_the_file_of_their_system(library, tmp_path, monkeypatch):
    path = tmp_path / "config/systems/mine.py"
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.setenv("ACCEPTANCE_SYSTEMS", str(tmp_path))
    facts = {"technology": "infiniband", "Rate": "EDR"}
    some = [system("mine", fast=facts)]
    with pytest.raises(FabricFault) as caught:
        list(partition_limits(some, library, None, Workspace.of().place_of))
    assert str(caught.value).startswith(f"{path}: mine:fast: unknown key 'Rate' in a fabric; known")


def test_the_command_prints_all_partitions(capsys):
    assert cli.main(["references", "limits"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("koop2008:qdr-pcie2 ")]
    assert line.split("  ")[0] == "koop2008:qdr-pcie2"
    for words in ("2.0 x8", " 3974.8 ", " 3849.6 ", " pcie ", " 0.669"):
        assert words in line
    assert not any(line.startswith("local:") for line in lines)


def test_the_command_as_data_is_not_cut(capsys):
    assert cli.main(["references", "limits", "koop2008:qdr-pcie2", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["partition"] == "koop2008:qdr-pcie2"
    assert (row["facts"]["technology"], row["facts"]["rate"]) == ("infiniband", "QDR")
    assert row["bandwidth"] == row["limit"]["pcie"]["value"] == pytest.approx(4000 * 512 / 532)
    assert row["bidirectional"] == 2 * row["bandwidth"]
    assert (row["binds"], row["latency_floor"] > 0) == ("pcie", True)
    assert row["peak"]["benchmark"] == "osu.bw"
    assert row["peak"]["where"].startswith("published koop2008, Section 5.1")


def test_the_command_explains_a_single_partition(capsys):
    assert cli.main(["references", "limits", "kandadai2009:ib-ddr"]) == 0
    text = capsys.readouterr().out
    assert "note     pcie not stated\n" in text
    assert "link     4 lanes x 5 Gb/s x 8/10 x 4096/4122\n" in text
    assert "both     3974.8 MB/s in both directions together\n" in text
    assert "latency  no 8 bytes take less than 0.3170 us\n" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "no system or partition 'nowhere'; there are "),
        (["koop2008:edr"], "no system or partition 'koop2008:edr'; there are "),
    ],
)
def test_the_command_refuses_in_one_line(arguments, words, capsys):
    assert cli.main(["references", "limits", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"acceptance references limits: {words}")
    assert captured.err.count("\n") == 1


def test_what_a_source_does_not_print_is_marked(capsys):
    assert cli.main(["references", "limits", "koop2008"]) == 0
    lines = capsys.readouterr().out.splitlines()
    marked = [line.split()[0] for line in lines if "2.0 x8 *" in line]
    assert marked == ["koop2008:qdr-pcie2"]
    assert lines[-1] == "* has a fact that its source does not print"
    assert cli.main(["references", "limits", "koop2008:qdr-pcie2"]) == 0
    assert "inferred pcie_lanes\n" in capsys.readouterr().out
    assert cli.main(["references", "limits", "koop2008:qdr-pcie2", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["inferred"] == ["pcie_lanes"]
