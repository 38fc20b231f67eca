"""Balance, NPB and HPCC: by what their numbers are divided, and where they are from."""

import pytest

from acceptance.report.pages import curves, hpcc, npb
from acceptance.report.site import html as site_html
from tests.made import Database
from tests.report_data import source, workspace
from tests.utils.report import made_curves

QDR = {"qdr-pcie2": (1.06, 2575.0)}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ratios")
    made_curves.nights(workspace(folder).results, 3)
    return source(folder, system="koop2008")


def page_of(module, made, path):
    return next(page for page in module.pages(made) if page.path == path)


def plots(page):
    return {plot.id: plot for plot in page.plots}


def one_night(folder, *changes, system="koop2008"):
    """Return a source of one session: QDR, and what `changes` make of each case."""
    cases = made_curves.night(0, system=system, partitions=QDR)
    for change in changes:
        cases = [*cases, *filter(None, map(change, cases))]
    Database(workspace(folder).results).add(cases)
    return source(folder, system=system)


def test_balance_has_a_line_at_1_and_partitions_over_each_other(made):
    plot = plots(page_of(curves, made, "curves/all--koop2008.html"))["cbr.bw"]
    assert [(mark.kind, mark.y) for mark in plot.marks] == [("one", 1.0)]
    assert [trace.group for trace in plot.traces] == [
        "sdr-pcie1", "ddr-pcie1", "ddr-pcie2", "qdr-pcie2",
    ]  # fmt: skip
    stored = made.ledger.session("00000002-0000-4000-8000-000000000000")
    case = next(
        case for case in stored.cases
        if (case.partition, case.benchmark) == ("sdr-pcie1", "cbr.bw")
    )  # fmt: skip
    assert plot.traces[0].y == tuple(metric.value for metric in case.metrics)


def test_npb_is_normalised_by_the_slowest_partition(made):
    (plot,) = page_of(npb, made, "npb/all--koop2008.html").plots
    base, *others = plot.traces
    assert base.name.startswith("sdr-pcie1")
    assert {*base.y} == {1.0}
    mops = {
        case.partition: case.metrics["mops_total"][0]
        for case in made_curves.night(2) if case.benchmark == "npb.is"
    }  # fmt: skip
    for trace in others:
        at = trace.x.index("IS.B.16")
        assert trace.y[at] == mops["sdr-pcie1"] / mops[trace.name.split(",")[0]]
        assert trace.form == "bar"
        assert "not judged" in trace.samples[at].note


def test_npb_of_one_configuration_is_compared_with_earlier_sessions(made, tmp_path):
    (plot,) = page_of(npb, made, "npb/koop2008~qdr-pcie2.html").plots
    assert plot.id == "npb-before"
    assert {*plot.traces[0].y} == {1.0}
    (plot,) = page_of(npb, one_night(tmp_path), "npb/koop2008~qdr-pcie2.html").plots
    assert plot.id == "npb-speed"
    assert "Not normalised" in plot.caption


def test_npb_of_cyclic_ranks_is_what_others_are_normalised_to(tmp_path):
    def cyclic(case):
        if not case.benchmark.startswith("npb."):
            return None
        keys = {**case.keys, "mapping": "cyclic"}
        mops = case.metrics["mops_total"][0] / 2
        fields = {**case.__dict__, "name": f"{case.name} cyclic", "keys": keys}
        return type(case)(**fields | {"metrics": {"mops_total": (mops, "Mop/s")}})

    page = page_of(npb, one_night(tmp_path, cyclic), "npb/koop2008~qdr-pcie2.html")
    plot = plots(page)["npb-normalised"]
    assert plot.title.endswith("cyclic")
    assert plot.traces[1].y[0] == 0.5


