"""How many operations each program of NPB counts, and whether its time and rate agree with that.

Sources, of 3.3.1 and 3.4.1: the lines that set `mflops` or `Mops` in `cg.f`, `mg.f`, `ft.f`,
`bt.f`, `sp.f`, `lu.f` and `ep.f`, and in `is.c` the call of `c_print_results`.
"""

import math
from collections.abc import Callable

from acceptance.suites.npb import benchmarks as npb

#: Time and Mop/s are printed with two decimals.
ROUNDING = 0.005
#: 3.3 computes cg and lu in single precision, and both have constants that are single.
_SLACK = 1e-6

Size = tuple[int, ...]


def _is(size: Size, iterations: int) -> float:
    return float(size[0]) * iterations


def _ep(size: Size, iterations: int) -> float:
    return float(size[0])


def _cg(size: Size, iterations: int) -> float:
    nonzeros = npb.NONZEROS[size[0]]
    elements = nonzeros * (nonzeros + 1.0)
    return 2.0 * iterations * size[0] * (3 + elements + 25 * (5 + elements) + 3)


def _mg(size: Size, iterations: int) -> float:
    return 58.0 * iterations * math.prod(size)


def _ft(size: Size, iterations: int) -> float:
    points = float(math.prod(size))
    log = math.log(points)
    return points * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * iterations)


def _polynomial(*coefficients: float) -> Callable[[Size, int], float]:
    """Return those of bt, sp and lu: by the points, and by the square and mean of an edge."""
    cubic, square, linear, constant = coefficients

    def operations(size: Size, iterations: int) -> float:
        edge = sum(size) / 3
        return iterations * (cubic * math.prod(size) + square * edge**2 + linear * edge + constant)

    return operations


_OPERATIONS: dict[str, Callable[[Size, int], float]] = {
    "is": _is,
    "ep": _ep,
    "cg": _cg,
    "mg": _mg,
    "ft": _ft,
    "bt": _polynomial(3478.8, -17655.7, 28023.7, 0),
    "sp": _polynomial(881.174, -4683.91, 11484.5, -19272.4),
    "lu": _polynomial(1984.77, -10923.3, 27770.9, -144010),
}


def millions(name: str, problem_class: str) -> float:
    """Return the operations of a benchmark and a class, in 10^6; ValueError for an unknown one."""
    return 1e-6 * _OPERATIONS[name](*npb.sizes(name, problem_class))


def communication_time(name: str, problem_class: str, mops: float) -> float:
    """Return the time (us) in which the operations of a benchmark and a class have this Mop/s.

    Where no computation takes time, as in a simulation, it is that of the communication. NPB prints
    the time with two decimals (s), which often are 0.00 then, and the rate with more digits.
    """
    return 1e6 * millions(name, problem_class) / mops


def rates(operations: float, seconds: float) -> tuple[float, float]:
    """Return the lowest and the highest Mop/s that may be printed beside a time.

    A time is known to 0.005 s and no better, so the bounds of a short run are wide: 0.50 s leaves
    1 %, and below 0.005 s, which is printed as 0.00, there is a lowest rate only.
    """
    low = operations / (seconds + ROUNDING) * (1 - _SLACK) - ROUNDING
    if seconds <= ROUNDING:
        return low, math.inf
    return low, operations / (seconds - ROUNDING) * (1 + _SLACK) + ROUNDING


def contradiction(name: str, problem_class: str, seconds: float, mops: float) -> str:
    """Return what is wrong with a time beside a rate (Mop/s), "" if nothing is."""
    low, high = rates(millions(name, problem_class), seconds)
    if low <= mops <= high:
        return ""
    return (
        f"{mops:.2f} Mop/s beside a time of {seconds:.2f} s, where the operations of "
        f"{name}.{problem_class} are between {low:.2f} and {high:.2f} Mop/s"
    )
