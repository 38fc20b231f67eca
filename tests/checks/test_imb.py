"""`checks/imb.py` through real ReFrame: real runs of IMB, and its recorded outputs, mutilated."""

import json
import re
import sqlite3
import subprocess
import time
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from acceptance.core.extras import MODES
from acceptance.detection.constants import VANISHED_BEFORE
from acceptance.ledger import results_db
from acceptance.machine.partition_size import process_counts, usable_cores
from acceptance.suites import SUITES, imb
from checks.outputs import Outputs
from tests import stored as results
from tests.conftest import needs_wheels, recorded_text
from tests.recorded import runs
from tests.together import Together

PINGPONG = "imb/IMB-MPI1_PingPong.impi.txt"


WORDS = ("-c", "checks/imb.py", "-r", "-n", "PingPong.*%placement=intra-node")

#: What is run as usual.
USUAL = Together(*WORDS)


def run_pingpong(site, output, *options):
    """Replay an output as that of PingPong; return ReFrame's result and the gate's."""
    if output is not None:
        site.replay(output)
    run = site.reframe(*WORDS, *options)
    return run, site.gate()


def replay(site, output, **named):
    """Replay an output as that of PingPong; return the program."""
    return site.replay(output, **named)


def only_problem(verdict, kind):
    assert [problem["kind"] for problem in verdict["problems"]] == [kind, "nothing-measured"]
    assert verdict["problems"][1]["text"] == "no case of imb measured anything"
    return verdict["problems"][0]["text"]


USUAL.add("whole", replay, recorded_text(PINGPONG))


def test_a_recorded_output_is_measured_completely(part):
    site, run = part(USUAL, "whole")
    status, verdict = site.gate()
    assert (run.status, status) == (0, 0), run.output
    (case,) = results.session(site.database).cases
    values = {metric.name: (metric.value, metric.unit) for metric in case.metrics}
    assert values["latency_0"] == (0.23, "us")
    assert values["bandwidth_4194304"] == (3125.92, "MB/s")
    assert values["bandwidth_peak"] == (
        max(v for v, unit in values.values() if unit == "MB/s"),
        "MB/s",
    )
    assert len(values) == 24 + 23 + 1
    assert values.keys() == case.declared.keys()
    assert verdict["recorded"] == 48
    assert verdict["judged"] == {}
    (told,) = (each for each in verdict["findings"] if each["kind"] == "links-not-judged")
    assert (told["place"], told["found"]) == (["replay:default"], "it states no fabric")
    line = "links       replay:default: not judged: it states no fabric"
    assert line in site.acceptance("gate").output
    script = next((site.var / "output").rglob("rfm_job.out")).read_text()
    told = re.search("# Date +: (.*)", script)[1]
    assert case.provenance == {
        "suite": "IMB 2021.11",
        "date": f"{datetime.strptime(told, '%a %b %d %H:%M:%S %Y'):%F %T}",
        "mpi_standard": "4.1",
        "placement": "not verified",
        "memory": "not compared: the partition states no memory_bandwidth and no cache",
    }


def with_slow_memory(site):
    site.replay(recorded_text(PINGPONG))
    config, stated = site.folder / "site.py", '"memory_bandwidth": 6000, "cache": 65536, '
    config.write_text(
        config.read_text().replace('"extras": {"nodes"', f'"extras": {{{stated}"nodes"')
    )


USUAL.add("slow memory", with_slow_memory)


def test_a_bandwidth_above_what_the_memory_of_the_node_moves_fails(part):
    site, run = part(USUAL, "slow memory")
    status, verdict = site.gate()
    assert (run.status, status) == (1, 1), run.output
    assert re.search(
        r"implausible: bandwidth_\d+ is [\d.]+ MB/s, memory of 6000 MB/s and caches of 65536 bytes",
        verdict["problems"][0]["text"],
    )
    (case,) = results.session(site.database).cases
    assert case.provenance["memory"].startswith("compared from 131072 bytes on")


def one_benchmark(recorded, component, name):
    """Return the output of a run of one benchmark of a component, 64 and 128 bytes."""
    return dict(runs("imb", recorded(f"imb/IMB-{component}.openmpi.txt")))[name]


