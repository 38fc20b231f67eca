"""Hostile texts (`tests/hostile.py`) at each entry, looked at at each exit: they are text there."""

import csv
import email.message
import email.policy
import io
import json
import re
import shlex
import subprocess
import xml.etree.ElementTree as xml
from dataclasses import replace
from datetime import date

import pytest
import yaml
from markdown_it import MarkdownIt
from msgspec import structs
from prometheus_client.parser import text_string_to_metric_families

from acceptance.alerts import Ack, Alert, acknowledgements, notify
from acceptance.campaigns.markdown import markdown as protocol_text
from acceptance.cli import main as cli
from acceptance.cli.shared import Shown, emit
from acceptance.core import state_files
from acceptance.core.findings import Finding
from acceptance.core.text import code, csv_text, markdown, markdown_table, one_line, printable
from acceptance.fabric import link_report, stored
from acceptance.ledger import Session
from acceptance.machine import Spack, slurm
from acceptance.machine import spack as spack_files
from acceptance.machine.slurm import PartitionRecord, SlurmNode
from acceptance.report import addresses, figures, plot_model
from acceptance.site import init
from acceptance.site.cluster import Cluster, Kind
from acceptance.site.fabric_of_node import Fabric
from acceptance.verdict import bencher, prometheus, punch_list, telemetry
from acceptance.verdict.model import CaseResult, Status, SuiteUse, Verdict
from acceptance.verdict.outputs import junit, verdict_text
from tests.alerted import ALERT, NOW, of
from tests.hostile import EXITS, TEXTS
from tests.places import HERE
from tests.utils.campaigns.test_protocol import CASE as OF_PROTOCOL
from tests.utils.campaigns.test_protocol import METRIC as METRIC_OF_PROTOCOL
from tests.utils.campaigns.test_protocol import make
from tests.utils.report import test_hostile_pages
from tests.utils.verdict.test_prometheus import CASE, METRIC

each_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
#: Texts without what no name, argument or file can have.
OF_NAMES = [text for text in TEXTS.values() if "\0" not in text and "\ud800" not in text]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def finding(text, kind="case-failed", **more):
    """Return a finding all of whose texts are hostile."""
    fields = ("text", "device", "what", "found", "expected", "source", "remedy", "where", "since")
    return Finding(kind, **dict.fromkeys(fields, text), fails=True, nodes=(text,),
                   place=(text, text), **more)  # fmt: skip


def alert(text):
    ack = Ack(text, text, date(2026, 12, 1), text, NOW)
    seen = {"opened": NOW, "seen": NOW}
    return Alert(text, finding(text), cases=(text,), sort=text, acknowledged=ack, **seen)


def session(text):
    """Return a session with a case all of whose names are hostile."""
    metric = replace(METRIC, unit=text, name=f"{text}_8", judged_by=text)
    names = ("name", "system", "partition", "environment", "filename", "suite", "benchmark")
    named = replace(
        CASE, **dict.fromkeys(names, text), fail_reason=text, nodes=(text,), keys={"np": text},
        provenance={"spec": text, "suite": text}, findings=(finding(text),), metrics=(metric,),
    )  # fmt: skip
    return Session(text, 0.0, 1.0, host=text, command=shlex.join(["reframe", text]),
                   cases=(named,))  # fmt: skip


def verdict(text):
    """Return a verdict with a hostile text in each of its entries."""
    case = CaseResult(text, text, "fail", text, text, text, 1.0, (text,), findings=(finding(text),))
    words = ("session", "command", "system", "host", "time", "database", "campaign", "outcome")
    return Verdict(
        status=Status.FAILED, **dict.fromkeys(words, text), failed=1, judged={text: 1},
        suites=[SuiteUse(text, (text,), (text,), 1)], not_selected={text: text},
        check_files=[text], notes=[text], problems=[finding(text)],
        findings=[finding(text, "not-provided"), finding(text, "guideline")],
        cases=[case], alerts=[alert(text)], acknowledged=[alert(text)], expected={text: text},
        history={"judged": 1, "cannot_judge": text, "together": text},
        fabric={text: text}, simulators=[text],
    )  # fmt: skip


