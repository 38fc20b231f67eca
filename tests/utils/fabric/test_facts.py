"""`fabric/facts.py` and `fabric/rates.py`: facts, and the limits that they set."""

import math
import re

import pytest

from acceptance.core.words import RATES
from acceptance.fabric import FabricFault, Facts, Limit, facts_of, latency_floor, limit, not_judged
from acceptance.fabric.facts import takes_gpus
from acceptance.fabric.limits import exceeds, gpu_limit, link, slot
from acceptance.fabric.rates import GENERATIONS, INFINIBAND, PCIE, PORTS

QDR = {"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8}


def bound(**facts):
    return limit(Facts.read(facts))


def evaluate(formula):
    """Compute a formula, by other means than the code; MB/s."""
    product = math.prod(
        float(term.split("/")[0]) / float(term.split("/")[1]) if "/" in term else float(term)
        for term in re.sub(r" (lanes|ports|slots|Gb/s|GT/s)", "", formula).split(" x ")
    )
    return product * 1e9 / 8 / 1e6


@pytest.mark.parametrize(
    ("rate", "lanes", "gigabits"),
    [
        ("SDR", 1, 2),
        ("SDR", 4, 8),
        ("DDR", 4, 16),
        ("QDR", 4, 32),
        ("QDR", 8, 64),
        ("QDR", 12, 96),
        ("FDR10", 4, 40),
        ("FDR", 4, 54.5454545),
        ("EDR", 4, 100),
        ("HDR100", 2, 100),
        ("HDR", 2, 100),
        ("HDR", 4, 200),
        ("NDR", 2, 200),
        ("NDR", 4, 400),
        ("XDR", 4, 800),
    ],
)
def test_infiniband_carries_its_data_rate_less_the_headers(rate, lanes, gigabits):
    found = link(Facts(technology="infiniband", rate=rate, lanes=lanes))
    assert found.value * 4122 / 4096 == pytest.approx(gigabits * 125, rel=1e-9)


def test_hdr100_needs_no_lanes_and_is_half_of_hdr():
    facts = Facts.read({"technology": "infiniband", "rate": "HDR100"})
    whole = bound(technology="infiniband", rate="HDR", lanes=4)
    assert 2 * limit(facts).link.value == whole.link.value


def test_a_smaller_packet_has_the_same_headers():
    assert bound(**QDR, mtu=2048).link.value == pytest.approx(4000 * 2048 / (2048 + 8 + 12 + 4 + 2))


@pytest.mark.parametrize(
    ("mtu", "rate", "expected"),
    # 1 Gb/s at 1500: the well-known 949.3 Mbit/s of TCP without timestamps.
    [(1500, "1", 949.285), (1500, "10", 9492.85), (None, "1", 991.370), (9000, "100", 99137.0)],
)
def test_ethernet_carries_tcp(mtu, rate, expected):
    found = bound(technology="ethernet", rate=rate, mtu=mtu)
    assert found.link.value * 8 == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("technology", "rate", "expected"),
    [("omni-path", "100", 12500), ("slingshot", "200", 25000), ("slingshot", 400, 50000)],
)
def test_others_carry_their_rate(technology, rate, expected):
    assert bound(technology=technology, rate=rate).bandwidth == expected


def carried(pcie, lanes, payload=None):
    return slot(Facts(pcie=pcie, pcie_lanes=lanes, pcie_payload=payload)).value


@pytest.mark.parametrize(
    ("pcie", "lanes", "before_packets"),
    [
        ("1.0", 8, 2000),
        ("1.1", 8, 2000),
        ("2.0", 8, 4000),
        ("2.0", 16, 8000),
        ("3.0", 8, 7876.923),
        ("3.0", 16, 15753.846),
        ("4.0", 16, 31507.692),
        ("5.0", 16, 63015.385),
    ],
)
def test_a_slot_carries_packets_of_512_bytes_and_20_of_overhead(pcie, lanes, before_packets):
    assert carried(pcie, lanes) * 532 / 512 == pytest.approx(before_packets, rel=1e-6)


@pytest.mark.parametrize("payload", [128, 256, 4096])
def test_a_stated_payload_counts(payload):
    assert carried("1.1", 8, payload) == pytest.approx(2000 * payload / (payload + 20))


