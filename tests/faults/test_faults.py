"""The quickest rows of `make faults`; and that its questions can be answered with no."""

import pytest

from tests.faults import examine
from tests.faults.examine import Outcome
from tests.faults.place import RUN, Place, Ran, Seen
from tests.faults.rows import ROWS

BY_NAME = {row.name: row for row in ROWS}
WHOLE = [("Barrier", "pass", {"time": 1.0}), ("Allreduce", "pass", {"time_4": 1.0})]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("faults") / "base")
    status, said = place.run(RUN)
    assert status == 0, said
    return place


@pytest.mark.parametrize(
    "name",
    [
        "quota: 4 KiB a file",
        "quota: 16 KiB a file",
        "a segfault after a full table, make run",
        "kill 5 of make run",
    ],
)
def test_a_fault_loses_nothing_and_nothing_is_falsely_green(base, tmp_path, name):
    row = BY_NAME[name]
    # The beginning of a run: that of its kill is somewhere in there.
    more = {"seconds": 5.0} if row.seconds else {}
    outcome = examine.examine(row, base, tmp_path / "place", **more)
    assert not outcome.bad, outcome


def test_rows_have_names_of_their_own():
    assert len(BY_NAME) == len(ROWS)


def seen(*cases, begun=()):
    return Seen({"uuid": ("label", [*cases])} if cases else {}, {*begun})


@pytest.mark.parametrize(
    ("ran", "gate", "after", "said"),
    [
        (Ran([0]), 0, seen(*WHOLE), ""),
        (Ran([1]), 1, seen(), ""),
        (Ran([0]), 1, seen(WHOLE[0]), "1 commands ended with 0, 0 runs are whole"),
        (Ran([1]), 0, seen(WHOLE[0]), "the gate says pass"),
        (Ran([1]), 0, seen(WHOLE[0], ("Allreduce", "fail", None)), "the gate says pass"),
        (Ran([1], red=True), 0, seen(*WHOLE), "the gate says pass"),
        (Ran([None]), 0, seen(begun=["2.started"]), "the gate says pass"),
        (Ran([None]), 0, seen(), ""),
    ],
)
def test_what_is_green_and_was_not_measured_is_told(ran, gate, after, said):
    assert examine._falsely_green(ran, gate, Seen(), after) == said


def test_a_session_that_nobody_can_read_any_more_is_told(base, tmp_path):
    place = Place.after(base, tmp_path / "place")
    before = place.look()
    assert place.lost(before) == []
    (cases,) = (cases for _, cases in before.sessions.values())
    cases[0][2]["time_4" if cases[0][0] == "Allreduce" else "time"] = 0.0
    assert place.lost(before) == [f"{next(iter(before.sessions))[:8]}: {cases[0][0]} differs"]
    other = Seen({"0" * 8: ("other", [])})
    (told,) = place.lost(other, place.look())
    assert told.startswith("00000000: ")


def test_an_answer_with_no_is_bad():
    good = Outcome("a fault", line="it was killed")
    assert not good.bad
    assert all(
        Outcome("a fault", line="told", **{answer: "something"}).bad
        for answer in ("lost", "green", "next")
    )
    assert Outcome("a fault").bad
    assert not Outcome("a fault", not_looked="wants root").bad
