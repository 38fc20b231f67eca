"""The table of what the checks require, in config/site.md, against what reads these keys."""

import re

import pytest

from acceptance.core import extras
from acceptance.core.extras import ExtrasFault, PartitionExtras, read_environment
from acceptance.fabric import Facts
from acceptance.machine import MPIS, spack_features
from acceptance.suites import SUITES
from tests.places import ROOT

#: Beginning of a type -> a value that is none of it.
NONE_SUCH = {
    "whole number": 1.5, "number": "much", "word": "none-such", "True or False": "yes",
    "list of names": "cores", "dictionary": "none",
}  # fmt: skip


def table():
    """Return where -> key -> the other columns."""
    text = (ROOT / "config/site.md").read_text()
    section = text.partition("### What the checks require")[2].partition("\nKeys that begin")[0]
    found, where = {}, ""
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and "`" in line:
            where = cells[0] or where
            assert all(cells[1:]), line
            keys = re.findall(r"`(.+?)`", cells[1])
            found.setdefault(where, {}).update(dict.fromkeys(keys, cells))
    return found


TABLE = table()
PARTITION, FABRIC, ENVIRONMENT = (
    "`extras` of a partition",
    "`fabric` of these",
    "`extras` of an environment",
)


def read(key, value):
    return PartitionExtras.read({key: value})


def read_of_environment(key, value):
    return read_environment({key: value}, (), SUITES, MPIS)


def test_the_table_has_just_the_keys_that_are_read():
    assert {*TABLE[PARTITION]} == {*PartitionExtras.__struct_fields__}
    assert {*TABLE[FABRIC]} == {*Facts.__struct_fields__}
    with pytest.raises(ExtrasFault) as refused:
        read_of_environment("none", "")
    known = str(refused.value).partition("known: ")[2].partition(", and")[0]
    assert {*TABLE[ENVIRONMENT]} == {*known.split(", ")}
    features = TABLE["`features` of an environment"]
    assert {*features} == {*spack_features(), *SUITES, "no-loopback", "no-gpu"} - {"mpi"}


@pytest.mark.parametrize(
    ("where", "key"), [(where, key) for where in (PARTITION, ENVIRONMENT) for key in TABLE[where]]
)
def test_each_key_is_of_the_type_that_the_table_says(where, key):
    said = TABLE[where][key][2]
    reader = read if where == PARTITION else read_of_environment
    if key == "fabric":  # read by `Facts`
        return
    kind = next(kind for kind in NONE_SUCH if said.startswith(kind))
    with pytest.raises(ExtrasFault):
        reader(key, NONE_SUCH[kind])
    if kind == "whole number":
        least = int(re.search(r"from (\d)", said)[1])
        reader(key, least)
        with pytest.raises(ExtrasFault):
            reader(key, least - 1)
    elif kind == "number":
        reader(key, 0.5)
    elif kind == "word":
        words = said.partition(": ")[2].split(", ")
        for word in words:
            reader(key, word)
        known = {"mpi": MPIS, "mode": extras.MODES, "guidelines": extras.GUIDELINES}
        assert set(words) == set(known[key])
