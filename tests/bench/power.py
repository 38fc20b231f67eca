"""The chance that a cluster is accepted: promised by the formula, and realised by the judge.

Run by `make bench`; asserts nothing. Asked is what `acceptance accept --detect 5%` asks: a node
that loses 5 % of its rates is found with 0.95, a good cluster is rejected with 0.01 at most. The
passes are those of the plan. Of each row so many acceptances are made, each of other noise: nodes
lose what the row says in all rates. `slower` is what was promised; `realised` has the deviation by
chance of so many.

Simulated are fabrics with one defect each, a fat tree of 16 nodes by SimGrid. A simulation has no
noise: it is made, and is that of the row.
"""

import argparse
import math
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from acceptance.campaigns.power import MOST
from acceptance.core.pairs import PairMatrix
from acceptance.core.text import table
from acceptance.fabric import outputs
from acceptance.fabric.routes import Routes
from acceptance.machine import Layout
from acceptance.nodes import Aim, Power, cables, culprits
from acceptance.simulation import Injected, Platform, SimulatedRun, Tree, readings, write
from acceptance.simulation.defects import Defect
from acceptance.suites import all_pairs
from tests import needs
from tests.bench.simulation import HDR, MATRIX, build, run
from tests.made_matrices import RATE, TIME, names, noise, shifts

AIM = Aim(0.05, 0.95, 0.01)
#: Nodes, spread of a pair, what good nodes differ by, family of the noise.
MADE = (
    (8, 0.02, 0.0, "normal"),
    (16, 0.02, 0.0, "normal"),
    (16, 0.05, 0.0, "normal"),
    (16, 0.05, 0.0, "student"),
    (16, 0.02, 0.005, "normal"),
    (64, 0.05, 0.0, "normal"),
)
#: Slow nodes and what they lose.
ROWS = ((0, 0.0), (1, 0.025), (1, 0.04), (1, 0.05), (2, 0.04), (2, 0.05))
LEAF, NODES, OF_CABLES = 4, 16, 0.05
COLUMNS = (
    *("nodes", "spread", "differ", "noise", "passes", "slow", "loses"),
    *("promised", "realised", "others named"),
)


def passes_of(count, spread, differ):
    """Return the passes of a plan, and what it promises."""
    once = Power(count, count - 1, spread, differ, AIM)
    passes = once.passes(MOST)
    return passes, once.taken(passes)


def matrix_of(count, values, passes, spread, family, chance):
    """Return the median of so many passes over values, (N, N) by quantity, with noise."""
    parts = []
    rounds = shifts(count).astype(np.int32)
    for _ in range(passes):
        noisy = {}
        for quantity, value in values.items():
            worse = noise(family, spread, chance, count)
            noisy[quantity] = value * np.exp(worse if quantity == "latency" else -worse)
        parts.append(PairMatrix(names(count), noisy, rounds))
    return all_pairs.middle(parts)[0]


def made(count, passes, spread, differ, family, slow, loss, seed):
    """Return a matrix, and the names of its slow nodes."""
    chance = np.random.default_rng(seed)
    lost = differ * chance.standard_normal(count)
    bad = chance.choice(count, slow, replace=False)
    lost[bad] -= math.log1p(-loss)
    # A pair with two slow nodes is as slow as one of them.
    both = np.where(
        np.isin(np.arange(count), bad)[:, None] & np.isin(np.arange(count), bad),
        np.maximum(lost[:, None], lost), lost[:, None] + lost,
    )  # fmt: skip
    values = {"latency": np.full((count, count), TIME)}
    values |= dict.fromkeys(("bandwidth", "both"), RATE * np.exp(-both))
    for value in values.values():
        np.fill_diagonal(value, np.nan)
    return matrix_of(count, values, passes, spread, family, chance), {names(count)[n] for n in bad}


def told(accepted, wrong, runs):
    """Return how many were accepted, with the deviation of that, and of how many others named."""
    share = accepted / runs
    return f"{share:.1%} +- {math.sqrt(share * (1 - share) / runs):.1%}", f"{wrong} of {runs}"


def rows_of_made(runs, count, spread, differ, family):
    """Yield a row for each number of slow nodes and loss."""
    passes, power = passes_of(count, spread, differ)
    for slow, loss in ROWS:
        accepted = wrong = 0
        for seed in range(runs):
            matrix, bad = made(count, passes, spread, differ, family, slow, loss, seed)
            found = [each for each in culprits.judge(matrix, aim=AIM)[0] if each.fails]
            accepted += not found
            wrong += any({*each.nodes, *each.others} - bad for each in found)
        promised = power.accepted(loss, slow) if slow else power.accepted_good
        what = (count, f"{spread:.0%}", f"{differ:.1%}", family, passes, slow, f"{loss:.1%}")
        yield [*what, f"{promised:.1%}", *told(accepted, wrong, runs)]


