"""A verdict as text for a terminal."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from acceptance.core.kinds import OF_RUNS
from acceptance.core.text import plural, wrapped
from acceptance.verdict.model import Status, Verdict
from acceptance.verdict.nodes import node_lines

#: Problems, notes and findings that a terminal shows, and lines of each.
SHOWN, LINES = 20, 4
_INDENT = 12
#: Kinds of findings that say why nobody looked.
NOT_LOOKED_AT = ("links-not-judged", "fabric-not-looked")
#: Statuses as people read them.
WORDS = {Status.PASSED: "pass", Status.FAILED: "FAIL", Status.CANNOT_JUDGE: "cannot judge"}


#: What makes of a status and its word what a terminal shows: the word in a colour, say.
Paint: TypeAlias = Callable[[Status, str], str]


def verdict_text(verdict: Verdict, paint: Paint = lambda _, word: word) -> str:
    """Return the summary that ends a run; the verdict is its last line."""
    lines = _lines("SIMULATED", verdict.no_evidence) if verdict.simulated else []
    lines += [line for name, text in _facts(verdict) for line in _lines(name, text)]
    findings = [*verdict.findings, *verdict.problems]
    lines += _listing("finding", [each.text for each in findings if each.kind == "guideline"])
    lines += _listing("note", verdict.notes)
    lines += _listing("known", verdict.known)
    lines += _listing("PROBLEM", [problem.text for problem in verdict.problems])
    lines += _listing("to do", [*_remedies(verdict)])
    return "\n".join([*lines, "", _last_line(verdict, paint)])


def _facts(verdict: Verdict) -> Iterator[tuple[str, str]]:
    if verdict.command:
        yield "command", verdict.command
    if verdict.campaign:
        yield "campaign", verdict.campaign
    when = f"{verdict.time}, {verdict.elapsed:.0f} s, " if verdict.time else ""
    yield "run", f"{when}system {verdict.system or '?'} on host {verdict.host or '?'}"
    if verdict.session:
        yield "session", verdict.session
    if verdict.outcome:
        yield "outcome", f"{verdict.outcome}; an acceptance sends no alerts, its protocol has all"
    for use in verdict.suites:
        version = f" ({', '.join(use.versions)})" if use.versions else ""
        yield (
            "suite",
            f"{use.suite}{version}: {plural(use.cases, 'case')}, "
            + (f"provided by {', '.join(use.environments)}" if use.environments else "none ran"),
        )
    for missing in verdict.unprovided:
        yield "not run", f"{missing.name}: {missing.reason}"
    for options in dict.fromkeys(verdict.not_selected.values()):
        names = [check for check, by in verdict.not_selected.items() if by == options]
        yield "not run", f"{', '.join(names)}: not selected by {options}"
    yield "cases", verdict.cases_text
    for partition, told in verdict.fabric.items():
        yield "fabric", f"{partition}: {told}"
    for each in verdict.findings:
        if each.kind in NOT_LOOKED_AT:
            yield each.kind.partition("-")[0], each.text
    for line in node_lines(verdict.nodes.values()):
        yield "nodes", line
    sources = ", ".join(f"{count} by {source}" for source, count in verdict.judged.items())
    yield (
        "metrics",
        f"{sum(verdict.judged.values())} judged{f' ({sources})' if sources else ''}, "
        f"{verdict.recorded} recorded, not judged",
    )
    if verdict.history:
        compared = f"{plural(verdict.history['judged'], 'metric')} compared with their past"
        yield "history", "; ".join(filter(None, (compared, verdict.history["cannot_judge"])))
        if verdict.history.get("together"):
            yield "history", verdict.history["together"]
    if verdict.guidelines.get("compared"):
        violated = plural(verdict.guidelines["violated"], "finding")
        compared = plural(verdict.guidelines["compared"], "comparison")
        yield "guidelines", f"{violated} in {compared}; all of them: acceptance claims guidelines"


def _remedies(verdict: Verdict) -> Iterator[str]:
    """Yield what to do about what failed, and how suites are got, each thing once.

    What kept a run from being measured says itself what to do.
    """
    of_checks = [(missing.remedy, missing.check) for missing in verdict.unprovided]
    failing = (each for each in verdict.everything if each.fails)
    of_kinds = [(each.remedy, each.kind) for each in failing if each.kind not in OF_RUNS]
    whose: dict[str, dict[str, None]] = {}
    for remedy, name in (*of_kinds, *of_checks):
        whose.setdefault(remedy, {})[name] = None
    yield from (f"{', '.join(names)}: {remedy}" for remedy, names in whose.items() if remedy)


def _last_line(verdict: Verdict, paint: Paint) -> str:
    begin = f"VERDICT: {paint(verdict.status, WORDS[verdict.status])}"
    begin += ", simulated" if verdict.simulated else ""
    if verdict.status == Status.CANNOT_JUDGE:
        return begin
    if verdict.status != Status.PASSED:
        return f"{begin}, {plural(len(verdict.problems), 'problem')}"
    words = [begin]
    if not verdict.judged:
        words.append("no reference exists that could judge what was measured")
    if verdict.skipped:
        words.append(f"{plural(verdict.skipped, 'case')} skipped")
    if left_out := len(verdict.files_not_run):
        words.append(f"{plural(left_out, 'check file')} not run")
    if away := sum(len(each.not_up) for each in verdict.nodes.values()):
        words.append(f"{plural(away, 'node')} not up")
    if partly := len(verdict.not_everywhere):
        words.append(f"{plural(partly, 'check file')} not on every partition")
    return "; ".join(words)


def _lines(title: str, text: str) -> list[str]:
    return wrapped(title, text, _INDENT, LINES, " ... (--format json shows all)")


def _listing(title: str, messages: list[str]) -> Iterable[str]:
    for message in messages[:SHOWN]:
        yield from _lines(title, message)
    if len(messages) > SHOWN:
        yield from _lines(title, f"... and {len(messages) - SHOWN} more: --format json shows all")
