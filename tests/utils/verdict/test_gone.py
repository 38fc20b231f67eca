"""A session counts as it was stored when the first verdict met it, or it is told; of real runs."""

import sqlite3

import pytest

from tests import stored as results
from tests.conftest import Site

CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Tiny(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs = ["*"], ["*"]
    executable, executable_opts = "echo", ["t_avg 0.27 end"]

    @sanity_function
    def ended(self):
        return sn.assert_found("end", self.stdout)

    @performance_function("us")
    def t_avg(self):
        return sn.extractsingle(r"t_avg (\\S+)", self.stdout, 1, float)
"""


def measure(site):
    done = site.reframe("-c", site.environment["TINY"], "-r")
    assert "Current session stored with UUID" in done.output, done.output
    return done


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A site with two runs, and the first verdict; its database was left half made before them."""
    site = Site(tmp_path_factory.mktemp("ran"))
    site.replay("")
    # It stays where it is when another site takes the results over: sessions have its path.
    check = tmp_path_factory.mktemp("checks") / "tiny.py"
    check.write_text(CHECK)
    site.environment["TINY"] = str(check)
    site.var.mkdir()
    site.database.write_bytes(b"")
    first = measure(site)
    verdict = site.gate()[1]
    second = measure(site)
    site.gate()
    return site, (first, second), verdict


@pytest.fixture
def site(site, ran):
    site.take_over(ran[0])
    return site


def damage(site, row, old='t_avg": [0.27', new='t_avg": [8.27'):
    """Write another value into a session, as one bit of it may be; return its UUID."""
    with sqlite3.connect(site.database) as connection:
        uuid, blob = connection.execute(
            "SELECT uuid, json_blob FROM sessions WHERE rowid = ?", (row,)
        ).fetchone()
        assert old in blob
        connection.execute(
            "UPDATE sessions SET json_blob = ? WHERE uuid = ?", (blob.replace(old, new), uuid)
        )
    connection.close()
    return uuid


def problems(verdict):
    return {problem["kind"]: problem["text"] for problem in verdict["problems"]}


def values(site):
    past = site.acceptance("history", "--format", "json")
    (series,) = past.data
    return [each["value"] for each in series["samples"]]


def test_a_half_made_database_is_told_and_made_anew_before_the_run(ran):
    site, (first, second), verdict = ran
    assert "half made" in first.errors
    assert "half made" not in second.errors
    assert len(results.ids(site.database)) == 2
    assert any("set it aside as results.db.malformed-1" in note for note in verdict["notes"])


@pytest.mark.parametrize("row", [1, 2])
def test_a_value_that_is_changed_after_the_first_verdict_counts_as_it_was(site, row):
    damage(site, row)
    status, verdict = site.gate()
    assert (status, verdict["problems"]) == (0, [])
    assert values(site) == [0.27, 0.27]


def test_what_is_no_session_when_a_verdict_meets_it_leaves_nothing_to_judge_by(site):
    measure(site)
    uuid = damage(site, 3, '"session_info"', '"session_inf"')
    status, verdict = site.gate()
    assert (status, list(problems(verdict))) == (2, ["unreadable-database"])
    assert "is malformed" in problems(verdict)["unreadable-database"]
    doctor = site.acceptance("doctor", "--system", "replay", "--format", "json")
    (row,) = (row for row in doctor.data if row["what"] == "sessions")
    assert (row["state"], uuid in row["found"]) == ("BROKEN", True)
    measure(site)
    status, verdict = site.gate()
    assert (status, list(problems(verdict))) == (1, ["unreadable-session"])
    assert site.acceptance("sessions", "--forget", uuid[:8]).status == 0
    assert site.gate()[0] == 0
    assert values(site) == [0.27] * 3


def test_what_reframe_was_told_to_delete_stays_in_the_ledger(site):
    uuid = results.ids(site.database)[0]
    assert "deleted successfully" in site.reframe("--delete-stored-sessions", uuid).output
    assert site.gate()[0] == 0
    assert values(site) == [0.27, 0.27]
    assert site.acceptance("sessions", "--forget", uuid[:8]).status == 0
    assert values(site) == [0.27]


def test_a_database_that_is_gone_takes_nothing_with_it(site):
    site.database.unlink()
    status, verdict = site.gate()
    assert (status, verdict["problems"]) == (0, [])
    assert any("is gone; the 2 sessions that it held" in note for note in verdict["notes"])
    measure(site)
    assert site.gate()[0] == 0
    assert values(site) == [0.27] * 3


def test_a_file_of_the_ledger_that_is_gone_is_missed_until_somebody_says_otherwise(site):
    site.database.unlink()
    first, _ = sorted((site.var / "ledger").glob("*.parquet"))
    first.unlink()
    for _ in range(2):
        status, verdict = site.gate()
        assert (status, list(problems(verdict))) == (1, ["sessions-gone"])
    doctor = site.acceptance("doctor", "--system", "replay", "--format", "json")
    rows = [row for row in doctor.data if row["what"] == "sessions"]
    assert (doctor.status, [row["state"] for row in rows]) == (1, ["BROKEN"])
    assert site.acceptance("sessions", "--forget", "gone").status == 0
    assert site.gate()[0] == 0
