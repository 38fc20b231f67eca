"""What load does to the messages of nodes: factors with intervals, and which victims suffer most.

A factor is a time under load over the same time without; of a bandwidth it is the reverse ratio of
the bandwidths, which is the same. The times of all victims count together; a percentile lies within
its bin in proportion.

Its interval is that of `RESAMPLES` samples of the nodes with replacement (B. Efron, Ann. Statist.
7, 1979, 1; each with all of its windows, both with and without load, since times of a node hang
together), between the percentiles that leave out 2.5 % on each side. It knows how nodes differ, not
what victims have in common that share a switch, nor that two of a pair have the same times: there
it is too narrow. From fewer than `FEWEST_NODES` nodes there is none: of n nodes all of a sample are
the same one with a chance of n^(1-n), so that of few the ends would be those of single nodes.

A percentile q is known if at least `FEWEST_BEYOND` times lie beyond it: of n times n (1 - q) do,
give or take the root of that, a third of 10.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acceptance.core.text import natural, number_text, plural, shortened
from acceptance.fabric.routes import NONE
from acceptance.nodes.cables import Ways
from acceptance.suites import loaded
from acceptance.suites.loaded import ISOLATED, NOTHING, QUANTITIES, STATISTICS, Histogram, Measured

#: The benchmark of the cases that measure under load.
LOADED = "patterns.loaded"
RESAMPLES = 2000
FEWEST_NODES = 5
FEWEST_BEYOND = 10
#: A victim suffers more than the others whose factor is so many times their median, in each cycle;
#: of fewer cycles it may be chance: one of 2^n victims is above the median in each of n. [chosen]
SUFFERS, FEWEST_CYCLES = 1.5, 4
#: Victims that a line names, and uplinks that are listed: those whose messages suffer most.
_SHOWN, _UPLINKS = 8, 24
#: What is compared with what is isolated: nothing first, which shows what is no load.
COMPARED = (NOTHING, *loaded.LOADS)
_NAMES = {NOTHING: "no load", "incast": "incast", "alltoall": "all-to-all", "get": "broadcast-get"}

Floats = NDArray[np.float64]


class Effect(Struct, frozen=True, forbid_unknown_fields=True):
    """A statistic of a quantity without and with load, in its unit, and the factor between them.

    None: not known, as `loaded.unknown` says. `low` and `high` hold the factor with 95 %.
    """

    load: str
    quantity: str
    statistic: str
    isolated: float | None
    loaded: float | None
    factor: float | None
    low: float | None = None
    high: float | None = None

    @property
    def name(self) -> str:
        """Name the load for people."""
        return _NAMES[self.load]

    @property
    def stem(self) -> str:
        """Return the stem of the metrics of both values: of a bandwidth P99 is P1."""
        return loaded.STEMS[self.quantity][[*STATISTICS].index(self.statistic)]

    @property
    def unit(self) -> str:
        """Return the unit of both values."""
        return loaded.UNITS[self.quantity]

    @property
    def text(self) -> str:
        """Say the factor and its interval."""
        if self.factor is None:
            return "not known"
        if self.low is None or self.high is None:
            return f"{self.factor:.2f}"
        return f"{self.factor:.2f} ({self.low:.2f} to {self.high:.2f})"


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """A victim, or those of a leaf, or those whose messages cross an uplink, as `name` says.

    `factors` are those of the means, the median of cycles and victims, by load and quantity in the
    order of `COMPARED` and `QUANTITIES`; None where there is no victim.
    """

    name: str
    victims: tuple[str, ...]
    aggressors: int
    factors: tuple[float | None, ...]

    def of(self, load: str, quantity: str) -> float | None:
        """Return a factor; None where it is not known."""
        place = COMPARED.index(load) * len(QUANTITIES) + [*QUANTITIES].index(quantity)
        return self.factors[place] if place < len(self.factors) else None


class Suffering(Struct, frozen=True, forbid_unknown_fields=True):
    """Victims that suffer more than the others: the factor of their median and of all."""

    load: str
    quantity: str
    nodes: tuple[str, ...]
    factor: float
    usual: float
    where: str = ""

    @property
    def text(self) -> str:
        """Say who suffers, and how much more than the others."""
        who = shortened(self.nodes, _SHOWN)
        return (
            f"under {_NAMES[self.load]} the {self.quantity} of {who}{self.where} takes "
            f"{self.factor:.2f} times as long as without, that of the median victim "
            f"{self.usual:.2f} times"
        )


class UnderLoad(Struct, frozen=True, forbid_unknown_fields=True):
    """What a job measured under load. `rates` are those of the aggressors by load, in MB/s.

    `unknown` says what cannot be told and why, `unrouted` why no leaf and no uplink is named.
    """

    victims: tuple[str, ...]
    aggressors: tuple[str, ...]
    cycles: int
    rates: Mapping[str, float]
    effects: tuple[Effect, ...]
    nodes: tuple[Place, ...]
    leaves: tuple[Place, ...] = ()
    uplinks: tuple[Place, ...] = ()
    suffering: tuple[Suffering, ...] = ()
    unknown: tuple[str, ...] = ()
    unrouted: str = ""

    @property
    def metrics(self) -> dict[str, tuple[float, str]]:
        """Return metric -> (value, unit) of all that is known."""
        found: dict[str, tuple[float, str]] = {}
        for each in self.effects:
            of, is_first = (each.quantity, each.statistic), each.load == NOTHING
            if is_first and each.isolated is not None:
                found[loaded.metric(*of, ISOLATED)] = each.isolated, each.unit
            if not is_first and each.loaded is not None:
                found[loaded.metric(*of, each.load)] = each.loaded, each.unit
            if each.factor is not None:
                found[loaded.metric(*of, each.load, factor=True)] = each.factor, "1"
        rates = {f"load.pattern.{load}": (rate, "MB/s") for load, rate in self.rates.items()}
        return found | rates

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Return load and quantity of each factor of a place."""
        return [(_NAMES[load], each) for load in (NOTHING, *self.rates) for each in QUANTITIES]

    @property
    def alike(self) -> str:
        """Say that no victim suffers more than the others, or that nobody can tell."""
        least = FEWEST_CYCLES
        if self.cycles < least or len(self.victims) < least:
            return f"who suffers cannot be told of fewer than {least} cycles, or {least} victims"
        return f"no victim suffers over {SUFFERS} times as much as the median one in each cycle"

    @property
    def text(self) -> str:
        """Say who measured beside whom."""
        rates = ", ".join(f"{_NAMES[of]} {number_text(r)} MB/s" for of, r in self.rates.items())
        others = plural(len(self.aggressors), "aggressor")
        cycles = plural(self.cycles, "cycle")
        return f"{plural(len(self.victims), 'victim')} beside {others} ({rates}), {cycles}"