#: Benchmark -> the metrics that its recorded output has, those of 64 bytes.
COMPONENTS = {
    "nbc.Iallreduce": "time_64 overall_64 overlap_64",
    "nbc.Ibarrier": "time overall overlap",
    "rma.Unidir_put": "latency_64 bandwidth_64 aggregate_latency_64 aggregate_bandwidth_64",
    "rma.Fetch_and_op": "latency_4 bandwidth_4 aggregate_latency_4 aggregate_bandwidth_4",
    "ext.Accumulate": "time_64 aggregate_time_64",
    "p2p.Corandom": "latency_64 bandwidth_64 message_rate_64",
    "mt.ExchangeMT": "time_64 bandwidth_64",
    "io.S_Write_Indv": "io_time_64 io_bandwidth_64 aggregate_io_time_64 aggregate_io_bandwidth_64",
    "io.C_IRead_Expl": "io_time_64 io_overall_64 overlap_64",
    "halo.simple_halo": "time_64 bandwidth_64",
}


def component_of(site, benchmark, change=("", "")):
    """Replay what a component prints of a benchmark, with something changed."""
    row = imb.BENCHMARKS[benchmark]
    text = one_benchmark(recorded_text, row.program.removeprefix("IMB-"), row.name)
    assert change[0] in text
    for program in ("IMB-MPI1", row.program):
        site.replay(text.replace(*change) if change[0] else text, program=program)
    path = site.folder / "site.py"
    stated = '"extras": {"versions": {"imb": "2021.11"}, "suites"'
    path.write_text(path.read_text().replace('"extras": {"suites"', stated))
    (site.folder.parent / "files").mkdir(exist_ok=True)


def of_components(benchmarks, grid, repetitions):
    """Return what runs components with two sizes, which write files into a folder for all."""
    return Together(
        *("-c", "checks/imb.py", "-r", "-S", "mode=acceptance", "-S", "ImbMpi1.msglog=6:7"),
        *("-n", f"benchmark=({'|'.join(benchmarks)})%np=2%placement=intra-node"),
        *("-S", f"ImbMpi1.grid={grid}", "-S", f"ImbMpi1.repetitions={repetitions}"),
        *("-S", "ImbMpi1.folder={folder}/files"),
    )


OF_FILES = [benchmark for benchmark in COMPONENTS if benchmark.startswith("io.")]
WITH_FILES = of_components(OF_FILES, grid=1, repetitions=3)
OF_MESSAGES = [benchmark for benchmark in COMPONENTS if benchmark not in OF_FILES]
WITHOUT_FILES = of_components(OF_MESSAGES, grid=1, repetitions=20)
for _benchmark in COMPONENTS:
    _together = WITH_FILES if _benchmark in OF_FILES else WITHOUT_FILES
    _together.add(_benchmark, component_of, _benchmark, case=f"={_benchmark} ")


@pytest.mark.parametrize("benchmark", COMPONENTS)
def test_each_component_gives_its_metrics(part, benchmark):
    component = imb.BENCHMARKS[benchmark].program.removeprefix("IMB-")
    site, run = part(WITH_FILES if benchmark in OF_FILES else WITHOUT_FILES, benchmark)
    files = site.folder.parent / "files"
    assert run.status == 0, run.output
    (case,) = results.session(site.database).cases
    found = {metric.name: metric.value for metric in case.metrics}
    assert {*COMPONENTS[benchmark].split()} <= found.keys() == case.declared.keys()
    assert all(value > 0 for value in found.values())
    assert not [*files.iterdir()], "the files of a run are removed"
    assert case.provenance.get("suite") == (None if component == "HALO" else "IMB 2021.11")
    unknown = [each.text for each in case.findings if each.kind == "version-unknown"]
    assert len(unknown) == (component == "HALO")
    assert all("states version 2021.11 of imb, and rfm_job.out tells none" in t for t in unknown)
    undated = case.provenance["date"].startswith("not told: ")
    assert undated == (component in ("MT", "HALO"))
    script = next((site.var / "output").rglob("rfm_job.sh")).read_text()
    assert (f"mktemp -d -p {files})" in script) == (component == "IO")


