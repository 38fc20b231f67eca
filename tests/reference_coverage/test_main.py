"""`make coverage`, and with `JUDGES=1`: which cases judge by which row."""

import csv
import io

from acceptance.core.paths import ROOT
from tests.reference_coverage import __main__ as tool
from tests.reference_coverage.listing import cases_of


def coverage(site, *words):
    return site.run("make", "-s", "-o", "setup", "coverage", *words)


def test_coverage_says_of_each_row_which_modes_run_its_cases_or_why_none_does(site):
    # All of that paper's values are of OSU; the cases of other suites need not be listed.
    result = coverage(site, "ARGS=--paper koop2008 --benchmark osu --format csv")
    assert result.status == 0, result.errors
    rows = list(csv.DictReader(io.StringIO(result.output)))
    with (ROOT / "reference/koop2008.csv").open() as file:
        assert len(rows) == len(list(csv.reader(file))) - 1
    assert {row["check"] for row in rows} == {"checks/osu.py"}
    assert {row["modes"] for row in rows if not row["why not"]} == {"nightly acceptance"}
    assert {row["why not"] for row in rows} == {"", "another row judges", "size in words"}


def test_judges_names_the_cases_of_each_row_and_counts_rows_and_claims(monkeypatch, capsys):
    monkeypatch.setattr(tool, "list_cases", lambda _, systems, __: cases_of(systems))
    tool.main(["--judges", "--paper", "koop2008"])
    lines = capsys.readouterr().out.splitlines()
    row = lines.index(
        "koop2008:qdr-pcie2 Section 5.1 osu.latency latency "
        "np=2;nodes=2;message_size=1;placement=inter-node = 1.06 us"
    )
    assert lines[row + 1] == (
        "    OsuBenchmark %benchmark=latency %np=2 %placement=inter-node %buffers=same: latency_1 "
        "(nightly, acceptance; spack-mvapich2, spack-openmpi)"
    )
    heads = [line.split()[0] for line in lines if line.startswith(("rows", "claims", "koop2008 "))]
    assert heads == ["rows", "koop2008", "claims", "koop2008"]


def test_each_row_of_netperf_judges_a_case(capsys):
    tool.main(["--benchmark", "netperf", "--paper", "kandadai2009", "--format", "csv"])
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {(row["check"], row["why not"]) for row in rows} == {("checks/netperf.py", "")}
    assert [row["modes"].startswith("smoke") for row in rows].count(True) == 4 * 3
    assert (len(rows), {row["modes"][-18:] for row in rows}) == (63, {"nightly acceptance"})


def test_a_reference_that_cannot_be_read_is_one_line(site, tmp_path):
    result = coverage(site, f"ACCEPTANCE_REFERENCE={tmp_path}")
    assert (result.status, result.output) == (2, "")
    assert result.errors.startswith(f"make coverage: {tmp_path}")
