"""What the doctor says of one thing."""

from dataclasses import dataclass

OK, MISSING, BROKEN = "ok", "missing", "BROKEN"


@dataclass(frozen=True)
class Examined:
    """One line: what was looked at, its state, what was found, and what to do about it."""

    what: str
    state: str
    found: str
    remedy: str = ""
    #: Lines to paste, where that is the remedy.
    lines: tuple[str, ...] = ()


def row(
    what: str, found: object, fault: object = "", remedy: str = "", state: str = BROKEN
) -> Examined:
    """Return the line on what is fine, or has a `fault`, and then a remedy."""
    if fault:
        return Examined(what, state, str(fault), remedy)
    return Examined(what, OK, str(found))
