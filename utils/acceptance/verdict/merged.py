"""One verdict on several runs."""

from collections.abc import Sequence

from acceptance.verdict.model import SuiteUse, Unselected, Verdict

#: What verdicts on several runs add up, and what they list.
_COUNTS = (
    *("elapsed", "builds", "passed", "failed", "expected_failures", "skipped", "not_run"),
    "recorded",
)
_LISTS = ("unprovided", "check_files", "notes", "problems", "cases", "alerts", "simulators")


def merged(verdicts: Sequence[Verdict]) -> Verdict:
    """Return one verdict on several runs: the worst of them, with the sum of what they did."""
    first, *others = verdicts
    for other in others:
        first.status = max(first.status, other.status)
        first.command = "; ".join(filter(None, (first.command, other.command)))
        first.session = " ".join(filter(None, (first.session, other.session)))
        for name in ("database", "system", "host", "time"):
            setattr(first, name, getattr(first, name) or getattr(other, name))
        for name in _COUNTS:
            setattr(first, name, getattr(first, name) + getattr(other, name))
        for source, count in other.judged.items():
            first.judged[source] = first.judged.get(source, 0) + count
        first.suites = _merged_suites([*first.suites, *other.suites])
        for name in _LISTS:
            known = getattr(first, name)
            known += [entry for entry in getattr(other, name) if entry not in known]
        first.not_selected += other.not_selected
        first.links_not_judged |= other.links_not_judged
        first.fabric |= other.fabric
        first.fabric_not_viewed |= other.fabric_not_viewed
    first.not_selected = _never_selected(first)
    return first


def _never_selected(verdict: Verdict) -> list[Unselected]:
    """Return the check files that no run selected, each once, with what left it out first."""
    said = {each.name for each in verdict.unprovided} | {*verdict.check_files}
    first = {each.check: each for each in reversed(verdict.not_selected) if each.check not in said}
    return [first[check] for check in sorted(first)]


def _merged_suites(uses: Sequence[SuiteUse]) -> list[SuiteUse]:
    by_suite: dict[str, SuiteUse] = {}
    for use in uses:
        known = by_suite.get(use.suite, SuiteUse(use.suite, (), (), 0))
        by_suite[use.suite] = SuiteUse(
            use.suite,
            tuple(dict.fromkeys((*known.environments, *use.environments))),
            tuple(dict.fromkeys((*known.versions, *use.versions))),
            known.cases + use.cases,
        )
    return list(by_suite.values())
