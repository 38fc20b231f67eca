"""Traffic over links side by side: which carry nothing, and what moved from one to another.

Links side by side are the rails of a node, and the cables between the same two switches. Traffic
that moved between them at the same sum is no regression: what they carry together is what counts.
"""

from collections.abc import Mapping

#: A link that carried less than this share of an even one carried nothing: address resolution and
#: the fabric's management go over each of them, too.
NOTHING = 0.01
#: By which fraction the sums of two times may differ and still be the same sum.
SAME = 0.1
#: By which fraction of an even share a link may carry more or less, where nothing else is stated.
UNEVEN = 0.2


def carrying(moved: Mapping[str, int]) -> list[str]:
    """Return those of links side by side that carried more than nothing."""
    least = NOTHING * sum(moved.values()) / max(1, len(moved))
    return [name for name, count in moved.items() if count > least]


def shares(moved: Mapping[str, int]) -> dict[str, float]:
    """Return link -> its share of what all carried; empty where nothing was."""
    total = sum(moved.values())
    return {name: count / total for name, count in moved.items()} if total else {}


def shifted(before: Mapping[str, int], now: Mapping[str, int]) -> str:
    """Return the link that took over most of the others' traffic since an earlier time.

    Empty where nothing moved, where the links are others, and where the sum is another one: it was
    other traffic then.
    """
    was, is_now, total = shares(before), shares(now), sum(before.values())
    if not was or was.keys() != is_now.keys() or abs(sum(now.values()) - total) > SAME * total:
        return ""
    gained = {name: is_now[name] - was[name] for name in now}
    most = max(gained, key=lambda name: gained[name], default="")
    return most if gained.get(most, 0.0) * len(now) > UNEVEN else ""
