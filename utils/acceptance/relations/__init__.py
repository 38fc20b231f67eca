"""Relations between results: what papers and sites claim, what every MPI satisfies, A against B.

One matching of results, three judges: `claims`, `guidelines` and `comparison`; and `near_limits`, a
case against its limits by all of its runs.
"""

from acceptance.relations import (
    claims,
    comparison,
    false_alarms,
    guidelines,
    near_limits,
    noise,
    rounds,
    sides,
)