def assert_plain(shown):
    """Nothing is left that a terminal obeys, or that turns the direction of writing."""
    assert not [char for char in shown if not char.isprintable() and char not in "\n\t"]


@each_text
def test_a_terminal_shows_a_verdict(text):
    terminal = Terminal()
    Shown(terminal).write(verdict_text(verdict(text)) + "\n")
    shown = terminal.getvalue()
    assert_plain(shown)
    assert [line for line in shown.splitlines() if line.startswith("VERDICT")] == [
        shown.splitlines()[-1]
    ]
    assert shown.splitlines()[-1].startswith("VERDICT: FAIL")


@each_text
def test_a_table_and_csv_of_a_command(text, capsys):
    options = type("Options", (), {"format": "text", "workspace": HERE})
    emit(options, [{"name": text}], {"name": "name", "again": "name"})
    assert_plain(capsys.readouterr().out.replace(" ", ""))
    options.format = "csv"
    emit(options, [{"name": text, "value": -1.5}], {"name": "name", "value": "value"})
    _, (name, value) = csv.reader(io.StringIO(capsys.readouterr().out))
    assert value == "-1.5"
    assert name in (printable(text), f"'{printable(text)}")
    assert not name.startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d"))
    options.format = "json"
    emit(options, [{"name": printable(text)}], {})
    assert json.loads(capsys.readouterr().out) == [{"name": printable(text)}]


@each_text
def test_csv_of_a_page_and_of_a_punch_list(text):
    (row,) = csv.reader(io.StringIO(csv_text([[text, 1.5]])))
    assert row[1] == "1.5"
    listed = punch_list(verdict(text), [session(text)])
    rows = [*csv.DictReader(io.StringIO(listed.csv()))]
    assert rows
    for each in (*row, *(value for one in rows for value in one.values())):
        assert not each.startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d"))
        assert_plain(each)


@each_text
def test_junit_is_xml_with_the_same_text(text):
    suite = xml.fromstring(junit(verdict(text)))
    assert {each.tag for each in suite.iter()} <= {
        *("testsuite", "properties", "property", "testcase", "failure", "error", "skipped"),
        *("system-out", "system-err"),
    }
    case = suite.findall("testcase")[-1]
    # XML reads a line break in an attribute as a blank, unless it is written as a code.
    assert case.get("name") == printable(text)
    for each in suite.iter():
        assert_plain("".join((each.text or "", *each.attrib.values())))


@each_text
def test_prometheus_has_labels_with_the_same_text(text):
    kept = notify.Notification(open=[alert(text)])
    made = prometheus([(verdict(text), [session(text)])], kept)
    families = {each.name: each for each in text_string_to_metric_families(made)}
    (sample,) = families["acceptance_metric_value"].samples
    assert sample.labels["system"] == sample.labels["unit"] == printable(text)
    statuses = families["acceptance_verdict_status"].samples
    assert [each.value for each in statuses] == [1.0]
    for family in families.values():
        for each in family.samples:
            assert_plain("".join(each.labels.values()))


@each_text
def test_opentelemetry_takes_what_is_sent(text):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    resource, scope = Resource.create({}), InstrumentationScope("x", "1")
    logs = [*telemetry._logs(verdict(text), resource, scope)]
    assert len(logs) > 2
    sent = encode_logs(logs)
    for log in sent.resource_logs[0].scope_logs[0].log_records:
        assert_plain(log.body.string_value)
        for attribute in log.attributes:
            assert_plain(attribute.value.string_value)


@each_text
def test_bencher_is_json(text):
    found, _ = bencher(verdict(text), [session(text)])
    assert_plain(json.dumps(found, ensure_ascii=False).replace("\n", ""))


#: What a page of Markdown would obey.
ACTIVE = ("<script", "<img", "![a](", "[c](", "`d`")


