"""What came of measuring all pairs of a partition's nodes, in a verdict.

`Verdict.nodes` has it at each partition: in `all_pairs` what each case measured, in `findings` its
culprits beside what else is found of nodes, in `not_paired` why a campaign that should have
measured all pairs has none. Where nothing is to be said these keys are not there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from acceptance.core.pairs import UNITS
from acceptance.nodes import FAILING, AllPairs, PairFinding, compared_pairs
from acceptance.rfm import Case
from acceptance.verdict.model import Verdict

#: The benchmark of the cases that measure all pairs.
BENCHMARK = "patterns.all-pairs"
_UNKNOWN = "no case of it was run"


def judge_all_pairs(
    verdict: Verdict, cases: Iterable[Case], asked: bool, without: str = ""
) -> None:
    """Add what these cases measured of all pairs, and fail for the culprits.

    `asked`: each partition of several nodes should have such a case; `without` says why none has.
    """
    reasons: dict[str, str] = {}
    for case in cases:
        place = f"{case.system}:{case.partition}"
        if case.benchmark != BENCHMARK or place not in verdict.nodes:
            continue
        if not case.all_pairs:
            reasons[place] = "its case measured none"
            continue
        try:
            measured = AllPairs.of_data(case.all_pairs)
        except (KeyError, TypeError, AttributeError) as err:
            text = f"{case.name} @{case.where}: what is stored of all pairs is malformed: {err!r}"
            verdict.fail("impossible-value", text, f"{case.name} @{case.where}")
            reasons[place] = "what is stored of it is malformed"
            continue
        _add(verdict, place, case.environment, measured)
    for place, entry in verdict.nodes.items():
        alone = entry["count"] == 1 or len(entry["limited"]) == 1
        if asked and not alone and "all_pairs" not in entry:
            entry["not_paired"] = reason = reasons.get(place, without or _UNKNOWN)
            verdict.notes.append(f"{place}: not all pairs of its nodes were measured: {reason}")


def _add(verdict: Verdict, place: str, environment: str, measured: AllPairs) -> None:
    entry = verdict.nodes[place]
    data = {"environment": environment, **measured.as_data()}
    entry.setdefault("all_pairs", []).append(data)
    for finding in (PairFinding(place, environment, each) for each in measured.culprits):
        entry["findings"].append(finding.as_data())
        if finding.kind in FAILING:
            verdict.fail(finding.kind, str(finding), *finding.about)
        else:
            verdict.notes.append(str(finding))


def measured_of(entry: Mapping[str, Any]) -> list[tuple[str, AllPairs]]:
    """Return environment and measurement of each case, of a partition's entry of a verdict."""
    return [(data["environment"], AllPairs.of_data(data)) for data in entry.get("all_pairs", ())]


def all_pairs_text(entry: Mapping[str, Any]) -> str:
    """Say how many pairs of how many nodes were measured, and how many culprits were found."""
    texts = []
    for _, measured in measured_of(entry):
        failing = sum(each.fails for each in measured.culprits)
        texts.append(f"{measured.text}" + (f", culprits: {failing}" if failing else ""))
    if reason := entry.get("not_paired"):
        texts.append(f"not all pairs measured: {reason}")
    return "; ".join(texts)


def is_judged(entry: Mapping[str, Any]) -> bool:
    """Tell whether all pairs were judged in any quantity."""
    return any(measured.judged(each) for _, measured in measured_of(entry) for each in UNITS)


def has_ended(entry: Mapping[str, Any], what: str, nodes: Sequence[str]) -> bool:
    """Tell whether a quantity of these nodes (`PairFinding.compared`) was measured and judged.

    Of a path both of its directions have to be measured again; of a cable (its ends are the nodes)
    pairs whose routes take it.
    """
    for environment, measured in measured_of(entry):
        for quantity in ("", *UNITS):
            judged = measured.judged(quantity) if quantity else {*measured.nodes}
            if what == compared_pairs(environment, quantity) and judged and judged >= {*nodes}:
                return True
            if what == compared_pairs(environment, quantity, "paths"):
                return judged >= {*nodes} and measured.looked_at(*nodes)
            if what == compared_pairs(environment, quantity, "cables"):
                return measured.crossed(" - ".join(nodes))
    return False