def simulated(folder, program, defect, place):
    """Return what the nodes of a simulated fabric with a defect measure."""
    platform = Platform.of(HDR, NODES, tree=Tree(LEAF, LEAF))
    healthy = SimulatedRun.of(HDR, platform, Layout(NODES, 1, "inter-node"))
    write(folder, Injected(defect, place).apply(healthy) if defect else healthy)
    run(
        folder, NODES, program, "all-pairs", "--bytes", all_pairs.SIMULATED_LARGE, "--limit", 3600,
        "--output", MATRIX, "--timeout", 0, "--time", all_pairs.SIMULATED,
    )  # fmt: skip
    return all_pairs.Measured((folder / MATRIX).read_text(), MATRIX, NODES).matrix


def ways_of(folder, nodes):
    """Return the ways between the nodes of the simulated fabric."""
    platform = Platform.of(HDR, NODES, tree=Tree(LEAF, LEAF))
    command = readings.write_fabric(folder / "fabric", HDR, platform, None)
    subprocess.run(["sh", "-c", f'{command} "$@"', "sh", folder / "reading"], check=True)
    reading = outputs.read(folder / "reading")
    topology, _ = outputs.join(reading.topology, {}, nodes)
    return cables.Ways(nodes, topology, Routes.of(topology, reading.routes))


def lost_by(values, healthy, pairs):
    """Return the fraction that these pairs lose in a simulation."""
    return 1 - float(np.nanmedian(values[pairs] / healthy[pairs]))


def rows_of_simulated(folder, runs):
    """Yield a row for each defect, at so many places."""
    _, program = build(folder)
    healthy = simulated(folder, program, None, "")
    ways = ways_of(folder, healthy.nodes)
    values = {name: healthy.values[name] for name in ("latency", "bandwidth", "both")}
    for text, where, share, spread in (
        ("a node", "node", 0.975, 0.05), ("a node", "node", 0.95, 0.05),
        ("a cable", "uplink", 0.93, OF_CABLES),
    ):  # fmt: skip
        passes, power = passes_of(NODES, spread, 0.0)
        power = with_cables_of(power, ways, healthy)
        chance, accepted, wrong, losses = np.random.default_rng(3), 0, 0, []
        for seed in range(runs):
            place = f"n{chance.integers(NODES)}"
            if where == "uplink":
                place = f"leaf{chance.integers(NODES // LEAF)}-up{chance.integers(LEAF)}"
            defect = Defect("made", text, where, bandwidth=share)
            broken = simulated(folder, program, defect, place)
            pairs = broken.values["bandwidth"] < 0.999 * healthy.values["bandwidth"]
            losses.append(lost_by(broken.values["bandwidth"], healthy.values["bandwidth"], pairs))
            bad = {name: broken.values[name] for name in values}
            noisy = matrix_of(NODES, bad, passes, spread, "normal", np.random.default_rng(seed))
            noisy = replace(noisy, nodes=healthy.nodes, rounds=healthy.rounds)
            found = culprits.judge(noisy, hops=ways.hops, aim=AIM)[0]
            found = [e for e in cables.with_cables(noisy, ways, found, AIM) if e.fails]
            accepted += not found
            ends = place.replace("-up", " spine").split()
            named = {*ends, *(f"{end}[" for end in ends)}
            wrong += any(
                not any(name == end or name.startswith(end)
                        for name in (*each.nodes, *each.others) for end in named)
                for each in found
            )  # fmt: skip
        loss = float(np.mean(losses))
        promised = power.accepted(loss) if where == "node" else power.accepted_cable(loss)
        what = (NODES, f"{spread:.0%}", "0.0%", "normal", passes, text, f"{loss:.1%}")
        yield [*what, f"{promised:.1%}", *told(accepted, wrong, runs)]


def with_cables_of(power, ways, matrix):
    """Return a power with the cables of a fabric."""
    crossing = ways.crossing(np.isfinite(matrix.values["bandwidth"]))
    return Power(power.nodes, power.pairs, power.noise, 0.0, AIM, ways.number, crossing)


def why_not():
    """Return why this machine cannot run the bench: it can, at least in part."""
    return ""


def in_part():
    """Return what is missing for the simulated fabrics."""
    return needs.why_not("smpirun") or ""


def main():
    parser = argparse.ArgumentParser("tests.bench.power")
    parser.add_argument("--runs", type=int, default=100, help="acceptances of a made row (100)")
    parser.add_argument("--rows", type=int, nargs="*", help="of these numbers only (all)")
    parser.add_argument("--places", type=int, default=10, help="of each simulated defect (10)")
    options = parser.parse_args()
    chosen = range(len(MADE)) if options.rows is None else options.rows
    for number in chosen:
        print(table(COLUMNS, rows_of_made(options.runs, *MADE[number]), width=140), flush=True)
    if options.places and not in_part():
        with tempfile.TemporaryDirectory() as name:
            print(table(COLUMNS, rows_of_simulated(Path(name), options.places), width=140))


if __name__ == "__main__":
    main()
