"""`acceptance export parquet`: what other programs read is what the history has."""

import re

import duckdb

from acceptance.ledger.reading import EXPORTED
from tests.made import Database, nights
from tests.made_history import odd
from tests.places import ROOT
from tests.stored import load


def rows(path):
    return duckdb.sql(
        'SELECT epoch(time), session, system, partition, environment, "check", benchmark, '
        "keys, metric, unit, direction, value, nodes, software, findings, simulated "
        f"FROM '{path}'"
    ).fetchall()


def test_all_samples_are_read_back(site, tmp_path):
    site.var.mkdir(exist_ok=True)
    database = Database(site.var / "results.db")
    odd(database)
    nights(tmp_path / "db", 2, cases=2, system="simulated-made")
    file = tmp_path / "all.parquet"
    done = site.acceptance("export", "parquet", "-o", file)
    # One of its sessions is malformed.
    assert done.status == 1
    history = load(database.path)
    expected = [
        (sample.time, sample.session.uuid, *case.key[:4], case.benchmark,
         dict(case.key.keys), one.metric, one.unit, one.direction, value,
         list(sample.nodes), dict(sample.software), list(sample.findings), False)
        for case in history.cases
        for one in case.series
        for sample, value in zip(one.samples, one.values, strict=True)
    ]  # fmt: skip
    found = rows(file)
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert done.output.splitlines()[-1] == f"{file}: {len(expected)} samples"
    assert site.acceptance("export", "parquet", "--db", tmp_path / "db", "-o", file).status == 0
    assert {row[-1] for row in rows(file)} == {True}


def test_where_it_cannot_be_written(site, tmp_path):
    site.var.mkdir(exist_ok=True)
    nights(site.var / "results.db", 1, cases=1)
    done = site.acceptance("export", "parquet", "-o", tmp_path / "none/all.parquet")
    assert done.status == 2
    assert str(tmp_path / "none/all.parquet") in done.errors


def test_the_columns_are_documented():
    text = (ROOT / "config/storage.md").read_text()
    table = text[text.index("| column | type |") :].split("\n\n")[0]
    first = [row.split("|")[1] for row in table.splitlines()[2:]]
    named = [name for cell in first for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(EXPORTED)
