"""A simulated fabric with its routes, and matrices of pairs made by them."""

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from acceptance.core.pairs import PairMatrix
from acceptance.fabric import outputs
from acceptance.fabric import topology as fabrics
from acceptance.fabric.routes import NONE, Routes

#: What a good pair measures, in MB/s.
LEVEL = 12_000.0


def hops(routes):
    """Return how many links are between hosts; 0 where no route leads."""
    return (routes.steps != NONE).sum(axis=2)


def broken(routes):
    """Return the pairs of hosts (GUIDs) between which no route leads."""
    pairs = np.argwhere(hops(routes) == 0)
    return [(routes.hosts[i].guid, routes.hosts[j].guid) for i, j in pairs if i != j]


def path(routes, first, second):
    """Return the links from one host to another (GUIDs), none where no route leads."""
    steps = routes.steps[routes.place[first], routes.place[second]]
    return tuple(routes.links[step // 2] for step in steps if step != NONE)


@dataclass(frozen=True)
class Routed:
    folder: Path
    topology: fabrics.Topology
    routes: Routes
    text: str

    @classmethod
    def of(cls, fabric, folder):
        """Read a fabric of `tests.ibsim`; each host's node is called by the first word of it."""
        subprocess.run(["sh", outputs.SCRIPT, folder], env=fabric.environment, check=True)
        reading = outputs.read(folder)
        names = {
            device.name.split()[0]: (guid,)
            for guid, device in reading.topology.devices.items()
            if device.kind == "host"
        }
        routes = Routes.of(reading.topology, reading.routes)
        return cls(folder, replace(reading.topology, hosts=names), routes, reading.routes)

    def link(self, text):
        """Return the number of a link by its text."""
        texts = [self.topology.link_text(link) for link in self.routes.links]
        return texts.index(text)

    def matrix(self, slow, rounds=None, *, noise=0.02, seed=0, tails=None, again=False):
        """Return what pairs measure where each is worth what its slowest link lets through.

        `slow`: direction -> its share of the others. `tails`: degrees of freedom of the noise.
        `again`: what is 3 spreads below the median is measured again, with some that are not.
        """
        routes, random = self.routes, np.random.default_rng(seed)
        count = len(routes.hosts)
        share = np.ones(2 * len(routes.links) + 1)
        for direction, ratio in slow.items():
            share[direction] = ratio
        # NONE, which is -1, takes the last one.
        lowest = share[routes.steps].min(axis=2)
        shape = (count, count)

        def measured():
            stray = random.standard_t(tails, shape) if tails else random.standard_normal(shape)
            return LEVEL * lowest * np.exp(noise * stray)

        values = measured()
        places = np.arange(count)
        number = (places[None, :] - places[:, None]) % count
        if rounds is not None:
            number = np.zeros(shape, dtype=np.int64)
            for n, members in enumerate(rounds, 1):
                for pair in members:
                    number[pair] = n
        values[number == 0] = np.nan
        names = tuple(self.topology.devices[end.guid].name.split()[0] for end in routes.hosts)
        rounds = number.astype(np.int32)
        if not again:
            return PairMatrix(names, {"bandwidth": values}, rounds)
        suspects = np.argwhere(values < np.nanmedian(values) * np.exp(-3 * noise)).tolist()
        good = np.argwhere(values > np.nanmedian(values))[:32].tolist()
        repeated = measured()
        alone = {(i, j): float(repeated[i, j]) for i, j in [*suspects, *good]}
        controls = frozenset((i, j) for i, j in good)
        return PairMatrix(names, {"bandwidth": values}, rounds, {"bandwidth": alone}, controls)
