"""Relations between results: what papers and sites claim, what every MPI satisfies, A against B.

One matching of results, three judges: `claims`, `guidelines` and `comparison`.
"""

from acceptance.relations import claims, comparison, false_alarms, guidelines, sides
