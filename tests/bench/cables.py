"""How often the cable behind slow pairs is named on 1,024 nodes, with the routes of a real opensm.

Made matrices: a cable at 70 % of its rate, in noise of 5 %, all pairs or the few that together
cross every link; found is that cable with both ends, wrong is any other one.
"""

import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

from acceptance.core.text import table
from acceptance.fabric.routes import Routes, choose
from acceptance.nodes.cables import Ways, with_cables
from tests import needs
from tests.ibsim import Fabric, fat_tree
from tests.routed import Routed

RATIO, NOISE = 0.7, 0.05
#: Name -> leaves, spines, cables between each two of them.
TREES = {"1,024 nodes, full bisection": (32, 16, 2), "1,024 nodes, 2:1": (32, 16, 1)}
#: Name -> all pairs?, degrees of freedom of the noise, measured again?, slow and healthy runs.
WAYS = {
    "few pairs": (False, None, False, 100, 200),
    "few pairs, heavy tails": (False, 3, False, 100, 200),
    "few pairs, heavy tails, again": (False, 3, True, 100, 200),
    "all pairs": (True, None, False, 4, 2),
}


def why_not():
    """Say what is missing; empty where the bench can run."""
    return needs.why_not(*needs.FABRIC) or ""


def blamed(routed, matrix):
    """Return the names of the cables that are named."""
    ways = Ways(matrix.nodes, routed.topology, routed.routes)
    return [each.subject for each in with_cables(matrix, ways, ())]


def rates(routed, rounds, tails, again, slow, healthy):
    """Return shares: found, wrong names in a slow fabric, healthy fabrics with any name."""
    random = np.random.default_rng(7)
    found = wrong = named = 0
    for seed in range(slow):
        link = int(random.integers(len(routed.routes.links)))
        ratio = {2 * link: RATIO, 2 * link + 1: RATIO}
        made = routed.matrix(ratio, rounds, noise=NOISE, seed=seed, tails=tails, again=again)
        names = blamed(routed, made)
        text = routed.topology.link_text(routed.routes.links[link])
        found += text in names
        wrong += any(name != text for name in names)
    for seed in range(healthy):
        made = routed.matrix({}, rounds, noise=NOISE, seed=seed, tails=tails, again=again)
        named += bool(blamed(routed, made))
    return f"{found} of {slow}", f"{wrong} of {slow}", f"{named} of {healthy}"


def main():
    rows = []
    for name, (leaves, spines, cables) in TREES.items():
        with (
            tempfile.TemporaryDirectory() as folder,
            Fabric(fat_tree(1024, leaves, spines, cables).net) as fabric,
        ):
            routed = Routed.of(fabric, Path(folder) / "reading")
        begin = time.perf_counter()
        Routes.of(routed.topology, routed.text)
        walked = time.perf_counter()
        few = choose(routed.routes, range(1024))
        chosen = time.perf_counter()
        pairs = sum(map(len, few))
        print(
            f"{name}: {len(routed.routes.links)} links; all routes in {walked - begin:.1f} s; "
            f"{pairs} pairs in {len(few)} rounds chosen in {chosen - walked:.1f} s"
        )
        made = routed.matrix({})
        tracemalloc.start()
        begin = time.perf_counter()
        blamed(routed, made)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"  all pairs judged in {time.perf_counter() - begin:.1f} s (traced), {peak:.0f} MB")
        for way, (full, tails, again, slow, healthy) in WAYS.items():
            rounds = None if full else few
            rows.append([name, way, *rates(routed, rounds, tails, again, slow, healthy)])
    titles = ["fabric", "measured", "found", "wrong names", "healthy named"]
    print(table(titles, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