def test_a_slot_with_flits_has_only_the_header_of_packets():
    # 128 GB/s, 236 bytes of each 256.
    assert carried("6.0", 16) == pytest.approx(128000 * 236 / 256 * 512 / 524)


def test_every_formula_gives_its_value():
    found = [link(Facts("infiniband", rate, 4, ports=2)) for rate in INFINIBAND]
    found += [link(Facts(name, rate)) for name, rates in PORTS.items() for rate in rates]
    found += [slot(Facts(pcie=each, pcie_lanes=16, ports=2)) for each in PCIE]
    assert len(found) == len(INFINIBAND) + 27 + len(PCIE)
    for one in found:
        assert evaluate(one.formula) == pytest.approx(one.value, rel=1e-9), one.formula


def test_a_formula_reads_as_in_a_book():
    found = limit(Facts.read(QDR))
    assert found.link.formula == "4 lanes x 10 Gb/s x 8/10 x 4096/4122"
    assert found.pcie.formula == found.least.formula == "8 lanes x 5 GT/s x 8/10 x 512/532"
    two = bound(**QDR, ports=2)
    assert two.link.formula == "2 ports x 4 lanes x 10 Gb/s x 8/10 x 4096/4122"


@pytest.mark.parametrize(
    ("rate", "pcie", "binds"),
    # Section 4 of koop2008: PCIe limits DDR on 1.1 and QDR on 2.0; the other two run at full rate.
    [
        ("SDR", "1.1", "link"),
        ("DDR", "1.1", "pcie"),
        ("DDR", "2.0", "link"),
        ("QDR", "2.0", "pcie"),
    ],
)
def test_the_side_that_koop2008_names_binds(rate, pcie, binds):
    found = bound(**{**QDR, "rate": rate, "pcie": pcie})
    assert found.binds == binds
    assert found.bandwidth == min(found.link.value, found.pcie.value)
    assert found.note == ""


@pytest.mark.parametrize(
    ("facts", "link_known", "binds", "note"),
    [
        ({"rate": "DDR", "lanes": 4, "pcie_lanes": 8}, True, "link", "pcie not stated"),
        ({"rate": "DDR", "lanes": 4}, True, "link", "pcie and pcie_lanes not stated"),
        ({"rate": "DDR", "pcie": "2.0", "pcie_lanes": 8}, False, "pcie", "lanes not stated"),
        ({"pcie": "2.0"}, False, None, "rate and lanes not stated; pcie_lanes not stated"),
        ({"rate": None, "lanes": 4, "pcie": "2.0", "pcie_lanes": 8}, False, "pcie", "rate not s"),
    ],
)
def test_what_is_not_stated_is_not_guessed(facts, link_known, binds, note):
    found = bound(technology="infiniband", **facts)
    assert (found.link is not None, found.binds) == (link_known, binds)
    assert found.note.startswith(note)


@pytest.mark.parametrize("technology", ["myrinet", "numalink", "cray", "ixs"])
def test_without_a_formula_there_is_no_limit(technology):
    found = bound(technology=technology, rate="3.2 GB/s", lanes=3)
    note = f"no formula for {technology}; pcie and pcie_lanes not stated"
    assert found == Limit(None, None, note)
    assert (found.least, found.bandwidth) == (None, None)
    assert latency_floor(Facts.read({"technology": technology})) == 0


def test_a_technology_without_a_formula_can_still_be_bound_by_its_slot():
    assert bound(technology="myrinet", pcie="1.1", pcie_lanes=8).binds == "pcie"


