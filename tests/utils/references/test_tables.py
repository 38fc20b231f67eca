"""`references/tables.py` on the project's own references."""

import pytest

from acceptance.references import ReferenceFault, load, tables
from acceptance.references.records import VALUE_COLUMNS
from tests.utils.references.test_published import PAPERS, REFERENCE


@pytest.fixture(scope="module")
def library():
    return load(REFERENCE)


@pytest.fixture
def with_baseline(tmp_path):
    """Copy what a library needs, with one paper and a site's baseline."""
    for name in ("papers.bib", "systems.csv", "tolerances.yaml", "claims.csv"):
        (tmp_path / name).write_bytes((REFERENCE / name).read_bytes())
    for paper in PAPERS:
        (tmp_path / f"{paper}.csv").write_bytes((REFERENCE / f"{paper}.csv").read_bytes())
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/mine.csv").write_text(
        ",".join(VALUE_COLUMNS) + "\nrun 7,mine,fast,imb.PingPong,latency,np=2,=,1.5,us,1.5,\n"
    )
    return load(tmp_path)


def test_without_conditions_everything_is_selected(with_baseline):
    rows = tables.select(with_baseline)
    assert [row for row in rows if row.source == "published"] == [*with_baseline.values]
    assert [row for row in rows if row.source == "baseline"] == [*with_baseline.baselines]
    assert {row.origin for row in rows} == {*PAPERS, "mine"}


@pytest.mark.parametrize(
    ("conditions", "fits"),
    [
        ({"paper": "koop2008"}, lambda row: row["system"] == "koop2008"),
        (
            {"partition": "koop2008:qdr-pcie2"},
            lambda row: (row["system"], row["partition"]) == ("koop2008", "qdr-pcie2"),
        ),
        ({"benchmark": "osu.bw"}, lambda row: row["benchmark"] == "osu.bw"),
        ({"benchmark": "osu"}, lambda row: row["benchmark"].startswith("osu.")),
        (
            {"paper": "koop2008", "benchmark": "osu.bw"},
            lambda row: (row["system"], row["benchmark"]) == ("koop2008", "osu.bw"),
        ),
        (
            {"paper": "koop2008", "partition": "koop2008:ddr-pcie1"},
            lambda row: (row["system"], row["partition"]) == ("koop2008", "ddr-pcie1"),
        ),
    ],
)
def test_conditions_narrow_the_selection(library, conditions, fits):
    expected = [row for rows in PAPERS.values() for row in rows if fits(row)]
    assert 0 < len(expected) < len(library.values)
    assert [tables.fields(row) for row in tables.select(library, **conditions)] == expected


def test_conditions_that_nothing_fulfils_select_nothing(library):
    assert tables.select(library, paper="koop2008", partition="kandadai2009:ib-ddr") == []


def test_a_benchmark_that_there_is_not_is_refused_with_those_that_there_are(library):
    with pytest.raises(ReferenceFault, match=r"^no benchmark 'os'; there are .*osu\.bw, "):
        tables.select(library, benchmark="os")


def test_a_sites_partition_is_known_by_its_baselines(with_baseline):
    (row,) = tables.select(with_baseline, partition="mine:fast")
    assert (row.source, row.value) == ("baseline", 1.5)


def test_an_unknown_paper_is_refused_with_the_known_ones(library):
    words = "no paper 'smith'; there are .*kandadai2009, koop2008, "
    with pytest.raises(ReferenceFault, match=words):
        tables.select(library, paper="smith")


@pytest.mark.parametrize("name", ["qdr-pcie2", "koop2008:edr", "koop2008"])
def test_an_unknown_partition_is_refused_with_the_known_ones(library, name):
    with pytest.raises(ReferenceFault, match=rf"no partition '{name}'; .*, koop2008:qdr-pcie2, "):
        tables.select(library, partition=name)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_papers_rows_as_csv_are_its_file(library, paper):
    text = (REFERENCE / f"{paper}.csv").read_text(encoding="utf-8")
    assert tables.as_csv(tables.select(library, paper=paper)) == text
