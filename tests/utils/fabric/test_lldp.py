"""`lldpctl -f json`: outputs of lldpd 1.0.16, recorded in two network namespaces."""

import json

import pytest

from acceptance.core.errors import ParseError
from acceptance.fabric.link_report import parse_lldp as parse

FIRST = {"eth1": [("leaf01", "Ethernet1/7")]}
BOTH = {**FIRST, "eth2": [("leaf01", "swp8")]}


@pytest.mark.parametrize(
    ("name", "neighbours"), [("two.json", BOTH), ("one.json", FIRST), ("gone.json", {})]
)
def test_recorded_outputs(recorded, name, neighbours):
    assert parse(recorded(f"lldp/lldpctl-{name}")) == neighbours


def test_a_switch_without_a_name_is_its_chassis(recorded):
    data = json.loads(recorded("lldp/lldpctl-one.json"))
    facts = data["lldp"]["interface"]["eth1"]
    (facts["chassis"],) = facts["chassis"].values()
    assert parse(json.dumps(data)) == {"eth1": [("ae:48:ca:ef:ec:74", "Ethernet1/7")]}


def test_two_neighbours_at_one_interface(recorded):
    data = json.loads(recorded("lldp/lldpctl-one.json"))
    data["lldp"]["interface"] = [data["lldp"]["interface"]] * 2
    assert parse(json.dumps(data)) == {"eth1": FIRST["eth1"] * 2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"lldp": {"interface": {"eth1": {}}}}',
        "3",
        # What `-f json0` prints: read as no cable it would be a lost one.
        '{"lldp": [{}]}',
        '{"lldp": [{"interface": [{"name": "eth1"}]}]}',
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(ParseError, match="no output of `lldpctl"):
        parse(text)