# --- factors --------------------------------------------------------------------------------------


def statistics(times: Histogram, weights: Floats) -> dict[str, Floats]:
    """Return statistic -> its value in us, (R,), of each of R weightings (R, V) of the victims.

    NaN where too few times lie beyond a percentile.
    """
    found = {}
    cumulated = np.cumsum(weights @ times.counts, axis=1)
    total = cumulated[:, -1]
    for name, share in STATISTICS.items():
        if share is None:
            found[name] = weights @ times.sums / total
            continue
        wanted = share * total
        at = (cumulated < wanted[:, None]).sum(axis=1)
        rows = np.arange(len(weights))
        before = np.where(at > 0, cumulated[rows, np.maximum(at - 1, 0)], 0)
        low, high = times.edges[:, at]
        value = low + (high - low) * (wanted - before) / (cumulated[rows, at] - before)
        found[name] = np.where(total * (1 - share) >= FEWEST_BEYOND - 1e-6, value, np.nan)
    return found


def _effects(measured: Measured) -> Iterator[Effect]:
    """Yield the effect of each load on each statistic; intervals where there are nodes enough."""
    count = len(measured.victims)
    random = np.random.default_rng(measured.options.seed)
    samples = random.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    weights = np.concatenate([np.ones((1, count)), samples]).astype(np.float64)
    rows = weights if count >= FEWEST_NODES else weights[:1]
    for quantity in QUANTITIES:
        of = {
            load: statistics(measured.histograms[load, quantity], rows) for load in measured.loads
        }
        for load in measured.loads[1:]:
            for statistic in STATISTICS:
                one, other = of[ISOLATED][statistic], of[load][statistic]
                ratio = other / one
                bounds: list[float | None] = [None, None]
                if count >= FEWEST_NODES and np.isfinite(ratio).all():
                    bounds = [*np.percentile(ratio[1:], (2.5, 97.5)).tolist()]
                yield Effect(
                    load, quantity, statistic, _value(one[0], quantity, measured),
                    _value(other[0], quantity, measured), _known(ratio[0]), *bounds,
                )  # fmt: skip