def test_a_program_that_an_installation_is_without_is_told_once(site, recorded):
    site.replay(recorded(PINGPONG))
    run = site.reframe("-c", "checks/imb.py", "-L", "-S", "mode=acceptance")
    assert run.status == 0, run.output
    (told,) = re.findall(r"left out: imb\.py with recorded: no (.*)", run.output)
    names, _, why = told.partition(": ")
    programs = {f"IMB-{name}" for name in "NBC RMA EXT MPI4 MT P2P".split()}
    later = {"SendRecv_Replace (2021.1)", "Stencil2D (2019 Update 6)"}
    assert {*names.split(", ")} == programs | later
    assert re.fullmatch(rf"{site.folder}/bin/IMB-\w+: missing or not executable", why)
    assert "%benchmark=PingPongAnySource" in run.output
    assert "%benchmark=Reduce_local" in run.output, "who knows what a script runs"
    assert "%benchmark=nbc." not in run.output


def test_a_benchmark_that_an_old_imb_is_without_is_told_once(site, recorded):
    script = site.replay(recorded(PINGPONG))
    script.write_text(f"{script.read_text()}# MPI_Init MPI_Reduce_scatter_block\n")
    listed = ("-c", "checks/imb.py", "-L", "-S", "mode=acceptance")
    run = site.reframe(*listed)
    assert run.status == 0, run.output
    told = "left out: imb.py with recorded: no Reduce_local (2019 Update 2): "
    assert run.output.count(f"{told}{script} is older than 2019 Update 2\n") == 1, run.output
    assert "%benchmark=Reduce_local" not in run.output
    assert "%benchmark=Reduce_scatter_block" in run.output
    for night in ("-Smode=nightly", "--setvar=ImbMpi1.mode=nightly"):
        run = site.reframe(*listed[:-2], night)
        assert "%benchmark=Alltoall" in run.output
        assert told not in run.output


def test_programs_that_want_to_be_told_more_are_no_case_without_and_say_so_once(site, recorded):
    for program in ("IMB-MPI1", "IMB-IO", "IMB-HALO"):
        site.replay(recorded(PINGPONG), program=program)
    listed = ("-c", "checks/imb.py", "-L", "-S", "mode=acceptance")
    run = site.reframe(*listed)
    for family, option in (("io", "folder=/scratch"), ("halo", "grid=2.2.1")):
        told = f"no case of IMB-{family.upper()} without, for example, -S ImbMpi1.{option}"
        assert run.output.count(told) == 1, run.output
        assert f"%benchmark={family}." not in run.output
    run = site.reframe(*listed, "-S", "ImbMpi1.folder=/scratch", "-S", "ImbMpi1.grid=1")
    assert "without, for example" not in run.output
    assert "%benchmark=io." in run.output
    assert "%benchmark=halo." in run.output
    run = site.reframe(*listed, "-S", "ImbMpi1.grid=3.1")
    assert run.output.count("no case of IMB-HALO: no job here fills the grid 3.1") == 1
    assert "%benchmark=halo." not in run.output


def test_a_folder_that_takes_nothing_ends_a_job_of_imb_io_before_it_measures(site, recorded):
    row = imb.BENCHMARKS["io.S_Write_Indv"]
    for program in ("IMB-MPI1", row.program):
        site.replay(one_benchmark(recorded, "IO", row.name), program=program)
    options = ("-c", "checks/imb.py", "-r", "-n", "=io.S_Write_Indv%np=2%placement=intra-node")
    options += ("-S", "mode=acceptance", "-S", "ImbMpi1.msglog=6:7")
    gone = site.folder / "gone"
    run = site.reframe(*options, "-S", f"ImbMpi1.folder={gone}")
    assert run.status == 1
    assert re.search(rf"exited with status 1: mktemp: .*{gone}/", run.output)
    site.reframe(*options, "-S", f"ImbMpi1.folder={site.folder}")
    script = max(site.var.rglob("rfm_job.sh"), key=lambda path: path.stat().st_mtime).read_text()
    before = script.partition("files=")
    steps = (before[1] + before[2]).partition('rm "$files/room"')[0]
    for limit, status in (("unlimited", 0), ("1", 1)):
        shell = f"trap '' XFSZ; ulimit -f {limit}; {steps}"
        assert subprocess.run(["bash", "-c", shell], capture_output=True).returncode == status


NOT_ASKED_FOR = [
    ("mt.PingPongMT", "(threads: 1)", "(threads: 2)", "2 threads a process instead of 1"),
    ("halo.simple_halo", "dimensions: 1", "dimensions: 3", "3 dimensions instead of 1"),
]
WITH_A_GRID = of_components([each[0] for each in NOT_ASKED_FOR], grid=2, repetitions=20)
for _benchmark, _old, _new, _ in NOT_ASKED_FOR:
    WITH_A_GRID.add(_benchmark, component_of, _benchmark, (_old, _new), case=f"={_benchmark} ")


