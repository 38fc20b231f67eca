"""Noise or network: which node, or the network between two, made small messages late.

Of each message four times are known (`suites/detours.py`): before and after the call that sent it,
when the receiver last looked in vain, and when it had the message. What it took longer than usual
is divided in this order:

1. the sender: what its call took longer than usual; its core was away before the message left;
2. the network: from when the message should have been there until the receiver last looked in
   vain, since a receiver that looks is not away, and the message was not there;
3. the receiver: the rest, in which it did not look although the message should have been there.

So adapters, switches, and what the kernels of both nodes do on other cores are the network. A part
of two thirds or more has made the message late; without one nobody can tell.

The clocks of two nodes are compared as F. Cristian did (Distributed Computing 3, 1989, 146): the
fastest round trip of a part of the run has its answer in the middle, which is off by half of it at
most. A line through the parts (Theil and Sen) follows how one clock runs away from the other. The
middle may be wrong by the same for all messages of a way, and each is compared with the usual one
of its way, so that only what the parts scatter around the line counts.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from acceptance.core.findings import Finding
from acceptance.core.robust import MAD_TO_STD
from acceptance.core.text import number_text, plural
from acceptance.suites import detours
from acceptance.suites.detours import Detours, Exchange, Measured, Pair, Times

#: What made a message late, where it was no node.
NETWORK, UNEXPLAINED = "network", "cannot tell"
#: The share of what a message took longer that one part has to explain; and how much of it the
#: clocks may be apart.
EXPLAINS, CLOCKS = 2 / 3, 1 / 3
#: A node, or the network, is told where it made so many messages late, this share of them at least
#: (by the lower end of Wilson's interval of 95 %, J. Am. Stat. Assoc. 22, 1927, 209), and this
#: share of all messages. [chosen]
FEWEST, LARGE_SHARE, OF_ALL = 20, 2 / 3, 0.001
_Z = 1.96


@dataclass(frozen=True)
class Clock:
    """How far the second clock of a pair is ahead of the first one (us), and how well it is known.

    At `at` (us of the first clock) by `ahead`, and `drift` (us a us) more for each us after it.
    `scatter` is how far parts of the run lie from this line, `half` half of the fastest round trip,
    by which the whole line may be off.
    """

    at: float
    ahead: float
    drift: float
    scatter: float
    half: float

    def ahead_at(self, time: float) -> float:
        """Return how far the second clock is ahead at a time of the first one (us)."""
        return self.ahead + self.drift * (time - self.at)


def clock_of(fastest: Sequence[Exchange]) -> Clock:
    """Return how the clocks of a pair compare, by the fastest exchanges of parts of the run."""
    points, trips = [], []
    for each in fastest:
        (send, _, _, got), (answer, _, _, had) = each.first_ns, each.second_ns
        points.append(((send + got) / 2000, (had - send + answer - got) / 2000))
        trips.append(each.round_trip_us)
    slopes = [(b - a) / (t - s) for (s, a), (t, b) in itertools.combinations(points, 2) if t != s]
    drift = statistics.median(slopes) if slopes else 0.0
    at = points[0][0]
    ahead = statistics.median(offset - drift * (time - at) for time, offset in points)
    apart = [abs(offset - drift * (time - at) - ahead) for time, offset in points]
    # Of parts in which no exchange was undisturbed nothing follows for the others.
    return Clock(at, ahead, drift, MAD_TO_STD * statistics.median(apart), min(trips) / 2)


@dataclass(frozen=True)
class Message:
    """A message by the first clock of its pair (us): `way` 0 is from its first rank, 1 back."""

    number: int
    way: int
    send: float
    sent: float
    looked: float
    got: float


def messages_of(exchange: Exchange, clock: Clock) -> tuple[Message, Message]:
    """Return both messages of an exchange."""
    ahead = clock.ahead_at(exchange.first_ns[0] / 1000)
    first, second = _us(exchange.first_ns, 0.0), _us(exchange.second_ns, ahead)
    (send, sent, looked, got), (answer, answered, sought, had) = first, second
    number = exchange.number
    return (
        Message(number, 0, send, sent, sought, had),
        Message(number, 1, answer, answered, looked, got),
    )


def _us(times: Times, ahead: float) -> tuple[float, ...]:
    return tuple(time / 1000 - ahead for time in times)


@dataclass(frozen=True)
class Late:
    """A late message, what it took longer than usual (us), and how that is divided.

    `cause` is a node, `NETWORK` or `UNEXPLAINED`.
    """

    message: Message
    excess: float
    sender: float
    network: float
    receiver: float
    cause: str


@dataclass(frozen=True)
class Tail:
    """The late messages of a pair of ranks, and what made them late.

    `weight` is how many late messages each of `late` stands for, since no more are written.
    """

    pair: Pair
    nodes: tuple[str, str]
    clock: Clock
    late: tuple[Late, ...]

    @property
    def weight(self) -> float:
        """Return how many slow exchanges each one that was kept stands for."""
        kept = len({each.message.number for each in self.late})
        return self.pair.slow / kept if kept else 1.0

    @property
    def counts(self) -> Counter[str]:
        """Return how many of the late messages that were kept each cause has."""
        return Counter(each.cause for each in self.late)


def tail_of(measured: Measured, pair: Pair) -> Tail:
    """Divide the late messages of a pair of ranks."""
    names = tuple(measured.ranks[rank].node for rank in (pair.first, pair.second))
    # Two ranks of one node, or nodes that do not tell their names apart.
    if names[0] == names[1]:
        names = tuple(f"{names[0]} (rank {rank})" for rank in (pair.first, pair.second))
    clock = clock_of(measured.of(pair, "fastest"))
    samples = [messages_of(each, clock) for each in measured.of(pair, "sample")]
    usual = [_quartile(each[way].got - each[way].send for each in samples) for way in (0, 1)]
    calls = [_quartile(each[way].sent - each[way].send for each in samples) for way in (0, 1)]
    late: list[Late] = []
    for exchange in measured.of(pair, "slow"):
        both = [
            _divided(each, usual[each.way], calls[each.way], names, clock)
            for each in messages_of(exchange, clock)
        ]
        both.sort(key=lambda each: -each.excess)
        # One of them was late; the other one, too, if it alone took so much longer.
        late += [both[0], *(each for each in both[1:] if each.excess >= pair.beyond_us)]
    return Tail(pair, (names[0], names[1]), clock, tuple(late))


def _quartile(times: Iterable[float]) -> float:
    """Return the lower quartile, which is undisturbed even where most messages are not."""
    ordered = sorted(times)
    return ordered[len(ordered) // 4]


def _divided(
    message: Message, usual: float, call: float, names: Sequence[str], clock: Clock
) -> Late:
    """Divide what a message took longer than usual, `call` being the usual time of its sending."""
    excess = message.got - message.send - usual
    sender = min(max(message.sent - message.send - call, 0.0), max(excess, 0.0))
    expected = message.send + usual + sender
    network = min(max(message.looked - expected, 0.0), max(excess - sender, 0.0))
    receiver = max(excess - sender - network, 0.0)
    parts = {names[message.way]: sender, NETWORK: network, names[1 - message.way]: receiver}
    cause = max(parts, key=lambda name: parts[name])
    if parts[cause] < EXPLAINS * excess or clock.scatter > CLOCKS * excess or excess <= 0:
        cause = UNEXPLAINED
    return Late(message, excess, sender, network, receiver, cause)


@dataclass
class Causes:
    """What made the messages of a job late: of each pair its tail, and of nodes their detours."""

    measured: Measured
    tails: list[Tail] = field(default_factory=list)

    @classmethod
    def of(cls, measured: Measured) -> Causes:
        """Divide the late messages of all pairs."""
        return cls(measured, [tail_of(measured, pair) for pair in measured.pairs])

    @property
    def shares(self) -> dict[str, float]:
        """Return the share of each cause in all late messages, that of most first."""
        found: Counter[str] = Counter()
        for tail in self.tails:
            for cause, count in tail.counts.items():
                found[cause] += count * tail.weight  # type: ignore[assignment]
        total = sum(found.values())
        return {cause: count / total for cause, count in found.most_common()} if total else {}

    def metrics(self) -> dict[str, tuple[float, str]]:
        """Return metric -> (value, unit): the latency of the middle pair, and of the worst one."""
        pairs, ranks = self.measured.pairs, self.measured.ranks
        shares = self.shares
        rates = [max(1e6 * each.count / each.worked_us, detours.LEAST_DETOURS) for each in ranks]
        lost = [max(1e6 * each.lost_us / each.worked_us, detours.LEAST_LOST) for each in ranks]
        by_network, unexplained = (shares.pop(each, 0.0) for each in (NETWORK, UNEXPLAINED))
        late = {
            "late_by_nodes": sum(shares.values()),
            "late_by_network": by_network,
            "late_unexplained": unexplained,
        }
        return detours.metrics({
            "latency": statistics.median(each.median_us for each in pairs) / 2,
            "latency_p99": max(each.p99_us for each in pairs) / 2,
            "latency_p999": max(each.p999_us for each in pairs) / 2,
            "detours": statistics.median(rates), "detours_max": max(rates),
            "detours_lost": statistics.median(lost), "detours_lost_max": max(lost),
            **{name: max(share, detours.LEAST_SHARE) for name, share in late.items()},
        })  # fmt: skip

    @property
    def spans(self) -> dict[str, tuple[float, float]]:
        """Return of each node from when to when its ranks measured, by its own clock (ns)."""
        begins: dict[str, float] = {}
        for each in self.measured.ranks:
            begins[each.node] = min(each.begin_ns, begins.get(each.node, math.inf))
        return {node: (begin, begin + 1000 * self._run_us) for node, begin in begins.items()}

    def findings(self, kernel: Mapping[str, str] | None = None) -> Iterator[Finding]:
        """Yield each node that makes most messages of its pairs late, or that the network does.

        `kernel` is what the kernel of a node says of its noise, if it does.
        """
        for node in dict.fromkeys(name for tail in self.tails for name in tail.nodes):
            tails = [tail for tail in self.tails if node in tail.nodes]
            if text := _large(node, tails):
                others = sorted({name for tail in tails for name in tail.nodes} - {node})
                ranks = self._ranks_of(node)
                told = f"{node}, with {', '.join(others)}: {text}; {self._core_of(ranks)}"
                if said := (kernel or {}).get(ranks[0].node):
                    told += f"; its kernel: {said}"
                yield Finding("node-noisy", told, nodes=(ranks[0].node,))
        if text := _large(NETWORK, self.tails):
            yield Finding("network-late", f"the network: {text}")

    def _ranks_of(self, node: str) -> list[Detours]:
        """Return the ranks of what `tails` name a node."""
        ranks = {
            rank
            for tail in self.tails
            for rank, name in zip((tail.pair.first, tail.pair.second), tail.nodes, strict=True)
            if name == node
        }
        return [self.measured.ranks[rank] for rank in sorted(ranks)]

    def _core_of(self, ranks: Sequence[Detours]) -> str:
        """Say for how long the cores of ranks were away, and with whom."""
        worst = max(ranks, key=lambda each: each.lost_us / each.worked_us)
        longest = max((each.longest_ns[0] for each in ranks if each.longest_ns), default=0)
        said = (
            f"CPU {worst.cpu} was away {worst.lost_us / worst.worked_us:.2%} of its time, up to "
            f"{number_text(longest / 1000)} us at once"
        )
        if worst.waited_us is None:
            return f"{said}; Linux does not tell who had it"
        # The rank waits for its core through all of the run, not only while it works.
        others = worst.waited_us * worst.worked_us / self._run_us
        mostly = others >= EXPLAINS * worst.lost_us
        if mostly:
            return f"{said}, since other processes had it ({plural(worst.switched, 'time')})"
        return f"{said}, and hardly for other processes: interrupts, the firmware or a hypervisor"

    @property
    def _run_us(self) -> float:
        """Return how long ranks measured, from the begin of the first one's clock."""
        ends = [e.first_ns[3] for rows in self.measured.pairs.values() for e in rows]
        return max(*ends, 1) / 1000

    def text(self) -> str:
        """Say how many messages were late, what made them so, and how well clocks are known."""
        slow = sum(tail.pair.slow for tail in self.tails)
        of = sum(tail.pair.exchanges for tail in self.tails)
        if not slow:
            return f"none of {of} exchanges was late"
        shares = ", ".join(f"{cause} {share:.0%}" for cause, share in self.shares.items())
        scatter = max(tail.clock.scatter for tail in self.tails)
        half = max(tail.clock.half for tail in self.tails)
        return (
            f"{slow} of {of} exchanges were late: {shares}; clocks compared to "
            f"{number_text(scatter)} us between messages of one way, {number_text(half)} us in all"
        )


def _large(cause: str, tails: Iterable[Tail]) -> str:
    """Say how many late messages a cause has, where these are most of them; empty where not."""
    tails = list(tails)
    late = [each for tail in tails for each in tail.late]
    by_it = [each for each in late if each.cause == cause]
    sent = 2 * sum(tail.pair.exchanges for tail in tails)
    of_all = sum(tail.counts[cause] * tail.weight for tail in tails) / sent
    if len(by_it) < FEWEST or of_all < OF_ALL or lower(len(by_it), len(late)) < LARGE_SHARE:
        return ""
    middle = statistics.median(each.excess for each in by_it)
    return (
        f"it made {len(by_it)} of {len(late)} late messages late ({of_all:.2%} of all), by "
        f"{number_text(middle)} us in the middle"
    )


def lower(count: int, of: int) -> float:
    """Return the lower end of Wilson's interval of a share, 95 %."""
    share, z = count / of, _Z * _Z / of
    return (share + z / 2 - math.sqrt(z * share * (1 - share) + z * z / 4)) / (1 + z)
