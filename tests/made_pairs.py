"""Nights of pairs of nodes, of which one becomes slow, or gets other software."""

from acceptance.regressions.judge import judge
from tests.made import SOFTWARE, Case, Database, noisy
from tests.stored import load

#: The first night of the change; three times as late where the pairs take turns.
BAD = 70


def of_pairs(night, what, turns):
    """Return the cases of a night: of each pair of nodes, or of the pair whose turn it is."""
    cases = []
    for pair in [night % 3] if turns else range(3):
        for number in range(5):
            bad = night >= BAD * (3 if turns else 1) and (what == "software" or pair == 1)
            latency = noisy(f"latency {pair} {number}", 10, 0.02)(night, 1.07 if bad else 1.0)
            software = {"mpi": "openmpi@5.0.1"} if what == "software" and bad else {}
            cases.append(
                Case(
                    f"OsuMpi %benchmark=b{number}" + ("" if turns else f" %pair={pair}"),
                    {"latency_8": (latency, "us")},
                    nodes=(f"n{2 * pair}", f"n{2 * pair + 1}"),
                    keys={"np": "2"},
                    benchmark=f"osu.b{number}",
                    provenance={**SOFTWARE, **software},
                )
            )
    return cases


def judged_nights(folder, what, first, more, turns=False):
    database, found = Database(folder / "results.db"), []
    for night in range(first + more):
        database.add(of_pairs(night, what, turns))
        if night >= first:
            found.append(judge(load(database.path), None, folder / "kept"))
    return found
