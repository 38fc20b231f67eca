"""The export for Prometheus, read by its own parser, and the dashboard that is drawn from it."""

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from prometheus_client.parser import text_string_to_metric_families

from acceptance.alerts import acknowledgements, notify
from acceptance.core.findings import (
    RECORDED_OTHERWISE,
    SHARED,
    SUFFERS,
    UNJUDGED,
    UNPATCHED,
    Finding,
)
from acceptance.core.kinds import OF_LATE
from acceptance.core.paths import ROOT
from acceptance.fabric import kinds
from acceptance.ledger import Case, Metric, Session
from acceptance.verdict import outputs as export
from acceptance.verdict.cases import result_of, text_of
from acceptance.verdict.model import Verdict
from tests import made
from tests.alerted import ALERT, NOW, OTHER, named, of

DASHBOARD = ROOT / "config/monitoring/grafana.json"
PINGPONG = "imb/IMB-MPI1_PingPong.impi.txt"
KEPT = notify.Notification()

METRIC = Metric("latency_8", 1.25, "us", 1.21, -0.5, 0.1, "baseline x", True)
CASE = Case(
    name="ImbMpi1 %benchmark=PingPong",
    system="local",
    partition="default",
    environment="wheels",
    filename="checks/imb.py",
    suite="imb",
    run_index=0,
    result="pass",
    fail_phase="",
    fail_reason="",
    nodes=("node1",),
    fixture=False,
    benchmark="imb.PingPong",
    keys={},
    declared={},
    provenance={},
    findings=(),
    metrics=(METRIC,),
)
OF_METRIC = {
    "system": "local",
    "partition": "default",
    "environ": "wheels",
    "check": "ImbMpi1 %benchmark=PingPong",
    "metric": "latency",
    "message_size": "8",
    "unit": "us",
}


def session(*cases):
    return Session("uuid", 1000.5, 1060.5, "host", "reframe", "", 0, cases)


def exported(*cases, verdict=None, kept=KEPT):
    """Return family -> list of (labels, value), as Prometheus' parser reads them."""
    stored = [session(*cases)] if cases else []
    text = export.prometheus([(verdict or Verdict(system="local"), stored)], kept)
    return parsed(text)


def parsed(text):
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        assert family.documentation == export.FAMILIES[family.name][1]
        for sample in family.samples:
            assert set(sample.labels) == set(export.FAMILIES[family.name][0])
            series = found.setdefault(sample.name, [])
            assert sample.labels not in [labels for labels, _ in series], "a series stands once"
            series.append((sample.labels, sample.value))
    return found


def values(found, family):
    return [value for _, value in found.get(family, [])]


def test_a_judged_metric_has_value_reference_and_limits():
    found = exported(CASE)
    assert found["acceptance_metric_value"] == [(OF_METRIC, 1.25)]
    assert found["acceptance_metric_reference"] == [(OF_METRIC, 1.21)]
    ((labels, lower),) = found["acceptance_metric_lower_limit"]
    ((_, upper),) = found["acceptance_metric_upper_limit"]
    assert labels == OF_METRIC
    assert (lower, upper) == pytest.approx((0.605, 1.331))


def test_a_metric_that_is_not_judged_has_a_value_only():
    plain = replace(METRIC, name="G-HPL", reference=None, lower=None, upper=None)
    found = exported(replace(CASE, metrics=(plain,)))
    ((labels, value),) = found["acceptance_metric_value"]
    assert (labels["metric"], labels["message_size"], value) == ("G-HPL", "", 1.25)
    assert not {"acceptance_metric_reference", "acceptance_metric_lower_limit"} & set(found)


def test_one_sided_and_absolute_limits():
    one = replace(METRIC, lower=None)
    zero = replace(METRIC, name="errors", reference=0.0, lower=-1.0, upper=3.0)
    energy = replace(METRIC, name="energy", reference=-200.0, lower=-0.1, upper=0.2)
    found = exported(replace(CASE, metrics=(one, zero, energy)))
    assert values(found, "acceptance_metric_lower_limit") == pytest.approx([-1.0, -220.0])
    assert values(found, "acceptance_metric_upper_limit") == pytest.approx([1.331, 3.0, -160.0])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), "7", None])
