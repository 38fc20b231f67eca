"""`regressions/judge.py`: from a results database to alerts; detection itself is in changepoint."""

import math
from datetime import datetime

import msgspec
import pytest

from acceptance import references
from acceptance.core.findings import Finding
from acceptance.core.paths import ROOT
from acceptance.detection.constants import FEWEST, SERIES
from acceptance.ledger import ResultsFault
from acceptance.regressions.families import threshold
from acceptance.regressions.judge import for_gate, judge
from tests.made import (
    COMMAND,
    FIRST,
    NIGHT,
    SIZES,
    SOFTWARE,
    Case,
    Database,
    nights,
    noisy,
    one_night,
)
from tests.places import REFERENCE
from tests.stored import load, opened

#: Night on which something happens; metrics of a case, and of all of them.
BAD = 30
EACH = 2 * len(SIZES)
ALL = 8 * EACH


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


def judged(path, library=None, **keywords):
    return judge(load(path, **keywords), library)


def the_alert(judgement):
    (alert,) = judgement.incidents
    return alert


def from_night(number, worse=1.1, case=3, least=0):
    """Return a factor: one case is worse from a night on, for messages of `least` bytes or more."""
    return lambda night, which, size: (
        worse if night >= number and which == case and size >= least else 1.0
    )


def test_a_quiet_site_has_no_alert(path):
    nights(path, 60, cases=25)
    judgement = judged(path)
    assert judgement.incidents == ()
    assert (judgement.judged, judgement.waiting, judgement.stale) == (25 * EACH, {}, 0)
    assert judgement.cannot_judge == ""
    assert judgement.notes == []


def test_a_check_that_became_worse_is_one_alert(path):
    nights(path, 45, from_night(BAD))
    alert = the_alert(judged(path))
    found, worst, series = alert.finding, alert.worst, alert.worst.series
    assert (found.kind, found.where, found.device) == (
        "regression",
        "made:compute+spack-openmpi",
        "OsuMpi %benchmark=b3 %np=2 %placement=inter-node",
    )
    assert len(alert.changes) == EACH
    assert f"(with {EACH - 1} related metrics; " in found.text
    assert all(" OsuMpi %benchmark=b3 " in change.series.name for change in alert.changes)
    assert (series.unit, series.direction) in {("us", "lower"), ("MB/s", "higher")}
    change = worst.after / worst.before - 1
    assert abs(change) == pytest.approx(0.1, abs=0.03)
    assert (change > 0) == (series.direction == "lower")
    assert f", {abs(change) * 100:.3g} % worse" in found.found
    since = datetime.fromisoformat(found.since).timestamp()
    assert abs(since - (FIRST + NIGHT * BAD)) < 1.5 * NIGHT
    assert 0.99 < worst.confidence <= 1
    assert "only benchmark osu.b3" in alert.cause


def test_large_messages_are_named(path):
    nights(path, 45, from_night(BAD, least=65536))
    assert "messages of 65536 bytes and more" in the_alert(judged(path)).cause


def test_what_became_better_is_no_alert(path):
    nights(path, 45, from_night(BAD, worse=0.8))
    assert judged(path).incidents == ()


def test_what_has_recovered_is_no_alert(path):
    nights(path, 60, lambda night, case, size: 1.1 if case == 3 and 20 <= night < 35 else 1.0)
    assert judged(path).incidents == ()


def test_two_partitions_are_two_incidents(path):
    def change(night, number, case):
        case.partition = "gpu" if number % 2 else "compute"
        return case

    worse = lambda night, case, size: 1.1 if night >= BAD and case in (2, 3) else 1.0  # noqa: E731
    nights(path, 45, worse, change=change)
    assert sorted(alert.finding.partition for alert in judged(path).incidents) == [
        "made:compute",
        "made:gpu",
    ]


def test_two_incidents_of_a_partition_weeks_apart(path):
    def worse(night, case, size):
        return 1.1 if (case == 3 and night >= 20) or (case == 5 and night >= 50) else 1.0

    nights(path, 65, worse)
    alerts = judged(path).incidents
    assert sorted(alert.finding.device.split("=")[1][:2] for alert in alerts) == ["b3", "b5"]
    assert len({alert.id for alert in alerts}) == 2


