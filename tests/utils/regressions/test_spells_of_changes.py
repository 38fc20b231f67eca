"""What became worse, and when: the same from what is kept of the nights as from the first one."""

from acceptance.regressions import spells_of_changes as module
from acceptance.regressions.judge import judge
from acceptance.regressions.spells_of_changes import shared
from tests.made_pairs import BAD, judged_nights
from tests.made_series import Made
from tests.stored import load


def worse(history, place):
    """Return what is followed of a history after its last night."""
    progress = judge(history, None, place).progress
    others = shared(progress)
    series = [
        one
        for one in progress.all
        if one.direction and (id(one) in others or any(c.worse for c in progress.changes(one)))
    ]
    found = module.followed(series, progress, others)
    return [
        (one.told, one.undone, one.spells, one.sessions.tolist(), one.times.tolist(), each.count)
        for each in series
        for one in found[id(each)]
    ]


def test_night_by_night_is_as_from_the_beginning(tmp_path):
    place = tmp_path / "measured"
    made = Made(88, 1, 110)
    kinds = set()
    for night in range(110):
        made.night(night)
        if night % 7 == 3:
            continue  # two nights at once
        judge(made.history, None, place)
        if night % 12 == 11:
            found = worse(made.history, place)
            assert found == worse(made.history, None)
            kinds |= {
                (undone is None, bool(told.text), len(spells) > 1)
                for told, undone, spells, *_ in found
            }
    # Those that go on and those that are over, shared and not, that come back and that do not.
    assert [{kind[place] for kind in kinds} for place in range(3)] == [{False, True}] * 3


def test_of_what_was_measured_on_a_node_only_that_counts(tmp_path):
    judged_nights(tmp_path, "node", 3 * BAD + 4, 5, turns=True)
    history = load(tmp_path / "results.db")
    found = worse(history, tmp_path / "kept")
    assert {told.node for told, *_ in found} >= {"n2"}
    assert found == worse(history, None)
    on_node = [(sessions, count) for told, *_, sessions, _, count in found if told.node]
    assert all(len(sessions) < count for sessions, count in on_node)
