"""The command `acceptance` as a user meets it."""

import argparse
import csv
import inspect
import re
import socket
import subprocess
from importlib import import_module
from itertools import chain

import pytest

from acceptance.cli.main import TASKS, _parser, parse
from acceptance.cli.shared import FORMS
from acceptance.core.paths import ROOT, Workspace
from tests.conftest import needs_wheels


def parsers(commands=None, words=()):
    """Yield the words of each command, those with a second word too, and its parser."""
    commands = commands or _parser()[1]
    for name, parser in commands.choices.items():
        yield (*words, name), parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from parsers(action, (*words, name))


def test_the_help_lists_the_commands_by_task(site):
    shown = site.acceptance("--help").output
    tasks = re.findall(r"^([a-z ]+):\n((?:  [a-z-]+ +[A-Z].*\.\n)+)", shown, re.MULTILINE)
    assert [task for task, _ in tasks] == [*TASKS]
    listed = [name for _, lines in tasks for name in re.findall(r"^  (\S+)", lines, re.MULTILINE)]
    assert listed == [words[0] for words, _ in parsers() if len(words) == 1]
    assert len(listed) == 17


@pytest.mark.parametrize("words", [words for words, _ in parsers()], ids=" ".join)
def test_each_command_says_what_it_does_and_how_it_exits(site, words):
    result = site.acceptance(*words, "--help", COLUMNS="100")
    assert (result.status, result.errors) == (0, "")
    usage, description, *_, last = result.output.split("\n\n")
    assert usage.startswith(f"usage: acceptance {' '.join(words)}")
    assert re.match(r"[A-Z][^:]+.*[.?]\Z", description, re.DOTALL)
    statuses = " ".join(last.split())
    assert re.match(
        r"exit status: (0 pass; 1 fail: .+|0 done); 2 wrong arguments, or it cannot judge",
        statuses,
    )
    assert all(len(line) <= 100 for line in result.output.splitlines())


@pytest.mark.parametrize("module", [*chain(*TASKS.values())])
def test_a_subcommand_that_can_fail_says_when(module):
    source = inspect.getsource(import_module(f"acceptance.cli.{module}"))
    if "FAILED" in source or ".status\n" in source:
        assert "failed=" in source


def test_the_word_and_the_forms_of_a_format_are_the_same_everywhere():
    forms = {
        words: tuple(action.choices)
        for words, parser in parsers()
        for action in parser._actions
        if "--format" in action.option_strings
    }
    assert forms.pop(("gate",)) == ("text", "json", "junit")
    assert forms.pop(("fabric",)) == (*FORMS, "dot")
    assert forms.pop(("references",)) == (*FORMS, "reframe")
    assert forms.pop(("bisect",)) == ("text", "json")
    assert {*forms.values()} == {FORMS}
    assert len(forms) == 10


def test_suites_that_can_be_mirrored_are_those_of_the_clone_and_of_the_site(site, tmp_path):
    own = tmp_path / "spack-envs/suites/gauge.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("spack: {specs: [gauge]}\n")
    words = ("spack", "mirror", tmp_path / "mirror", "--suite")
    for name, said in (("gauges", "did you mean gauge?"), ("osuu", "did you mean osu?")):
        done = site.acceptance(*words, name, ACCEPTANCE_SYSTEMS=str(tmp_path))
        assert (done.status, done.output) == (2, "")
        assert f"no suite '{name}'; there are gauge, hpcc, " in done.errors
        assert said in done.errors


def test_a_mirror_of_nothing_is_refused(site, tmp_path):
    site.add_system("""
        site_configuration = {
            "systems": [{
                "name": "bare", "hostnames": [".*"],
                "partitions": [{"name": "here", "environs": []}],
            }],
            "environments": [],
        }
    """)
    words = ("spack", "mirror", tmp_path / "mirror", "--suite", "osu", "--system", "bare")
    done = site.acceptance(*words)
    assert (done.status, done.output) == (2, "")
    assert done.errors == "acceptance spack mirror: Spack builds none of osu for bare\n"
    assert not (tmp_path / "mirror").exists()


def test_version_has_the_commit(site):
    result = site.acceptance("--version")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    assert result.status == 0
    assert re.fullmatch(rf"acceptance \d+\.\d+\.\d+ \(commit .*{commit}.*\)\n", result.output)


