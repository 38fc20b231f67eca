"""What a campaign would run: the cases of each step, and how long they took when they last ran."""

from collections.abc import Sequence
from dataclasses import dataclass

from acceptance.campaigns.steps import LINKS, Step
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.rfm import SelectedCase, durations, select


@dataclass(frozen=True)
class Preview:
    """A step: its cases and builds, how long they take (s), and how many of them never ran here.

    `seconds` counts those that did. A step that nothing provides has no cases.
    """

    step: Step
    cases: int = 0
    builds: int = 0
    seconds: float = 0.0
    unknown: int = 0
    warnings: tuple[str, ...] = ()


def preview(
    plan: Sequence[Step], mode: str, extra: Sequence[str], workspace: Workspace
) -> list[Preview]:
    """Ask ReFrame for the cases of each step, and the results database for their times.

    Raises Fault where ReFrame refuses a command, and where `extra`, further options for benchmarks,
    selects none of them.
    """
    selected = {step.name: select(step.arguments, workspace) for step in plan if not step.reason}
    chosen = [name for step in plan if (name := step.name) in selected and _takes(step, extra)]
    if chosen and not any(selected[name].cases for name in chosen):
        raise Fault(f"{' '.join(extra)} selects no case of {', '.join(chosen)}")
    keys = {
        step.name: [_key(case, step, mode) for case in selected[step.name].cases]
        for step in plan
        if step.name in selected
    }
    wanted = {key for of_step in keys.values() for key in of_step}
    known = durations.durations(workspace.results, wanted) if workspace.results.exists() else {}
    previews = []
    for step in plan:
        if step.name not in selected:
            previews.append(Preview(step))
            continue
        cases = selected[step.name].cases
        previews.append(
            Preview(
                step,
                sum(not case.fixture for case in cases),
                sum(case.fixture for case in cases),
                sum(known.get(key, 0.0) for key in keys[step.name]),
                sum(key not in known for key in keys[step.name]),
                selected[step.name].warnings,
            )
        )
    return previews


def _takes(step: Step, extra: Sequence[str]) -> bool:
    """Tell whether a step is run with further options."""
    return bool(extra) and step.arguments[-len(extra) :] == (*extra,)


def _key(case: SelectedCase, step: Step, mode: str) -> durations.CaseInMode:
    """Return the key of a case; the link check, as a build, is the same in every mode."""
    return case.name, case.where, "" if case.fixture or step.name == LINKS else mode
