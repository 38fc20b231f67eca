"""`verdict/stored_values.py`: a session counts as it was stored, or it is told; of real runs."""

import sqlite3

import pytest

from acceptance.rfm import checksums
from acceptance.rfm import database as results
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


def sums(site):
    return checksums.path_of(site.database)


def problems(verdict):
    return {problem["kind"]: problem["message"] for problem in verdict["problems"]}


CHANGED = "is not what was stored"


def test_a_half_made_database_is_told_and_made_anew_before_the_run(ran):
    site, (first, second), verdict = ran
    assert "half made" in first.errors
    assert "half made" not in second.errors
    assert len(results.ids(site.database)) == 2
    assert any("set it aside as results.db.malformed-1" in note for note in verdict["notes"])


def test_the_first_verdict_protects_what_it_finds(site):
    before = sums(site).read_text()
    kinds = [line.split()[0] for line in before.splitlines()]
    assert kinds == ["stored", "stored"]
    status, verdict = site.gate()
    assert (status, verdict["problems"]) == (0, [])
    assert not any("checksum" in note for note in verdict["notes"])
    sums(site).unlink()
    assert any("1 older session had no checksum" in note for note in site.gate()[1]["notes"])
    after = sums(site).read_text()
    assert [line.split()[:3] for line in after.splitlines()] == [
        line.split()[:3] for line in before.splitlines()
    ]


def test_a_value_of_an_older_session_that_was_changed_is_told_and_counts_nowhere(site):
    uuid = damage(site, 1)
    status, verdict = site.gate()
    assert (status, CHANGED in problems(verdict)["unreadable-session"]) == (1, True)
    past = site.acceptance("history", "--format", "json")
    assert past.status == 1
    assert uuid in past.errors
    (series,) = past.data
    assert [each["value"] for each in series["samples"]] == [0.27]
    doctor = site.acceptance("doctor", "--system", "replay", "--format", "json")
    (row,) = (row for row in doctor.data if row["what"] == "sessions")
    assert (row["state"], uuid in row["found"]) == ("BROKEN", True)
    assert site.acceptance("sessions", "--forget", uuid[:8]).status == 0
    assert site.gate()[0] == 0
    assert site.acceptance("sessions", "--trust", uuid[:8]).status == 0
    assert site.gate()[0] == 0
    (series,) = site.acceptance("history", "--format", "json").data
    assert [each["value"] for each in series["samples"]] == [8.27, 0.27]


def test_a_value_of_the_newest_session_leaves_nothing_to_judge_by(site):
    damage(site, 2)
    for _ in range(2):
        status, verdict = site.gate()
        assert (status, list(problems(verdict))) == (2, ["unreadable-database"])
        assert CHANGED in problems(verdict)["unreadable-database"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"display_name": "Tiny"', '"display_name": "Tinx"'),
        (':t_avg": [0.27', ':t_avf": [0.27'),
        ('"us", "pass"]', '"ur", "pass"]'),
    ],
)
def test_names_and_units_are_protected_too(site, old, new):
    damage(site, 1, old, new)
    status, verdict = site.gate()
    assert (status, list(problems(verdict))) == (1, ["unreadable-session"])
    assert CHANGED in problems(verdict)["unreadable-session"]


def test_what_the_tables_say_of_a_session_is_protected(site):
    with sqlite3.connect(site.database) as connection:
        connection.execute("UPDATE testcases SET name = 'Tinx' WHERE rowid = 1")
    connection.close()
    assert site.gate()[0] == 1
    with sqlite3.connect(site.database) as connection:
        connection.execute("UPDATE testcases SET name = 'Tiny'")
        connection.execute("UPDATE sessions SET session_start_unix = 1.5 WHERE rowid = 1")
    connection.close()
    assert site.gate()[0] == 1


def test_another_database_without_checksums_is_told(site, tmp_path):
    other = tmp_path / "other.db"
    other.write_bytes(site.database.read_bytes())
    status, verdict = site.gate("--db", other)
    assert status == 0
    assert any("2 of 2 sessions not protected" in note for note in verdict["notes"])
    assert not checksums.path_of(other).exists()
    checksums.path_of(other).write_bytes(sums(site).read_bytes())
    assert site.gate("--db", other)[0] == 0
    with sqlite3.connect(other) as connection:
        connection.execute("UPDATE sessions SET uuid = 'other' WHERE rowid = 1")
    connection.close()
    status, verdict = site.gate("--db", other)
    assert (status, list(problems(verdict))) == (1, ["sessions-gone"])


def test_what_reframe_was_told_to_delete_is_told_once(site):
    uuid = results.ids(site.database)[0]
    assert "deleted successfully" in site.reframe("--delete-stored-sessions", uuid).output
    doctor = site.acceptance("doctor", "--system", "replay", "--format", "json").data
    assert {row["state"] for row in doctor if row["what"] == "sessions"} == {"ok"}
    told = [any(uuid in note for note in site.gate()[1]["notes"]) for _ in range(2)]
    assert told == [True, False]
    assert site.gate()[0] == 0


def test_a_database_that_is_gone_is_missed_until_somebody_says_otherwise(site):
    site.database.unlink()
    status, verdict = site.gate()
    assert (status, "sessions-gone" in problems(verdict)) == (2, True)
    past = site.acceptance("history")
    assert (past.status, "is gone, though it held" in past.errors) == (2, True)
    doctor = site.acceptance("doctor", "--system", "replay", "--format", "json")
    rows = [row for row in doctor.data if row["what"] == "sessions"]
    assert (doctor.status, [row["state"] for row in rows]) == (1, ["BROKEN"])
    measure(site)
    for _ in range(2):
        status, verdict = site.gate()
        assert (status, list(problems(verdict))) == (1, ["sessions-gone"])
    assert site.acceptance("sessions", "--forget", "gone").status == 0
    assert site.gate()[0] == 0
