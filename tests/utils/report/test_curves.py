"""The pages of curves: what stands over what, and where each number is from."""

from dataclasses import replace

import pytest
from msgspec import structs

from acceptance.core.words import UNITS
from acceptance.fabric import latency_floor, limit, plausibility
from acceptance.report import plot_model
from acceptance.report.pages import curves, hpcc, npb
from acceptance.report.results import results
from acceptance.report.site import html as site_html
from tests.made import Database
from tests.report_data import HOSTILE, source, workspace
from tests.utils.report import made_curves

UUID = "00000003-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curves")
    made_curves.nights(workspace(folder).results, 4)
    return source(folder, system="koop2008")


@pytest.fixture(scope="module")
def pages(made):
    return {page.path: page for page in curves.pages(made)}


def plots(page):
    return {plot.id: plot for plot in page.plots}


def of(plot, origin):
    return [trace for trace in plot.traces if trace.origin == origin]


@pytest.fixture
def qdr(pages):
    return plots(pages["curves/koop2008~qdr-pcie2.html"])


def test_each_family_of_a_partition_has_a_plot(qdr):
    assert [*qdr] == [
        "latency", "bandwidth", "bandwidth-both", "latency-pairs", "bandwidth-pairs",
        "collective-allreduce", "cbr.bw",
    ]  # fmt: skip
    assert {(plot.x.scale, plot.y.scale) for plot in qdr.values()} == {("log", "log")}


def test_results_are_those_of_the_newest_session_and_can_be_followed(qdr):
    (between, inside) = of(qdr["latency"], "measured")
    assert between.name == "osu.latency, inter-node, spack-openmpi"
    assert inside.name == "osu.latency, intra-socket, spack-openmpi"
    night = next(
        case for case in made_curves.night(3)
        if (case.partition, case.benchmark) == ("qdr-pcie2", "osu.latency")
    )  # fmt: skip
    assert between.y == tuple(value for value, _ in night.metrics.values())
    assert len({sample.link for sample in between.samples}) == 1
    assert between.samples[0].link.startswith(f"sessions/{UUID}.html#case-")
    assert "session 00000003; recorded, not judged" in between.samples[0].note


def test_the_slow_tail_stands_beside_its_mean_and_no_other_percentile(made):
    sweep = next(
        sweep
        for each in results(made)
        for sweep in each.sweeps.values()
        if sweep.benchmark == "osu.latency"
    )
    tails = {stem: replace(sweep, stem=f"latency_{stem}") for stem in ("p50", "p90", "p99")}
    assert curves.family_of(tails["p99"]) == curves.family_of(sweep)
    assert curves.family_of(tails["p50"]) is curves.family_of(tails["p90"]) is None
    assert curves.labels([sweep, tails["p99"]]) == [
        "osu.latency, latency, inter-node, spack-openmpi",
        "osu.latency, latency p99, inter-node, spack-openmpi",
    ]
    assert curves.of_benchmark("osu.bw", "bandwidth_p10").id == "bandwidth"
    assert curves.limits([replace(sweep, stem="latency_p99")])[0] == []


def test_what_judged_a_number_is_said(made):
    metric = made.ledger.session(UUID).cases[1].metrics[-1]
    sweep = next(
        sweep
        for each in results(made)
        for sweep in each.sweeps.values()
        if sweep.benchmark == "osu.bw"
    )
    sweep.values[8] = replace(metric, judged_by="published koop2008, Section 5.1", passed=False)
    assert sweep.note(8).endswith("failed, judged by published koop2008, Section 5.1")


def test_earlier_sessions_are_a_band_from_the_smallest_to_the_largest(qdr):
    band = of(qdr["latency"], "earlier sessions")[0]
    assert band.form == "band"
    cases = [
        next(case for case in made_curves.night(number)
             if (case.partition, case.benchmark) == ("qdr-pcie2", "osu.latency"))
        for number in range(3)
    ]  # fmt: skip
    values = [case.metrics["latency_8"][0] for case in cases]
    at = band.x.index(8.0)
    assert (band.samples[at].low, band.samples[at].high) == (min(values), max(values))
    assert "3 earlier sessions" in band.name


def test_papers_stand_beside_with_their_place(qdr):
    (point,) = of(qdr["latency"], "published")
    assert (point.x, point.y) == ((1.0,), (1.06,))
    assert point.samples[0].note == "published koop2008, Section 5.1"
    (peak,) = of(qdr["bandwidth-both"], "published")
    assert peak.y == (5023.0, 5023.0)


def test_limits_are_those_of_the_judges(made, qdr):
    (facts,) = (each.facts for each in made.places if each.name == "koop2008:qdr-pcie2")
    (one_way,) = of(qdr["bandwidth"], "physical limit")
    assert {*one_way.y} == {limit(facts).bandwidth}
    (both,) = of(qdr["bandwidth-both"], "physical limit")
    assert both.y[0] == 2 * one_way.y[0]
    assert limit(facts).least.formula in qdr["bandwidth"].caption
    (floor,) = of(qdr["latency"], "physical limit")
    assert floor.y == tuple(latency_floor(facts, int(size)) for size in floor.x)
    assert "no limit is known of this quantity" in qdr["collective-allreduce"].caption
    assert {*plausibility.UNITS} < {*UNITS}


def test_without_facts_no_limit_is_drawn_and_the_caption_says_why(tmp_path):
    fields = {"system": "nowhere", "partitions": {"only": (1.0, 1000.0)}}
    made_curves.nights(workspace(tmp_path).results, 1, **fields)
    (page,) = curves.pages(source(tmp_path, system="nowhere"))
    plot = plots(page)["bandwidth"]
    assert not of(plot, "physical limit")
    assert (
        "no physical limit is known: not compared: the partition states no fabric" in plot.caption
    )
    assert "No paper prints" in plot.caption
    assert "There is no baseline" in plot.caption


