"""`acceptance sessions`: what there is, by the ids that other commands take."""

import pytest

from tests import made


@pytest.fixture
def database(tmp_path):
    """Three sessions: two of one system, the newest first stored; ids with a common beginning."""
    path = tmp_path / "results.db"
    database = made.Database(path)
    values = {"latency_8": (1.0, "us")}
    good, bad = made.Case(metrics=values), made.Case(name="Bad", metrics=values, result="fail")
    database.add([good], start=made.FIRST + 2 * made.NIGHT)
    database.add([good, bad], start=made.FIRST)
    database.add([made.Case(metrics=values, system="far")], start=made.FIRST + made.NIGHT)
    return path


def listed(site, database, *options):
    done = site.acceptance("sessions", "--db", database, "--format", "json", *options)
    assert done.status == 0, done.errors
    return done


def test_the_newest_is_last_and_each_says_what_came_of_it(site, database):
    rows = listed(site, database).data
    assert [row["systems"] for row in rows] == [["made"], ["far"], ["made"]]
    assert [row["end"] for row in rows] == sorted(row["end"] for row in rows)
    assert (rows[0]["passed"], rows[0]["failed"], rows[0]["cases"]) == (1, 1, 2)
    assert rows[0]["command"] == made.COMMAND
    text = site.acceptance("sessions", "--db", database).output
    first = text.splitlines()[2]
    assert rows[0]["session"].startswith(first.split()[0])
    assert "made    1 of 2  -      reframe -c checks -r" in first


def test_what_it_lists_is_taken_by_the_gate(site, database):
    text = site.acceptance("sessions", "--db", database).output
    for line in text.splitlines()[2:]:
        verdict = site.gate("--db", database, "--session", line.split()[0])[1]
        assert verdict["session"].startswith(line.split()[0])
    done = site.acceptance("gate", "--db", database, "--session", "0000")
    assert done.status == 2
    assert "holds 3 sessions that begin with 0000; see: acceptance sessions" in done.errors


def test_filters_and_nothing_that_fits_is_said(site, database):
    assert len(listed(site, database, "--system", "made").data) == 2
    assert len(listed(site, database, "--since", "2026-01-02").data) == 2
    done = listed(site, database, "--system", "none")
    assert done.data == []
    assert f"{database}: holds no session of these" in done.errors
    done = site.acceptance("sessions", "--since", "yesterday")
    assert (done.status, "is no date; write it like" in done.errors) == (2, True)


def test_without_a_database_it_is_named(site):
    done = site.acceptance("sessions")
    assert done.status == 2
    assert "results.db: no such file" in done.errors
