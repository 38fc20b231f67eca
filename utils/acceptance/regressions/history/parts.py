"""What was simulated and what was measured, apart: neither tells anything of the other."""

from dataclasses import replace

from acceptance.core.simulated import is_simulated
from acceptance.regressions.history.series import History


def part(history: History, *, simulated: bool) -> History:
    """Return the part of a history that is of simulated systems, or of those that were measured.

    Each is judged by itself: not even the number of series of the other one counts.
    """
    cases = [case for case in history.cases if is_simulated(case.key.system) == simulated]
    sessions = [
        session
        for session in history.sessions
        if simulated in {is_simulated(name) for name in session.systems or ("",)}
    ]
    return replace(history, cases=cases, sessions=sessions)
