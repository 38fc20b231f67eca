"""Deviations of links read back from the lines that results hold: the reverse of `str(Deviation)`.

A results database keeps a failure as text. The lines are ours (`fabric/link_check.py`,
`fabric/counters.py`), and so can be read again; anything else is none of them.
"""

import re

from acceptance.fabric.node import Deviation

_LINE = re.compile(r"(?P<where>[^\s:]+(?: \S+){0,2}): (?P<found>.+), expected (?P<expected>.+)")
#: Words of `what`, the last one before the colon. Counters are words of lower case and underscores.
_SLOT, _MTU, _COUNTERS = "PCIe", "MTU", "counters"
_RATE = re.compile(r"\d[\d.]* Gb/sec")
_SPEED = re.compile(r"(?P<speed>[\d.]+) GT/s")


def read(line: str) -> Deviation | None:
    """Return the deviation that a line tells of, or None."""
    matched = _LINE.fullmatch(line.strip())
    if not matched:
        return None
    node, *words = matched["where"].split()
    found, expected = matched["found"], matched["expected"]
    what = words[-1] if len(words) == 2 or (words and words[0] == _COUNTERS) else ""
    device = words[0] if words and words[0] != what else ""
    kind = _kind(what, found, expected)
    return Deviation(node, device, what, found, expected, kind) if kind else None


def _kind(what: str, found: str, expected: str) -> str:
    if what == _SLOT:
        speeds = [match["speed"] if (match := _SPEED.search(t)) else "" for t in (found, expected)]
        return "slot-width" if speeds[0] == speeds[1] or not speeds[1] else "slot-speed"
    if what == _MTU:
        return "mtu"
    if what == _COUNTERS:
        return "reset"
    if expected in ("no more", "a counter with room"):
        return "errors" if expected == "no more" else "full"
    if expected in ("a number", "what was there before", "a reading of the same node"):
        return "vanished"
    if expected == "a file that can be read":
        return "unreadable"
    if what:
        return ""
    if found.startswith("no ") and found.split()[-1] in ("port", "interface", "adapter"):
        return "no-adapter"
    if expected == "ACTIVE (LinkUp)" or expected.startswith("link layer "):
        return "port-state"
    if _RATE.match(expected):
        return "port-rate"
    return _ethernet(found, expected)


def _ethernet(found: str, expected: str) -> str:
    if expected not in ("full duplex", "an active port") and not re.fullmatch(
        r"\d+ Mb/s full", expected
    ):
        return ""
    if not re.match(r"\d+ Mb/s |unknown speed ", found):
        return "port-state"
    same = expected == "full duplex" or found.split()[0] == expected.split()[0]
    return "duplex" if same else "interface-speed"