def test_what_is_no_number_is_not_exported(value):
    odd = replace(METRIC, value=value)
    good = replace(METRIC, name="latency_16")
    found = exported(replace(CASE, metrics=(odd, good)))
    assert [labels["message_size"] for labels, _ in found["acceptance_metric_value"]] == ["16"]


def test_limits_that_are_not_finite_are_not_exported():
    odd = replace(METRIC, lower=float("-inf"), upper=float("inf"))
    worse = replace(METRIC, name="latency_16", reference=float("nan"))
    found = exported(replace(CASE, metrics=(odd, worse)))
    assert values(found, "acceptance_metric_reference") == [1.21]
    assert not {"acceptance_metric_lower_limit", "acceptance_metric_upper_limit"} & set(found)


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "a\\n", "%x={1,2}", "µ ü 漢", ""])
def test_labels_are_escaped(name):
    ((labels, _),) = exported(replace(CASE, name=name))["acceptance_metric_value"]
    assert labels["check"] == name


def test_labels_have_no_codes_of_terminals():
    ((labels, _),) = exported(replace(CASE, name="a\x1b[2J\ud800"))["acceptance_metric_value"]
    assert labels["check"] == r"a\x1b[2J\ud800"


def test_of_repeated_cases_the_last_counts():
    again = replace(CASE, run_index=1, metrics=(replace(METRIC, value=9.0),))
    for order in ((CASE, again), (again, CASE)):
        found = exported(*order)
        assert values(found, "acceptance_metric_value") == [9.0]
        assert values(found, "acceptance_cases") == [0, 1, 0]


def test_values_that_are_not_what_they_say_are_left_out():
    slow = replace(CASE, result="fail", fail_phase="performance")
    found = exported(slow)
    assert values(found, "acceptance_metric_value") == [1.25]
    assert values(found, "acceptance_case_passed") == [0]
    found = exported(replace(slow, fail_phase="sanity"))
    assert "acceptance_metric_value" not in found
    assert values(found, "acceptance_case_passed") == [0]
    assert "acceptance_case_passed" not in exported(replace(CASE, result="skip"))
    assert "acceptance_metric_value" not in exported(replace(CASE, fixture=True))


def test_verdict_cases_times_and_findings():
    down, slow = Finding("link-state", "node1 down"), Finding("", "node2 slow")
    fault = Finding("misplaced", "misplaced: all on one node", fails=True)
    bad = replace(CASE, name="b", result="fail", findings=(down, slow, fault))
    # What is no link's: what load, other runs and simulators, and late messages show.
    others = (SUFFERS, SHARED, RECORDED_OTHERWISE, UNJUDGED, UNPATCHED, *OF_LATE)
    alien = tuple(Finding(kind, "not of a link") for kind in others)
    rail = Finding("rail-uneven", "node1 eth1 share")
    twice = replace(CASE, name="c", partition="other", findings=(down, rail, *alien))
    found = exported(CASE, bad, replace(bad, name="d"), twice, verdict=Verdict(status=1))
    system = {"system": "local"}
    by_hand = {**system, "campaign": ""}
    assert found["acceptance_verdict_status"] == [(by_hand, 1)]
    assert found["acceptance_verdict_timestamp_seconds"] == [(by_hand, 1060.5)]
    assert found["acceptance_session_end_timestamp_seconds"] == [(system, 1060.5)]
    assert found["acceptance_session_duration_seconds"] == [(system, 60.0)]
    cases = {labels["result"]: value for labels, value in found["acceptance_cases"]}
    assert cases == {"pass": 2, "fail": 2, "skip": 0}
    findings = {labels["partition"]: n for labels, n in found["acceptance_link_findings"]}
    assert findings == {"default": 2, "other": 2}


