"""How far a campaign has come, and about how long the rest takes, by the last one of its kind."""

from datetime import datetime

from acceptance.campaigns import state as campaign
from acceptance.campaigns.state import DONE, NOT_PROVIDED, Progress, State, now
from acceptance.core.text import plural, time_text


def told(state: State, step: Progress) -> str:
    """Return the line of a step that begins: which of how many, elapsed, and what is left."""
    steps = [one for one in state.steps if one.state != NOT_PROVIDED]
    number = 1 + next(place for place, one in enumerate(steps) if one is step)
    elapsed = (now() - datetime.fromisoformat(state.started)).total_seconds()
    left = [one for one in steps if one.state != DONE]
    known = _durations(state, {one.name for one in left})
    words = [
        f"step {number} of {len(steps)}",
        f"{time_text(elapsed)} since the beginning",
        _rest(known, left),
    ]
    if step.name in known:
        words.append(f"this step took {time_text(known[step.name])} then")
    return "; ".join(words)


def _rest(known: dict[str, float], left: list[Progress]) -> str:
    if not known:
        return f"rest unknown: none of {plural(len(left), 'step')} came to an end here before"
    unknown = [one.name for one in left if one.name not in known]
    without = f" without {', '.join(unknown)}, which never came to an end here" if unknown else ""
    return f"about {time_text(sum(known.values()))} left, by the last time{without}"


def _durations(state: State, names: set[str]) -> dict[str, float]:
    """Return how long each step took in the newest campaign of this kind that ended it, in s.

    A step that selected other cases says nothing of this one.
    """
    wanted = {step.name: _selection(state, step) for step in state.steps if step.name in names}
    found: dict[str, tuple[str, float]] = {}
    for other in campaign.readable(state.campaigns, f"{state.kind}-*"):
        if other.id == state.id:
            continue
        for step in other.steps:
            if step.state != DONE or not step.attempts:
                continue
            if wanted.get(step.name) != _selection(other, step):
                continue
            if found.get(step.name, ("",))[0] <= other.started:
                times = [(one.started, one.ended) for one in step.attempts if one.ended]
                found[step.name] = other.started, sum(_seconds(*one) for one in times)
    return {name: seconds for name, (_, seconds) in found.items()}


def _selection(state: State, step: Progress) -> tuple[object, ...]:
    """Return what chose the cases of a step; whose turn it is among the nodes does not."""
    words = [word for word in step.arguments if not word.startswith("pinned=")]
    return state.asked.get("system"), state.limited, words


def _seconds(started: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()
