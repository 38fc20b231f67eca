"""How ReFrame ends: by a stop that arrives while it writes its log, and with a preempted job."""

import contextlib
import functools
import importlib
import inspect
import os
import signal
from types import SimpleNamespace

import pytest
import reframe
from reframe.core.pipeline import RegressionTestPlugin
from reframe.core.schedulers import slurm
from reframe.core.variables import VarSpace
from reframe.utility import typecheck as typ

from acceptance.core import machine
from checks import reframe_patches
from tests import stored as results
from tests.conftest import DATA

CASE = ("-c", "checks", "-r", "-n", r"Barrier%np=2%placement=intra-node")

#: Sends ReFrame a signal while one of its handlers formats the line that ends a case.
SIGNAL = """

import logging, os, signal

class Record(logging.LogRecord):
    def getMessage(self):
        text = super().getMessage()
        if "[       OK ]" in text and not os.environ.pop("SENT", ""):
            os.environ["SENT"] = "yes"
            os.kill(os.getpid(), signal.{name})
        return text

logging.setLogRecordFactory(Record)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_reframe_stops_though_it_was_writing_its_log(site, name):
    site.replay((DATA / "imb/IMB-MPI1_Barrier.impi.txt").read_text())
    system = site.folder / "site.py"
    system.write_text(system.read_text() + SIGNAL.format(name=name))
    done = site.reframe(*CASE)
    assert done.status == 1
    assert "Logging error" not in done.errors
    assert "force exit error: received signal" in done.output + done.errors


#: Sends ReFrame a signal while it keeps a case's output, where its exception is kept: so does
#: `shutil.copy` of Python 3.11 when it comes while it asks a file for its number.
KEPT = """

import os, shutil, signal

def copy(*names, real=shutil.copy, **options):
    try:
        if not os.environ.pop("SENT", ""):
            os.environ["SENT"] = "yes"
            os.kill(os.getpid(), signal.{name})
    except Exception:
        pass
    return real(*names, **options)

shutil.copy = copy
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_reframe_stops_though_what_told_it_so_was_kept(site, name):
    program = site.replay((DATA / "imb/IMB-MPI1_Allreduce.impi.txt").read_text())
    # The second case runs while the first one's output is kept.
    program.write_text(
        program.read_text().replace("cat ", 'case "$*" in *Barrier*) sleep 30;; esac\ncat ')
    )
    system = site.folder / "site.py"
    usual = system.read_text()
    system.write_text(usual + KEPT.format(name=name))
    done = site.reframe("-c", "checks", "-r", "-n", "(Barrier|Allreduce)%np=2%placement=intra-node")
    # The gate, which reads it too, is called in the process of the tests.
    system.write_text(usual)
    assert done.status == 1
    assert "force exit error: received signal" in done.output + done.errors
    session = results.session(site.database)
    assert session.aborted == 1
    assert [case.result for case in session.cases] == ["pass", "abort"]
    verdict = site.gate()[1]
    assert [verdict[name] for name in ("selected", "passed", "failed", "not_run")] == [2, 1, 0, 1]
    (told,) = [each for each in verdict["problems"] if each["kind"] == "unfinished"]
    assert told["text"].startswith("1 case aborted; the first one: ImbMpi1 %benchmark=Barrier ")


def test_other_faults_of_a_log_are_told_and_stop_nothing(site):
    site.replay((DATA / "imb/IMB-MPI1_Barrier.impi.txt").read_text())
    system = site.folder / "site.py"
    fault = SIGNAL.format(name="SIGTERM").replace(
        "os.kill(os.getpid(), signal.SIGTERM)", 'raise OSError("disk full")'
    )
    system.write_text(system.read_text() + fault)
    done = site.reframe(*CASE)
    assert done.status == 0
    assert "disk full" in done.errors
    assert "Traceback" not in done.errors
    told = [line for line in done.errors.splitlines() if "cannot be written: disk full" in line]
    assert len(told) == 1, "once, whatever is not written of it"


def test_a_program_that_crashes_after_a_full_table_has_measured_nothing(site):
    program = site.replay((DATA / "imb/IMB-MPI1_Barrier.impi.txt").read_text())
    program.write_text(program.read_text() + "kill -SEGV $$\n")
    assert site.reframe(*CASE).status == 1
    status, verdict = site.gate()
    (case,) = results.session(site.database).cases
    assert (status, case.result, case.metrics) == (1, "fail", ())
    assert "case-failed" in {problem["kind"] for problem in verdict["problems"]}