@pytest.mark.parametrize(
    ("word", "answer"),
    [("nightli", "did you mean nightly?"), ("xyzzy", "there are nightly, ")],
)
def test_a_misspelt_subcommand_is_answered_with_a_similar_one(site, word, answer):
    result = site.acceptance(word, "--dry-run")
    assert result.status == 2
    assert result.errors.splitlines()[-1].partition(f"no command '{word}'; ")[2].count(answer)


def test_what_a_second_word_takes_stands_behind_it(capsys):
    """The parser of the second word would put its defaults in place of what stands before it."""
    for line in (["fabric", "--system", "x", "accept", "--reason", "r"],
                 ["sessions", "-C", "x", "prune", "--keep", "730"]):  # fmt: skip
        with pytest.raises(SystemExit, match="2"):
            parse(line)
        assert "its options stand behind" in capsys.readouterr().err
    assert parse(["fabric", "accept", "--system", "x", "--reason", "r"]).system == "x"


def test_what_follows_the_dashes_is_of_reframe():
    assert parse(["accept", "--dry-run", "--", "-n", "verify"]).reframe == ["-n", "verify"]
    assert parse(["nightly", "--", "-p", "--", "x"]).reframe == ["-p", "--", "x"]


def every_value():
    """Yield each command line, but for the value of one of its options or positional arguments.

    One of several values comes after one that is legal.
    """
    for command, parser in parsers():
        before = [*command]
        for action in parser._actions:
            if action.nargs == 0 or isinstance(action, argparse._SubParsersAction):
                continue
            legal = next(iter(action.choices), "1") if action.choices else "1"
            if option := action.option_strings[-1:]:
                yield [*command, *option], option[0]
                if action.nargs in ("+", "*"):
                    yield [*command, *option, legal], option[0]
                continue
            assert action.nargs in (None, "?", "*"), action
            if command != ("accept",):  # there a word is a second one
                yield before[:], action.metavar or action.dest
            before.append(legal)


@pytest.mark.parametrize(("words", "argument"), [(words, name) for words, name in every_value()])
def test_an_empty_value_is_no_value(words, argument, capsys):
    """A variable that a script never set must not mean all, or the last one."""
    lines = [[*words, value] for value in ("", " ")]
    if words[-1].startswith("--"):
        lines.append([*words[:-1], f"{words[-1]}="])
    for line in lines:
        with pytest.raises(SystemExit, match="2"):
            parse(line)
        printed = capsys.readouterr()
        assert printed.out == ""
        error = printed.err.splitlines()[-1]
        assert re.match(
            rf"acceptance [\w -]+: error: argument (.*/)?{re.escape(argument)}: ", error
        )


@pytest.mark.parametrize("nodes", ["node1,,node2", ",node1", "node1,", ", "])
def test_an_empty_name_in_a_list_is_refused(nodes, capsys):
    with pytest.raises(SystemExit, match="2"):
        parse(["accept", "--nodes", nodes])
    assert f"argument --nodes: {nodes!r} has an empty name" in capsys.readouterr().err


def test_an_empty_variable_is_not_set(monkeypatch):
    names = ("ACCEPTANCE_VAR", "ACCEPTANCE_REFERENCE", "ACCEPTANCE_SYSTEMS")
    assert Workspace.of(dict.fromkeys(names, "")) == Workspace.of({})


@pytest.mark.parametrize(
    ("line", "completions"),
    [
        ("acceptance nigh", {"nightly "}),
        ("acceptance gate --format js", {"json "}),
        ("acceptance gate --format junit --se", {"--session", "--send"}),
        ("acceptance alerts a", {"ack "}),
        ("acceptance sessions prune --ke", {"--keep "}),
    ],
)
def test_shells_complete_commands_and_options(site, tmp_path, line, completions):
    """The protocol of argcomplete: the line so far in, what may follow out."""
    answer = tmp_path / "answer"
    done = site.run(
        "acceptance",
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_IFS="\n",
        _ARGCOMPLETE_SHELL="bash",
        _ARGCOMPLETE_STDOUT_FILENAME=str(answer),
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
        COMP_TYPE="9",
    )
    assert (done.status, done.output) == (0, ""), done.errors
    assert set(answer.read_text().splitlines()) == completions


