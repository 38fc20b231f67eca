"""Metrics that are no longer measured, or in another unit, though the same was selected."""

from collections.abc import Callable, Iterator

from acceptance.detection.constants import VANISHED_BEFORE, VANISHED_FORGOTTEN
from acceptance.regressions.changes import Change
from acceptance.regressions.history.series import History, PastSession, Series
from acceptance.regressions.progress import Progress
from acceptance.rfm.session_schema import node_of_case


def vanished(
    history: History, progress: Progress, is_old: Callable[[float, float], bool]
) -> Iterator[Change]:
    """Yield every series that the last sessions with the same command measured and these did not.

    Same command: apart from labels and folders (`PastSession.selection`). A case that failed, was
    skipped or repeated has not vanished, nor has anything in a session that was aborted, nor the
    link check of a node that was down, nor a case of more nodes than any of the session took, which
    were not up: whoever knows the nodes reports it. `is_old`
    tells of the usual time between sessions and of the last one's end (s) that nobody runs this
    selection any more.
    """
    selections: dict[tuple[str, ...], list[PastSession]] = {}
    for session in history.sessions:
        if not session.perflog and not session.aborted and session.partitions:
            selections.setdefault(session.selection, []).append(session)
    for sessions in selections.values():
        if len(sessions) <= VANISHED_BEFORE:
            continue
        recent = sessions[-VANISHED_BEFORE - VANISHED_FORGOTTEN :]
        usual = (recent[-1].end - recent[0].end) / (len(recent) - 1)
        if not is_old(usual, recent[-1].end):
            yield from _missing(history, recent, progress)


def _missing(history: History, sessions: list[PastSession], progress: Progress) -> Iterator[Change]:
    first, last = sessions[0].number, sessions[-1].number
    missing = {
        id(series): series
        for case in history.cases
        for series in case.series
        if first <= progress.last(series) < last
    }
    recent = progress.recent(missing.values())
    for case in history.cases:
        if node_of_case(case.key.check):
            continue
        name = (case.key.where, case.key.check)
        place, nodes = case.key[:2], int(dict(case.key.keys).get("nodes", 0))
        for series in case.series:
            if id(series) not in missing:
                continue
            measured = {each for each in recent[id(series)].sessions.tolist() if each >= first}
            fit = [
                session
                for session in sessions
                if name not in session.unfit and session.most.get(place, nodes) >= nodes
            ]
            without = 0
            while without < len(fit) and fit[-1 - without].number not in measured:
                without += 1
            before = fit[: len(fit) - without][-VANISHED_BEFORE:]
            if 0 < without <= VANISHED_FORGOTTEN and len(before) == VANISHED_BEFORE:
                # A sample of another selection's session says that it is there.
                since = fit[-without]
                if all(one.number in measured for one in before) and (max(measured) < since.number):
                    yield _change(series, since, progress)


def _change(series: Series, since: PastSession, progress: Progress) -> Change:
    kind, subject, text = "vanished", series, ""
    if series.last is not None and series.last.number >= since.number:
        text = "it is 0, below, or no number now"
    for other in series.case.series:
        if (
            other.metric == series.metric
            and other is not series
            and progress.last(other) >= since.number
        ):
            kind, subject, text = "unit", other, f"was in {series.unit or 'no unit'}"
    return Change(subject, kind, since, since, since.start, None, None, confidence=1.0, text=text)
