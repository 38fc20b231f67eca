"""What became worse is followed from night to night, and is not read again."""

import pytest

from acceptance.regressions import spells_of_changes as module
from acceptance.regressions.history.reader import load
from acceptance.regressions.judge import judge
from acceptance.regressions.spells_of_changes import shared
from tests.made_pairs import BAD, judged_nights
from tests.made_series import Made


@pytest.fixture
def place(tmp_path):
    return tmp_path / "measured"


@pytest.fixture
def read(monkeypatch):
    """Return how many series were read from their first sample, each time."""
    counts = []
    real = module._from_the_beginning

    def noted(series, *others):
        counts.append(len(series))
        return real(series, *others)

    monkeypatch.setattr(module, "_from_the_beginning", noted)
    return counts


def worse(history, place):
    """Return what is followed of a history after its last night, from `place` or all samples."""
    progress = judge(history, None, place).progress
    others = shared(progress)
    series = [
        one
        for one in progress.all
        if one.direction and (id(one) in others or any(c.worse for c in progress.changes(one)))
    ]
    found = module.followed(series, progress, others)
    return [found[id(one)] for one in series]


def test_night_by_night_is_as_from_the_beginning(place, read, monkeypatch):
    made = Made(88, 1, 110)
    gone_on = []
    real = module._gone_on

    def noted(*arguments):
        found = real(*arguments)
        gone_on.append(len(found))
        return found

    monkeypatch.setattr(module, "_gone_on", noted)
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
                (one.undone is None, bool(one.told.text), len(one.spells) > 1)
                for each in found
                for one in each
            }
    assert sum(gone_on) > sum(read)
    # Those that go on and those that are over, shared and not, that come back and that do not.
    assert [{kind[place] for kind in kinds} for place in range(3)] == [{False, True}] * 3


def test_of_what_was_measured_on_a_node_only_that_counts(tmp_path, read):
    judged_nights(tmp_path, "node", 3 * BAD + 4, 5, turns=True)
    assert read[-1] == 0
    history = load(tmp_path / "results.db")
    found = worse(history, tmp_path / "kept")
    assert {one.told.node for each in found for one in each} >= {"n2"}
    assert found == worse(history, None)


def some_nights(place, count=40):
    made = Made(33, 2, count + 2)
    for night in range(count):
        made.night(night)
    judge(made.history, None, place)
    return made


def cut(path):
    path.write_text(path.read_text()[:-20])


def other_number(path):
    path.write_text(path.read_text().replace('"last": 1', '"last": 2').replace("0.", "1.", 1))


def nothing(path):
    path.unlink()


@pytest.mark.parametrize("harm", [cut, other_number, nothing])
def test_what_is_damaged_or_gone_is_read_again(place, read, harm):
    made = some_nights(place)
    harm(place.with_name("measured.followed"))
    read.clear()
    found = worse(made.history, place)
    assert read[0] == len(found) > 5
    assert found == worse(made.history, None)


def test_of_other_code_or_sessions_nothing_is_taken(place, read, monkeypatch):
    made = some_nights(place)
    with monkeypatch.context() as patched:
        patched.setattr(module, "_version", lambda: "another one")
        read.clear()
        worse(made.history, place)
        assert read[0] > 5
    del made.sessions[20]
    made.forget()
    read.clear()
    assert worse(made.history, place) == worse(made.history, None)
    assert read[0] > 5


def test_a_judgement_as_of_an_earlier_session_leaves_what_is_kept(place, read):
    made = some_nights(place)
    file = place.with_name("measured.followed")
    kept = file.read_bytes()
    last = made.sessions.pop()
    made.forget()
    assert worse(made.history, place) == worse(made.history, None)
    assert file.read_bytes() == kept
    made.sessions.append(last)
    made.forget()
    read.clear()
    worse(made.history, place)
    assert not any(read)


def test_a_lock_that_another_process_holds_leaves_what_is_kept(place, read):
    made = some_nights(place)
    file = place.with_name("measured.followed")
    kept = file.read_bytes()
    made.night(40)
    with module.state_files.locked(place.with_name("measured.lock"), 0.0):
        assert worse(made.history, place) == worse(made.history, None)
    assert file.read_bytes() == kept