@pytest.mark.parametrize("count", range(1, 6))
def test_a_few_nights_cannot_be_judged_and_it_is_said_when_they_can(tmp_path, count):
    nights(tmp_path / "few.db", count, cases=1)
    judgement = judged(tmp_path / "few.db")
    assert (judgement.incidents, judgement.judged) == ((), 0)
    ((needed, series),) = judgement.waiting.items()
    assert series == EACH
    assert (
        f"{EACH} metrics: cannot judge yet; can after {needed} more run" in judgement.cannot_judge
    )
    nights(tmp_path / "enough.db", count + needed, cases=1)
    assert judged(tmp_path / "enough.db").judged == series
    nights(tmp_path / "almost.db", count + needed - 1, cases=1)
    assert judged(tmp_path / "almost.db").waiting == {1: series}


def test_an_empty_database(path):
    Database(path)
    judgement = judged(path)
    assert (judgement.incidents, judgement.judged, judgement.cannot_judge) == ((), 0, "")


def one_metric(path, count, value, unit="us", **fields):
    database = Database(path)
    for night in range(count):
        database.add([Case(metrics={"thing": (value(night), unit)}, **fields)])
    return database


def test_a_metric_of_unknown_direction_is_a_note(path):
    level = noisy("x", 5.0)
    one_metric(path, 45, lambda n: level(n, 1.0 if n < 40 else 1.3), "points", plain=True)
    judgement = judged(path)
    assert (judgement.incidents, judgement.judged) == ((), 0)
    (note,) = judgement.notes
    assert note.startswith("moved, though nothing says which way is better: made:compute+")
    assert "points since 2026-" in note


def test_a_database_of_plain_reframe_is_judged(path):
    level = noisy("x", 5.0)
    one_metric(path, 45, lambda n: level(n, 1.0 if n < BAD else 1.3), "ms", name="X", plain=True)
    alert = the_alert(judged(path))
    series = alert.worst.series
    assert (alert.finding.subject, series.unit, series.direction) == ("X thing", "ms", "lower")


@pytest.mark.parametrize("value", [0.0, math.nan])
def test_a_series_of_nothing(path, value):
    one_metric(path, 20, lambda n: value)
    judgement = judged(path)
    assert (judgement.incidents, judgement.judged) == ((), 0)
    assert judgement.notes[0].startswith("never more than 0, or no numbers, and not judged: made:")


def test_a_few_values_that_are_none(path):
    level = noisy("x", 5.0)
    one_metric(path, 30, lambda n: level(n) if n % 10 else 0.0)
    judgement = judged(path)
    assert (judgement.incidents, judgement.judged) == ((), 1)
    assert "(0, below, or no number) are left out: 3 of made:compute" in judgement.notes[0]


def test_a_constant_series_is_quiet_and_its_change_is_found(path):
    one_metric(path, 45, lambda n: 4.0 if n < BAD else 5.0)
    worst = the_alert(judged(path)).worst
    assert worst.after / worst.before == pytest.approx(1.25)
    assert judged(path, until=f"{BAD - 1:08x}-0000-4000-8000-000000000000").incidents == ()


def test_a_series_that_is_no_longer_measured_is_stale(path):
    database = nights(path, 45, from_night(BAD), cases=4)
    for night in range(45, 60):
        database.add([Case(metrics={"latency_8": (noisy("x", 1)(night), "us")})], command="other")
    judgement = judged(path)
    assert (judgement.incidents, judgement.stale) == ((), 4 * EACH)
    assert (
        f"{4 * EACH} series have no sample of late and are not judged any more" in judgement.notes
    )


@pytest.mark.parametrize("off", [365, -365])
def test_a_night_with_a_wrong_clock_makes_nothing_stale(path, off):
    database = nights(path, 20, cases=2)
    stray = Case(name="Stray", metrics={"latency_8": (1.0, "us")}, completed=FIRST + off * NIGHT)
    database.add([stray, one_night(20, 0), one_night(20, 1)], start=FIRST + off * NIGHT)
    for night in range(21, 24):
        database.add([one_night(night, 0), one_night(night, 1)])
    judgement = judged(path)
    assert (judgement.incidents, judgement.judged) == ((), 2 * EACH)
    assert any("a clock went backwards" in note for note in judgement.notes)


