"""Claims by the rows of the ledger: the same results as when all sessions are decoded."""

import random

import pytest

from acceptance import references
from acceptance.core.words import is_measured
from acceptance.ledger import SessionFault, reading, software_of
from acceptance.ledger.reading import Run
from acceptance.relations import claims
from tests.made import Database
from tests.stored import opened
from tests.utils.relations.made import NEW, OLD, copy_of_references, result, write
from tests.utils.relations.made_world import DAY, NOW

BENCHMARKS = ("imb.Alltoall", "imb.PingPong", "npb.cg")
CLAIMS = (
    {},
    {"value": "50", "expected": ""},
    {"benchmark": "imb", "relation": "better", "value": "", "unit": "", "printed": "better"},
    {"benchmark": "npb.cg", "left": OLD, "right": NEW},
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = copy_of_references(tmp_path_factory.mktemp("references"))
    write(folder, *CLAIMS)
    return references.load(folder)


def night(rng, *, odd):
    """Return the cases of a night; an odd one has what no rows tell."""
    cases = []
    for benchmark in BENCHMARKS:
        for where in (OLD, NEW, "other:part"):
            for stem in ("time_8", "time_64"):
                _, case = result(where, rng.uniform(1, 9), stem=stem, benchmark=benchmark)
                case.name = f"{benchmark} {stem}"
                cases.append(case)
    if odd:
        some = rng.sample(cases, 4)
        some[0].result = "fail"
        some[1].fixture = True
        some[2].metrics = {"time_8": (rng.choice([0.0, -1.0, None]), "us"), "time_64": (3.0, "us")}
        some[3].findings = ({"kind": "shared-machine", "text": "another run"},)
        cases += [rng.choice(cases)]
    return cases


def made(path, seed, nights=6, odd=True):
    rng, database = random.Random(seed), Database(path)
    for number in range(nights):
        start = NOW + DAY * (number if rng.random() < 0.8 else number - 3)
        database.add(night(rng, odd=odd and rng.random() < 0.6), start=start)
    if odd:
        database.add(night(rng, odd=False), uuid="00000001-0000-4000-8000-000000000000",
                     stored_as="twice")  # fmt: skip
    return database


def said(library, path, window=30.0):
    outcomes = claims.evaluate_database(library, opened(path), lambda: [], "mine", window)
    return claims.as_data(outcomes)


@pytest.mark.parametrize("seed", range(6))
def test_odd_sessions_give_the_same_results(library, tmp_path, monkeypatch, seed):
    path = made(tmp_path / "db", seed).path
    states = set()
    for window in (0.5, 2.0, 30.0):
        found = said(library, path, window)
        with monkeypatch.context() as patched:
            patched.setattr(reading, "runs", decoded)
            assert found == said(library, path, window)
        states |= {each["state"] for each in found["claims"]}
    assert {"holds", "fails"} & states


def decoded(past, entries, wanted):
    """Yield what `reading.runs` does, out of the sessions as a whole."""
    for session in (past.session(entry.uuid) for entry in entries):
        yield [
            Run(
                session.uuid, session.end, case.system, case.partition, case.environment, case.name,
                dict(sorted(case.keys.items())), case.suite, case.benchmark, case.result,
                software_of(case.provenance),
                [
                    (metric.name, metric.unit, metric.value if is_measured(metric.value) else None)
                    for metric in case.metrics
                ],
            )
            for case in session.cases
            if not case.fixture
            if wanted(case.system, case.partition, case.suite, case.benchmark)
        ]  # fmt: skip


def is_wanted(system, partition, suite, benchmark):
    return (system, partition) == ("mine", "new") or (suite, benchmark) == ("osu", "npb.cg")


@pytest.mark.parametrize("seed", range(6))
def test_the_runs_of_the_rows_are_those_of_the_sessions(tmp_path, seed):
    past = opened(made(tmp_path / "db", seed).path)
    entries = [*reversed(past.entries), past.entries[0]]

    def read(wanted):
        by_rows = [*reading.runs(past, entries, wanted)]
        assert by_rows == [*decoded(past, entries, wanted)]
        return [run for some in by_rows for run in some]

    runs = read(lambda *_: True)
    assert {run.result for run in runs} == {"pass", "fail"}
    assert any(value is None for run in runs for *_, value in run.metrics)
    assert 0 < len(read(is_wanted)) < len(runs)
    assert read(lambda *_: False) == []


def test_no_session_is_decoded(library, tmp_path, monkeypatch):
    database = made(tmp_path / "db", 1)
    opened(database.path)  # takes them in
    monkeypatch.setattr("acceptance.ledger.ledger.decode", None)
    counts = said(library, database.path)["counts"]
    assert counts["holds"] + counts["fails"] > 0


def test_a_session_that_cannot_be_read_is_a_fault(library, tmp_path):
    database = made(tmp_path / "db", 3)
    database.connection.execute(
        "UPDATE sessions SET json_blob = substr(json_blob, 2) WHERE rowid = 2"
    )
    database.connection.commit()
    with pytest.raises(SessionFault, match="is malformed"):
        said(library, database.path)
