"""Verdicts and tables as text for a terminal."""

from acceptance.core.text import one_line, plural
from acceptance.verdict.model import Status, Verdict

#: Problems and notes that a terminal shows of each kind; `--format json` has all of them.
SHOWN = 20


def verdict_text(verdict: Verdict) -> str:
    """Return the summary that ends a run; the verdict is its last line."""
    facts: list[tuple[str, str]] = []
    if verdict.command:
        facts.append(("command", verdict.command))
    when = f"{verdict.time}, {verdict.elapsed:.0f} s, " if verdict.time else ""
    facts.append(("run", f"{when}system {verdict.system or '?'} on host {verdict.host or '?'}"))
    if verdict.session:
        facts.append(("session", verdict.session))
    for use in verdict.suites:
        version = f" ({', '.join(use.versions)})" if use.versions else ""
        facts.append(
            (
                "suite",
                f"{use.suite}{version}: {plural(use.cases, 'case')}, "
                f"provided by {', '.join(use.environments)}",
            )
        )
    for missing in verdict.unprovided:
        facts.append(("not run", f"{missing.check}: {missing.reason}"))
    expected = verdict.expected_failures
    expected_text = f"{expected} failed as expected, " if expected else ""
    builds = f", {plural(verdict.builds, 'build')} among them" if verdict.builds else ""
    facts.append(
        (
            "cases",
            f"{verdict.ran} of {verdict.selected} run{builds}: {verdict.passed} passed, "
            f"{verdict.failed} failed, {expected_text}{verdict.skipped} skipped",
        )
    )
    judged = sum(verdict.judged.values())
    sources = ", ".join(f"{count} by {source}" for source, count in verdict.judged.items())
    facts.append(
        (
            "metrics",
            f"{judged} judged{f' ({sources})' if sources else ''}, "
            f"{verdict.recorded} recorded, not judged",
        )
    )
    if verdict.history:
        seen = f"{plural(verdict.history['judged'], 'metric')} held against their past"
        facts.append(("history", "; ".join(filter(None, (seen, verdict.history["cannot_judge"])))))
    lines = [f"{name:9}{one_line(text)}" for name, text in facts]
    lines += _guidelines(verdict)
    lines += _listing("note", verdict.notes)
    lines += _listing("PROBLEM", [problem.message for problem in verdict.problems])
    return "\n".join([*lines, "", _last_line(verdict, judged)])


def _guidelines(verdict: Verdict) -> list[str]:
    if not verdict.guidelines.get("compared"):
        return []
    findings = verdict.guidelines["findings"]
    compared = plural(verdict.guidelines["compared"], "comparison")
    violated = plural(len(findings), "finding") if findings else "no finding"
    head = f"sound    {violated} in {compared} with what any sound MPI satisfies"
    return [head, *_listing("finding", [finding["text"] for finding in findings])]


def _last_line(verdict: Verdict, judged: int) -> str:
    if verdict.status == Status.CANNOT_JUDGE:
        return "VERDICT: cannot judge"
    if verdict.status != Status.PASSED:
        return f"VERDICT: FAIL, {plural(len(verdict.problems), 'problem')}"
    if not judged:
        return "VERDICT: pass; all was measured, but no reference exists that could judge it"
    return "VERDICT: pass"


def _listing(title: str, messages: list[str]) -> list[str]:
    lines = [f"{title:9}{one_line(message)}" for message in messages[:SHOWN]]
    if len(messages) > SHOWN:
        lines.append(f"{title:9}... and {len(messages) - SHOWN} more: --format json shows all")
    return lines