def test_without_a_session_the_verdict_is_there():
    found = exported(verdict=Verdict(status=2, system="local"))
    assert found == {
        "acceptance_verdict_status": [({"system": "local", "campaign": ""}, 2)],
        "acceptance_alert_targets_failing": [({}, 0)],
    }


def test_open_alerts_are_counted(tmp_path):
    far = of(OTHER, where="far:default")
    notify.update([ALERT, far], NOW, tmp_path, to=named("json://127.0.0.1:1/"))
    now = NOW + timedelta(hours=1)
    acknowledgements.add(
        "3fa2c1", "known", str((now + timedelta(9)).date()), [ALERT], now, tmp_path
    )
    found = exported(CASE, kept=notify.listing(now, tmp_path))
    counts = {
        (labels["system"], labels["state"]): value for labels, value in found["acceptance_alerts"]
    }
    assert counts == {
        ("local", "open"): 0,
        ("local", "acknowledged"): 1,
        ("far", "open"): 1,
        ("far", "acknowledged"): 0,
    }
    assert values(found, "acceptance_alert_targets_failing") == [1]


def test_the_command_exports_the_last_run(site, recorded):
    """The whole walk: ReFrame's results of a recorded output, and Prometheus' parser."""
    site.replay(recorded(PINGPONG))
    assert site.reframe("-c", "checks", "-r", "-n", "PingPong.*%placement=intra").status == 0
    path = site.folder / "acceptance.prom"
    printed = site.acceptance("export", "prometheus")
    assert printed.status == 0, printed.errors
    assert site.acceptance("export", "prometheus", "--output", path).status == 0
    assert path.read_text() == printed.output
    found = parsed(printed.output)
    assert len(found["acceptance_metric_value"]) == 48
    assert values(found, "acceptance_verdict_status") == [0]
    (end,) = values(found, "acceptance_session_end_timestamp_seconds")
    assert 0 <= datetime.now(timezone.utc).timestamp() - end < 600
    sizes = {
        labels["message_size"]
        for labels, _ in found["acceptance_metric_value"]
        if labels["metric"] == "latency"
    }
    assert {"0", "8", "4194304"} <= sizes


def test_the_status_is_that_of_the_gate_with_its_history(site, tmp_path):
    def drop(night, number, size):
        return 1.4 if night >= 30 else 1.0

    database = tmp_path / "results.db"
    made.nights(database, 40, drop, cases=1)
    assert site.acceptance("gate", "--db", database).status == 1
    result = site.acceptance("export", "prometheus", "--db", database)
    assert values(parsed(result.output), "acceptance_verdict_status") == [1]
    assert not (site.var / "verdicts").exists()


def test_the_command_prints_utf_8_whatever_the_terminal_has(site, tmp_path):
    made.Database(tmp_path / "results.db").add([made.Case(metrics={"zeit": (1.0, "µs")})])
    terminal = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    command = ("acceptance", "export", "prometheus", "--db", tmp_path / "results.db")
    result = site.run(*command, **terminal)
    ((labels, value),) = parsed(result.output)["acceptance_metric_value"]
    assert (labels["unit"], value) == ("µs", 1.0)


def test_the_command_without_results_says_so_and_exports_the_verdict(site):
    result = site.acceptance("export", "prometheus")
    assert result.status == 2
    assert "results.db: no such file" in result.errors
    assert values(parsed(result.output), "acceptance_verdict_status") == [1]


def test_a_place_that_cannot_be_written_is_named(site):
    missing = site.folder / "none/x.prom"
    result = site.acceptance("export", "prometheus", "--output", missing)
    assert result.status == 2
    assert f"{missing}: No such file or directory" in result.errors


# ---- the dashboard

WORD = re.compile(r"[A-Za-z_:][\w:]*")
SELECTOR = re.compile(r"(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<matchers>[^}]*)\})?")
MATCHER = re.compile(r'\s*(?P<label>\w+)\s*(?:=~|!~|!=|=)\s*"(?P<value>[^"]*)"\s*')
FUNCTIONS = {"sum", "max", "by", "time"}


