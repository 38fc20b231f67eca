"""The four questions about a fault, answered by what is there."""

import re
import shutil
from dataclasses import dataclass

from acceptance import ledger
from acceptance.core.text import one_line
from tests.faults.place import ACCEPT, NIGHT, TRACEBACK, Place, kill_all

#: Characters of a line in the table.
_LONGEST = 300
#: How the reason begins where a row could not be looked at for a fault of its own.
BROKEN = "broken: "


@dataclass
class Outcome:
    """What became of a fault; empty answers are good, but for `line`."""

    name: str
    moment: str = ""
    lost: str = ""
    green: str = ""
    next: str = ""
    line: str = ""
    not_looked: str = ""
    faults: str = ""

    @property
    def bad(self):
        """Tell whether a question is answered with no, or could not be asked for a fault here."""
        if self.not_looked:
            return self.not_looked.startswith(BROKEN)
        return bool(self.lost or self.green or self.next or not self.line)

    @property
    def cells(self):
        if self.not_looked:
            return (self.name, "not looked", "not looked", "not looked", self.not_looked)
        moment = f": {self.moment}" if self.moment else ""
        return (
            self.name + moment,
            self.lost or "no",
            self.green or "no",
            self.next or "works",
            self.line[:_LONGEST] or f"NONE: {self.faults}",
        )


def examine(row, base, folder, **more):
    """Put a fault into a place like another one, and answer the questions."""
    place = Place.after(base, folder)
    with place.closing:
        before = place.look()
        with row.put(place, **more) as ran:
            status, data, errors = place.gate()
        after = place.look()
        outcome = Outcome(row.name, ran.moment)
        outcome.green = _falsely_green(ran, status, before, after)
        _tell(outcome, row, ran, status, data, errors, _new(before, after))
        outcome.next = _next(place, row.kind, after)
    outcome.lost = "; ".join(place.lost(before, after, place.look()))
    for pid in place.left_behind():
        kill_all(pid)
    if not outcome.bad:
        shutil.rmtree(folder)
    return outcome


def _falsely_green(ran, status, before, after):
    """Say what was green though not all was measured."""
    new = _new(before, after)
    found = []
    greens = ran.statuses.count(0)
    if greens > (0 if ran.red else len(new)):
        found.append(f"{greens} commands ended with 0, {len(new)} runs are whole")
    killed = all(each is None or each < 0 or each == 137 for each in ran.statuses)
    begun = after.begun - before.begun or not killed
    if status == 0 and begun and (ran.red or not new):
        found.append("the gate says pass")
    return "; ".join(found)


def _new(before, after):
    """Return the runs that became whole meanwhile."""
    return after.whole() - before.whole()


def _tell(outcome, row, ran, status, data, errors, whole):
    """Find the line that says what happened: of the gate, else of the command."""
    problems = [each["text"] for each in data.get("problems", ())]
    said = [*errors.splitlines(), *ran.output.splitlines()]
    lines = [one_line(line) for line in [*problems, *data.get("notes", ()), *said]]
    trace = [text for text in (ran.output, errors) if TRACEBACK in text]
    if trace:
        outcome.faults = f"traceback: {one_line(trace[0][trace[0].index(TRACEBACK) :])[-_LONGEST:]}"
        return
    outcome.line = next((line for line in lines if row.said and re.search(row.said, line)), "")
    if not outcome.line and status == 0 and not outcome.green:
        outcome.line = "(all was measured)" if whole else "(nothing had begun)"
    outcome.faults = "; ".join(problems) or f"statuses {ran.statuses}, gate {status} {errors}"


def _next(place, kind, after):
    """Run the command again; say what does not work, nothing if all does."""
    status, said = place.run(kind)
    gate, data, errors = place.gate()
    whole = _new(after, place.look())
    found = []
    if status != 0 or gate != 0:
        told = "; ".join(each["text"] for each in data.get("problems", ())) or errors or said[-300:]
        found.append(f"ends with {status}, the gate with {gate}: {one_line(told)}")
    if TRACEBACK in said + errors:
        found.append("a traceback")
    if not whole and not (kind in (NIGHT, ACCEPT) and any(map(ledger.campaign_of, after.whole()))):
        found.append("it is not whole")
    if left := place.left_behind():
        found.append(f"left behind: {left}")
    return "; ".join(found)
