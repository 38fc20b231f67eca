"""What the checks change in ReFrame: endless waits, missed stops, and lines that say little.

`apply()` is called once, by `checks/base.py`. Each patch says what ReFrame does by itself and when
the patch can go. A release of ReFrame that is not supported, and a patch that does not fit, are
reported as warnings where ReFrame starts: it runs on, without that patch. So it does where a patch
fails (`Patch.around`): whatever checks a site has of its own, they end as in plain ReFrame.
"""

import contextlib
import copy
import functools
import importlib
import inspect
import json
import logging
import sys
import traceback
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import reframe
from reframe.core.exceptions import ForceExitError, JobSchedulerError, LoggingError
from reframe.core.logging import MultiFileHandler, getlogger

from acceptance.core import machine
from acceptance.core.findings import UNPATCHED, Finding
from acceptance.core.paths import Workspace
from acceptance.core.state_files import StoredFault
from acceptance.rfm import half_made, marks, recording

from . import no_case, progress, shared_machine
from .outputs import bound_message, bound_tail
from .reframe_schedulers import (
    choose_nodes,
    list_nodes,
    select_nodes,
    submit_batch,
    tell_end,
)
from .reframe_slurm import cancel_by_beginnings, distribute_over_up, end_preempted, keep_whole

#: Kinds of parameters that a call may fill by their place.
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class Patch:
    """A function of ReFrame (`module:name`, or `module:class.name`) and what replaces it.

    `make` gets the original and returns the replacement. Older releases have it as `before`.
    `raises` is what the replacement raises on purpose, beside what ends a session. Without it no
    verdict knows `judges`, if it has that: then no verdict is green.
    """

    target: str
    make: Callable
    behaviour: str
    until: str
    before: str = ""
    raises: tuple[type[Exception], ...] = ()
    judges: str = ""

    def unfit(self) -> str:
        """Return why it does not fit this ReFrame, empty if it does: all that a run would call."""
        try:
            original = inspect.unwrap(self.find()[2])
            takes = inspect.signature(original).parameters.values()
            given = [None for each in takes if each.kind in _POSITIONAL]
            named = {each.name: None for each in takes if each.kind is each.KEYWORD_ONLY}
            # What a decorator hides cannot be tried.
            if all(each.kind is not each.VAR_POSITIONAL for each in takes):
                inspect.signature(self.make(original)).bind(*given, **named)
        except (ImportError, AttributeError, TypeError) as err:
            return str(err)
        return ""

    @property
    def lost(self) -> str:
        """Say what a ReFrame does that it does not fit."""
        unknown = f"; no verdict knows {self.judges}" if self.judges else ""
        return f"ReFrame {reframe.VERSION} {self.behaviour}, or does it otherwise{unknown}"

    def around(self, original: Callable) -> Callable:
        """Return the replacement; of its own failures none reaches ReFrame.

        Then what the original has answered, or raised, holds; it is called if it was not yet.
        """

        @functools.wraps(original)
        def guarded(*given, **named):
            ended = []

            def own(*given, **named):
                try:
                    ended.append((original(*given, **named), None))
                except BaseException as err:
                    ended.append((None, err))
                    raise
                return ended[-1][0]

            try:
                return self.make(own)(*given, **named)
            except (ForceExitError, *self.raises):
                raise
            except Exception as err:
                if any(err is raised for _, raised in ended):
                    raise
                tell_failure(self.target, err)
            answer, raised = ended[-1] if ended else (original(*given, **named), None)
            if raised is not None:
                raise raised
            return answer

        return guarded

    def find(self) -> tuple:
        """Return what has the target, the target's name there, and the target.

        Raises ImportError or AttributeError where this ReFrame has none.
        """
        try:
            return _find(self.target)
        except (ImportError, AttributeError):
            with contextlib.suppress(ImportError, AttributeError, ValueError):
                return _find(self.before)
            raise


@functools.cache
def _warn_once(target: str, what: str, place: str) -> None:
    getlogger().warning(
        f"checks/reframe_patches.py: its patch of {target} failed, so that ReFrame goes on without "
        f"it; no check is at fault, please report it: {what} ({place})"
    )


def tell_failure(target: str, err: Exception) -> None:
    """Warn of a failure of ours, once for each of its kind."""
    last = traceback.extract_tb(err.__traceback__)[-1]
    _warn_once(target, f"{type(err).__name__}: {err}", f"{Path(last.filename).name}:{last.lineno}")