@pytest.mark.parametrize(("benchmark", "old", "new", "words"), NOT_ASKED_FOR)
def test_threads_and_dimensions_are_those_that_were_asked_for(part, benchmark, old, new, words):
    _, run = part(WITH_A_GRID, benchmark)
    assert run.status == 1
    assert f"{benchmark}: ran with {words}" in run.output


OF_ANOTHER_JOB = [
    ("", "", False, r"time: 2026-11-20 22:08:13 instead of [-\d: ]+ to [-\d: ]+: '# Date"),
    (
        r"^( +\d+) +\d+(?= )",
        r"\1            1",
        True,
        r"repetitions of 0 bytes: 1 instead of 1000",
    ),
]
for _old, _new, _now, _words in OF_ANOTHER_JOB:
    _text = re.sub(_old, _new, recorded_text(PINGPONG), flags=re.MULTILINE)
    USUAL.add(_words, replay, _text, now=_now)


@pytest.mark.parametrize(("old", "new", "now", "words"), OF_ANOTHER_JOB)
def test_an_output_of_another_job_fails_the_case_and_joins_no_history(part, old, new, now, words):
    site, run = part(USUAL, words)
    status, verdict = site.gate()
    assert (run.status, status) == (1, 1), run.output
    assert re.search(words, only_problem(verdict, "case-failed")), verdict["problems"]
    (case,) = results.session(site.database).cases
    (found,) = case.findings
    what, _, told = words.partition(": ")
    assert (found.kind, found.what) == ("of-another-job", what)
    assert told.startswith(f"{found.found} instead of ")
    assert found.expected
    assert not case.metrics


@pytest.mark.parametrize("told", [None, 1.0])
def test_the_end_of_a_job_is_not_that_which_a_scheduler_tells_of_an_earlier_try(tmp_path, told):
    (tmp_path / "clock.out").write_text("1000 +0900\n")
    job = SimpleNamespace(submit_time=time.time() - 3600, completion_time=told)
    check = SimpleNamespace(
        stagedir=tmp_path, job=job, read_file=lambda name: (tmp_path / name).read_text()
    )
    begin, end = Outputs.job_time(check)
    assert (begin.timestamp(), begin.utcoffset()) == (1000, timedelta(hours=9))
    assert end - begin >= timedelta(hours=1)


def with_arguments(site):
    script = site.replay(recorded_text(PINGPONG))
    script.write_text(script.read_text().replace("$0 $*", "$0 $* -time 0.1"))


USUAL.add("arguments", with_arguments)


def test_arguments_that_were_not_asked_for_fail_the_case(part):
    site, run = part(USUAL, "arguments")
    status, verdict = site.gate()
    assert (run.status, status) == (1, 1), run.output
    asked = "PingPong -iter 1000 -npmin 2 -msglog 0:22"
    told = f"arguments: {asked} -time 0.1 instead of {asked}"
    assert told in only_problem(verdict, "case-failed")


def line_of(text, start):
    return next(line for line in text.splitlines() if line.strip().startswith(start))


ROW = line_of(recorded_text(PINGPONG), "1024 ")
MUTILATED = recorded_text(PINGPONG).replace(ROW, "  1024  1000  -0.5  1.0")
USUAL.add("mutilated", replay, MUTILATED)
USUAL.add("one less", replay, recorded_text(PINGPONG).replace(ROW + "\n", ""))
USUAL.add("others", replay, recorded_text("imb/IMB-MPI1_PingPong_Sendrecv_Allreduce.openmpi.txt"))


def test_a_mutilated_line_fails_the_case_and_is_named(part):
    """One for all: what else is refused is in `tests/utils/suites/test_imb.py`."""
    site, run = part(USUAL, "mutilated")
    status, verdict = site.gate()
    assert (run.status, status) == (1, 1)
    message = only_problem(verdict, "case-failed")
    assert "rfm_job.out:" in message
    assert "PingPong" in message
    assert "-0.5 is negative" in message
    assert ".py:" not in message, "our code is not the reader's business"
    assert verdict["recorded"] == 0


