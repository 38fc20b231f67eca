"""The verdict on the cases of a session: which passed, what they measured, what links showed."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from acceptance.core.findings import RECORDED_OTHERWISE, SHARED
from acceptance.core.kinds import OF_FABRICS
from acceptance.core.text import plural, shortened
from acceptance.core.words import is_measured
from acceptance.fabric.kinds import BENCHMARK as VIEW
from acceptance.fabric.link_check import STANDING
from acceptance.ledger import Case, Session
from acceptance.machine import slurm_jobs
from acceptance.rfm import LoggedRun
from acceptance.verdict.case_findings import LEFT_OUT, is_of_culprits, of_case, text_of
from acceptance.verdict.model import (
    ABORTED,
    COUNTED,
    EXPECTED,
    UNFINISHED,
    CaseResult,
    SuiteUse,
    Verdict,
)

#: Result of a case that did not come to its end -> what became of it.
_STOPPED = {
    ABORTED: "aborted",
    UNFINISHED: "had begun, or waited, when ReFrame stopped (their jobs may still be in the queue)",
}
#: What is said of a case that failed and passed later.
_PASSED_LATER = " (passed when it was repeated; a repetition turns no failure green)"
#: ReFrame's phases in which a case has not begun to run.
_BEFORE_RUN = ("setup", "compile", "compile_wait")


def judge_cases(verdict: Verdict, session: Session, run: LoggedRun | None = None) -> None:
    """Judge every case of a session, and count them; a case that failed once has failed.

    `run` is what ReFrame's log has of it: of which cases it could not evaluate what they measure,
    and why it skipped others.
    """
    unread = run.unread if run else ()
    verdict.session = f"{verdict.session} {session.uuid}".strip()
    verdict.host = verdict.host or session.host
    verdict.elapsed += session.elapsed
    tests = [case for case in session.cases if not case.fixture]
    verdict.system = verdict.system or ", ".join(sorted({case.system for case in tests}))
    _count(verdict, session.cases)
    files = (Path(case.filename).name for case in tests if case.filename)
    verdict.check_files = sorted({*verdict.check_files, *files})
    passed_later = {text_of(case) for case in tests if case.run_index and case.passed}
    results = [result_of(case, run) for case in session.cases]
    verdict.cases += results
    simulators = (case.simulated for case in tests if case.simulated)
    verdict.simulators = sorted({*verdict.simulators, *simulators})
    for case, result in zip(session.cases, results, strict=True):
        if case.result == EXPECTED:
            because = f": {result.reason}" * bool(result.reason)
            verdict.notes.append(f"failed, as its check expects: {result.place}{because}")
        elif case.result not in COUNTED:
            again = _PASSED_LATER * (result.place in passed_later)
            how = f"{case.result} in {case.fail_phase or 'no phase'}{again}"
            verdict.fail("case-failed", f"{result.place}: {how}: {result.reason}", result.place)
        elif case.passed and not case.fixture and not _is_functional(case, unread):
            _judge_metrics(verdict, case)
    _count_metrics(verdict, tests)
    _judge_not_run(verdict, session.cases)
    if names := [case.name for case in tests if case.passed and _is_functional(case, unread)]:
        told = f"{plural(len(names), 'case')} passed that promise no metric"
        verdict.notes.append(f"{told}: {shortened(names)}")
    _note_links(verdict, session.cases)
    _note_fabric(verdict, tests)
    _note_shared(verdict, tests)
    _note_recorded_otherwise(verdict, tests)
    verdict.suites = _suites(verdict.suites, tests)


def _count(verdict: Verdict, cases: Sequence[Case]) -> None:
    """Count each case once, and builds with the others: one that failed and was repeated failed."""
    counted: dict[str, str] = {}
    for case in cases:
        field = COUNTED[case.result][0] if case.result in COUNTED else "failed"
        if counted.get(text_of(case)) != "failed":
            counted[text_of(case)] = field
    for field in counted.values():
        setattr(verdict, field, getattr(verdict, field) + 1)
    verdict.builds += len({text_of(case) for case in cases if case.fixture})


def _is_functional(case: Case, unread: Collection[str]) -> bool:
    """Tell whether a case promises no metric: a site's own, that declares none to ReFrame."""
    return case.plain and not (case.metrics or case.declared or text_of(case) in unread)


def only_functional(cases: Iterable[Case], unread: Collection[str]) -> bool:
    """Tell whether cases of a site's own came to an end, and nothing promises any metric."""
    tests = [case for case in cases if not case.fixture]
    functional = all(_is_functional(case, unread) for case in tests)
    return functional and any(case.result in ("pass", "fail") for case in tests)


def result_of(case: Case, run: LoggedRun | None = None) -> CaseResult:
    """Return what became of a case; `run` is what ReFrame's log has of it."""
    return CaseResult(
        where=case.where,
        name=case.name,
        result=case.result,
        suite=case.suite,
        benchmark=case.benchmark,
        reason="" if case.passed else _skip_reason(case, run) or " ".join(case.fail_reason.split()),
        seconds=case.seconds,
        nodes=case.nodes,
        measured=any(is_measured(metric.value) for metric in case.metrics),
        culprits=is_of_culprits(case),
        findings=of_case(case),
    )


def _skip_reason(case: Case, run: LoggedRun | None) -> str:
    """Say why a case was skipped, which only the log has: `NAME /HASH @WHERE [REASON]`."""
    where = f"@{case.where} ["
    for line in run.skipped if run and case.result == "skip" else ():
        if line.startswith(f"{case.name} /") and where in line:
            return line.partition(where)[2].removesuffix("]")
    return ""