def _find(target: str) -> tuple:
    module, path = target.split(":")
    *owners, name = path.split(".")
    owner = functools.reduce(getattr, owners, importlib.import_module(module))
    return owner, name, getattr(owner, name)


def apply(version: str = reframe.VERSION) -> None:
    """Change this ReFrame, once; report a release that is not supported, and what does not fit."""
    if getattr(reframe, "patched", "") == version:
        return  # ReFrame loads the modules of checks more than once
    reframe.patched = version
    mark()
    if fault := machine.unsupported_reframe(version):
        getlogger().warning(f"{fault}; see which patches of checks/reframe_patches.py it needs")
    for patch in PATCHES:
        if why := patch.unfit():
            getlogger().warning(
                f"checks/reframe_patches.py: no patch of {patch.target} ({why}), so that "
                f"{patch.lost}; see whether it can go"
            )
            continue
        owner, name, original = patch.find()
        if not hasattr(original, "patched"):
            replacement = patch.around(original)
            replacement.patched = True
            setattr(owner, name, replacement)


@functools.cache
def unknown() -> tuple[Finding, ...]:
    """Return what no verdict on a run of this ReFrame can know, for its cases to store."""
    return tuple(
        Finding(
            UNPATCHED,
            f"no patch of {patch.target} fits ReFrame {reframe.VERSION} ({why}): nobody knows "
            f"{patch.judges}",
            what=patch.target,
        )
        for patch in PATCHES
        if patch.judges and (why := patch.unfit())
    )


def tell() -> None:
    """Print for `acceptance doctor`: target of each patch, and what is lost if it does not fit."""
    found = [(patch.target, patch.unfit(), patch.lost) for patch in PATCHES]
    print(json.dumps([(target, why and f"{why}: {lost}") for target, why, lost in found]))


def mark() -> None:
    """Leave a mark of the run where no configuration of ours has: no older one is judged for it.

    A file of checks is loaded in its own folder, and `var/` named from where ReFrame was started.
    """
    folder = marks.started_in()
    if folder is None:
        return
    try:
        marks.begin(folder / Workspace.of().var, sys.argv[1:])
    except StoredFault as err:
        getlogger().warning(f"{err}; so that acceptance gate cannot judge this run")


def drop_variables(check: type) -> None:
    """Take ReFrame's deprecated alias `variables` from a class of checks.

    ReFrame walks the whole stack twice a case to warn of the alias, and then does not warn: three
    quarters of the time to load the checks of a large system. It can go with the alias.
    """
    check.var_space.vars.pop("variables", None)


#: Types of values that a case cannot change, so that all cases may have the same one.
_FIXED = (bool, int, float, str, type(None))


#: Class -> the space of variables whose descriptors it has, and whose values its cases get.
_INJECTED = weakref.WeakKeyDictionary()


def own_copy(value):
    """Copy the value of a variable for a case, as deep as it can be changed."""
    if isinstance(value, _FIXED):
        return value
    parts = [*value, *value.values()] if type(value) is dict else value
    if type(value) in (dict, list, set) and all(isinstance(part, _FIXED) for part in parts):
        return value.copy()
    return copy.deepcopy(value)


def inject_values(inject):
    """Give a case the values of its variables; their class has the descriptors by its first case.

    Each assignment to a class lets Python forget what it has found there.
    """

    def inject_what_is_new(space, case, check):
        if _INJECTED.get(check) is not space:
            inject(space, case, check)
            _INJECTED[check] = space
            return
        own = vars(case)
        for name, variable in space.vars.items():
            if variable.is_defined():
                own[name] = own_copy(variable._default_value)

    return inject_what_is_new


#: Classes of ours of which a case was looked at.
_VALID = set()


def validate_once(validate):
    """Look at one case of each class of ours: the attributes of all of them are of the same types.

    Whatever else a site has is looked at as ever.
    """

    def validate_new(loader, case):
        if type(case) in _VALID:
            return True
        valid = validate(loader, case)
        if valid and hasattr(case, "benchmark_name"):
            _VALID.add(type(case))
        return valid

    return validate_new


#: Signals that told this session to stop.
_SIGNALS = []


def remember_signal(answer):
    """Answer a signal that ends the session, and remember it."""

    def stop(number, frame):
        _SIGNALS.append(number)
        answer(number, frame)

    return stop