def test_a_missing_message_size_fails_the_case(part):
    site, _ = part(USUAL, "one less")
    status, verdict = site.gate()
    assert status == 1
    message = only_problem(verdict, "case-failed")
    assert "metrics missing: latency_1024, bandwidth_1024" in message


def test_a_benchmark_that_was_not_asked_for_fails_the_case(part):
    site, _ = part(USUAL, "others")
    status, verdict = site.gate()
    assert status == 1
    message = only_problem(verdict, "case-failed")
    assert "the output is that of Sendrecv, which was not asked for" in message


def test_a_missing_program_fails_the_case_with_its_path(site, recorded):
    site.replay(recorded(PINGPONG)).unlink()
    _, (status, verdict) = run_pingpong(site, None)
    assert status == 1
    first, second, *_ = verdict["problems"]
    assert (first["kind"], second["kind"]) == ("case-failed", "left-out")
    assert f"{site.folder}/bin/IMB-MPI1: missing or not executable" in first["text"]


def that_fails(site):
    script = site.replay(recorded_text(PINGPONG))
    script.write_text(script.read_text() + "exit 3\n")


USUAL.add("fails", that_fails)


def test_a_program_that_fails_after_a_complete_output_fails_the_case(part):
    site, _ = part(USUAL, "fails")
    status, verdict = site.gate()
    assert status == 1
    assert "exited with status 3" in only_problem(verdict, "case-failed")


def test_a_locked_database_fails_the_run_and_keeps_the_values(site, recorded, monkeypatch):
    run_pingpong(site, recorded(PINGPONG))
    # ReFrame waits so many seconds in place of the configuration's 20, and the gate in place of 10.
    site.environment["RFM_SQLITE_CONN_TIMEOUT"] = "1"
    monkeypatch.setattr(results_db, "TIMEOUT", 1.0)
    lock = sqlite3.connect(site.database)
    lock.execute("BEGIN EXCLUSIVE")
    try:
        _, (status, verdict) = run_pingpong(site, None)
    finally:
        lock.close()
    assert status == 1
    kinds = [problem["kind"] for problem in verdict["problems"]]
    assert kinds == ["lost", "not-stored"]
    assert "locked" in verdict["problems"][0]["text"]
    perflog = (site.var / "perflogs/replay/default/ImbMpi1.log").read_text()
    assert perflog.count("latency_0|0.23|us") == 2


def test_a_database_that_is_none_fails_the_run_and_keeps_the_values(site, recorded):
    site.var.mkdir()
    site.database.write_text("this is no database")
    _, (status, verdict) = run_pingpong(site, recorded(PINGPONG))
    assert status == 1
    assert "not-stored" in [problem["kind"] for problem in verdict["problems"]]
    assert "latency_0|0.23|us" in (site.var / "perflogs/replay/default/ImbMpi1.log").read_text()
    assert site.database.read_text() == "this is no database"


def baseline(folder, value, unit="us", metric="latency", parameters="np=2;message_size=0"):
    (folder / "sites").mkdir(exist_ok=True)
    (folder / "sites/replay.csv").write_text(
        "where,system,partition,benchmark,metric,parameters,relation,value,unit,printed,note\n"
        f"session of 2026-11-01,replay,default,imb.PingPong,{metric},{parameters},=,"
        f"{value},{unit},{value},\n"
    )


@pytest.fixture
def references(tmp_path):
    """A copy of the project's references that a test may add to."""
    import shutil

    from acceptance.core.paths import ROOT

    return shutil.copytree(ROOT / "reference", tmp_path / "reference")


@pytest.mark.parametrize(
    ("value", "passes"), [("0.23", True), ("0.22", True), ("0.2", False), ("0.5", False)]
)
def test_a_baseline_judges_in_both_directions(site, recorded, references, value, passes):
    baseline(references, value)
    site.environment["ACCEPTANCE_REFERENCE"] = str(references)
    _, (status, verdict) = run_pingpong(site, recorded(PINGPONG))
    assert status == (0 if passes else 1), verdict
    (case,) = results.session(site.database).cases
    judged = [metric for metric in case.metrics if metric.reference is not None]
    assert [metric.name for metric in judged] == ["latency_0"]
    assert judged[0].judged_by == "baseline replay, session of 2026-11-01"
    if passes:
        assert verdict["judged"] == {"baseline replay": 1}
        assert verdict["recorded"] == 47
    else:
        (problem,) = verdict["problems"]
        side = "above" if float(value) < 0.23 else "below"
        assert problem["kind"] == "case-failed"
        assert re.search(
            rf"latency_0: 0\.23 us is [\d.]+ % {side} {value} us "
            rf"\(baseline replay, session of 2026-11-01; at most [\d.]+ % {side}\)",
            problem["text"],
        )