def _judge_not_run(verdict: Verdict, cases: Sequence[Case]) -> None:
    """Fail for the cases that had no chance: what they need failed, or ReFrame stopped."""
    left_out = Counter((case.suite, case.where) for case in cases if case.result == LEFT_OUT)
    for (suite, where), count in left_out.items():
        place = f"{suite} @{where}"
        text = f"{place}: {count} cases not run, since what they need failed"
        verdict.fail("left-out", text, place)
    if any(slurm_jobs.lacks_accounting(case.fail_reason) for case in cases):
        verdict.fail("no-accounting", slurm_jobs.NO_ACCOUNTING)
    # One line for all: whoever stops a run of hundreds of cases does not read what each says of it.
    for result, what in _STOPPED.items():
        if stopped := [case for case in cases if case.result == result]:
            first = f"{text_of(stopped[0])}: {' '.join(stopped[0].fail_reason.split())}"
            text = f"{plural(len(stopped), 'case')} {what}; the first one: {first}"
            verdict.fail("unfinished", text.rstrip(": "))


def _judge_metrics(verdict: Verdict, case: Case) -> None:
    measured, place = {metric.name for metric in case.metrics}, text_of(case)
    if missing := [name for name in case.declared if name not in measured]:
        text = f"{place}: passed without {', '.join(missing)}"
        verdict.fail("missing-metrics", text, place)
    if not measured:
        verdict.fail("no-metrics", f"{place}: passed without any metric", place)
    for metric in case.metrics:
        if not is_measured(metric.value):
            text = f"{place}: {metric.name} is {metric.value}"
            verdict.fail("impossible-value", text, place, metric.name)


def _count_metrics(verdict: Verdict, cases: Iterable[Case]) -> None:
    """Count what was judged, well or badly, and what was only recorded."""
    ended = (case for case in cases if case.result in ("pass", "fail"))
    for metric in (metric for case in ended for metric in case.metrics):
        if metric.reference is None:
            verdict.recorded += is_measured(metric.value)
        elif is_measured(metric.value):
            source = metric.judged_by.split(",")[0]
            verdict.judged[source] = verdict.judged.get(source, 0) + 1


def _note_links(verdict: Verdict, cases: Iterable[Case]) -> None:
    others = (STANDING, SHARED, RECORDED_OTHERWISE, *OF_FABRICS)
    seen = (each for case in cases for each in case.findings if not each.fails)
    for text, count in Counter(each.text for each in seen if each.kind not in others).items():
        verdict.notes.append(f"links, during {count} of the cases: {text}")


def _note_fabric(verdict: Verdict, cases: Iterable[Case]) -> None:
    """Tell what the whole fabric showed beside what fails, and what there is of it."""
    for case in cases:
        if case.benchmark == VIEW:
            said = case.provenance.get("fabric", "") if case.metrics else ""
            told = said or f"not looked at: {' '.join(case.fail_reason.split()) or case.result}"
            verdict.fabric[f"{case.system}:{case.partition}"] = told
        seen = (each for each in case.findings if each.kind in OF_FABRICS and not each.fails)
        notes = dict.fromkeys(f"fabric: {each.text}" for each in seen)
        verdict.notes += [text for text in notes if text not in verdict.notes]


def _note_shared(verdict: Verdict, cases: Sequence[Case]) -> None:
    """Tell how many cases were measured while another run used the machine, and which run."""
    shared = [
        [finding.what for finding in case.findings if finding.kind == SHARED] for case in cases
    ]
    if runs := [who for found in shared for who in found]:
        verdict.notes.append(
            f"{sum(map(bool, shared))} of {len(cases)} cases were measured while another run had "
            f"jobs on this machine, and are no samples of their history: "
            f"{'; '.join(dict.fromkeys(runs))}"
        )


def _note_recorded_otherwise(verdict: Verdict, cases: Iterable[Case]) -> None:
    """Tell how many simulated cases nothing judges since they were recorded with something else."""
    seen = (finding for case in cases for finding in case.findings)
    found = Counter(finding.what for finding in seen if finding.kind == RECORDED_OTHERWISE)
    for what, count in found.items():
        verdict.notes.append(
            f"{plural(count, 'case')} not judged as recorded: that was with {what}; record them "
            "with what is here by `acceptance baseline`"
        )


def _suites(known: Sequence[SuiteUse], cases: Iterable[Case]) -> list[SuiteUse]:
    """Return known uses of suites with those of these cases, in the order of the suites."""
    uses = {use.suite: use for use in known}
    for case in cases:
        suite = case.suite or Path(case.filename).stem
        use = uses.get(suite, SuiteUse(suite, (), (), 0))
        version = case.provenance.get("suite")
        uses[suite] = SuiteUse(
            suite,
            tuple(dict.fromkeys((*use.environments, *([case.where] if _began(case) else ())))),
            tuple(dict.fromkeys((*use.versions, *([version] if version else ())))),
            use.cases + (case.run_index == 0),
        )
    return [*uses.values()]


def _began(case: Case) -> bool:
    """Tell whether a case had what it needs, so that it could run."""
    field = COUNTED.get(case.result, ("failed", ""))[0]
    return field in ("passed", "failed", "expected_failures") and case.fail_phase not in _BEFORE_RUN