@pytest.mark.parametrize(
    ("facts", "ports", "slots"),
    [
        ({}, 1, 1),
        ({"device": "mlx5_0/1"}, 1, 1),
        ({"device": "mlx5_0/1, mlx5_1/1"}, 2, 2),
        ({"device": "mlx5_0/1,mlx5_0/2"}, 2, 1),
        ({"device": "mlx5_0/1,mlx5_1/1", "ports": 1}, 1, 1),
        # Nothing says which ports share an adapter: a bound has to take them for separate.
        ({"ports": 4}, 4, 4),
        ({"ports": "2", "device": "eth2,eth3,"}, 2, 2),
    ],
)
def test_ports_and_slots(facts, ports, slots):
    found = Facts.read({**QDR, **facts})
    assert (found.ports, found.slots) == (ports, slots)
    assert limit(found).link.value == ports * limit(Facts.read(QDR)).link.value
    assert limit(found).pcie.value == slots * limit(Facts.read(QDR)).pcie.value


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (
            {"technology": "token-ring"},
            "unknown technology: 'token-ring'; known: infiniband, ether",
        ),
        ({"technology": None}, "no technology is stated; known: infiniband, ethernet, omni-path"),
        ({"rate": "qdr"}, "unknown rate of infiniband: 'qdr'; known: SDR, DDR, QDR, FDR10, "),
        ({"speed": 10}, "unknown key 'speed' in a fabric; known: technology, rate, lanes, pcie, "),
        ({"lanes": 3}, "lanes is 3; it can be 1, 2, 4, 8, 12"),
        ({"lanes": True}, "lanes is True; Expected `int | null`, got `bool`"),
        ({"lanes": "four"}, "lanes is 'four'; Expected `int | null`, got `str`"),
        ({"rate": "HDR100"}, "lanes is 4; it can be 2"),
        ({"pcie": "2"}, "unknown pcie: '2'; known: 1.0, 1.1, 2.0, "),
        ({"pcie_lanes": 6}, "pcie_lanes is 6; it can be 1, 2, 4, 8, 12, 16, 32"),
        ({"mtu": 9000}, "mtu is 9000; it can be 256, 512, 1024, 2048, 4096"),
        ({"pcie_payload": 200}, "pcie_payload is 200; it can be 128, 256, "),
        ({"ports": 0}, "ports is 0; it has to be 1 to 64"),
        ({"ports": 2, "device": "mlx5_0/1"}, "ports is 2, but device names 1"),
        ({"hops": -1}, "hops is -1; it has to be 0 to 99"),
        ({"view": "all"}, "unknown view: 'all'; known: here, node"),
        ({"cable": "long"}, "cable is 'long'; it has to be in metres"),
        ({"cable": -2}, "cable is -2; it has to be in metres"),
        ({"cable": math.nan}, "cable is nan; it has to be in metres"),
    ],
)
def test_facts_that_cannot_be_are_refused_in_one_line(facts, words):
    with pytest.raises(FabricFault, match=f"^{re.escape(words)}.*$"):
        Facts.read({**QDR, **facts})


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"rate": "3"}, "unknown rate of ethernet: '3'; known: 1, 2.5, 5, 10, "),
        ({"rate": "25", "lanes": 4}, "ethernet has no lanes: its rate is that of a whole port"),
        ({"mtu": 60}, "mtu is 60; it can be 68 to 65535"),
    ],
)
def test_facts_of_ethernet_that_cannot_be_are_refused(facts, words):
    with pytest.raises(FabricFault, match=f"^{re.escape(words)}"):
        Facts.read({"technology": "ethernet", **facts})


def test_facts_are_refused_with_the_place_and_read_once_for_all():
    assert facts_of({}, "made:qdr") is None
    assert facts_of({"fabric": QDR}, "made:qdr") == Facts.read(QDR)
    for fabric, words in (
        ({**QDR, "Rate": "QDR"}, "unknown key 'Rate' in a fabric; known: technology, rate, lanes"),
        ("QDR", "fabric is 'QDR'; it has to be a dictionary"),
    ):
        with pytest.raises(FabricFault, match=re.escape(f"made.py: made:qdr: {words}")) as caught:
            facts_of({"fabric": fabric}, "made.py: made:qdr")
        assert caught.value.where == "made.py: made:qdr"


@pytest.mark.parametrize(
    ("facts", "rate", "mbps", "speed"),
    [
        (QDR, "40 Gb/sec (4X QDR)", None, 5.0),
        ({**QDR, "lanes": None}, "40 Gb/sec (4X QDR)", None, 5.0),
        ({"technology": "infiniband", "rate": "FDR", "lanes": 1}, "14 Gb/sec (1X FDR)", None, None),
        ({"technology": "infiniband", "rate": "HDR100"}, "100 Gb/sec (2X HDR)", None, None),
        ({"technology": "infiniband", "pcie": "3.1"}, "None", None, 8.0),
        ({"technology": "omni-path", "rate": "100"}, "100 Gb/sec (4X EDR)", None, None),
        ({"technology": "omni-path", "rate": "400"}, "None", None, None),
        ({"technology": "ethernet", "rate": "2.5"}, "None", 2500, None),
        ({"technology": "roce", "rate": "25"}, "None", 25000, None),
        ({"technology": "slingshot", "rate": "200"}, "None", 200000, None),
    ],
)
def test_what_linux_writes_of_a_link_follows_from_the_facts(facts, rate, mbps, speed):
    found = Facts.read(facts)
    assert (str(found.port_rate), found.mbps, found.slot_speed) == (rate, mbps, speed)