def test_doctor_names_what_is_there_and_what_is_missing(site, recorded):
    site.replay(recorded("imb/IMB-MPI1_PingPong.impi.txt"))
    result = site.acceptance("doctor", "--format", "json")
    assert result.status == 0
    found = {(row["what"], row["state"]): row for row in result.data}
    assert found["system", "ok"]["found"].startswith("replay")
    assert "IMB-MPI1" in found["Intel MPI Benchmarks", "ok"]["found"]
    for row in result.data:
        assert row["state"] == "ok" or row["remedy"], row
    rows = [*csv.DictReader(site.acceptance("doctor", "--format", "csv").output.splitlines())]
    assert [(row["what"], row["what to do"]) for row in rows] == [
        (row["what"], row["remedy"]) for row in result.data
    ]


def test_doctor_fails_for_what_is_broken(site, recorded):
    site.replay(recorded("imb/IMB-MPI1_PingPong.impi.txt")).unlink()
    result = site.acceptance("doctor", "--format", "json")
    assert result.status == 1
    (row,) = (row for row in result.data if row["state"] == "BROKEN")
    assert "IMB-MPI1: missing or not executable" in row["found"]


def test_doctor_survives_a_configuration_that_does_not_load(site):
    site.add_system("site_configuration = {}; raise RuntimeError('half edited')")
    result = site.acceptance("doctor")
    assert result.status == 1
    assert "half edited" in result.output
    assert "site.py" in result.output


def test_no_line_of_the_doctor_is_wider_than_a_terminal_and_nothing_is_cut(site):
    rows = site.acceptance("doctor", "--system", "koop2008", "--format", "json").data
    text = site.acceptance("doctor", "--system", "koop2008").output
    # A path stays whole.
    assert all(len(line) <= 100 or str(site.var) in line for line in text.splitlines())
    for row in rows:
        assert row["remedy"] in " ".join(text.split())


def test_the_line_of_the_readme_makes_bash_complete(site):
    (line,) = re.findall(r"`(eval .*)`", (ROOT / "README.md").read_text())
    result = shell(site, f". {ROOT}/env.sh && {line} && complete -p acceptance")
    assert (result.status, result.errors) == (0, "")
    assert "_python_argcomplete" in result.output


def test_references_of_a_partition(site):
    result = site.acceptance("references", "--partition", "koop2008:qdr-pcie2", "--format", "json")
    peaks = {
        row["benchmark"]: row["value"]
        for row in result.data
        if row["metric"] == "bandwidth_peak" and row["relation"] == "="
    }
    assert peaks == {"osu.bw": 2575.0, "osu.bibw": 5023.0}


def test_references_as_csv_are_the_file_of_the_paper(site):
    result = site.acceptance("references", "--paper", "kandadai2009", "--format", "csv")
    assert result.output == (ROOT / "reference/kandadai2009.csv").read_text()


@pytest.mark.parametrize(
    "option",
    [("--paper", "koop2009"), ("--partition", "koop2008:edr-pcie2"), ("--benchmark", "osu.bww")],
)
def test_references_of_nothing_name_what_there_is(site, option):
    result = site.acceptance("references", *option)
    assert result.status == 2
    assert "there are" in result.errors
    assert re.search("did you mean .*(koop2008|osu.bw)", result.errors)


def test_malformed_references_are_refused_with_file_and_line(site, tmp_path):
    (tmp_path / "tolerances.yaml").write_text("published: {}\n")
    (tmp_path / "papers.bib").write_text("@misc{koop2008, title={x}}\n")
    (tmp_path / "systems.csv").write_text("system,partition\n")
    result = site.acceptance("references", ACCEPTANCE_REFERENCE=str(tmp_path))
    assert result.status == 2
    assert f"{tmp_path}/systems.csv:1: the header is not" in result.errors


def shell(site, script):
    return site.run("bash", "-c", script, RFM_CONFIG_FILES="")


def test_a_full_disk_under_its_output_is_a_line_and_no_verdict(site):
    done = site.run("bash", "-c", "acceptance references > /dev/full")
    assert done.status == 2
    (line,) = done.errors.splitlines()
    assert "No space left on device; make room there" in line


def test_env_sh_makes_plain_reframe_work(site):
    result = shell(site, f". {ROOT}/env.sh && reframe --show-config=storage/0/sqlite_db_file")
    assert result.status == 0, result.errors
    assert str(site.var / "results.db") in result.output