def test_partitions_of_a_system_stand_over_each_other_the_slowest_first(pages):
    plot = plots(pages["curves/all--koop2008.html"])["bandwidth"]
    groups = [trace.group for trace in of(plot, "measured")]
    assert groups == ["sdr-pcie1", "ddr-pcie1", "ddr-pcie2", "qdr-pcie2"]
    assert {trace.group for trace in of(plot, "physical limit")} == {*groups}
    assert all("intra" not in trace.name for trace in of(plot, "measured"))


@pytest.mark.parametrize("module", [curves, npb])
def test_the_pages_of_partitions_and_of_their_system_lead_to_each_other(module, made):
    pages = {page.path: page for page in module.pages(made)}
    (whole,) = (path for path in pages if "/all--" in path)
    leads_to = {path: [address for _, address in pages[path].context["links"]] for path in pages}
    assert leads_to.pop(whole) == [*leads_to]
    assert {*map(tuple, leads_to.values())} == {(whole,)}


@pytest.mark.parametrize("module", [curves, npb])
def test_a_partition_that_nothing_is_compared_with_leads_nowhere(module, tmp_path):
    database = Database(workspace(tmp_path).results)
    partitions = {name: made_curves.PARTITIONS[name] for name in ("qdr-pcie2", "sdr-pcie1")}
    database.add([
        case for case in made_curves.night(0, partitions=partitions)
        if case.partition == "qdr-pcie2" or case.suite == "hpcc"
    ])  # fmt: skip
    pages = module.pages(source(tmp_path, system="koop2008"))
    assert [page.context["links"] for page in pages] == [(), ()]


def test_a_case_that_failed_since_is_told(tmp_path):
    database = Database(workspace(tmp_path).results)
    cases = made_curves.night(0, partitions={"qdr-pcie2": (1.0, 2500.0)})
    database.add(cases)
    cases[0].result = "fail"
    database.add(cases)
    (page,) = curves.pages(source(tmp_path, system="koop2008"))
    ((text, link),) = page.context["failures"]
    assert cases[0].name in text
    assert link.startswith("sessions/00000001")
    drawn = of(plots(page)["latency"], "measured")[0]
    assert "session 00000000" in drawn.samples[0].note


def test_a_simulated_system_is_marked_and_has_the_papers_of_the_real_one(tmp_path):
    partitions = {"qdr-pcie2": (1.0, 2500.0)}
    fields = {"system": "simulated-koop2008", "partitions": partitions}
    made_curves.nights(workspace(tmp_path).results, 1, **fields)
    (page,) = curves.pages(source(tmp_path, system="simulated-koop2008"))
    assert page.simulated
    assert all(plot.simulated for plot in page.plots)
    assert of(plots(page)["latency"], "published")


def test_a_report_without_sessions_says_what_would_fill_the_page(tmp_path):
    Database(workspace(tmp_path).results)
    (page,) = curves.pages(source(tmp_path))
    assert "measures some" in site_html(page)
    assert not page.plots


def test_keys_and_names_may_hold_anything(tmp_path):
    cases = made_curves.night(0, system="nowhere", partitions={"only": (1.0, 1000.0)})
    for case in cases:
        case.keys = {**case.keys, "np": HOSTILE, "nodes": "many"}
        case.environment = HOSTILE
    Database(workspace(tmp_path).results).add(cases)
    made = source(tmp_path, system="nowhere")
    for module in (curves, npb, hpcc):
        (page,) = module.pages(made)
        for plot in page.plots:
            assert HOSTILE[:8] not in plot_model.html(plot, page.path)


def test_a_plot_of_too_many_curves_becomes_several(tmp_path):
    cases = []
    for np in range(2, 26, 2):
        for case in made_curves.night(0, partitions={"qdr-pcie2": (1.0, 2500.0)}):
            if case.benchmark == "imb.Allreduce":
                case.keys = {**case.keys, "np": str(np)}
                case.name += f" {np}"
                cases.append(case)
    Database(workspace(tmp_path).results).add(cases)
    (page,) = curves.pages(source(tmp_path, system="koop2008"))
    assert len(page.plots) == 12
    assert len({plot.id for plot in page.plots}) == 12


def test_a_baseline_is_drawn_with_the_session_that_it_is_of(made):
    row = next(row for row in made.library.values if row.benchmark == "osu.latency")
    keys = {"np": "2", "placement": "inter-node", "environment": "spack-openmpi"}
    fields = {
        "source": "baseline", "origin": "koop2008", "where": "session of 2026-01-02",
        "partition": "qdr-pcie2", "metric": "latency", "relation": "=", "unit": "us",
    }  # fmt: skip
    rows = tuple(
        structs.replace(row, **fields, parameters={**keys, "message_size": size}, value=value)
        for size, value in (("8", 1.1), ("1024", 1.6))
    )
    library = replace(made.library, baselines=rows)
    sweeps = [
        sweep for each in results(made) if each.place.partition == "qdr-pcie2"
        for sweep in each.sweeps.values() if sweep.benchmark == "osu.latency"
    ]  # fmt: skip
    found = {sweep.keys["placement"]: [*curves.baseline(library, sweep, "own")]
             for sweep in sweeps}  # fmt: skip
    assert not found["intra-socket"]
    (between,) = found["inter-node"]
    assert (between.x, between.y) == ((8.0, 1024.0), (1.1, 1.6))
    assert between.samples[0].note == "baseline koop2008, session of 2026-01-02"