def test_generations_have_the_speeds_of_their_lanes():
    assert {PCIE[name].nominal: name for name in GENERATIONS.values()} == GENERATIONS
    assert {float(lane.speed) for lane in PCIE.values()} == GENERATIONS.keys()


def test_roce_has_the_headers_of_infiniband_in_frames_of_ethernet():
    found = bound(technology="roce", rate="100")
    assert found.link.formula == "100 Gb/s x 4096/4178"
    assert found.link.value < bound(technology="ethernet", rate="100").link.value
    facts = Facts.read({"technology": "roce", "rate": "100"})
    assert latency_floor(facts, 8) == pytest.approx(0.3 + (8 + 44 + 26) / 12500)


def test_numbers_may_be_text_and_the_rate_a_number():
    assert Facts.read({**QDR, "lanes": "4", "pcie": 2.0, "pcie_lanes": "8"}) == Facts.read(QDR)
    assert Facts.read({"technology": "ethernet", "rate": 2.5}).rate == "2.5"


def test_facts_are_written_as_people_write_them():
    facts = Facts.read({**QDR, "ports": 2})
    assert (facts.text, facts.slot_text) == ("2 x infiniband QDR 4x", "2.0 x8")
    facts = Facts.read({"technology": "ethernet", "rate": "10"})
    assert (facts.text, facts.slot_text) == ("ethernet 10 Gb/s", "")


@pytest.mark.parametrize(
    ("facts", "size", "floor"),
    [
        # 8 bytes and 26 of headers at 4000 bytes a us; in the slot they are 28.
        (QDR, 8, 0.0085),
        # With a narrow slot, that one is the slowest stage: 28 bytes at 500 a us.
        ({**QDR, "pcie_lanes": 1}, 8, 0.056),
        ({**QDR, "cable": 30, "hops": 3}, 8, 0.0085 + 0.1000692),
        ({"technology": "ethernet", "rate": "1"}, 8, 72 / 125),
        ({"technology": "ethernet", "rate": "1"}, 1000, 1026 / 125),
        ({"technology": "ethernet", "rate": "10", "hops": 5}, 8, 72 / 1250),
        ({"technology": "slingshot", "rate": "200"}, 8, 0.00032),
        ({"technology": "infiniband", "hops": 3}, 8, 0),
    ],
)
def test_no_message_beats_adapters_light_and_the_bits_on_the_slowest_stage(facts, size, floor):
    # Adapters take 0.3 us at least.
    assert latency_floor(Facts.read(facts), size) == pytest.approx(0.3 + floor)


def test_only_clearly_more_than_the_limit_cannot_be_true():
    # kandadai2009, 10 Gb/s: 9494 Mbit/s, if its MTU is 1500. Clocks may be fast by 0.01 %.
    bits = 8 * bound(technology="ethernet", rate="10", mtu=1500).link.value
    assert bits < 9494
    assert not exceeds(9494, bits)
    assert not exceeds(bits * 1.0199, bits)
    assert exceeds(bits * 1.0201, bits)


@pytest.mark.parametrize("fabric", ["", [], False, 0, "QDR"])
def test_a_fabric_that_is_no_dictionary_is_refused_and_not_taken_for_none(fabric):
    with pytest.raises(FabricFault, match=r"^here: fabric is .*; it has to be a dictionary$"):
        facts_of({"fabric": fabric}, "here")
    assert facts_of({}, "here") is facts_of({"fabric": None}, "here") is None


