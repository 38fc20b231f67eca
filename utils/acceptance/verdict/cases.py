"""The verdict on the cases of a session: which passed, what they measured, what links showed.

What a case has found (what failed it, the metrics that missed their references, its links) follows
from the case alone, so that whoever has a protocol can draw it again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from acceptance.core.findings import (
    RECORDED_OTHERWISE,
    SHARED,
    SUFFERS,
    UNJUDGED,
    UNPATCHED,
    Finding,
)
from acceptance.core.groups import grouped
from acceptance.core.kinds import OF_CABLES, OF_FABRICS, OF_LATE, OF_LINKS, OF_PAIRS, TABLE
from acceptance.core.text import plural, shortened
from acceptance.core.words import better, is_measured, split_metric
from acceptance.fabric.kinds import BENCHMARK as VIEW
from acceptance.fabric.link_check import STANDING
from acceptance.ledger import Case, Metric, Session
from acceptance.machine import slurm
from acceptance.references import outside, source_of, write_parameters
from acceptance.rfm import LoggedRun
from acceptance.verdict.model import (
    ABORTED,
    COUNTED,
    EXPECTED,
    LEFT_OUT,
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
            told = "failed, as its check expects, without an end (xfail)"
            verdict.notes.append(f"{told}: {result.place}{because}")
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
    _note_findings(verdict, tests)
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
    if any(slurm.lacks_accounting(case.fail_reason) for case in cases):
        verdict.fail("no-accounting", slurm.NO_ACCOUNTING)
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


def _note_findings(verdict: Verdict, cases: Sequence[Case]) -> None:
    """Tell what links, fabrics and load showed beside what fails, and which cases are no samples.

    Those were measured beside another run, or simulated with something else than their reference.
    """
    of_runs = (STANDING, SHARED, RECORDED_OTHERWISE, UNJUDGED, UNPATCHED)
    others = (*of_runs, SUFFERS, *OF_FABRICS, *OF_LATE)
    seen = [each for case in cases for each in case.findings if not each.fails]
    for text, count in Counter(each.text for each in seen if each.kind not in others).items():
        verdict.notes.append(f"links, during {count} of the cases: {text}")
    late = (each.text for each in seen if each.kind in OF_LATE)
    verdict.notes += [f"late messages: {text}" for text in dict.fromkeys(late)]
    for case in (case for case in cases if case.benchmark == VIEW):
        said = case.provenance.get("fabric", "") if case.metrics else ""
        told = said or f"not looked at: {' '.join(case.fail_reason.split()) or case.result}"
        verdict.fabric[f"{case.system}:{case.partition}"] = told
    names = {SUFFERS: "load", **dict.fromkeys(OF_FABRICS, "fabric")}
    further = (f"{names[each.kind]}: {each.text}" for each in seen if each.kind in names)
    verdict.notes += [text for text in dict.fromkeys(further) if text not in verdict.notes]
    if runs := dict.fromkeys(each.what for each in seen if each.kind == SHARED):
        shared = sum(any(each.kind == SHARED for each in case.findings) for case in cases)
        verdict.notes.append(
            f"{shared} of {len(cases)} cases were measured while another run had jobs on this "
            f"machine, and are no samples of their history: {'; '.join(runs)}"
        )
    for each in (each for each in seen if each.kind == UNPATCHED):
        verdict.fail(UNPATCHED, each.text, each.what)
    unjudged = Counter(each.what for each in seen if each.kind == UNJUDGED)
    verdict.notes += [
        f"{plural(count, 'time')} the machine itself could not judge what a case measured on it: "
        f"{what} (the case has the numbers)"
        for what, count in unjudged.items()
    ]
    recorded = Counter(each.what for each in seen if each.kind == RECORDED_OTHERWISE)
    for what, count in recorded.items():
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


#: Kinds that a case stores and of which the verdict knows more.
_OF_VERDICT = ("", STANDING, SHARED, RECORDED_OTHERWISE, UNJUDGED, UNPATCHED)


def of_case(case: Case) -> tuple[Finding, ...]:
    """Return what a case has found: nothing when it passed and its links were as they should be.

    A deviation that a case saw beside its own benchmark is a finding of its link, not of the case.
    """
    found = [
        _placed(case, each)
        for each in case.findings
        if each.kind not in _OF_VERDICT and not (case.all_pairs and each.kind in OF_PAIRS)
    ]
    if case.passed:
        return tuple(found)
    source, reason = text_of(case), " ".join(case.fail_reason.split())
    if case.result == LEFT_OUT:
        # One finding for all that waited for the same thing, on every run the same.
        place, what = (case.where, case.suite), f"{case.suite} @{case.where}"
        found.append(
            Finding("left-out", "not run, since what it needs failed", place=place, what=what)
        )
    elif case.result != "fail":
        found.append(_failed(case, "not-measured", case.result, "a measurement"))
    elif case.fixture and not any(each.fails for each in found):
        found.append(Finding(
            "build-failed", reason, fails=True, what=f"build {source}", expected="a build",
            place=(case.where, case.name), source=source,
        ))  # fmt: skip
    else:
        found += _of_metrics(case, source)
        if case.given_up and not any(each.fails and each.kind for each in case.findings):
            found.append(_failed(case, case.given_up, reason))
        if not found and not is_of_culprits(case):
            found.append(_failed(case, "case-failed", reason))
    return tuple(found)


def text_of(case: Case) -> str:
    """Return `NAME @system:partition+environment`, which findings of a case are about."""
    return f"{case.name} @{case.where}"


def is_of_culprits(case: Case) -> bool:
    """Tell whether all that failed a case is told as findings of nodes."""
    failing = {each.kind for each in case.findings if each.fails}
    return bool(case.all_pairs and failing) and failing <= {*OF_PAIRS}


def _failed(
    case: Case, kind: str, text: str, expected: str = "a run that ends well", fails: bool = True
) -> Finding:
    source, place = text_of(case), _place(case)
    return Finding(
        kind, text, fails, case.nodes, what=source, expected=expected, place=place, source=source
    )


def _place(case: Case) -> tuple[str, ...]:
    """Return what names a case in an id, on every run the same."""
    keys = {key: value for key, value in case.keys.items() if key not in ("nodes", "order")}
    if not case.benchmark or not keys:
        return case.where, case.name
    return case.where, case.benchmark, write_parameters(keys)


def _placed(case: Case, seen: Finding) -> Finding:
    """Return what a case has seen with what names it, and what to do about its device."""
    if seen.kind in OF_FABRICS or seen.kind in OF_CABLES:
        return replace(seen, place=(seen.device, seen.what), source=text_of(case))
    if seen.kind not in OF_LINKS:
        kind = seen.kind if seen.kind in TABLE else "case-failed"
        found = _failed(case, kind, seen.text, fails=seen.fails)
        return replace(found, nodes=seen.nodes or case.nodes)
    counter = "" if seen.what in ("PCIe", "MTU") else seen.what
    path = seen.found.split()[0] if seen.kind == "link-unreadable" else ""
    return replace(
        seen,
        place=(seen.node, seen.device, counter, path),
        remedy=seen.row.remedy.replace("DEVICE", seen.device.split("/")[0] or "DEVICE"),
        source=text_of(case),
    )


def misses(metric: Metric) -> bool:
    """Tell whether a value lies outside what its reference allows, as ReFrame reckons it."""
    return outside(metric.value, metric.reference, metric.lower, metric.upper) != 0


def metric_verdict(metric: Metric) -> str:
    """Return pass, fail, or recorded, by value and reference alone."""
    if metric.reference is None:
        return "recorded"
    return "fail" if misses(metric) else "pass"


def _of_metrics(case: Case, source: str) -> Iterator[Finding]:
    """Yield a finding for each quantity that missed its reference, with the worst of its sizes."""
    groups = grouped(
        filter(misses, case.metrics),
        lambda metric: (split_metric(metric.name)[0], _kind(metric)),
    )
    for (stem, kind), missed in groups.items():
        worst = max(missed, key=lambda metric: abs(metric.value / (metric.reference or 1) - 1))
        more = f", and at {plural(len(missed) - 1, 'more size')}" if len(missed) > 1 else ""
        yield Finding(
            kind, f"{worst.name} {worst.value:g} {worst.unit}{more}", fails=True, nodes=case.nodes,
            what=f"{stem} of {source}", expected=expected_text(worst),
            place=(*_place(case), stem), source=worst.judged_by,
        )  # fmt: skip


def _kind(metric: Metric) -> str:
    way = better(metric.unit, metric.lower, metric.upper)
    side = outside(metric.value, metric.reference, metric.lower, metric.upper)
    if way is not None and (side > 0) == (way == "higher"):
        return "above-reference"
    kind = f"below-{source_of(metric.judged_by)}"
    return kind if kind in TABLE else "below-reference"


def expected_text(metric: Metric) -> str:
    """Write the range that a metric must lie in: `>= 2500 MB/s (published ..., Table 5)`."""
    pairs = zip((">=", "<="), metric.bounds, strict=True)
    bounds = [f"{sign} {bound:g}" for sign, bound in pairs if bound is not None]
    judged_by = f" ({metric.judged_by})" if metric.judged_by else ""
    return f"{' and '.join(bounds)} {metric.unit}{judged_by}"
