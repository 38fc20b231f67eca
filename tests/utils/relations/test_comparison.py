"""Sides of a history, and what is said of their metrics."""

import msgspec
import pytest

from acceptance.relations.comparison import WORDS, compare
from acceptance.relations.sides import SideFault, find, read
from tests.made import SIZES, SOFTWARE, STEPS, Case, Database, campaigns, nights, noisy, one_night
from tests.stored import load

NIGHTS = 20


def compared(path, a, b, **named):
    return compare(load(path), read(a), read(b), **named)


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    """Twenty nights; in the last of them one benchmark is slower."""
    path = tmp_path_factory.mktemp("steady") / "results.db"
    nights(path, NIGHTS, lambda night, case, _: 1.3 if (night, case) == (19, 1) else 1.0, cases=3)
    return path


def test_what_is_worse_and_by_which_noise(steady):
    found = compared(steady, "last-1", "last")
    assert {row.benchmark for row in found.of("worse")} == {"osu.b1"}
    assert +found.counts == {"worse": 2 * len(SIZES), "same": 4 * len(SIZES)}
    for row in found.rows:
        assert row.low < 1 < row.high
        assert (row.low <= row.ratio <= row.high) == (row.word == "same")
    times = [row.ratio for row in found.of("worse") if row.unit == "us"]
    assert all(1.2 < ratio < 1.4 for ratio in times)
    assert any("outlier" in note for note in found.notes)


def test_the_other_way_round_it_is_better(steady):
    assert compared(steady, "last", "last-1").counts["better"] == 2 * len(SIZES)


@pytest.mark.parametrize(
    ("side", "count"),
    [
        ("last", 1),
        ("night", 1),
        ("0000000a", 1),
        ("@0000000A", 1),
        ("2026-01-03", 1),
        ("2026-01-03..2026-01-05", 3),
        ("..2026-01-05", 5),
        ("made", 7),
        ("made:compute", 7),
        ("+spack-*", 7),
        ("made:compute+spack-openmpi@2026-01-03..", 18),
        ("made,mpi=openmpi@4.1.6", NIGHTS),
        (",openmpi=4.1.*", NIGHTS),
        ("last,openmpi=4.1.6", 1),
    ],
)
def test_what_a_side_stands_for(steady, side, count):
    assert len(find(read(side), load(steady), 7)[0].sessions) == count


@pytest.mark.parametrize(
    ("side", "words"),
    [
        ("nowhere", "is no system and no session; the newest sessions: 0000000c"),
        ("nowhere:compute", "nothing was measured there; there is: made:compute+spack-openmpi"),
        ("made:gpu", "there is: made:compute+spack-openmpi"),
        ("0000", "begins 20 ids: 00000013"),
        ("made@ffff", "begins no id; the newest: 00000013"),
        ("last-20", "goes back too far; of made there is: 20 nights (noon to noon), 20 runs"),
        ("2025-01-01", "no session began then; the oldest is of 2026-01-01"),
        ("2026-02-30", "there is no such day"),
        ("2026-02-03..2026-02-01", "ends before it begins"),
        ("made@soon", "soon after @ is no time; write one of: last"),
        ("made,openmpi", "openmpi is no software; write NAME=VERSION"),
        ("made,openmpi=5.*", "nothing was measured so; there is: compiler=gcc@13.2.0, mpi=openmpi"),
        ("made/x", "is no place, no time and no session"),
        ("last", "have samples in common"),
    ],
)
def test_a_side_that_is_not_clear_lists_what_there_is(steady, side, words):
    with pytest.raises(SideFault) as fault:
        compared(steady, side, "last")
    assert words in str(fault.value)


@pytest.mark.parametrize(
    ("side", "count", "said"),
    [
        ("last", len(STEPS), "last (nightly-2026-01-06T220000): 6 sessions"),
        ("last-1", len(STEPS), "last-1 (nightly-2026-01-05T220000): 6 sessions"),
        ("nightly-2026-01-02", len(STEPS), "6 sessions, 2026-01-02 to 2026-01-02"),
        ("0000000a", 1, "session 0000000a-"),
        ("night-1", len(STEPS), "night-1: 6 sessions"),
    ],
)
def test_a_night_with_all_its_steps_is_one_run(tmp_path, side, count, said):
    path = tmp_path / "results.db"
    campaigns(path, 6)
    found, _ = find(read(side), load(path), 7)
    assert (len(found.sessions), said in found.described) == (count, True)


def test_a_night_by_the_clock_may_have_several_runs(tmp_path):
    path = tmp_path / "results.db"
    campaigns(path, 6, apart=1800)
    assert len(find(read("night"), load(path), 7)[0].sessions) == 6 * len(STEPS)
    assert len(find(read("last-5"), load(path), 7)[0].sessions) == len(STEPS)
    said = "night-1: goes back too far; of made there is: 1 night .noon to noon., 6 runs .`last`.$"
    with pytest.raises(SideFault, match=said):
        find(read("night-1"), load(path), 7)


def test_a_beginning_of_several_runs_is_refused(tmp_path):
    path = tmp_path / "results.db"
    campaigns(path, 3)
    with pytest.raises(SideFault, match="begins 3 ids: nightly-2026-01-03T220000, nightly-2026-01"):
        find(read("nightly-2026"), load(path), 7)


def test_a_word_that_is_two_things_is_refused(tmp_path):
    path = tmp_path / "results.db"
    nights(path, 3, cases=1, system="00000001")
    with pytest.raises(SideFault, match=r"is a system, and a session, too; write 00000001:\*"):
        compared(path, "00000001", "last")
    assert compared(path, "@00000001", "last").counts["cannot tell"] == 2 * len(SIZES)


