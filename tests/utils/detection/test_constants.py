"""`detection/constants.py`: every number says where it comes from."""

import re
from pathlib import Path

import pytest

from acceptance import regressions
from acceptance.detection import constants

MODULES = [constants, constants]
PACKAGES = [Path(constants.__file__).parent, Path(regressions.__file__).parent]
PROVENANCE = re.compile(r"\[(derived|chosen|tuned)\]")


@pytest.mark.parametrize("module", MODULES)
def test_every_number_has_its_provenance(module):
    comment, names = "", []
    for line in Path(module.__file__).read_text().splitlines():
        if line.startswith("#: "):
            comment += line
        elif match := re.match(r"([A-Z][A-Z_, ]+) = ", line):
            assert PROVENANCE.search(comment), line
            names += match[1].split(", ")
            comment = ""
    assert set(names) == {name for name in vars(module) if name.isupper()}


def test_numbers_stand_nowhere_else():
    number = re.compile(r"^_?[A-Z][A-Z_, ]* = [\d(-][\d_.e, *()-]*$", re.M)
    for folder in PACKAGES:
        for path in folder.rglob("*.py"):
            if path not in [Path(module.__file__) for module in MODULES]:
                assert not number.findall(path.read_text()), path