def rendered(text):
    """Return the elements and the text of Markdown, by a reader of CommonMark with tables."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    inline = [each for block in reader.parse(text) for each in block.children or ()]
    kinds = {each.type for each in (*reader.parse(text), *inline)}
    shown = "".join(each.content for each in inline if each.type in ("text", "code_inline"))
    return kinds, shown


@each_text
def test_markdown_shows_text(text):
    kinds, shown = rendered(markdown(text))
    assert kinds <= {"inline", "text", "text_special", "paragraph_open", "paragraph_close"}
    plain = printable(" ".join(text.split()), keep="")
    kinds, shown = rendered(f"x {code(text)} y")
    assert kinds & {"html_inline", "html_block", "link_open", "image", "em_open"} == set()
    assert plain[:30] in shown
    table = markdown_table(("a", "b", "c"), [(text, code(text), text), ("1", "2", "3")])
    kinds, _ = rendered(table)
    assert kinds & {"html_inline", "html_block", "link_open", "image", "em_open"} == set()
    assert len([*re.finditer(r"(?<!\\)(?:\\\\)*\|", table.splitlines()[2])]) == 4


@each_text
def test_a_protocol_and_a_punch_list_are_markdown_that_shows_text(text):
    # A campaign stores texts of JSON, in which there is no half of a letter.
    text = text.encode(errors="replace").decode()
    case = {
        **OF_PROTOCOL, "name": text, "environment": text, "result": "fail", "fail_reason": text,
        "nodes": [text], "provenance": {"suite": text, "mpi": text}, "filename": text,
        "metrics": [{**METRIC_OF_PROTOCOL, "name": text, "unit": text, "judged_by": text}],
    }  # fmt: skip
    protocol = make(case, vendor=text, customer=text, operator=text, campaign=text)
    for made in (protocol_text(protocol), punch_list(verdict(text), [session(text)]).markdown()):
        assert_plain(made)
        kinds, _ = rendered(made)
        assert kinds & {"html_inline", "html_block", "link_open", "image", "em_open"} == set()


@each_text
def test_a_message_of_alerts_has_no_header_of_others(text):
    news = [replace_told(alert(text))]
    subject, body = notify.subject(news), notify.body(news, NOW)
    assert subject == one_line(subject)
    assert_plain(body)
    message = email.message.EmailMessage(policy=email.policy.SMTP)
    message["Subject"] = subject
    message.set_content(body)
    sent = email.message_from_bytes(message.as_bytes(), policy=email.policy.default)
    assert not {"bcc", "to"} & {name.lower() for name in sent}


def replace_told(one):
    return structs.replace(one, acknowledged=None, finding=structs.replace(one.finding))


def test_what_is_to_be_pasted_runs_one_command(tmp_path):
    """The commands of messages, by a shell in which each is a function that says its words."""
    lines, wanted = [], []
    for text in OF_NAMES:
        one = alert(text)
        of_history = of(one, kind="regression")
        lines += [line.partition(": ")[2] for each in (one, of_history)
                  for line in map(one_line, notify._steps(each))]  # fmt: skip
        case = punch_list(verdict(text), [session(text)]).defects[0]
        if case.test.startswith("reframe "):
            lines.append(one_line(case.test))
    for line in lines:
        wanted.append(shlex.split(line)[1:])
    known = ["acceptance() { printf '%s\\0' \"$@\" end; }", 'reframe() { acceptance "$@"; }']
    script = "\n".join([*known, *lines])
    done = subprocess.run(["sh"], input=script.encode(), capture_output=True, cwd=tmp_path)
    said = done.stdout.decode().split("\0end\0")
    assert [each.split("\0") for each in said[:-1]] == wanted
    assert (done.stderr, [*tmp_path.iterdir()]) == (b"", [])


@each_text
def test_a_file_of_a_new_site_is_python_with_the_same_text(text, tmp_path):
    node = SlurmNode("n1", "idle", text, True, cores=4, memory=2**30)
    partition = PartitionRecord(text, True, True, False, frozenset(), None)
    kind = Kind("a", partition, (node,), Fabric(fault=text, node="", asked=text), (text,))
    cluster = Cluster({"ClusterName": text}, [node], [partition], [text], text)
    plan = init.Plan(HERE, "mine", text, cluster=cluster, kinds=(kind,), left_out=(text,))
    if "\ud800" not in text:  # no text that a program printed has a half of a letter
        made = init.text_of(plan)
        names = {}
        exec(compile(made, "mine.py", "exec"), names)
        (part,) = names["SYSTEM"]["partitions"]
        assert part["access"][:2] == [f"--partition={text}", text]
        assert part["descr"] == f"1 node of the partition {text}"
        packages = init._packages(plan, replace(HERE, built=tmp_path))
        assert yaml.safe_load(packages).keys() == {"packages"}


def test_spack_gets_a_version_that_is_no_yaml(monkeypatch):
    spack = Spack(HERE.root, None, HERE)
    monkeypatch.setattr(Spack, "identity", lambda self: dict(enumerate(TEXTS.values())))
    monkeypatch.setattr(spack_files, "_settings", lambda *_: {})
    made = spack_files.compose_environment
    for text in TEXTS.values():
        if "\ud800" not in text:
            read = yaml.safe_load(made("osu", "local", "openmpi", spack, "", text))
            assert read.keys() == {"spack"}
            assert printable(text)[:20].strip() in printable(" ".join(read["spack"]["specs"]))


def lines_of_a_node(name):
    return f"{name} link 1\n{name} class infiniband none\n{name} class net none\n{name} end 3\n"


@pytest.mark.parametrize(
    "name", ["../../alerts/state", "/etc/passwd", "..", ".", "a%2F", "n" * 300]
)
def test_a_node_is_kept_under_no_other_path(name, tmp_path):
    var = tmp_path / "var"
    node = link_report.parse(lines_of_a_node(name))
    node = replace(node, neighbours={"eth0": [(name, name)]})
    try:
        stored.remember_node(var, node)
    except state_files.StoredFault as err:
        assert "File name too long" in str(err)  # noqa: PT017
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent for path in files} <= {var / "fabric/nodes"}
    assert [*stored.known_cables(var)] == [name] * len(files)


def test_a_slurm_reason_and_a_switch_are_text(monkeypatch):
    for text in map(one_line, OF_NAMES):
        words = " ".join(text.split())
        line = f"NodeName=n1 CPUTot=4 RealMemory=1 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 State=DOWN Reason={words}"  # noqa: E501
        monkeypatch.setattr(slurm, "show", lambda *_, line=line: line)
        (node,) = slurm.all_nodes()
        assert (node.name, node.up) == ("n1", False)


def test_addresses_and_scripts_of_the_report(tmp_path):
    for text in TEXTS.values():
        name = addresses.legal(text)
        assert re.fullmatch(r"[a-z0-9._-]+", name)
        assert ".." not in name
        made = plot_model.script({"name": printable(text)})
        assert "<" not in made
        assert made.count("\n") == 1
        assert "<" not in figures.escaped(text)
    assert len({addresses.legal(text) for text in TEXTS.values()}) == len(TEXTS)


def test_states_hold_any_text_and_can_be_read_again(tmp_path):
    path = tmp_path / "state.json"
    for text in (*TEXTS.values(), "\U0001f680 \\ud800 \\\\udcff"):
        state_files.write(path, {"a": text})
        read = state_files.read(path)["a"]
        assert read == re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):x}", text)
        assert path.read_bytes().isascii()


def test_an_argument_that_is_no_text_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["alerts", "ack", "*", "--reason", "a\udcff", "--until", "2126-01-01"])
    assert ended.value.code == 2
    assert "no text" in capsys.readouterr().err


def test_an_acknowledgement_with_a_hostile_reason_is_kept(tmp_path):
    known = [structs.replace(ALERT, opened=NOW, seen=NOW)]
    for text in TEXTS.values():
        if text.strip():
            acknowledgements.add("3fa2c1", text, "2026-12-01", known, NOW, tmp_path)
            (ack,) = acknowledgements.load(tmp_path)
            assert "\n" not in ack.text


def test_each_exit_has_a_test():
    own = {name for name in globals() if name.startswith("test_")}
    assert {*EXITS.values()} - own == {*EXITS.values()} & {*vars(test_hostile_pages)}