def test_a_process_that_a_program_leaves_behind_holds_nothing_up(site):
    program = site.replay((DATA / "imb/IMB-MPI1_Barrier.impi.txt").read_text())
    program.write_text(program.read_text() + f"sleep 3000 & echo $! > {site.folder}/left\n")
    done = site.reframe(*CASE, "-S", "time_limit=120s")
    with contextlib.suppress(ProcessLookupError):
        os.kill(int((site.folder / "left").read_text()), signal.SIGKILL)
    assert done.status == 0, done.output
    assert site.gate()[0] == 0


@pytest.mark.parametrize(
    ("state", "ended"),
    [("PREEMPTED", True), ("PREEMPTED,COMPLETED", True), ("COMPLETED", True),
     ("PENDING", False), ("PREEMPTED,RUNNING", False), ("", False), (None, False)],
)  # fmt: skip
def test_a_job_that_slurm_took_the_nodes_from_has_ended(state, ended):
    reframe_patches.apply()
    assert slurm.slurm_state_completed(state) == ended


@pytest.fixture
def warnings(monkeypatch):
    """Collect what is warned of."""
    found = []
    logger = SimpleNamespace(warning=found.append)
    monkeypatch.setattr(reframe_patches, "getlogger", lambda: logger)
    monkeypatch.setattr(reframe, "patched", "", raising=False)
    return found


def test_each_patch_fits_the_reframe_of_the_lock_file(warnings):
    reframe_patches.apply()
    reframe_patches.apply()
    assert warnings == []
    for patch in reframe_patches.PATCHES:
        module, _, path = patch.target.partition(":")
        function = functools.reduce(getattr, path.split("."), importlib.import_module(module))
        assert function.patched
        assert patch.until


def test_a_further_case_of_a_class_has_the_variables_that_reframe_gives_it(monkeypatch):
    original, classes = inspect.unwrap(VarSpace.inject), []

    def inject(space, case, check):
        classes.append(check)
        original(space, case, check)

    monkeypatch.setattr(VarSpace, "inject", reframe_patches.inject_values(inject))

    class Made(RegressionTestPlugin):
        values = variable(typ.List[int], value=[1])
        number = variable(int, value=2)
        nowhere = variable(int)

    class Other(Made):
        values = [5]

    first, second, other = Made(), Made(), Other()
    first.values.append(2)
    Made.number = 3  # as `-S` does
    third, another = Made(), Other()
    assert classes == [Made, Other]
    assert (second.values, third.values, another.values) == ([1], [1], [5])
    assert (second.number, third.number, other.number, another.number) == (2, 3, 2, 2)
    with pytest.raises(TypeError, match="'number'"):
        third.number = "three"
    with pytest.raises(AttributeError):
        third.nowhere  # noqa: B018
    third.nowhere = 4
    assert third.nowhere == 4


def test_one_case_of_each_class_of_ours_is_looked_at_and_all_of_others():
    class Own:
        pass

    class Ours(Own):
        benchmark_name = "made.one"

    class Bad(Ours):
        pass

    looked_at = []

    def validate(loader, case):
        looked_at.append(case)
        return type(case) is not Bad

    once = reframe_patches.validate_once(validate)
    cases = [Ours(), Ours(), Own(), Own(), Bad(), Bad()]
    assert [once(None, case) for case in cases] == [True] * 4 + [False] * 2
    assert looked_at == [cases[0], *cases[2:]]


def test_another_reframe_is_reported_with_what_to_do(warnings):
    reframe_patches.apply("4.12.0")
    (warning,) = warnings
    oldest, first = machine.supported_reframe()
    assert f"4.12.0 is not supported: it must be at least {oldest}, and before {first}" in warning
    assert "reframe_patches.py" in warning


def test_a_patch_of_what_is_called_in_another_way_does_not_fit_and_no_verdict_is_green(warnings):
    by_two = reframe_patches.Patch(
        "reframe.utility.osext:tail", lambda tail: lambda one: tail(one), "shows all", "never",
        judges="whether it was long",
    )  # fmt: skip
    assert by_two.unfit() == "too many positional arguments"
    assert by_two.lost.endswith("or does it otherwise; no verdict knows whether it was long")
    assert all(patch.unfit() == "" for patch in reframe_patches.PATCHES)
    assert reframe_patches.unknown() == ()


@pytest.mark.parametrize("target", ["reframe.core.schedulers.slurm:gone", "reframe.gone:gone"])
def test_a_patch_that_does_not_fit_is_reported_with_what_it_changes(warnings, monkeypatch, target):
    patch = reframe_patches.Patch(target, None, "waits for ever", "never")
    monkeypatch.setattr(reframe_patches, "PATCHES", (patch,))
    reframe_patches.apply()
    (warning,) = warnings
    assert f"no patch of {target} (" in warning
    assert "waits for ever" in warning