def stop_when_told(rest):
    """Rest before jobs are looked at again, unless the session was told to stop."""

    def snooze(controller):
        if not _SIGNALS:
            rest(controller)
        if _SIGNALS:
            raise ForceExitError(f"received signal {_SIGNALS[0]}")
        progress.look()

    return snooze


def say(line):
    """Show a line, whatever becomes of the log."""
    print(line, file=sys.stderr, flush=True)


def let_stops_through(report):
    """Report a fault of a log's handler, unless it is the end of the session that came there.

    Nor where it is a perflog that cannot be written: that belongs into the log (`tell_lost_line`).
    Of a log that cannot be written one line is shown, not a traceback for each line that it lacks.
    """
    report = recording.told_once(report, say)

    def handle_error(handler, record):
        fault = sys.exc_info()[1]
        is_perflog = isinstance(handler, MultiFileHandler)
        if isinstance(fault, ForceExitError) or (is_perflog and isinstance(fault, OSError)):
            raise
        report(handler, record)

    return handle_error


def tell_last_lines(close):
    """Tell of a log, or perflog, whose last lines cannot be written, without a traceback.

    ReFrame closes them when all else has ended: what is raised there reaches nobody.
    """

    def close_or_tell(handler):
        try:
            close(handler)
        except OSError as err:
            recording.tell_broken_log(handler, err, say)

    return close_or_tell


def tell_lost_line(emit):
    """Let ReFrame warn of a line of a perflog that it could not write, and run on."""

    def emit_or_tell(handler, record):
        try:
            emit(handler, record)
        except OSError as err:
            raise LoggingError(f"{handler.baseFilename}: {err.strerror or err}") from None

    return emit_or_tell


def make_anew(db_file):
    """Set a results database aside that was left half made, so that one is made that can store."""

    def db_file_or_new(storage):
        if told := half_made.set_aside(Path(storage._SqliteStorage__db_file)):
            getlogger().info(told)
        return db_file(storage)

    return db_file_or_new


_KEPT = (
    "loses a stop for good, some one in fifty, and only SIGKILL, which loses the results, ends it: "
    "it answers SIGTERM and SIGHUP with an exception where it happens to be and ignores them from "
    "then on, and what keeps exceptions keeps this one (`logging` does while it writes a line, "
    "`shutil` while it copies a file)"
)
_KEPT_UNTIL = "ReFrame remembers that it was told to stop, and asks for it between cases"

_NO_LIST = "cannot list the nodes of PBS and Flux, so that it distributes nothing over them"
_PBS = "reframe.core.schedulers.pbs:PbsJobScheduler"
_FLUX = "reframe.core.schedulers.flux:FluxJobScheduler"

