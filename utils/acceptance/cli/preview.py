"""`--dry-run` of `nightly` and `accept`: the steps, their cases, and about how long they take."""

import argparse
import shlex
from collections.abc import Sequence

from acceptance.campaigns import Preview, Step, preview
from acceptance.cli.output import warn
from acceptance.core.text import plural, time_text, wrapped
from acceptance.verdict import Status


def show(plan: Sequence[Step], mode: str, options: argparse.Namespace) -> int:
    """Print what the steps would run; raises Fault where a step could not even begin."""
    previews = preview(plan, mode, options.reframe, options.workspace)
    for each in previews:
        print("\n".join(_lines(each)))
    total = Preview(
        Step("all", (), ()),
        sum(each.cases for each in previews),
        sum(each.builds for each in previews),
        sum(each.seconds for each in previews),
        sum(each.unknown for each in previews),
    )
    print("\n".join(wrapped("all: ", f"{_amount(total)}; then the verdict", 4)))
    for warning in dict.fromkeys(text for each in previews for text in each.warnings):
        warn(options, f"ReFrame: {warning}")
    return Status.PASSED


def _lines(each: Preview) -> list[str]:
    step = each.step
    if step.reason:
        return wrapped(f"{step.name}: ", f"not run: {step.reason}", 4)
    command = wrapped("", shlex.join(("reframe", *step.arguments)), 4)
    return [*wrapped(f"{step.name}: ", _amount(each), 4), *command]


def _amount(each: Preview) -> str:
    count = each.cases + each.builds
    if not count:
        return "no case"
    builds = f" and {plural(each.builds, 'build')}" if each.builds else ""
    words = f"{plural(each.cases, 'case')}{builds}, "
    if each.unknown == count:
        return f"{words}time not known: never run here in this mode"
    words += f"about {time_text(each.seconds)}"
    if each.unknown:
        words += f" without {each.unknown} that never ran here in this mode"
    return words
