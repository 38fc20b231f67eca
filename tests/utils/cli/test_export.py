"""`acceptance export`: a punch list, Bencher, and OpenTelemetry to a real receiver."""

import csv
import gzip
import io
import json
import re
import shlex
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from acceptance.core import kinds
from acceptance.core.findings import Finding
from acceptance.verdict import punch_list
from acceptance.verdict.model import CaseResult, Status, Verdict
from tests import made
from tests.conftest import Site

ENDS = "leaf02[40] - spine08[2]"
CASE = made.Case()
LINK = Finding(
    "link-rate", "node02 mlx5_0/1: 10 Gb/sec (4X SDR), expected 40 Gb/sec (4X QDR)", True,
    ("node02",), "mlx5_0/1", "", "10 Gb/sec (4X SDR)", "40 Gb/sec (4X QDR)",
)  # fmt: skip
CABLE = Finding("fabric-lost", f"{ENDS}: no link", True, (), ENDS, "", "=HYPERLINK(1)", "4x HDR")
COUNTER = Finding("rail-uneven", "node01 eth1: uneven", False, ("node01",), "eth1", "share", "60 %")
NOTE = Finding("suffers-load", "node01 suffers", False, ("node01",))
SLOW = {"bandwidth_8": (5.0, "MB/s", 10.0, -0.1, None), "bandwidth_16": (10.0, "MB/s")}
WORSE = "OsuMpi %benchmark=latency %np=2"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A site with a database of one session: faults of a link, a cable and a bandwidth."""
    site = Site(tmp_path_factory.mktemp("export"))
    of_links = {"suite": "fabric", "result": "fail", "metrics": {}}
    cases = [
        replace(CASE, name="LinkCheck", findings=(LINK.as_data(),), **of_links),
        replace(CASE, name="FabricView", findings=(CABLE.as_data(),), **of_links),
        replace(CASE, metrics=SLOW, findings=(COUNTER.as_data(), NOTE.as_data())),
        replace(CASE, name=WORSE, result="fail"),
        replace(CASE, name="Later", result="skip"),
    ]
    site.file = site.folder / "made.db"
    site.session = made.Database(site.file).add(cases)
    return site


def export(site, form, *options, **environment):
    return site.acceptance("export", form, "--db", site.file, *options, **environment)


@pytest.fixture(scope="module")
def listed(stored):
    """The punch list as Markdown, and the rows of its CSV."""
    shown = export(stored, "punchlist")
    file = stored.folder / "list.csv"
    written = export(stored, "punchlist", "-o", file)
    assert (shown.status, written.status, written.output) == (1, 1, "")
    with file.open(newline="") as text:
        return shown.output, [*csv.DictReader(text)]


def test_each_defect_has_a_line_the_worst_first(listed):
    _, rows = listed
    defects = [row for row in rows if row["id"]]
    assert [(row["severity"], row["id"].partition(":")[0]) for row in defects] == [
        ("critical", "FABRIC-LOST"),
        ("critical", "LINK-RATE"),
        ("major", "CASE-FAILED"),
        ("minor", "RAIL-UNEVEN"),
    ]
    assert all(row["remedy"] and row["session"] and row["time"] for row in defects)


def test_a_link_has_node_device_and_port_and_a_cable_both_ends(listed):
    _, rows = listed
    cable, link, failed, _ = (row for row in rows if row["id"])
    assert (link["nodes"], link["device"], link["port"]) == ("node02", "mlx5_0", "1")
    assert (link["found"], link["expected"]) == ("10 Gb/sec (4X SDR)", "40 Gb/sec (4X QDR)")
    assert "mlxlink -d mlx5_0" in link["remedy"]
    assert link["partition"] == "made:compute"
    assert (cable["cable"], cable["device"]) == (ENDS, "")
    assert failed["nodes"] == "node01, node02"
    assert (failed["device"], failed["port"]) == ("", "")


def test_the_evidence_is_case_session_and_a_command(stored, listed):
    _, rows = listed
    failed = next(row for row in rows if row["id"].startswith("CASE-FAILED"))
    assert failed["case"] == f"{WORSE} @made:compute+spack-openmpi"
    assert failed["session"] == stored.session
    assert failed["time"] == "2026-01-01T23:00:00+00:00"
    program, *words = shlex.split(failed["test"])
    assert (program, words[:3]) == ("reframe", ["-c", "checks", "-r"])
    assert words[3] == "-n"
    assert re.search(words[4], WORSE.replace(" ", ""))
    assert not re.search(words[4], f"{WORSE}4".replace(" ", ""))


def test_no_spreadsheet_takes_a_value_for_a_formula(listed):
    _, rows = listed
    assert rows[0]["found"] == "'=HYPERLINK(1)"
    values = [value for row in rows for value in row.values()]
    assert not [value for value in values if value.startswith(("=", "+", "-", "@", "\t", "\r"))]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", "\n="])
def test_whatever_begins_a_formula_is_text(start):
    finding = Finding("link-rate", "text", True, ("n1",), f"{start}1", found=f"{start}1+1")
    case = CaseResult("made:a+b", "LinkCheck", "fail", findings=(finding,))
    shown = punch_list(Verdict(system="made", cases=[case]), [])
    (row,) = csv.DictReader(io.StringIO(shown.csv()))
    for name in ("found", "device"):
        assert row[name].lstrip("'").startswith(start.strip() or "=")
        assert row[name].startswith("'")
        assert "\n" not in row[name]


def test_markdown_has_the_same_lines_and_what_was_not_measured(listed):
    text, rows = listed
    assert text.startswith("# Punch list of made\n\n4 defects; verdict: fail. ")
    for row in rows:
        assert (f"`{row['id']}`" if row["id"] else row["found"].lstrip("'")) in text
    open_points = [row["found"] for row in rows if row["severity"] == "not measured"]
    assert any("no case measured all of its pairs" in text for text in open_points)
    assert any(text.startswith("1 case skipped: Later @made") for text in open_points)
    assert "1 metric recorded, and no reference judges them" in open_points
    assert "Left out, since they fail nothing: 1 finding" in text


def test_a_list_without_a_defect_says_so_and_what_was_not_measured(stored):
    good = stored.folder / "good.db"
    made.Database(good).add([replace(CASE, metrics={"bandwidth_8": (9.5, "MB/s")})])
    shown = stored.acceptance("export", "punchlist", "--db", good)
    assert shown.status == 0
    assert "## Defects\n\nNone.\n" in shown.output
    assert "- 1 metric recorded, and no reference judges them" in shown.output
    assert "no defect was found; " in shown.errors
    assert "not measured or not judged" in shown.errors


@pytest.mark.parametrize("form", ["punchlist", "bencher", "otel"])
def test_without_a_verdict_nothing_is_exported(site, form):
    pytest.importorskip("opentelemetry.sdk" if form == "otel" else "acceptance")
    target = () if form == "otel" else ("-o", site.folder / "file")
    done = site.acceptance("export", form, *target)
    assert (done.status, done.output) == (2, "")
    assert "there is no verdict to export: " in done.errors
    assert "did not start" in done.errors
    assert not (site.folder / "file").exists()


def test_an_acknowledged_defect_is_on_the_list_and_a_simulation_is_told():
    known = Finding("regression", "slower", True, device="Osu", what="latency", where="made:a+b")
    verdict = Verdict(system="simulated-made", excused=[known], simulators=["SimGrid 3.32"])
    shown = punch_list(verdict, [])
    assert [each.id for each in shown.defects] == ["REGRESSION"]
    assert shown.title == "SIMULATED: Punch list of simulated-made"
    assert shown.not_measured == (verdict.no_evidence,)


def test_what_names_kinds_that_are_not_judged_names_kinds():
    assert kinds.TABLE.keys() >= kinds.NOT_JUDGED
    unmeasured = {kind for kind, row in kinds.TABLE.items() if row.unmeasured}
    assert unmeasured | {"link-uncounted"} <= kinds.NOT_JUDGED
    assert not kinds.NOT_JUDGED & {*kinds.HISTORY, "link-rate", "case-failed", "node-absent"}


def test_the_command_of_a_defect_selects_its_case_alone(site, recorded):
    """The whole walk: ReFrame's run of an output that is cut, its list, and its command."""
    site.replay(recorded("imb/IMB-MPI1_PingPong.impi.txt")[:3000])
    words = (
        "-c",
        "checks/imb.py",
        "-r",
        "-n",
        "Ping.*%placement=intra",
        "-S",
        "ImbMpi1.msglog=0:3",
    )
    assert site.reframe(*words).status == 1
    file = site.folder / "list.csv"
    assert site.acceptance("export", "punchlist", "-o", file).status == 1
    with file.open(newline="") as text:
        row, *_ = (row for row in csv.DictReader(text) if row["id"].startswith("CASE-FAILED"))
    name = row["case"].partition(" @")[0]
    program, *words = shlex.split(row["test"])
    assert program == "reframe"
    assert "ImbMpi1.msglog=0:3" in words
    again = site.reframe(*("-l" if word == "-r" else word for word in words))
    assert again.status == 0, again.output
    assert re.findall(r"^- (.+?) /\w+", again.output, re.MULTILINE) == [name]


