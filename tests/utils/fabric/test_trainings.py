"""`fabric/trainings.py`: how a link may train lower, by what is stated of it."""

import pytest

from acceptance.fabric import Facts, trainings

HDR = {"technology": "infiniband", "rate": "HDR", "lanes": 4}


def steps(**facts):
    return {words: (factor, rate) for factor, words, rate in trainings.steps(Facts.read(facts))}


def test_lanes_and_rates_have_their_factors():
    found = steps(**HDR)
    assert found["2 of 4 lanes"][0] == pytest.approx(2)
    assert found["1 of 4 lanes"][0] == pytest.approx(4)
    assert found["rate EDR instead of HDR"][0] == pytest.approx(2, rel=0.02)
    assert not any("slot" in words for words in found)


def test_a_slot_counts_where_it_becomes_slower_than_the_link():
    found = steps(**HDR, pcie="4.0", pcie_lanes=16)
    assert found["4 of 16 lanes of the slot"][0] == pytest.approx(3.3, rel=0.05)
    # Of twelve lanes nobody could tell it.
    assert "12 of 16 lanes of the slot" not in found
    assert found["rate SDR instead of HDR"][1] == pytest.approx(994, rel=0.01)


def test_a_port_of_ethernet_has_its_rates():
    factors = [factor for factor, _ in steps(technology="ethernet", rate="10").values()]
    assert factors == pytest.approx([10, 4, 2])


def test_of_what_states_no_rate_nobody_knows_a_step():
    assert steps(technology="infiniband") == {}