def test_a_baseline_that_no_case_can_meet_fails_the_gate(site, recorded, references):
    baseline(references, "0.23", metric="latncy")
    site.environment["ACCEPTANCE_REFERENCE"] = str(references)
    run, (status, verdict) = run_pingpong(site, recorded(PINGPONG))
    assert (run.status, status) == (0, 1)
    (problem,) = verdict["problems"]
    assert problem["kind"] == "reference-unmet"
    assert "replay.csv:2: judges nothing: imb.PingPong has no metric 'latncy'" in problem["text"]


def test_a_published_value_judges_the_partition_it_was_published_for(site, recorded):
    text = recorded(PINGPONG)
    site.replay(text)
    config = site.folder / "site.py"
    config.write_text(
        config.read_text()
        .replace('"replay"', '"kandadai2009"')
        .replace('"name": "default"', '"name": "ib-ddr"')
    )
    run = site.reframe("-c", "checks/imb.py", "-r", "-n", "PingPong.*%placement=inter-node")
    assert run.status == 0, run.output
    (case,) = results.session(site.database).cases
    judged = {
        metric.name: (metric.reference, metric.judged_by)
        for metric in case.metrics
        if metric.reference is not None
    }
    origin = "published kandadai2009, Table 5"
    assert judged == {"latency_0": (2.01, origin), "bandwidth_peak": (1537.2124, origin)}


def test_malformed_references_fail_the_case_with_file_and_line(site, recorded, references):
    baseline(references, "fast")
    site.environment["ACCEPTANCE_REFERENCE"] = str(references)
    _, (status, verdict) = run_pingpong(site, recorded(PINGPONG))
    assert status == 1
    assert (
        "sites/replay.csv:2: value is 'fast'; it has to be a number above 0"
        in verdict["problems"][0]["text"]
    )


def test_a_malformed_sweep_is_refused_with_an_example(site, recorded):
    _, (status, verdict) = run_pingpong(site, recorded(PINGPONG), "-S", "ImbMpi1.msglog=22")
    assert status == 1
    assert "it must be low:high, for example 0:22" in verdict["problems"][0]["text"]
    told = SUITES["imb"].taken_in("nightly", "imb")
    assert f"ReFrame: {told}" in verdict["notes"], "what is left out is told all the same"
    assert "its patch of" not in str(verdict["notes"])


@needs_wheels
def test_every_benchmark_runs_for_real_and_gives_the_metrics_of_its_suite(site):
    run = site.reframe(
        "-c",
        "checks/imb.py",
        "-r",
        "-p",
        "wheels",
        "-S",
        "ImbMpi1.msglog=0:6",
        "-S",
        "ImbMpi1.repetitions=5",
        "-S",
        "mode=nightly",
    )
    status, verdict = site.gate()
    assert (run.status, status) == (0, 0), run.output
    session = results.session(site.database)
    found = {case.name.split("=")[1].split()[0] for case in session.cases}
    nightly = {
        name for name, row in imb.BENCHMARKS.items() if row.is_in("nightly") and row.family != "gpu"
    }
    assert found == nightly
    for case in session.cases:
        name = case.name.split("=")[1].split()[0]
        assert {
            metric.name.rsplit("_", 1)[0] if metric.name[-1].isdigit() else metric.name
            for metric in case.metrics
        } == set(imb.BENCHMARKS[name].stems) - {"bandwidth_peak"}
        assert case.keys["repetitions"] == "5"
    assert verdict["passed"] == verdict["selected"] == len(session.cases)