def test_bencher_gets_metrics_with_units_and_limits(stored):
    done = export(stored, "bencher")
    assert done.status == 1
    assert json.loads(done.output) == {
        f"{CASE.name} @made:compute+spack-openmpi": {
            "bandwidth_8 (MB/s)": {"value": 5.0, "lower_value": 9.0},
            "bandwidth_16 (MB/s)": {"value": 10.0},
        }
    }


def test_bencher_is_told_no_longer_name_than_it_takes(stored):
    long = stored.folder / "long.db"
    made.Database(long).add([replace(CASE, metrics={"x" * 70: (1.0, "us"), "y": (2.0, "us")})])
    done = stored.acceptance("export", "bencher", "--db", long)
    (measures,) = json.loads(done.output).values()
    assert measures == {"y (us)": {"value": 2.0}}
    assert "left out, since Bencher takes no name of a measure as long as" in done.errors
    made.Database(stored.folder / "none.db").add([replace(CASE, result="fail")])
    none = stored.acceptance("export", "bencher", "--db", stored.folder / "none.db")
    assert (none.status, none.output) == (2, "")
    assert "nothing was measured that Bencher could take" in none.errors


class Receiver:
    """A receiver of OTLP/HTTP on loopback: what it got, as `(path, headers, message)`."""

    def __init__(self):
        from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
        from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics

        kinds = {
            "/v1/metrics": metrics.ExportMetricsServiceRequest,
            "/v1/logs": logs.ExportLogsServiceRequest,
        }
        self.got, self.status = {}, 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver.got[self.path] = dict(self.headers), kinds[self.path].FromString(body)
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def receiver():
    pytest.importorskip("opentelemetry.sdk", reason="no OpenTelemetry: requirements-otel.lock")
    with receiving() as found:
        yield found


