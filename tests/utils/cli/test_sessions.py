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
    assert rows[0]["id"].startswith(first.split()[0])
    assert "made    1 of 2  reframe -c checks -r" in first


@pytest.fixture
def nights(tmp_path):
    """Six nights of steps, and a session by hand that was measured again."""
    path = tmp_path / "nights.db"
    database = made.campaigns(path, 6)
    by_hand = database.add([made.Case()], made.FIRST + 6 * made.NIGHT)
    database.add([made.Case()], made.FIRST + 6 * made.NIGHT + 60, label=f"{by_hand}.again1")
    return path


def test_a_night_is_one_row_that_counts_its_steps(site, nights):
    rows = listed(site, nights).data
    ids = [f"nightly-2026-01-{day:02d}T220000" for day in range(1, 7)]
    assert [row["id"] for row in rows[:-1]] == ids
    assert [[each["what"] for each in row["sessions"]] for row in rows[:-1]] == [[*made.STEPS]] * 6
    assert {(row["passed"], row["cases"]) for row in rows[:-1]} == {(6, 6)}
    assert [each["what"] for each in rows[-1]["sessions"]] == ["reframe -c checks -r", "again"]
    assert rows[-1]["id"] == rows[-1]["sessions"][0]["id"]
    *table, hint = site.acceptance("sessions", "--db", nights, COLUMNS="80").output.splitlines()
    assert [line.split()[0] for line in table[2:] if line[0] != " "][:-1] == ids
    assert max(map(len, table)) <= 80
    # Nothing of it is cut.
    assert "".join(line[63:] for line in table[2:4]).replace(" ", "").startswith("6sessions:li")
    assert hint == f"the sessions of a run: acceptance sessions --run {rows[-1]['id'][:8]}"


def test_the_sessions_of_one_night_name_their_steps(site, nights):
    rows = listed(site, nights, "--run", "nightly-2026-01-02").data
    assert [row["what"] for row in rows] == [*made.STEPS]
    text = site.acceptance("sessions", "--db", nights, "--run", "nightly-2026-01-02").output
    assert [line.split()[-1] for line in text.splitlines()[2:]] == [*made.STEPS]
    assert (
        listed(site, nights, "--since", "2026-01-06").data[0]["id"] == "nightly-2026-01-06T220000"
    )


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