def test_a_run_by_hand_joins_no_series_of_another_meaning(site, recorded):
    """Fewer sizes have no peak, other repetitions are a key, and nothing has vanished by either."""
    usual = recorded(PINGPONG)
    site.replay(usual)
    rows = re.compile(r"^( +(\d+)) +\d+( .*\n)", re.MULTILINE)
    fewer = rows.sub(lambda row: row[0] if int(row[2]) <= 2**12 else "", usual)
    by_hand = {
        ("-S", "ImbMpi1.msglog=0:12"): fewer,
        ("-S", "ImbMpi1.repetitions=5"): rows.sub(r"\1            5\3", usual),
    }
    for options in (*[()] * VANISHED_BEFORE, *by_hand, ()):
        (site.folder / "output.txt").write_text(by_hand.get(options, usual))
        run, _ = run_pingpong(site, None, *options)
        assert run.status == 0, run.output
    status, verdict = site.gate()
    assert verdict["problems"] == []
    assert status == 0
    series = {
        (one["metric"], one["parameters"].get("repetitions")): len(one["samples"])
        for one in site.acceptance("history", "PingPong", "--format", "json").data
    }
    nights = VANISHED_BEFORE + 1
    assert series["bandwidth_peak", None] == nights
    assert series["bandwidth_peak", "5"] == 1
    assert (series["latency_8", None], series["latency_8", "5"]) == (nights + 1, 1)
    assert series["latency_8192", None] == nights


CUT = (
    "PingPong on 2 ranks: up to 1 MiB, since 4 MiB wants 8 MiB a process of 3 MiB "
    "(75 % of its part of the node)"
)


def has_memory(site, number):
    config = site.folder / "site.py"
    config.write_text(config.read_text().replace('"cores": 2', f'"cores": 2, "memory": {number}'))


def test_sizes_that_do_not_fit_into_the_memory_are_cut_and_told_and_vanish_with_a_word(
    site, recorded
):
    whole = recorded(PINGPONG)
    for _ in range(VANISHED_BEFORE):
        run_pingpong(site, whole)
    site.replay(re.sub(r"\n +(2097152|4194304) .*", "", whole))
    has_memory(site, 8 * 2**20)
    done, (_, verdict) = run_pingpong(site, None)
    assert done.status == 0, done.output
    case = results.session(site.database).cases[0]
    assert case.provenance["sizes"] == CUT
    assert {f"latency_{2**20}", f"bandwidth_{2**20}"} < case.declared.keys()
    # The largest of them stands for all.
    (told,) = re.findall(r"imb\.py on replay:default: sizes are cut: .*", done.output)
    assert re.search(r"cut: \w+ on 4 ranks: up to .*; \d+ more, each tells it$", told)
    assert verdict["notes"].count(f"ReFrame: {told}") == 1
    (gone,) = verdict["problems"]
    assert gone["kind"] == "vanished"
    assert f"latency_{2**22}: no longer measured since" in gone["text"]
    assert "(with 4 related metrics)" in gone["text"]


@pytest.mark.parametrize(
    ("memory", "sizes", "told"),
    [
        (2 * 2**20, "21:22", "2 MiB wants 4 MiB a process of 768 KiB"),
        (1, "0:22", "1 B wants 2 B a process of 0.75 B"),
    ],
)
def test_a_case_of_which_no_size_fits_fails_with_its_number_and_runs_nothing(
    site, recorded, memory, sizes, told
):
    program = site.replay(recorded(PINGPONG))
    program.write_text(f"#!/bin/sh\ntouch {site.folder}/ran\n")
    has_memory(site, memory)
    done, (status, verdict) = run_pingpong(site, None, "-S", f"ImbMpi1.msglog={sizes}")
    assert (done.status, status) == (1, 1)
    assert not (site.folder / "ran").exists()
    assert (
        f"PingPong on 2 ranks: no message fits, since {told} (75 % of its part of the node)"
    ) in only_problem(verdict, "case-failed")
    assert "its patch of" not in done.output, "there is no output to show the end of"


def listed(site, *options):
    """Return the benchmarks of which there is a case, and the whole output."""
    done = site.reframe("-c", "checks/imb.py", "-l", *options)
    return set(re.findall(r"%benchmark=(\S+)", done.output)), done.output