@pytest.fixture
def dashboard():
    return json.loads(DASHBOARD.read_text())


def expressions(dashboard):
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"], target["legendFormat"]


def families_of(expression, variables):
    """Return the families of an expression, whose labels and words are all known."""
    grouped = re.findall(r"\bby \(([^)]*)\)", expression)
    rest = re.sub(r"\bby \([^)]*\)", "", expression)
    names = []
    for selector in SELECTOR.finditer(rest):
        name = selector["name"]
        if name in FUNCTIONS:
            continue
        assert name in export.FAMILIES, f"{name} is not exported"
        names.append(name)
        for part in filter(None, (selector["matchers"] or "").split(",")):
            matcher = MATCHER.fullmatch(part)
            assert matcher, part
            assert matcher["label"] in export.FAMILIES[name][0], expression
            assert set(re.findall(r"\$(\w+)", matcher["value"])) <= variables
    assert names, expression
    for label in WORD.findall(" ".join(grouped)):
        assert label in export.FAMILIES[names[0]][0], expression
    return names


def test_every_expression_asks_for_what_is_exported(dashboard):
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    asked = set()
    for title, expression, legend in expressions(dashboard):
        names = families_of(expression, variables)
        asked |= set(names)
        labels = set(re.findall(r"\{\{(\w+)\}\}", legend))
        assert labels <= set(export.FAMILIES[names[0]][0]), title
    times = {"acceptance_session_duration_seconds", "acceptance_session_end_timestamp_seconds"}
    assert set(export.FAMILIES) - asked == times


def test_the_variables_are_filled_from_what_is_exported(dashboard):
    queries = [one for one in dashboard["templating"]["list"] if one["type"] == "query"]
    known = set()
    for variable in queries:
        found = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
        (name,) = families_of(found[1], known)
        assert found[2] == variable["name"]
        assert found[2] in export.FAMILIES[name][0]
        known.add(variable["name"])
    assert {"system", "partition", "metric"} <= known


def test_what_the_exporter_writes_answers_the_dashboard(dashboard):
    """Every family that the dashboard asks for is written for a session that has everything."""
    place = "leaf02[40] - spine08[2]"
    lost = kinds.observation(kinds.LOST, place, found="no link", expected="4x HDR, as accepted")
    found = exported(CASE, replace(CASE, name="FabricView", result="fail", findings=(lost,)))
    ((labels, value),) = found["acceptance_fabric_finding"]
    assert (labels["kind"], labels["place"], value) == ("fabric-lost", place, 1)
    for _, expression, _ in expressions(dashboard):
        for name in families_of(expression, set(export.LABELS)):
            assert name in found
    states = set(re.findall(r'state="(\w+)"', DASHBOARD.read_text().replace("\\", "")))
    assert states == {labels["state"] for labels, _ in found["acceptance_alerts"]}


def test_the_dashboard_can_be_imported(dashboard):
    assert dashboard["id"] is None, "Grafana gives the number"
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    titles = [panel["title"] for panel in dashboard["panels"]]
    assert {"Verdict", "Open alerts", "Link findings", "Age of the verdict"} <= set(titles)
    taken = set()
    for panel in dashboard["panels"]:
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, "panels overlap"
        taken |= cells


@pytest.mark.parametrize(("own", "together"), [("fail", "pass"), ("pass", "fail")])
def test_a_case_near_a_limit_has_the_result_of_all_of_its_runs(own, together):
    case = replace(CASE, result=own, fail_phase="performance")
    verdict = Verdict(system="local", cases=[result_of(replace(CASE, result=together))])
    for kind, result in (("near-limit", together), ("other", own)):
        verdict.findings = [Finding(kind, "", what=text_of(case))]
        found = exported(case, verdict=verdict)
        ((_, passed),) = found["acceptance_case_passed"]
        counts = {each["result"]: count for each, count in found["acceptance_cases"]}
        assert (passed, counts["pass"]) == (result == "pass", result == "pass")
        assert counts["fail"] == (result == "fail")
