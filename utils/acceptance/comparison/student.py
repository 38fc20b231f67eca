"""Student's t distribution: how probable a difference is by chance, and how large it may be."""

import math

_SMALL = 1e-300


def two_sided(t: float, dof: float) -> float:
    """Return the probability of a Student's t at least as far from 0 as `t`, either way.

    P(|T| >= t) = I_x(dof / 2, 1 / 2) with x = dof / (dof + t^2) (DLMF 8.17; Abramowitz and Stegun
    26.7.1).
    """
    if math.isinf(t):
        return 0.0
    return _beta(dof / 2, 0.5, dof / (dof + t * t))


def quantile(probability: float, dof: float) -> float:
    """Return the t that is exceeded, either way, with a probability above 0 and at most 1."""
    low, high = 0.0, 1.0
    while two_sided(high, dof) > probability and high < 1e12:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, dof) > probability else (low, middle)
    return high


def _beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b) (DLMF 8.17.22 and 8.17.4)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(x) + b * math.log1p(-x)) / a
    return front / _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction 1 + d1 / (1 + d2 / (1 + ...)), by Lentz's method."""
    value = c = 1.0
    d = 0.0
    for step in range(1, 500):
        m = step // 2
        if step % 2:
            part = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            part = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + part * d or _SMALL)
        c = 1 + part / c or _SMALL
        value *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return value
