"""What the members of a family say together is one incident of them."""

import re

import pytest

from acceptance.regressions.judge import judge
from tests.made import nights, one_night
from tests.made_pairs import BAD, judged_nights
from tests.stored import load

#: Ten sizes of a message.
SIZES = tuple(2**power for power in range(3, 23, 2))


def worse(night, case, size):
    return 1.06 if BAD <= night < BAD + 9 and case == 1 and size >= 128 else 1.0


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Return the judgement of each night from the one before the change on."""
    folder = tmp_path_factory.mktemp("families")
    database = nights(folder / "results.db", BAD, worse, cases=2, sizes=SIZES, noise=0.02)
    found = [judge(load(database.path), None, folder / "kept")]
    for night in range(BAD, BAD + 20):
        database.add([one_night(night, case, worse, SIZES, 0.02) for case in range(2)])
        found.append(judge(load(database.path), None, folder / "kept"))
    return found


def test_sizes_that_move_together_are_an_incident_on_the_first_night(judged):
    before, first = judged[:2]
    assert before.incidents == ()
    (incident,) = first.incidents
    found = incident.finding
    assert (found.kind, found.device.split()[1]) == ("regression", "%benchmark=b1")
    number = re.match(
        r"(\d+) of 10 sizes of osu\.b1 moved together by [+-](\d+\.\d) %", incident.cause
    )
    assert 7 <= int(number[1]) <= 9
    assert float(number[2]) == pytest.approx(6, abs=1.5)


def test_the_series_that_moved_are_named_and_by_how_much(judged):
    (incident,) = judged[2].incidents
    moved = {change.series.metric: change.after / change.before - 1 for change in incident.changes}
    large = {f"{stem}_{size}" for stem in ("latency", "bandwidth") for size in SIZES[2:]}
    assert len(large & moved.keys()) >= len(large) - 2
    assert len(moved.keys() - large) <= 2
    assert all(0.03 < abs(size) < 0.1 for size in moved.values())
    assert all(
        re.search("(moved|worse) together", change.text)
        for change in incident.changes
        if change.decided.number == BAD
    )


def test_it_stays_one_incident_of_each_series_once(judged):
    names = {incident.id for judgement in judged[1:9] for incident in judgement.incidents}
    assert len(names) == 1
    for judgement in judged[1:9]:
        series = [id(change.series) for one in judgement.incidents for change in one.changes]
        assert len(series) == len(set(series)) > 10


def test_it_is_over_when_its_series_are_back(judged):
    assert judged[-1].incidents == ()


def test_the_metrics_of_a_node_are_a_family_that_names_it(tmp_path):
    *_, first, second = judged_nights(tmp_path, "node", BAD, 4)
    ((incident,), (again,)) = first.incidents, second.incidents
    assert again.id == incident.id
    assert re.search(r"of \d+ metrics .* moved together by \+\d.* n2(,| and) n3", again.cause)
    newest = [each.series.samples[-1] for each in incident.changes]
    assert {node for sample in newest for node in sample.nodes} == {"n2", "n3"}
    series = [id(each.series) for each in again.changes]
    assert len(series) == len(set(series))


def test_a_node_is_told_of_by_what_was_measured_on_it_also_when_others_have_their_turn(tmp_path):
    # Nights 210 and on: the pairs take turns, the second one is worse.
    found = judged_nights(tmp_path, "node", 3 * BAD + 4, 5, turns=True)
    causes = [
        [one.cause for one in each.incidents if one.finding.kind != "machine"] for each in found
    ]
    assert all("metrics on n2 and n3 moved together by +" in each[0] for each in causes)
    assert all("the machine" not in each[0] for each in causes)


def test_other_software_is_judged_with_less_evidence_and_named(tmp_path):
    (judged,) = judged_nights(tmp_path, "software", BAD, 1)
    (incident,) = judged.incidents
    assert re.search(r"\d+ of 10 metrics of spack-openmpi moved together", incident.cause)
    assert "with other software" in incident.cause
    assert "mpi openmpi@4.1.6 -> openmpi@5.0.1" in incident.cause


def test_what_families_could_not_be_judged_is_told(tmp_path):
    young = judge(load(nights(tmp_path / "young.db", 12, cases=2, sizes=SIZES).path))
    # The sizes of two metrics in two cases, the metrics of both, and those on each of four nodes.
    assert young.together == (
        "0 families of metrics judged together; 9 not yet: they can be after 49 more runs"
    )
    few = judge(load(nights(tmp_path / "few.db", 12, cases=1, sizes=SIZES[:1]).path))
    assert few.together == (
        "0 families of metrics judged together; 2 metrics in none: too few began together"
    )