def test_a_mode_takes_what_its_rows_say_and_tells_once_how_many_it_leaves_out(site, recorded):
    rows = imb.BENCHMARKS
    for program in {row.program for row in rows.values()}:
        site.replay(recorded(PINGPONG), program=program)
    # Four cores, and neither a folder nor a grid nor a GPU.
    here = {
        key
        for key, row in rows.items()
        if (row.runs_with(2) or row.runs_with(4)) and row.family not in ("io", "halo", "gpu")
    }
    for mode in MODES:
        taken = {name for name, row in rows.items() if row.is_in(mode)}
        found, output = listed(site, "-S", f"mode={mode}")
        told = SUITES["imb"].taken_in(mode, "imb")
        assert found == taken & here
        assert bool(told) == (mode != "acceptance")
        assert output.count(told or "imb.py: mode") == bool(told)
    assert listed(site)[0] == listed(site, "-S", "mode=nightly")[0]
    config = site.folder / "site.py"
    config.write_text(config.read_text().replace('"cores": 2', '"cores": 2, "mode": "smoke"'))
    few, _ = listed(site)
    assert few == listed(site, "-S", "mode=smoke")[0]
    assert listed(site, "-t", "^mpi1$")[0] == {name for name in few if rows[name].family == "mpi1"}
    done, (status, verdict) = run_pingpong(site, None)
    assert (done.status, status) == (0, 0), "what a mode leaves out is no failure"
    told = f"ReFrame: {SUITES['imb'].taken_in('smoke', 'imb')}"
    assert verdict["notes"].count(told) == 1


def test_a_dry_run_is_no_failure(site, recorded):
    site.replay(recorded(PINGPONG))
    run = site.reframe("-c", "checks/imb.py", "--dry-run", "-n", "PingPong")
    assert run.status == 0, run.output


@pytest.mark.parametrize(
    ("pinned", "words"),
    [
        ("main=node1", "no partition main; there are: default"),
        ("default=node1", "of default no node can be named"),
    ],
)
def test_what_cannot_be_pinned_fails_with_its_reason(site, recorded, pinned, words):
    run, (status, verdict) = run_pingpong(site, recorded(PINGPONG), "-S", f"pinned={pinned}")
    assert (run.status, status) == (1, 1), run.output
    assert f"pinned={pinned}: {words}" in only_problem(verdict, "case-failed")


@pytest.mark.parametrize(
    ("nodes", "cores", "expected"),
    [
        (2, 8, {2: 1, 4: 2, 8: 4, 16: 8}),
        (3, 4, {2: 1, 4: 2, 8: 4, 12: 4}),
        (63, 2, {2: 1, 4: 1, 8: 1, 16: 1, 32: 1, 64: 2, 126: 2}),
    ],
)
def test_processes_are_spread_evenly_over_as_many_nodes_as_that_allows(
    site, recorded, nodes, cores, expected
):
    site.replay(recorded(PINGPONG))
    config = site.folder / "site.py"
    extras = f'"nodes": {nodes}, "cores": {cores}'
    config.write_text(config.read_text().replace('"nodes": 2, "cores": 2', extras))
    run = site.reframe(
        "-c", "checks/imb.py", "--dry-run", "-n", "Bcast.*%placement=inter-node",
    )  # fmt: skip
    assert run.status == 0, run.output
    (report,) = site.var.glob("reports/*.json")
    cases = json.loads(report.read_text())["runs"][0]["testcases"]
    assert {case["num_tasks"]: case["num_tasks_per_node"] for case in cases} == expected


@needs_wheels
def test_no_case_has_more_ranks_than_cores(site):
    run = site.reframe("-c", "checks/imb.py", "-l")
    counts = {
        int(line.split("%np=")[1].split()[0]) for line in run.output.splitlines() if "%np=" in line
    }
    assert counts == set(process_counts(usable_cores()))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"cores": 2', '"cores": "2"', "replay:default: cores is '2'; it has to be a whole number"),
        ('"nodes": 2', '"node": 2', "replay:default: unknown key 'node' in the extras"),
        (
            '"extras": {"suites"',
            '"extras": {"mpi": "open-mpi", "suites"',
            "replay:default+recorded: unknown mpi: 'open-mpi'; known: openmpi, ",
        ),
    ],
)
def test_nothing_runs_on_extras_that_nobody_reads(site, recorded, old, new, said):
    site.replay(recorded(PINGPONG))
    config = site.folder / "site.py"
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))
    run, (status, verdict) = run_pingpong(site, None)
    assert (run.status, status) == (1, 1)
    assert verdict["problems"][0]["kind"] == "case-failed"
    assert said in verdict["problems"][0]["text"]
    assert not list((site.var / "stage").rglob("rfm_job.sh"))