def _value(time: float, quantity: str, measured: Measured) -> float | None:
    """Return a time, or the bandwidth of so long an exchange in one direction of a rank."""
    rate = measured.options.bytes / time
    return _known(rate if loaded.UNITS[quantity] == "MB/s" else time)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _unknown(measured: Measured, effects: Sequence[Effect]) -> Iterator[str]:
    """Say which percentiles are not known, and why there is no interval."""
    for statistic, share in STATISTICS.items():
        needed = 0 if share is None else round(FEWEST_BEYOND / (1 - share))
        lacking = [
            f"{quantity} {_NAMES.get(load, load)} ({number})"
            for (load, quantity), times in measured.histograms.items()
            if (number := int(times.counts.sum())) < needed
        ]
        if lacking:
            fewer = shortened(lacking, _SHOWN)
            yield f"{statistic} requires {needed} messages, there were fewer: {fewer}"
    for load in COMPARED[len(measured.loads) - 1 :]:
        yield f"{_NAMES[load]}: this MPI makes no memory known to others (MPI_Win_create fails)"
    count = len(measured.victims)
    if count < FEWEST_NODES:
        yield f"intervals of factors require {FEWEST_NODES} victims, there are {count}"
    elif any(each.factor is not None and each.low is None for each in effects):
        yield "some percentiles have no interval: a few nodes have most of their messages"


# --- who suffers ----------------------------------------------------------------------------------