def test_without_a_past_nothing_is_told(tmp_path):
    path = tmp_path / "results.db"
    nights(path, 2, lambda night, *_: 1 + night, cases=1)
    found = compared(path, "last-1", "last")
    assert +found.counts == {"cannot tell": 2 * len(SIZES)}
    assert found.judged == 0
    assert "noise unknown: both have 2 of about 8 samples" in found.rows[0].why


def test_what_is_on_one_side_only_and_what_failed_there(tmp_path):
    path = tmp_path / "results.db"

    def change(night, number, case):
        if night == 11 and number == 0:
            return None
        if night == 11 and number == 1:
            case.result = "fail"
        return None if number == 2 and night < 11 else case

    nights(path, 12, cases=4, change=change)
    found = compared(path, "last-1", "last")
    each = 2 * len(SIZES)
    assert +found.counts == {"only in A": 2 * each, "only in B": each, "same": each}
    assert found.failed == ("OsuMpi %benchmark=b1 %np=2 %placement=inter-node",)
    assert {row.benchmark for row in found.of("only in A") if row.why} == {"osu.b1"}


def two_systems(path, factor=1.2, **second):
    database = Database(path)
    for night in range(12):
        one = one_night(night, 0, system="old", partition="cpu", environment="gnu")
        two = one_night(night, 0, lambda *_: factor, **{"system": "new", **second})
        database.add([one, two])


def test_systems_differ_in_their_place_and_nothing_else(tmp_path):
    path = tmp_path / "results.db"
    two_systems(path)
    found = compared(path, "old", "new")
    assert found.differs == {
        "system": ("old", "new"),
        "partition": ("cpu", "compute"),
        "environment": ("gnu", "spack-openmpi"),
    }
    assert found.matched == ("check", "parameters", "metric")
    assert +found.counts == {"worse": 2 * len(SIZES)}
    assert found.rows[0].a.samples == 7


def test_partitions_that_could_each_be_the_other_are_refused(tmp_path):
    path = tmp_path / "results.db"
    two_systems(path)
    database = Database(tmp_path / "more.db")
    for night in range(3):
        parts = [one_night(night, 0, system="new", partition=name) for name in ("a", "b")]
        database.add([one_night(night, 0, system="old", partition="cpu"), *parts])
    with pytest.raises(SideFault, match=r"no partition in common.*A has cpu; B has a, b; name one"):
        compared(tmp_path / "more.db", "old", "new")
    assert compared(tmp_path / "more.db", "old", "new:a").counts["cannot tell"] == 2 * len(SIZES)


def test_simulated_against_measured_is_marked(tmp_path):
    path = tmp_path / "results.db"
    two_systems(path, system="simulated-old")
    found = compared(path, "old", "simulated-old")
    assert (found.a.simulated, found.b.simulated, found.simulated) == (False, True, True)
    assert any("nothing of a machine" in note for note in found.notes)


@pytest.mark.parametrize(
    ("units", "word"), [(("MB/s", "GB/s"), "same"), (("MB/s", "us"), "cannot tell")]
)
def test_units_are_converted_or_told(tmp_path, units, word):
    database = Database(tmp_path / "results.db")
    level = noisy("x", 5000.0)
    for night in range(24):
        unit = units[night >= 12]
        value = level(night) / (1000 if unit == "GB/s" else 1)
        database.add([Case(metrics={"bandwidth_8": (value, unit)})])
    (row,) = compared(database.path, "2026-01-01..2026-01-12", "2026-01-13..").rows
    assert row.word == word
    if word == "cannot tell":
        assert row.why == "its unit is MB/s in A, us in B"
    else:
        assert (row.unit, row.b.unit) == ("MB/s", "GB/s")
        assert row.b.value == pytest.approx(5000, rel=0.02)


def test_before_and_after_a_version(tmp_path):
    path = tmp_path / "results.db"

    def change(night, _, case):
        case.provenance = {**SOFTWARE, "mpi": f"openmpi@{'5.0.6' if night >= 12 else '4.1.6'}"}
        return case

    nights(path, 24, lambda night, *_: 1.1 if night >= 12 else 1.0, cases=1, change=change)
    found = compared(path, ",openmpi!=5.0.6", ",openmpi=5.0.6")
    assert +found.counts == {"worse": 2 * len(SIZES)}
    assert {row.a.samples for row in found.rows} == {12}
    assert (found.a.software, found.b.software) != (found.b.software, found.a.software)


def test_the_data_have_every_metric(steady):
    data = msgspec.to_builtins(compared(steady, "last-1", "last"))
    assert len(data["rows"]) == 6 * len(SIZES) == sum(data["counts"].values())
    assert {*data["counts"]} == {*WORDS}
    worse = [one for one in data["rows"] if one["word"] == "worse"]
    assert all(one["probability"] <= data["level"] for one in worse)
    assert {one[side]["samples"] for one in worse for side in "ab"} == {1}
    assert worse[0]["a"]["learnt"] == NIGHTS - 2  # one sample by itself tells nothing
    assert worse[0]["parameters"] == {"np": "2", "nodes": "2", "placement": "inter-node"}


def test_noise_that_hides_anything_lets_nothing_be_the_same(tmp_path):
    path = tmp_path / "results.db"
    nights(path, 20, cases=1, noise=0.2)
    found = compared(path, "last-1", "last")
    assert +found.counts == {"cannot tell": 2 * len(SIZES)}
    assert found.judged == 0
    assert all(row.high > 1.5 and row.low < row.ratio < row.high for row in found.rows)
    assert found.rows[0].why.startswith("its noise hides a change of up to ")
