"""What is drawn of a room, and which faults of it its tests see."""

from dataclasses import replace

import pytest

from tests.places import ROOT

pytest.importorskip("cosmic_ray", reason="`make .venv/.installed-audit` installs cosmic-ray")
from tests.mutants import __main__ as command
from tests.mutants import draw
from tests.mutants.__main__ import Killers, Server, applied, share, try_on
from tests.mutants.covering import Covering

ROOM = "detection"
CODE = '''\
"""A room of 2 + 2 faults."""
from dataclasses import dataclass
from functools import cache

LIMIT, FEWEST = 1.5 * 3, 2
TABLE = {"links": 8}


@dataclass(frozen=True)
class Link:
    rate: int | None = None


@cache
def of(text: str | None, *, most: int | None = 4) -> int | None:
    if len(text) > most:
        raise ValueError(f"{text}: {len(text) - most} more than {most}")
    return len(text)


def halves(number):
    steps = 0
    while number > 1:
        number //= 2
        steps += 1
    return steps


def of_text(text):
    try:
        return float(text)
    except (json.JSONDecodeError, errors.Fault):  # of other modules: no fault can be drawn
        return None


if __name__ == "__main__":
    print(1 + 1)
'''
TESTS = """\
import pytest

from acceptance.detection import room


@pytest.fixture(scope="module")
def most():
    return room.halves(64)


def test_halves(most):
    assert most == 6


def test_nothing():
    assert room.of("")
"""


@pytest.fixture
def clone(tmp_path):
    package, tests = tmp_path / "utils/acceptance" / ROOM, tmp_path / "tests/utils" / ROOM
    for folder in (package, tests):
        folder.mkdir(parents=True)
    for folder in (package, package.parent, tmp_path / "tests"):
        (folder / "__init__.py").touch()
    (package / "room.py").write_text(CODE)
    (tests / "test_room.py").write_text(TESTS)
    (tmp_path / "tests/mutants").symlink_to(ROOT / "tests/mutants")
    (tmp_path / "tests/conftest.py").touch()
    return tmp_path


def test_each_place_is_drawn_once_but_none_that_says_nothing(clone):
    drawn = draw(clone, ROOM, 99, 1)
    assert [*map(str, draw(clone, ROOM, 99, 1))] == [*map(str, drawn)]
    assert [*map(str, draw(clone, ROOM, 99, 2))] != [*map(str, drawn)]
    assert draw(clone, ROOM, 3, 1) == drawn[:3]
    assert sorted(mutant.old for mutant in drawn) == sorted(
        [
            'TABLE = {"links": 8}',
            "@dataclass(frozen=True)",
            "def of(text: str | None, *, most: int | None = 4) -> int | None:",
            *["if len(text) > most:"] * 2,
            "steps = 0",
            *["while number > 1:"] * 3,
            *["number //= 2", "steps += 1"],
        ]
    )
    assert {mutant.where for mutant in drawn} == {"module", "of", "halves"}
    for mutant in drawn:
        compile(mutant.code, mutant.path, "exec")
        assert mutant.code != CODE


def test_a_fault_is_seen_where_a_test_fails_or_never_ends(clone, monkeypatch):
    server = Server(clone, clone / "log")
    covering = Covering(clone, clone / "kept", server, [ROOM])
    server.seconds = covering.seconds
    passing = f"tests/utils/{ROOM}/test_room.py::test_halves"
    # A test that fails without a fault sees none.
    assert [*covering.seconds] == [passing]
    killers, ends = Killers(clone / "killers.json"), {}
    for mutant in draw(clone, ROOM, 99, 1):
        assert covering.tests(mutant, 60)[0] == [passing]
        if "of" not in mutant.where and "while" not in mutant.old:
            ends[mutant.old] = try_on(clone, covering, killers, mutant, 60)
    assert (clone / "utils/acceptance" / ROOM / "room.py").read_text() == CODE
    assert ends == {
        'TABLE = {"links": 8}': "",
        "@dataclass(frozen=True)": "",
        **dict.fromkeys(["steps = 0", "number //= 2", "steps += 1"], passing),
    }
    (endless,) = [mutant for mutant in draw(clone, ROOM, 99, 1) if mutant.old == "number //= 2"]
    monkeypatch.setattr(command, "GRACE", 2)
    with applied(clone, replace(endless, code=CODE.replace("//= 2", "+= 2"))):
        assert server.run([passing]) == ["no end"]
    assert Covering(clone, clone / "kept", None, [ROOM]).tests(endless, 60) == covering.tests(
        endless, 60
    )


def test_then_the_tests_of_other_rooms_are_tried(clone):
    tests = clone / "tests/utils/nodes"
    tests.mkdir()
    name = "tests/utils/nodes/test_links.py::test_links"
    (tests / "test_links.py").write_text(
        "from acceptance.detection import room\n\n\n"
        'def test_links():\n    assert room.halves(room.TABLE["links"]) == 3\n'
    )
    covering = Covering(clone, clone / "kept", Server(clone, clone / "log"), [ROOM])
    covering.server.seconds = covering.seconds
    (table,) = [mutant for mutant in draw(clone, ROOM, 99, 1) if "TABLE" in mutant.old]
    killers = Killers(clone / "killers.json")
    assert not try_on(clone, covering, killers, table, 60)
    tried = {*covering.seconds}
    covering.take_others()
    assert {*covering.seconds} - tried == {name}
    assert [*filter(None, covering.tests(table, 60, tried))] == [[name]]
    assert try_on(clone, covering, killers, table, 60, tried) == name


def test_the_share_has_an_interval():
    assert share(36, 40) == "36 of 40 killed, 90% (77% to 96%)"