@contextmanager
def receiving():
    receiver = Receiver()
    thread = threading.Thread(target=receiver.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        thread.join()
        receiver.server.server_close()


def plain(attributes):
    """Return attributes of OTLP as a dictionary."""
    found = {}
    for each in attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = [v.string_value for v in value.values] if kind == "array_value" else value
    return found


def test_a_receiver_gets_verdict_findings_and_metrics(stored, receiver):
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-site=here",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test",
    }
    done = export(stored, "otel", **told)
    assert (done.status, done.errors) == (1, "")
    headers, metrics = receiver.got["/v1/metrics"]
    assert (headers["x-site"], headers["Content-Encoding"]) == ("here", "gzip")
    resource = plain(metrics.resource_metrics[0].resource.attributes)
    assert resource["service.name"] == "interconnect-acceptance"
    assert resource["deployment.environment"] == "test"
    gauges = {
        (metric.name, metric.unit): [
            (plain(point.attributes), point.as_double) for point in metric.gauge.data_points
        ]
        for metric in metrics.resource_metrics[0].scope_metrics[0].metrics
    }
    values = gauges["acceptance_metric_value", "MB/s"]
    assert [(labels["message_size"], value) for labels, value in values] == [("8", 5), ("16", 10)]
    ((labels, limit),) = gauges["acceptance_metric_lower_limit", "MB/s"]
    assert (labels["check"], limit) == (CASE.name, 9)
    assert gauges["acceptance_verdict_status", ""] == [({"system": "made", "campaign": ""}, 1)]
    _, logs = receiver.got["/v1/logs"]
    verdict, *findings = logs.resource_logs[0].scope_logs[0].log_records
    assert verdict.event_name == "acceptance.verdict"
    assert plain(verdict.attributes)["verdict"] == "fail"
    by_kind = {plain(each.attributes)["kind"]: each for each in findings}
    assert by_kind.keys() >= {"link-rate", "fabric-lost", "case-failed", "suffers-load"}
    link = by_kind["link-rate"]
    assert (link.severity_text, link.body.string_value) == ("ERROR2", LINK.text)
    assert plain(link.attributes)["nodes"] == ["node02"]
    assert plain(link.attributes)["expected"] == "40 Gb/sec (4X QDR)"
    count = sum(map(len, gauges.values()))
    assert done.output == f"sent {count} values and {len(findings) + 1} log records\n"


def test_a_name_of_the_service_and_a_refusal_are_heeded(stored, receiver):
    told = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_SERVICE_NAME": "ours"}
    receiver.status = 400
    done = export(stored, "otel", **told)
    assert (done.status, done.output) == (2, "")
    assert f"{receiver.url}/v1/metrics: did not take the metrics" in done.errors
    resource = receiver.got["/v1/metrics"][1].resource_metrics[0].resource
    assert plain(resource.attributes)["service.name"] == "ours"
    assert "/v1/logs" not in receiver.got


def test_without_the_extra_a_line_says_what_to_install(stored, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    done = export(stored, "otel")
    assert (done.status, done.output) == (2, "")
    (line,) = done.errors.splitlines()
    assert "OpenTelemetry is not installed" in line
    lock = line.rpartition("-r ")[2]
    assert "\nopentelemetry-sdk==" in (Path(__file__).parents[3] / lock).read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("otel", "-o", "x"), "-o is for what is written"),
        (("punchlist", "--run", "x"), "--run is of this clone's runs"),
        (("prometheus", "--run", "x"), "Prometheus keeps its own past"),
        (("parquet", "--run", "x"), "Parquet has all samples"),
    ],
)
def test_options_that_say_nothing_are_refused(stored, words, said):
    done = export(stored, *words)
    assert (done.status, done.output) == (Status.CANNOT_JUDGE, "")
    assert said in done.errors