@pytest.mark.parametrize(
    ("fabric", "why"),
    [
        (None, "it states no fabric"),
        ({}, "it states no fabric"),
        ({"technology": "infiniband"}, "infiniband, no rate is stated"),
        ({"technology": "ethernet", "device": "eth2"}, "ethernet, no rate is stated"),
        ({"technology": "numalink"}, "Linux shows no links of numalink"),
        ({"technology": "roce", "rate": "100"}, ""),
        ({"technology": "slingshot", "rate": "200"}, ""),
        ({"technology": "omni-path", "rate": "100"}, ""),
        (
            {"technology": "omni-path", "rate": "400"},
            "how Linux writes the rate of omni-path 400 Gb/s is not known",
        ),
        ({"technology": "Roce"}, ""),
    ],
)
def test_links_without_a_stated_rate_are_not_judged(fabric, why):
    assert not_judged({} if fabric is None else {"fabric": fabric}) == why


def test_each_rate_of_infiniband_has_a_lane_and_the_other_way_round():
    assert tuple(INFINIBAND) == RATES["infiniband"]


GPUS = {"gpus": 4, "gpu_kind": "cuda", "gpu_pcie": "4.0", "gpu_pcie_lanes": 16}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"gpu": 4}, "unknown key 'gpu' in a fabric; known: technology, rate, "),
        ({"gpus": -1}, "gpus is -1; it has to be 0 to 64, of a node"),
        ({"gpus": 4}, "no gpu_kind is stated; known: cuda, rocm"),
        ({**GPUS, "gpu_kind": "CUDA"}, "unknown gpu_kind: 'CUDA'; known: cuda, rocm"),
        ({**GPUS, "gpu_pcie": "4"}, "unknown gpu_pcie: '4'; known: 1.0, "),
        ({**GPUS, "gpu_pcie_lanes": 6}, "gpu_pcie_lanes is 6; it can be 1, 2, 4, 8, 12, 16, 32"),
        ({**GPUS, "nvlink": -300}, "nvlink is -300; it has to be in GB/s"),
        ({"nvlink": 300}, "nvlink is stated, and no gpus"),
        ({**GPUS, "gpus": 0}, "gpu_kind is stated, and no gpus"),
    ],
)
def test_facts_of_gpus_that_cannot_be_are_refused(facts, words):
    with pytest.raises(FabricFault, match=f"^here: {re.escape(words)}"):
        Facts.read({**QDR, **facts}, "here")


def test_gpus_are_written_as_people_write_them():
    assert Facts.read({**QDR, **GPUS}).gpu_text == "4 x cuda, PCIe 4.0 x16"
    facts = Facts.read({**QDR, "gpus": 8, "gpu_kind": "rocm", "nvlink": 50})
    assert (facts.gpu_text, Facts.read(QDR).gpu_text) == ("8 x rocm, NVLink 50 GB/s", "")
    assert [takes_gpus({"fabric": each}) for each in ({**QDR, **GPUS}, QDR, "x", None)] == [
        True, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("buffers", "inside", "facts", "value", "told"),
    [
        # 16 lanes of 16 GT/s are 31507.7 MB/s before the headers of packets.
        ("HD", True, {}, 31507.692 * 512 / 532, ""),
        ("DH", False, {}, 31507.692 * 512 / 532, ""),
        ("DD", False, {}, 31507.692 * 512 / 532, ""),
        ("DD", False, {"nvlink": 300}, 31507.692 * 512 / 532, ""),
        # Two GPUs of a node: by NVLink, or nobody has said how.
        ("DD", True, {"nvlink": 300}, 300_000, ""),
        ("DD", True, {"nvlink": 300, "gpu_pcie": None}, 300_000, ""),
        ("DD", True, {"nvlink": 0}, 31507.692 * 512 / 532, ""),
        ("DD", True, {}, None, "nvlink not stated (0 if there is none)"),
        ("HD", True, {"gpu_pcie": None}, None, "gpu_pcie not stated"),
        ("DD", False, {"gpu_pcie": None, "gpu_pcie_lanes": None}, None,
         "gpu_pcie and gpu_pcie_lanes not stated"),
        ("HH", True, {}, None, ""),
        ("", False, {}, None, ""),
    ],
)  # fmt: skip
def test_a_gpu_takes_and_gives_what_its_slot_or_nvlink_carries(buffers, inside, facts, value, told):
    bound, why = gpu_limit(Facts.read({**QDR, **GPUS, **facts}), buffers, inside=inside)
    assert (bound and bound.value, why) == (value and pytest.approx(value, rel=1e-6), told)
    if bound and "lanes" in bound.formula:
        assert evaluate(bound.formula) == pytest.approx(bound.value, rel=1e-9)
