"""Each fault of a fabric is named with both of its ends, and nothing else is."""

import itertools

import pytest

from acceptance.fabric import kinds, stored
from tests import ibsim
from tests.utils.fabric import faults as those

FAULTS = those.faults(those.small())
LARGE = those.faults(those.large())
HOUR = 3600.0


def run(tree, console, folder):
    with ibsim.Fabric(tree.net) as fabric:
        fabric.console(*console)
        return those.look(fabric, folder)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """What was accepted, and the state after ten readings, of which none shows a fault."""
    with ibsim.Fabric(those.small().net) as fabric:
        state, known = stored.State(0.0, None), None
        for number in range(10):
            found, errors = those.look(fabric, tmp_path_factory.mktemp("r") / "reading")
            known = known or those.accepted(found)
            seen, state = those.judged(found, errors, known, state, now=1e9 + number)
            assert those.named(seen) == []
            assert [each.kind for each in seen] == [kinds.NOT_JUDGED] * (number == 0)
    return known, state


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_by_what_the_programs_say(healthy, tmp_path, name):
    known, state = healthy
    found, errors = run(*those.spoilt(those.small, [FAULTS[name]]), tmp_path / "reading")
    seen, _ = those.judged(found, errors, known, state, now=1e9 + HOUR)
    assert those.named(seen) == those.expected([FAULTS[name]])


@pytest.mark.parametrize("names", [("moved", "rising")], ids="+".join)
def test_two_faults_among_1024_nodes_are_named(tmp_path, names):
    first, none = those.made(those.large())
    both = [LARGE[name] for name in names]
    found, errors = run(*those.spoilt(those.large, both), tmp_path / "reading")
    state = stored.State(1e9, none)
    seen, _ = those.judged(found, errors, those.accepted(first), state, now=1e9 + HOUR)
    assert those.named(seen) == those.expected(both)


def test_any_two_faults_at_once_are_named():
    known, none = those.made(those.small())
    for names in itertools.combinations(FAULTS, 2):
        both = [FAULTS[name] for name in names]
        found, errors = those.made(*those.spoilt(those.small, both))
        state = stored.State(1e9, none)
        seen, _ = those.judged(found, errors, those.accepted(known), state, now=1e9 + HOUR)
        assert those.named(seen) == those.expected(both), names


def test_what_is_made_is_what_the_programs_say(healthy):
    found, _ = those.made(those.small())
    assert stored.Kept.of(found) == stored.Kept.of(healthy[0].fabric.topology)
