"""Claims by the rows of the ledger: the same results as when all sessions are decoded."""

import random

import pytest

from acceptance import references
from acceptance.ledger import Ledger, SessionFault
from acceptance.relations import claims, results
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
    outcomes = claims.evaluate_database(library, opened(path), [], "mine", window)
    return claims.as_data(outcomes)


@pytest.mark.parametrize("seed", range(6))
def test_odd_sessions_give_the_same_results(library, tmp_path, monkeypatch, seed):
    path = made(tmp_path / "db", seed).path
    states = set()
    for window in (0.5, 2.0, 30.0):
        found = said(library, path, window)
        with monkeypatch.context() as patched:
            patched.setattr(results, "sessions", lambda past, _: past.sessions())
            assert found == said(library, path, window)
        states |= {each["state"] for each in found["claims"]}
    assert {"holds", "fails"} & states


def test_only_sessions_are_decoded_that_the_rows_do_not_tell_whole(library, tmp_path, monkeypatch):
    database = made(tmp_path / "db", 1, odd=False)
    decoded = []
    read = Ledger.session
    monkeypatch.setattr(
        Ledger, "session", lambda past, uuid: decoded.append(uuid) or read(past, uuid)
    )
    said(library, database.path)
    assert decoded == []
    rng = random.Random(9)
    cases = night(rng, odd=False)
    next(case for case in cases if case.system == "other").result = "fail"  # nobody asks for it
    database.add(cases)
    said(library, database.path)
    assert decoded == []
    cases = night(rng, odd=False)
    next(case for case in cases if case.system == "mine").result = "fail"
    uuid = database.add(cases)
    said(library, database.path)
    assert decoded == [uuid]


def test_a_session_that_cannot_be_read_is_a_fault(library, tmp_path):
    database = made(tmp_path / "db", 3)
    database.connection.execute(
        "UPDATE sessions SET json_blob = substr(json_blob, 2) WHERE rowid = 2"
    )
    database.connection.commit()
    with pytest.raises(SessionFault, match="is malformed"):
        said(library, database.path)