class _Map:
    """The factors of the means, and where victims stand.

    `halves`: (cycles, halves, V) for each load and quantity, NaN where a victim had no partner;
    `ratios` (cycles, V) are the means of both.
    """

    def __init__(self, measured: Measured, ways: Ways | None) -> None:
        self.measured, self.ways = measured, ways
        self.names = [measured.nodes[node] for node in measured.victims]
        self.halves = {
            (load, quantity): measured.means(quantity, load) / measured.means(quantity, ISOLATED)
            for load in measured.loads[1:]
            for quantity in QUANTITIES
        }
        self.ratios = {key: np.nanmean(each, axis=1) for key, each in self.halves.items()}
        self.leaf = {name: self._leaf_of(name) for name in measured.nodes} if ways else {}

    def _leaf_of(self, name: str) -> str:
        assert self.ways is not None
        seen = self.ways.topology
        leaf = next(filter(None, map(seen.leaf_of, seen.hosts.get(name, ()))), None)
        return seen.device_name(leaf) if leaf else ""

    def place(self, name: str, chosen: NDArray[np.bool_], aggressors: int = 0) -> Place:
        """Return the factors of victims in halves of cycles, (cycles, halves, V)."""
        victims = [self.names[n] for n in np.flatnonzero(chosen.any(axis=(0, 1)))]
        factors = (
            float(np.nanmedian(each[chosen])) if victims else None for each in self.halves.values()
        )
        return Place(name, (*victims,), aggressors, (*factors,))

    def _all(self, victims: Sequence[bool]) -> NDArray[np.bool_]:
        shape = len(self.measured.rings), loaded.HALVES, len(self.names)
        return np.broadcast_to(np.array(victims), shape)

    @property
    def nodes(self) -> tuple[Place, ...]:
        """Return each victim."""
        rows = [
            self.place(name, self._all([each == name for each in self.names]))
            for name in self.names
        ]
        return tuple(sorted(rows, key=lambda row: natural(row.name)))

    @property
    def leaves(self) -> tuple[Place, ...]:
        """Return each leaf, with those that have no victim."""
        others = [self.leaf.get(self.measured.nodes[node], "") for node in self.measured.aggressors]
        return tuple(
            self.place(
                leaf,
                self._all([self.leaf[name] == leaf for name in self.names]),
                others.count(leaf),
            )
            for leaf in sorted(filter(None, {*self.leaf.values()}), key=natural)
        )

    @property
    def uplinks(self) -> tuple[Place, ...]:
        """Return links between switches that messages of victims cross; the worst come first."""
        crossing: dict[int, NDArray[np.bool_]] = {}
        nothing = self._all([False] * len(self.names))
        place = {node: number for number, node in enumerate(self.measured.victims)}
        halves = product(enumerate(self.measured.rings), range(loaded.HALVES))
        for (cycle, ring), half in halves:
            for one, other in self.measured.pairs(ring, half):
                for link in self._between(one, other):
                    chosen = crossing.setdefault(link, nothing.copy())
                    chosen[cycle, half, [place[one], place[other]]] = True
        rows = [self.place(self._text(link), chosen) for link, chosen in crossing.items()]
        return tuple(sorted(rows, key=lambda row: -max(filter(None, row.factors)))[:_UPLINKS])

    def _text(self, link: int) -> str:
        return self.ways.text(link) if self.ways else ""

    def _between(self, one: int, other: int) -> Iterator[int]:
        """Yield the links between switches on the routes of two nodes to each other."""
        if self.ways is None:
            return
        steps = self.ways.steps[[one, other], [other, one]]
        for link in np.unique(steps[steps != NONE] // 2).tolist():
            ends = self.ways.routes.links[link].ends
            if all(self.ways.topology.is_switch(end.guid) for end in ends):
                yield link

    @property
    def suffering(self) -> Iterator[Suffering]:
        """Yield the victims that suffer more than the others in each cycle."""
        if len(self.measured.rings) < FEWEST_CYCLES or len(self.names) < FEWEST_CYCLES:
            return
        for (load, quantity), ratio in self.ratios.items():
            usual = np.median(ratio, axis=1, keepdims=True)
            worse = (ratio > SUFFERS * usual).all(axis=0)
            if load == NOTHING or not worse.any():
                continue
            names = sorted((self.names[n] for n in np.flatnonzero(worse)), key=natural)
            leaves = sorted({self.leaf.get(name, "") for name in names}, key=natural)
            where = f" (of {', '.join(leaves)})" if all(leaves) and len(leaves) <= 2 else ""
            factor = float(np.median(ratio[:, worse]))
            yield Suffering(load, quantity, tuple(names), factor, float(np.median(usual)), where)


def under_load(measured: Measured, ways: Ways | None = None, unrouted: str = "") -> UnderLoad:
    """Return what came of a run; `unrouted` says why the routes (`ways`) are not known."""
    effects, where = tuple(_effects(measured)), _Map(measured, ways)
    return UnderLoad(
        tuple(where.names),
        tuple(measured.nodes[node] for node in measured.aggressors),
        len(measured.rings),
        {load: measured.load_rate(load) for load in measured.loads[2:]},
        effects, where.nodes, where.leaves, where.uplinks, tuple(where.suffering),
        tuple(_unknown(measured, effects)),
        "; ".join(filter(None, (unrouted, ways.unlooked if ways else ""))),
    )  # fmt: skip