def test_env_sh_sourced_twice_changes_nothing_more(site):
    result = shell(site, f'. {ROOT}/env.sh; a=$PATH; . {ROOT}/env.sh; [ "$a" = "$PATH" ]')
    assert result.status == 0


def test_env_sh_of_a_clone_that_is_not_set_up_says_what_to_do(site, tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/settings.py").touch()
    (tmp_path / "env.sh").write_text((ROOT / "env.sh").read_text())
    result = shell(site, f". {tmp_path}/env.sh")
    assert "run 'make setup' once" in result.errors


def test_make_without_a_target_shows_the_targets(site):
    result = site.run("make")
    for target in ("run", "test", "check", "bench", "spack", "mirror"):
        assert any(line.startswith(target) for line in result.output.splitlines())


def test_make_mirror_without_a_place_says_so(site):
    result = site.run("make", "mirror")
    assert result.status == 2
    assert "make mirror DEST=folder" in result.errors


@needs_wheels
def test_make_run_ends_with_a_verdict_and_a_report(site):
    """The whole walk: ReFrame, real IMB, the database, the gate and the report."""
    result = site.run(
        "make", "run",
        "ARGS=-p wheels -n 'PingPong|Barrier' -S ImbMpi1.msglog=0:4",
    )  # fmt: skip
    assert result.status == 0, result.output + result.errors
    *_, verdict, _, last = result.output.rstrip().splitlines()
    assert verdict.startswith("VERDICT: pass")
    assert last.startswith(f"report: {site.var}/report/index.html (")
    assert '<p class="said">pass' in (site.var / "report/index.html").read_text()
    # Nothing else judges what a machine without references measures; a busy one says that it is.
    assert "by machine itself" in result.output or "the machine was too busy" in result.output
    assert (
        "suite       imb (IMB 2021.11): 2 cases, provided by local:default+wheels" in result.output
    )


def test_make_run_fails_when_nothing_matches(site):
    result = site.run("make", "run", "ARGS=-n nothing")
    assert result.status == 2, "make's own status for a failed recipe"
    assert "VERDICT: FAIL" in result.output
    assert f"acceptance report: {site.database}: no such file" in result.errors


def test_make_run_is_no_earlier_run_when_reframe_does_not_start(site, recorded):
    site.replay(recorded("imb/IMB-MPI1_PingPong.impi.txt"))
    site.reframe("-c", "checks", "-r", "-n", "PingPong.*intra-node")
    assert site.gate()[0] == 0
    result = site.run("make", "run", "ARGS=--no-such-option")
    assert result.status == 2
    assert "ended before it left a mark" in result.output
    # What is on the first page is on this run, not on the one before that passed.
    first = (site.var / "report/index.html").read_text()
    assert "ended before it left a mark" in first
    assert '<p class="said">FAIL</p>' in first


def test_the_tree_names_no_machine_and_no_registry():
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    words = ("files.python" + "hosted", "pypi" + ".org", "/ro" + "ot/", "/wo" + "rk/")
    for name in filter(None, tracked):
        text = (ROOT / name).read_text(errors="replace")
        assert not [word for word in words if word in text], name


def test_a_utils_elsewhere_on_the_path_disturbs_nothing(site, http, tmp_path):
    (tmp_path / "utils.py").write_text("raise RuntimeError('of somebody else')\n")
    environment = {
        "PYTHONPATH": str(tmp_path),
        "ACCEPTANCE_ALERTS": f"hook={http.url}",
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    shown = site.run("acceptance", "--help", **environment)
    assert (shown.status, shown.errors) == (0, "")
    # Another process of Python delivers it, with the same path.
    delivered = site.run("acceptance", "alerts", "--test", **environment)
    assert (delivered.status, delivered.output) == (0, "hook: ok\n"), delivered.errors
    assert http.subjects == [f"Test of the alerts of {socket.gethostname()}"]


@pytest.mark.parametrize("words", [words for words, _ in parsers()], ids=" ".join)
def test_the_parser_of_one_command_is_that_of_all(words):
    (alone,) = (parser for each, parser in parsers(_parser(words[0])[1]) if each == words)
    assert alone.format_help() == dict(parsers())[words].format_help()
