"""A series as one line of a terminal."""

from collections.abc import Sequence

#: From the smallest value to the largest; the second is for a terminal without UTF-8.
BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.,-=*#@"


def sparkline(values: Sequence[float], width: int, *, utf8: bool = True) -> str:
    """Draw the last `width` values between their smallest and their largest one."""
    shown = values[-width:]
    if not shown:
        return ""
    signs = BLOCKS if utf8 else PLAIN
    least, span = min(shown), max(shown) - min(shown)
    if not span:
        return signs[len(signs) // 2] * len(shown)
    return "".join(signs[round((value - least) / span * (len(signs) - 1))] for value in shown)