def test_npb_of_papers_stands_beside(tmp_path):
    partitions = {"ib-ddr": (2.0, 1500.0), "eth-10g": (10.0, 1000.0)}
    cases = made_curves.night(0, system="kandadai2009", partitions=partitions)
    for case in cases:
        if case.benchmark.startswith("npb."):
            case.keys = {**case.keys, "np": "128", "nodes": "16", "class": "C"}
    Database(workspace(tmp_path).results).add(cases)
    made = source(tmp_path, system="kandadai2009")
    (plot,) = page_of(npb, made, "npb/all--kandadai2009.html").plots
    assert plot.traces[0].name.startswith("eth-10g")
    printed = next(trace for trace in plot.traces if trace.name == "ib-ddr, as published")
    at = printed.x.index("FT.C.128")
    assert printed.y[at] == pytest.approx(8.36 / 7.89)
    assert printed.samples[at].note == "8.36 s, published kandadai2009, Table 7"


def test_kiviat_is_over_the_best_of_runs_and_papers(made):
    page = page_of(hpcc, made, "hpcc/koop2008~qdr-pcie2.html")
    plot = plots(page)["kiviat"]
    own, largest = plot.traces
    assert own.x == hpcc.METRICS
    assert largest.origin == "published"
    assert max(*own.y, *largest.y) == 1.0
    at = own.x.index("G-HPL")
    assert own.y[at] == pytest.approx(160 / 8729)
    assert largest.y[at] == 1.0
    assert largest.samples[at].note.endswith("published saini2006, Table 2")
    assert own.samples[at].link.startswith("sessions/00000002")


def test_ring_over_hpl_is_the_bandwidth_of_all_processes(made):
    page = page_of(hpcc, made, "hpcc/koop2008~qdr-pcie2.html")
    plot = plots(page)["ring-over-hpl"]
    own, *lines = plot.traces
    assert own.x == (160.0,)
    assert own.y == pytest.approx((2575 / 8000 * 16,))
    opteron = next(line for line in lines if line.name.startswith("saini2006 cray-opteron"))
    assert opteron.y[0] / opteron.x[0] == pytest.approx(0.02441)
    assert "ring-ratio" not in plots(page)


def test_a_small_problem_is_not_compared_with_papers(tmp_path):
    def small(case):
        if case.benchmark == "hpcc":
            case.provenance = {**case.provenance, "filled": "0.01"}

    def other(case):
        if case.benchmark == "hpcc":
            return type(case)(**{**case.__dict__, "environment": "spack-mpich"})
        return None

    page = page_of(hpcc, one_night(tmp_path, small, other), "hpcc/koop2008~qdr-pcie2.html")
    assert "fills less than 50% of the memory" in page.context["text"]
    assert "kiviat" not in plots(page)
    assert {trace.origin for trace in plots(page)["ring-over-hpl"].traces} == {"measured"}
    environments = plots(page)["kiviat-16-2-20000"]
    assert len(environments.traces) == 2
    assert {*environments.traces[0].y} == {1.0}


@pytest.mark.parametrize("module", [npb, hpcc])
def test_a_partition_without_results_says_what_would_give_some(module, tmp_path):
    cases = [case for case in made_curves.night(0, partitions=QDR) if case.suite == "imb"]
    Database(workspace(tmp_path).results).add(cases)
    (page,) = module.pages(source(tmp_path, system="koop2008"))
    assert f"reframe -c checks/{page.group.lower()}.py" in site_html(page)
    assert not page.plots


@pytest.mark.parametrize("module", [curves, npb, hpcc])
def test_each_page_tells_the_failures_of_its_own_cases(module, tmp_path):
    def fail(case):
        case.result = "fail"

    made = one_night(tmp_path, fail)
    (page,) = module.pages(made)
    told = {text.split()[1].split(".")[0] for text, _ in page.context["failures"]}
    name = module.__name__.rpartition(".")[2]
    assert told == {"curves": {"osu", "imb", "cbr"}}.get(name, {name})
    assert not page.plots


def test_what_was_simulated_is_marked(tmp_path):
    made = one_night(tmp_path, system="simulated-koop2008")
    for module in (curves, npb, hpcc):
        (page,) = module.pages(made)
        assert page.simulated
        assert all(plot.simulated for plot in page.plots)
