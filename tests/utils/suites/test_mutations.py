"""The parsers of all suites on recorded outputs with one random fault each."""

import math
import re

import pytest

from acceptance.core import words
from tests.mutations import (
    KINDS,
    OTHER,
    REFUSED,
    SUITES,
    TRACEBACK,
    outcome,
    read_all,
    records,
    trials,
)

#: Of each suite: so many of each kind.
COUNT = 15 * len(KINDS)


@pytest.mark.parametrize("suite", SUITES)
def test_no_fault_ends_in_a_traceback(suite):
    ended = [*trials(suite, COUNT, seed=1)]
    assert {trial.kind for trial in ended} == {*KINDS}
    assert [trial.note for trial in ended if trial.outcome == TRACEBACK] == []
    assert any(trial.outcome == REFUSED for trial in ended)


@pytest.mark.parametrize(
    ("suite", "refused"),
    [
        (
            "imb",
            {
                "IMB-MPI1_Alltoall_np4.openmpi.txt/Alltoall",
                "IMB-MPI1_Alltoall_np4.openmpi.txt/Bcast",
                "IMB-MPI1_Alltoall_np4.openmpi.txt/Barrier",
                "IMB-MT_PingPongMT.openmpi.txt",
            },
        ),
        ("osu", {"osu_allreduce_c_fail.openmpi.txt"}),
        ("patterns", set()),
    ],
)
def test_only_outputs_that_say_of_a_fault_or_of_two_runs_are_refused(suite, refused):
    assert {*read_all(suite)[1]} == refused


def test_the_same_seed_makes_the_same_faults():
    first, again, other = ([*trials("osu", 40, seed)] for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_another_value_is_noticed():
    (record,) = (each for each in records("osu") if each.path.name == "osu_bw.openmpi.txt")
    assert record.values["bandwidth_1"] == (23.76, "MB/s")
    assert record.read(record.text.replace("23.76", "23.77"))["bandwidth_1"] == (23.77, "MB/s")
    noted = [trial for trial in trials("osu", 400, seed=1) if trial.outcome == OTHER]
    assert noted
    assert all(trial.note and trial.changed for trial in noted)


#: A number as C's `%d` and `%.2f` print it, and half of its last digit.
LEGAL = re.compile(r"(0|[1-9]\d*)(\.\d\d)?\Z")
HALF = 0.005
#: Suite -> stems of metrics of one size of which each follows from the other.
TWINS = {
    "imb": [("latency", "bandwidth"), ("time", "bandwidth"), ("message_rate", "bandwidth")],
    "osu": [("message_rate", "bandwidth")],
}


def largest_error(suite, trial, whole, name):
    """Return how far another value may be off (as a share) that no reader can see.

    Two roundings where the output says the same twice; infinite where it prints a number once.
    """
    stem, size = words.split_metric(name)
    if any(each.startswith(("overlap", "overall")) for each in whole):
        return math.inf  # of two times and what they hide each leaves the others room
    if trial.path.name == "simple_halo":
        return 2e-5  # six digits
    if trial.path.name in ("UniBandMT", "BiBandMT") or "(threads: 2)" in trial.whole:
        return 4  # times of two processes, or four threads, of which the average is printed
    if stem == "time" and suite == "imb":
        # The largest time of P processes: their smallest and their average are printed, too.
        processes = int(re.search(r"#processes = (\d+)", trial.whole)[1])
        return 0.04 / trial.values[name][0] if processes == 2 else processes
    if stem == "latency" and words.sized("message_rate", size or 0) in whole:
        # IMB-P2P adds up the times of all processes, and counts by the longest one.
        return int(re.search(r"#processes = (\d+)", trial.whole)[1])
    values = {}
    for twins in TWINS[suite]:
        if stem in twins and size and words.sized(twins[0], size) in whole:
            for twin in twins:
                values[twin] = whole[words.sized(twin, size)][0]
    if not all(values.values()) or not values:
        return math.inf
    halves = {"message_rate": 0.5 if suite == "imb" else HALF}
    return 2.1 * sum(halves.get(twin, HALF) / value for twin, value in values.items())


@pytest.mark.parametrize("suite", TWINS)
def test_another_value_is_one_that_no_reader_can_see(suite):
    others = [trial for trial in trials(suite, 2 * COUNT, seed=2) if trial.outcome == OTHER]
    wholes = {record.path: record.values for record in records(suite)}
    assert others
    for trial in others:
        lines = [text.split("\n") for text in (trial.whole, trial.text)]
        assert len(lines[0]) == len(lines[1])
        for _, old, new in trial.changed:
            # All that differs are numbers, which a program could have printed in their place.
            words = [[*re.finditer(r"\S+", line)] for line in (old, new)]
            assert [word.end() for word in words[0]] == [word.end() for word in words[1]]
            for before, after in zip(*words, strict=True):
                assert before[0] == after[0] or LEGAL.match(after[0]), trial
        for name, (old, new) in trial.values.items():
            most = largest_error(suite, trial, wholes[trial.path], name)
            assert math.isinf(most) or abs(new - old) <= old * most, trial


@pytest.mark.parametrize("suite", SUITES)
def test_a_byte_that_is_no_utf_8_is_refused_with_its_line_wherever_it_stands(suite):
    record = records(suite)[0]
    lines = record.text.split("\n")
    for number in (1, len(lines) // 2, len(lines) - 1):
        text = "\n".join([*lines[: number - 1], lines[number - 1] + "\xff", *lines[number:]])
        result, note, _ = outcome(record, text)
        assert result == REFUSED
        assert f":{number}: a byte that is no UTF-8" in note


@pytest.mark.parametrize("suite", ["hpcc", "npb"])
def test_another_value_of_what_stands_twice_lies_within_its_rounding(suite):
    """A result of HPCC stands in its section, time and rate of NPB make the operations."""
    others = [trial for trial in trials(suite, COUNT, seed=2) if trial.outcome == OTHER]
    for trial in others:
        for name, (old, new) in trial.values.items():
            # What the slowest process of HPCC had stands once.
            once = name.startswith("EP-") and name.endswith("-min")
            assert abs(new - old) <= (old if once else 0.005 * old), (name, trial.changed)