PATCHES = (
    Patch(
        "reframe.core.variables:VarSpace.inject",
        inject_values,
        "puts the same descriptors into a class anew for each of its cases, half of the time that "
        "it takes to load those of a large system",
        "it does so once a class",
    ),
    Patch(
        "reframe.frontend.loader:RegressionCheckLoader._validate_check",
        validate_once,
        "looks at each attribute of each case, whether it can be copied: a third of the time that "
        "it takes to load those of a large system",
        "it does so once a class",
    ),
    Patch(
        "reframe.core.schedulers.slurm:SlurmJobScheduler._cancel_if_blocked",
        cancel_by_beginnings,
        "waits for ever for nodes that are down: it compares Slurm's reasons as a whole, and some "
        "go on with names, or speak of down nodes where a queue is meant",
        "ReFrame compares reasons by their beginnings and looks at the nodes",
    ),
    Patch(
        "reframe.core.schedulers:JobScheduler.filternodes_by_state",
        distribute_over_up,
        "knows no `--distribute=up`: of its states `all` takes nodes that are down, and `avail` "
        "leaves out those of which a part is busy",
        "a state of ReFrame takes just the nodes that take jobs",
        before="reframe.frontend.testgenerators:filter_nodes_by_state",
    ),
    *(
        Patch(f"{scheduler}.allnodes", list_nodes, _NO_LIST, "it lists them, with their states")
        for scheduler in (_PBS, _FLUX)
    ),
    *(
        Patch(
            f"{scheduler}.filternodes",
            choose_nodes,
            what,
            "it lists them, with their states",
            raises=(JobSchedulerError,),
        )
        for scheduler, what in (
            (_PBS, _NO_LIST),
            (_FLUX, _NO_LIST),
            (
                "reframe.core.schedulers.slurm:SlurmJobScheduler",
                "lists the nodes of its own cluster for jobs of another one (`-M`)",
            ),
        )
    ),
    Patch(
        f"{_PBS}._emit_lselect_option",
        select_nodes,
        "lets PBS pack several nodes of a job onto one, asks for too few where ranks cannot be "
        "spread evenly, and for none by name",
        "it scatters the chunks, and knows pinned nodes of PBS",
    ),
    Patch(
        f"{_FLUX}.submit",
        submit_batch,
        "asks Flux for a core, whatever a job takes, and leaves out its access options and limit",
        "it submits an instance of Flux with the nodes of the job",
        raises=(JobSchedulerError,),
    ),
    Patch(
        f"{_FLUX}.poll",
        tell_end,
        "keeps no exit status of a job of Flux",
        "it does so",
    ),
    Patch(
        "reframe.frontend.cli:distribute_tests",
        keep_whole,
        "looks at the whole fabric once a node with `--distribute`",
        "a check says that it is not to be distributed",
    ),
    Patch(
        "reframe.core.schedulers.slurm:slurm_state_completed",
        end_preempted,
        "waits for ever for a job that was preempted",
        "PREEMPTED is among its states of completed jobs",
    ),
    Patch(
        "reframe.frontend.executors:_force_exit",
        remember_signal,
        _KEPT,
        _KEPT_UNTIL,
        before="reframe.frontend.executors:_handle_sigterm",
    ),
    Patch(
        "reframe.frontend.executors:Runner._runall",
        progress.tell_progress,
        "does not tell how long a run will still take, nor what runs now",
        "it tells so by itself",
    ),
    Patch(
        "reframe.frontend.executors.policies:_PollController.snooze",
        stop_when_told,
        _KEPT,
        _KEPT_UNTIL,
    ),
    Patch(
        "reframe.core.exceptions:ReframeBaseError.__str__",
        bound_message,
        "shows and stores each message six times, however long: at 250 MB all cases are lost",
        "ReFrame bounds what it stores of a failure",
    ),
    Patch(
        "reframe.utility.osext:tail",
        bound_tail,
        "shows the last lines of an output, however long, and takes all of it into memory",
        "ReFrame reads an output from its end, and cuts lines",
    ),
    Patch(
        "reframe.frontend.executors.policies:_print_perf",
        progress.tell_outcome,
        "shows neither the time nor the main figure of a case that has ended",
        "it does so, without showing all metrics",
    ),
    Patch(
        "reframe.frontend.cli:list_checks",
        progress.tell_times,
        "lists no case with the time that it may take",
        "it does so",
    ),
    Patch(
        "reframe.frontend.cli:generate_testcases",
        no_case.tell_all,
        "does not tell which check files give no case on which partition",
        "it tells which tests fit nothing here",
    ),
    Patch(
        "reframe.frontend.reporting.storage:_SqliteStorage._db_file",
        make_anew,
        "loses every session once a full disk has left its results database half made",
        "it makes the tables in one transaction, or also where the file is there",
    ),
    Patch(
        "reframe.core.logging:MultiFileHandler.emit",
        tell_lost_line,
        "keeps silent about lines of perflogs that a full disk takes, and stops where a perflog "
        "cannot be opened",
        "it warns of each of them, as it does of a folder that it cannot make",
        raises=(LoggingError,),
        judges="whether the perflogs lack a line",
    ),
    Patch(
        "reframe.core.schedulers.local:LocalJobScheduler.submit",
        shared_machine.announce,
        "does not notice another run that measures on the same cores",
        "it keeps runs on one machine apart",
        judges=(_OTHERS := "whether another run measured on the same cores"),
    ),
    Patch(
        "reframe.core.schedulers.local:LocalJobScheduler._poll_job",
        shared_machine.announce_end,
        "is taken by other runs for one that measures on this machine until its jobs are gone",
        "it keeps runs on one machine apart",
        judges=_OTHERS,
    ),
    # Python's own: ReFrame's handlers of its log derive from these.
    Patch(
        f"{logging.__name__}:FileHandler.close",
        tell_last_lines,
        "ends with a traceback where the last lines of its log cannot be written",
        "it warns of a log that it cannot close",
    ),
    Patch(
        f"{logging.__name__}:Handler.handleError",
        let_stops_through,
        _KEPT,
        _KEPT_UNTIL,
        raises=(OSError,),
    ),
)
