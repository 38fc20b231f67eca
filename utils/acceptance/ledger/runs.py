"""Which sessions are one run: the steps of a campaign, a session and what measured it again."""

import re
from collections.abc import Iterable

from acceptance.ledger.ledger import Entry

#: The label of a campaign's step: `nightly-2026-11-20T220000.osu.3f2a9c`.
_STEP = re.compile(
    r"(?P<campaign>(?:nightly|accept)-\d{4}-\d\d-\d\dT\d{6}(?:\.\d+)?)(?:\.(?P<step>[^.]+).*)?\Z"
)
#: What the label of a repetition has after the session that it repeats.
_AGAIN = re.compile(r"\.again\d+\Z")


def campaign_of(label: str) -> str:
    """Return the id of the campaign that a label is, or begins with; empty where it has none."""
    found = _STEP.match(label)
    return found["campaign"] if found else ""


def step_of(label: str) -> str:
    """Return the step of a campaign that a label names, `again` for a repetition, else nothing."""
    found = _STEP.match(label)
    return (found["step"] or "") if found else "again" if repeated(label) else ""


def repeated(label: str) -> str:
    """Return the session that a label of a repetition names; empty where it is of none."""
    session = _AGAIN.sub("", label)
    return session if session != label else ""


def runs_of(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the run of each session (UUID): the id of its campaign, else of its first session."""
    found: dict[str, str] = {}
    for entry in entries:
        of_session = found.get(repeated(entry.label), entry.uuid)
        found[entry.uuid] = campaign_of(entry.label) or of_session
    return found