def test_weekly_runs_are_not_stale(path):
    database = Database(path)
    level = noisy("x", 1)
    for week in range(30):
        case = Case(metrics={"latency_8": (level(week, 1.2 if week > 22 else 1), "us")})
        database.add([case], start=FIRST + 7 * NIGHT * week)
    assert the_alert(judged(path)).finding.what == "latency_8"


def test_the_threshold_grows_with_the_number_of_series():
    assert threshold(1) == threshold(SERIES // 2)
    assert threshold(1024) == pytest.approx(threshold(1) + math.log(1024 / SERIES))
    # A new series must not move decisions of the past.
    assert threshold(513) == threshold(1024)


def test_an_incident_keeps_its_id_while_it_lasts_and_grows(path):
    # The large messages became only a little worse, which takes more nights to see.
    def worse(night, case, size):
        if case != 3 or night < BAD:
            return 1.0
        return 1.15 if size == SIZES[0] else 1.02

    nights(path, BAD + 25, worse)
    alerts = {}
    for night in range(BAD, BAD + 25):
        judgement = judged(path, until=f"{night:08x}-0000-4000-8000-000000000000")
        for alert in judgement.incidents:
            alerts.setdefault(alert.id, []).append((night, len(alert.changes)))
    ((seen),) = alerts.values()
    assert seen[0][0] <= BAD + 10
    assert [night for night, _ in seen] == list(range(seen[0][0], BAD + 25))
    assert seen[-1][1] > seen[0][1]


def slow(first, last, worse=1.2):
    return lambda night, case, size: worse if first <= night <= last else 1.0


def alerts_by_night(path, first, last):
    return {
        night: judged(path, until=f"{night:08x}-0000-4000-8000-000000000000").incidents
        for night in range(first, last)
    }


def test_a_night_on_which_everything_was_slow_is_the_machine_and_over_when_it_is_over(path):
    nights(path, BAD + 8, slow(BAD, BAD))
    found = alerts_by_night(path, BAD - 1, BAD + 8)
    (alert,) = found.pop(BAD)
    assert alert.finding.kind == "machine"
    assert len(alert.changes) == ALL
    assert alert.cause.startswith(
        f"{ALL} of {ALL} metrics of the partition moved: the machine, not"
    )
    assert abs(alert.worst.after / alert.worst.before - 1) > 0.1
    since = datetime.fromisoformat(alert.finding.since).timestamp()
    assert since // NIGHT == (FIRST + NIGHT * BAD) // NIGHT
    assert set(found.values()) == {()}
    # The night stays known: histories show it.
    assert [each.night for each in judged(path).slow] == [BAD]


def test_a_machine_of_two_weeks_of_history_has_slow_nights(path):
    nights(path, 14, slow(13, 13))
    alert = the_alert(judged(path))
    assert (alert.finding.kind, len(alert.changes)) == ("machine", ALL)


@pytest.mark.parametrize("length", [3, 6])
def test_a_machine_that_was_slow_for_some_nights(path, length):
    nights(path, BAD + 14, slow(BAD, BAD + length - 1))
    found = alerts_by_night(path, BAD, BAD + 14)
    assert {alert.id for alerts in found.values() for alert in alerts} == {found[BAD][0].id}
    assert [night for night, alerts in found.items() if alerts] == [*range(BAD, BAD + length)], (
        "one incident, open on these nights and over on the next"
    )
    assert {alert.finding.kind for alerts in found.values() for alert in alerts} == {"machine"}


@pytest.mark.parametrize("worse", [1.05, 1.3])
def test_a_machine_that_stays_slow_is_one_incident_all_the_time(path, worse):
    nights(path, BAD + 25, slow(BAD, BAD + 25, worse))
    found = alerts_by_night(path, BAD, BAD + 25)
    assert {len(alerts) for alerts in found.values()} == {1}
    assert len({alerts[0].id for alerts in found.values()}) == 1
    assert {alerts[0].finding.kind for alerts in found.values()} == {"machine"}


def test_one_slow_case_with_many_metrics_is_no_machine(path):
    nights(path, BAD + 1, slow(BAD, BAD), cases=1)
    assert judged(path).incidents == ()


def test_a_machine_whose_cases_always_move_together_by_as_much_is_quiet(path):
    together = noisy("together", 1.0, 0.05)
    nights(path, 40, lambda night, case, size: together(night))
    assert judged(path).incidents == ()


def test_new_software_is_told_from_old_hardware(path):
    def change(night, number, case):
        if night >= BAD:
            case.provenance = {**SOFTWARE, "mpi": "openmpi@5.0.3", "hash": "bbbbbbb"}
        return case

    nights(path, 45, from_night(BAD), change=change)
    cause = the_alert(judged(path)).cause
    assert "the software changed with it: mpi openmpi@4.1.6 -> openmpi@5.0.3" in cause


def test_the_same_software_is_said(path):
    nights(path, 45, from_night(BAD))
    assert "with the same software as before" in the_alert(judged(path)).cause


def test_a_new_build_of_the_same_release_shows_its_hash(path):
    def change(night, number, case):
        case.provenance = {**SOFTWARE, "hash": "bbbbbbb" if night >= BAD else "aaaaaaa"}
        return case

    nights(path, 45, from_night(BAD), change=change)
    assert "hash aaaaaaa -> bbbbbbb" in the_alert(judged(path)).cause


def test_the_node_that_all_worse_cases_ran_on(path):
    def change(night, number, case):
        case.nodes = (
            ("node17", "node01") if number in (2, 3, 4) else (f"node{number:02d}", "node01")
        )
        case.findings = (
            ({"kind": "speed", "text": "node17 mlx5_0/1: 10 Gb/sec (4X SDR)"},)
            if (number in (2, 3, 4) and night >= BAD)
            else ()
        )
        return case

    worse = lambda night, case, size: 1.2 if night >= BAD and case in (2, 3, 4) else 1.0  # noqa: E731
    nights(path, 45, worse, change=change)
    cause = the_alert(judged(path)).cause
    assert "all ran on node17, and nothing else did" in cause
    assert "links: node17 mlx5_0/1: 10 Gb/sec (4X SDR)" in cause


def test_another_allocation_is_named(path):
    def change(night, number, case):
        if number == 3 and night >= BAD:
            case.nodes = ("node90", "node91")
        return case

    nights(path, 45, from_night(BAD), change=change)
    assert "all ran on node90, node91, and nothing else did" in the_alert(judged(path)).cause


def test_the_placement_that_all_worse_cases_have(path):
    def change(night, number, case):
        where = "intra-node" if number >= 4 else "inter-node"
        case.keys = {"np": "2", "nodes": "1", "placement": where}
        return case

    worse = lambda night, case, size: 1.1 if night >= BAD and case >= 4 else 1.0  # noqa: E731
    nights(path, 45, worse, change=change)
    assert "only placement intra-node" in the_alert(judged(path)).cause


LIBRARY = references.load(ROOT / "reference")


@pytest.fixture
def library(tmp_path):
    """Return a function that makes references with a baseline of one metric."""

    def make(value, unit="us", metric="latency", spread=0.01, size="8", note=""):
        row = references.Reference(
            "baseline", "made", "sessions of 2026-01-01", "made", "compute", "osu.b3", metric,
            {"np": "2", "message_size": size, "environment": "spack-openmpi"}, "=", value, unit,
            str(value), note, tmp_path / "made.csv", 2, spread,
        )  # fmt: skip
        return references.Library(
            LIBRARY.folder, {}, {}, (), (), LIBRARY.tolerances, baselines=(row,)
        )

    return make


def test_a_slow_drift_against_an_old_baseline(path, library):
    drift = lambda night, case, size: 1 + 0.0006 * night if case == 3 else 1.0  # noqa: E731
    nights(path, 160, drift, cases=4, noise=0.02)
    judgement = judged(path, library(1.008, spread=0.005))
    kinds = {alert.finding.kind for alert in judgement.incidents}
    assert "drift" in kinds
    (alert,) = [alert for alert in judgement.incidents if alert.finding.kind == "drift"]
    assert (alert.finding.what, alert.worst.before) == ("latency_8", 1.008)
    assert alert.finding.expected.startswith("1.008")
    assert alert.worst.after > 1.05
    assert "against the baseline, sessions of 2026-01-01" in alert.cause


def test_the_note_of_a_baseline_decides_nothing(path, library):
    drift = lambda night, case, size: 1 + 0.0006 * night if case == 3 else 1.0  # noqa: E731
    nights(path, 160, drift, cases=4, noise=0.02)
    for note in ("spread 50 %", "spread none", ""):
        alerts = judged(path, library(1.008, spread=0.005, note=note)).incidents
        assert "drift" in {alert.finding.kind for alert in alerts}


def test_what_lies_at_its_baseline_has_no_drift(path, library):
    nights(path, 60, cases=4)
    assert judged(path, library(1.008)).incidents == ()
    assert judged(path, library(1.008, size="2048")).incidents == (), "the baseline of another size"


def test_a_change_that_a_new_baseline_accepts_is_over(path, library):
    nights(path, 45, from_night(BAD))
    before = the_alert(judged(path))
    after = the_alert(judged(path, library(1.008 * 1.1)))
    assert after.id == before.id
    assert len(after.changes) == len(before.changes) - 1
    assert "latency_8" not in {change.series.metric for change in after.changes}


def test_a_baseline_in_another_unit_judges_nothing(path, library):
    nights(path, 45, cases=4)
    assert judged(path, library(1.008, unit="s")).incidents == ()


def gone(from_night, until=10_000, case=3):
    return lambda night, number, made: (
        None if number == case and from_night <= night < until else made
    )


def test_a_case_that_vanishes_is_an_alert_until_it_is_how_things_are(path):
    nights(path, 30, change=gone(20))
    found = alerts_by_night(path, 19, 30)
    assert [night for night, alerts in found.items() if alerts] == list(range(20, 27))
    alerts = [alert for one in found.values() for alert in one]
    assert {alert.finding.kind for alert in alerts} == {"vanished"}
    assert len({alert.id for alert in alerts}) == 1
    assert {len(alert.changes) for alert in alerts} == {EACH}
    assert {(alert.finding.found, alert.finding.expected) for alert in alerts} == {
        ("no longer measured", "")
    }
    since = {datetime.fromisoformat(alert.finding.since).timestamp() for alert in alerts}
    assert since == {FIRST + 20 * NIGHT}


def test_what_vanished_and_came_back_is_over(path):
    nights(path, 25, change=gone(20, 22))
    found = alerts_by_night(path, 20, 25)
    assert [len(alerts) for alerts in found.values()] == [1, 1, 0, 0, 0]


def test_a_case_of_more_nodes_than_there_were_has_not_vanished(path):
    """Nobody could run it, and whoever knows the nodes says so."""

    def change(night, number, case):
        if number < 2:  # two cases of all four nodes
            case.keys = {"np": "4", "nodes": "4"}
            return None if night >= 20 and (number == 0 or night < 22) else case
        return case

    nights(path, 24, change=change)
    found = alerts_by_night(path, 19, 24)
    # From night 22 on the nodes are there, and one of the two cases is not.
    assert [[alert.finding.kind for alert in alerts] for alerts in found.values()] == [
        [], [], [], ["vanished"], ["vanished"],
    ]  # fmt: skip


def test_a_case_of_all_nodes_has_not_vanished_when_there_are_more_again(path):
    def change(night, number, case):
        """One of four nodes is away in nights 20 to 24, and a case of two nodes ends with them."""
        if number == 0:
            case.keys = {"nodes": "3" if 20 <= night < 25 else "4"}
        return None if number == 1 and night >= 25 else case

    nights(path, 27, change=change)
    found = alerts_by_night(path, 19, 27)
    kinds = [[alert.finding.kind for alert in alerts] for alerts in found.values()]
    assert kinds == [[]] * 6 + [["vanished"]] * 2
    assert {len(alert.changes) for alert in found[26]} == {EACH}


def test_a_case_of_all_nodes_has_vanished_when_there_are_more_and_none_measures_it_on_them(path):
    def change(night, number, case):
        """From night 20 on there are four nodes, which case 3 takes, and case 0 is gone."""
        if number == 3 and night >= 20:
            case.keys |= {"np": "4", "nodes": "4"}
        return None if number == 0 and night >= 20 else case

    nights(path, 21, change=change)
    alert = the_alert(judged(path))
    assert (alert.finding.kind, len(alert.changes)) == ("vanished", EACH)


def test_what_a_renamed_partition_no_longer_measures_is_one_alert(path):
    def change(night, number, case):
        case.partition = "compute" if night < 20 else "renamed"
        return case

    nights(path, 22, change=change)
    alert = the_alert(judged(path))
    assert (alert.finding.kind, alert.finding.system) == ("vanished", "made")
    assert len(alert.changes) == ALL


def test_one_metric_that_vanishes(path):
    def change(night, number, case):
        if number == 3 and night >= 20:
            del case.metrics["latency_8"]
        return case

    nights(path, 21, change=change)
    alert = the_alert(judged(path))
    assert (alert.finding.kind, alert.finding.what) == ("vanished", "latency_8")
    assert len(alert.changes) == 1


def test_a_metric_that_is_zero_now(path):
    def change(night, number, case):
        if number == 3 and night >= 20:
            case.metrics["latency_8"] = (0.0, "us")
        return case

    nights(path, 21, change=change)
    alert = the_alert(judged(path))
    assert alert.finding.kind == "vanished"
    assert "it is 0, below, or no number now" in alert.cause


@pytest.mark.parametrize("result", ["fail", "skip", "abort", "fail_deps"])
def test_a_case_that_did_not_pass_has_not_vanished(path, result):
    def change(night, number, case):
        if number == 3 and night >= 20:
            case.result = result
        return case

    nights(path, 22, change=change)
    assert judged(path).incidents == ()


@pytest.mark.parametrize(
    ("command", "aborted"), [(f"{COMMAND} -n b1", 0), (f"{COMMAND} -x b3", 0), (COMMAND, 1)]
)
def test_what_was_not_selected_or_not_come_to_has_not_vanished(path, command, aborted):
    database = nights(path, 20)
    case = nights(path.with_name("other.db"), 1, cases=1)
    assert case.count == 1
    level = noisy("other", 1.0)
    database.add(
        [Case(name="Only", metrics={"latency_8": (level(20), "us")})],
        command=command,
        aborted=aborted,
    )
    assert judged(path).incidents == ()


def test_what_another_selection_still_measures_has_not_vanished(path):
    database = nights(path, 21, change=gone(20))
    database.add([one_night(20, 3)], start=FIRST + 20 * NIGHT + 7200, command=f"{COMMAND} -n b3")
    assert judged(path).incidents == ()


@pytest.mark.parametrize("label", ["--session-extras run=1", "--session-extras=run=2"])
def test_a_label_of_the_run_hides_no_loss(path, label):
    database = nights(path, 20, cases=2)
    database.add([one_night(20, 0)], command=f"{COMMAND} {label}")
    assert the_alert(judged(path)).finding.kind == "vanished"


def test_a_metric_that_changes_its_unit(path):
    def change(night, number, case):
        if number == 3 and night >= 20:
            value = case.metrics["latency_8"][0]
            case.metrics["latency_8"] = (value / 1e6, "s")
        return case

    nights(path, 22, change=change)
    alert = the_alert(judged(path))
    assert (alert.finding.kind, alert.finding.what) == ("unit", "latency_8")
    assert alert.finding.found == "its unit changed, now s"
    assert "was in us" in alert.cause


def test_another_problem_size_leaves_the_first_one_vanished(path):
    def change(night, number, case):
        if number == 3:
            case.keys = {"np": "2", "order": "5000" if night < 20 else "6000"}
        return case

    nights(path, 22, change=change)
    assert the_alert(judged(path)).finding.kind == "vanished"


def test_the_gate_judges_as_of_its_session(path):
    nights(path, 45, from_night(BAD))
    early = for_gate(opened(path), REFERENCE, f"{BAD - 2:08x}-0000-4000-8000-000000000000")
    assert (early.incidents, early.judged) == ((), ALL)
    assert len(for_gate(opened(path), REFERENCE).incidents) == 1
    with pytest.raises(ResultsFault, match="holds no session nobody"):
        for_gate(opened(path), REFERENCE, "nobody")


def test_the_gate_says_when_the_references_cannot_be_read(path, tmp_path, monkeypatch):
    nights(path, FEWEST, cases=2)
    judgement = for_gate(opened(path), tmp_path / "nothing")
    assert judgement.judged == 2 * EACH
    assert judgement.fault.startswith("no drift can be found: ")


def test_an_alert_is_plain_data(path):
    nights(path, 45, from_night(BAD))
    alert = the_alert(judged(path))
    for name in ("before", "after", "confidence"):
        assert type(getattr(alert.worst, name)) is float
    assert msgspec.json.decode(msgspec.json.encode(alert.finding), type=Finding) == alert.finding
