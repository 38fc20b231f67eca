"""Why small messages are late: what `patterns detours` measures of pairs of ranks, and writes.

Of two nodes, each record in one line::

    {"type":"run","version":"1.0","pattern":"detours","ranks":2,"mpi":"Open MPI v4.1.4",...}
    {"type":"options","time":5,...,"work":50,"detour":1,"seconds":5,"ranks":1,"keep":200}
    {"type":"pair","round":0,"first":0,"second":1,"exchanges":47800,"usual_us":3.1,"median_us":3.2,
     "p99_us":4.2,"p999_us":9.9,"beyond_us":1.6,"slow":61}
    {"type":"exchange","why":"fastest","number":21,"first_ns":[369573608,369573988,369625024,
     369625445],"second_ns":[369751142,369751592,369700196,369701028]}
    {"type":"detours","rank":0,"node":"node1","cpu":3,"begin_ns":8813277091,"least_us":1,
     "worked_us":2500000,"lost_us":1250.5,"count":611,"switched":2,"waited_us":18.2,"at_ns":[...],
     "longest_ns":[...]}
    {"type":"end"}

In an exchange the first rank of a pair sends a message, and the second one answers. Each has four
times, by its own clock: before and after the call that sent, when it last looked in vain for the
message that it waited for, and when it had it. `usual_us` is the lower quartile of the round trips
without the second rank's work; an exchange is slow that took `beyond_us` longer. Exchanges are
written of the pair before them: the fastest one of each part of the run, samples, and of the slow
ones as many as --keep allows. A detour is a gap of `least_us` or more between two readings of the
clock in a loop that does nothing else: `lost_us` is their sum in a loop of `worked_us`, `switched`
how often another process took the core, `waited_us` how long the rank could run and did not, if
Linux tells. Times count from `begin_ns` of the rank's clock (Linux: CLOCK_MONOTONIC).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from acceptance.core.records import Measured as Positive
from acceptance.core.records import Text, Whole
from acceptance.core.words import sized
from acceptance.suites.output import BEGIN, Count, End, LineReader, NotNegative, Record, Run
from acceptance.suites.records import Benchmark, Column

#: Bytes of a message.
SIZE = 8
#: Mode -> the seconds in which a pair exchanges messages.
SECONDS = {"smoke": 2, "nightly": 10, "acceptance": 60}
#: No metric of a run is below these, which tell a history of ratios as much as nothing: messages
#: that were late, as a share; detours in a second, and their length together (us).
LEAST_SHARE, LEAST_DETOURS, LEAST_LOST = 0.001, 0.1, 1.0

_STEMS = {
    "latency": "us", "latency_p99": "us", "latency_p999": "us",
    "detours": "1", "detours_max": "1", "detours_lost": "us", "detours_lost_max": "us",
    "late_by_nodes": "1", "late_by_network": "1", "late_unexplained": "1",
}  # fmt: skip
_COLUMNS = tuple(Column(stem, stem, unit) for stem, unit in _STEMS.items())
#: Name -> benchmark.
BENCHMARKS = {
    "detours": Benchmark(
        "detours", _COLUMNS, point_to_point=True, sized=False, least_nodes=2,
        since_mode="smoke", sizes=(SIZE,), pair_latency="latency", pair_size=SIZE,
    )
}  # fmt: skip

Times = tuple[int, int, int, int]


class Options(Record, tag="options", frozen=True):
    """The options in force; `ranks` are those of a node."""

    time: Positive
    warmup: Count
    seed: Count
    work: Positive
    detour: Positive
    seconds: Positive
    ranks: Whole
    keep: Whole


class Pair(Record, tag="pair", frozen=True):
    """What two ranks measured with each other: times of a round trip."""

    round: Count
    first: Count
    second: Count
    exchanges: Whole
    usual_us: Positive
    median_us: Positive
    p99_us: Positive
    p999_us: Positive
    beyond_us: Positive
    slow: Count


class Exchange(Record, tag="exchange", frozen=True):
    """A message of the first rank and its answer: four times of each rank by its own clock."""

    why: Literal["fastest", "sample", "slow"]
    number: Count
    first_ns: Times
    second_ns: Times

    @property
    def round_trip_us(self) -> float:
        """Return the time from one rank to the other and back, without the second one's work."""
        (send, _, _, got), (answer, _, _, had) = self.first_ns, self.second_ns
        return (got - send - (answer - had)) / 1000


class Detours(Record, tag="detours", frozen=True):
    """What became of the time of a rank in which it worked, and its longest detours."""

    rank: Count
    node: Text
    cpu: Count
    begin_ns: Count
    least_us: Positive
    worked_us: Positive
    lost_us: NotNegative
    count: Count
    switched: Count
    waited_us: NotNegative | None = None
    at_ns: tuple[int, ...] = ()
    longest_ns: tuple[int, ...] = ()


_DECODER = msgspec.json.Decoder(Run | Options | Pair | Exchange | Detours | End)
#: Exchanges of a pair that are written of each reason at most, beside the slow ones (detours.c).
MOST = {"fastest": 32, "sample": 64}
#: Rounding to ns of four times, us.
_ROUNDED = 0.003


class Measured(LineReader):
    """A whole run: pairs with their exchanges, and ranks with their detours.

    Raises ParseError for what is not complete, or not consistent, or of other than so many ranks.
    """

    suite = "patterns"

    def __init__(self, text: str, source: str = "stdout", ranks: int = 0) -> None:
        super().__init__(text, source)
        self.benchmark, self.asked = "detours", ranks
        self.head: dict[type, Any] = {}
        #: Pair -> its exchanges that are written.
        self.pairs: dict[Pair, list[Exchange]] = {}
        #: Round and ranks of the pairs that have come.
        self.told: set[tuple[int, int, int]] = set()
        self.ranks: list[Detours] = []
        for line in self.lines():
            self._read_line(line)
        self.stand()
        if not self.head:
            raise self.error('this is no output of patterns: no line {"type":"run"...')
        if End not in self.head:
            raise self.error("the output ends without its end: the program did not finish")

    @property
    def run(self) -> Run:
        """Return what ran."""
        return self.head[Run]  # type: ignore[no-any-return]

    def of(self, pair: Pair, why: str) -> list[Exchange]:
        """Return the exchanges of a pair that are written for a reason."""
        return [each for each in self.pairs[pair] if each.why == why]

    def _read_line(self, line: str) -> None:
        if line.startswith(BEGIN):
            if self.head:
                raise self.error("a second output begins")
        elif End in self.head or not self.head:
            return
        record = self.record(_DECODER)
        self.check_numbers()
        if isinstance(record, Run | Options | End):
            self._read_head(record)
        elif Options not in self.head:
            raise self.error("a row before the options")
        elif isinstance(record, Detours):
            self._read_detours(record)
        elif self.ranks:
            raise self.error("a pair after the detours of ranks")
        elif isinstance(record, Pair):
            self._read_pair(record)
        else:
            self._read_exchange(record)

    def _read_head(self, record: Run | Options | End) -> None:
        kind = type(record)
        if kind in self.head or (self.pairs and kind is not End):
            raise self.error(f"{kind.__name__.lower()} stands twice, or after a row")
        if isinstance(record, Run):
            self.check_run(record, self.asked)
        elif isinstance(record, End):
            self._check_pair()
            if Options not in self.head:
                raise self.error("the end before the options")
            each, nodes = self._placed()
            pairs = each * (nodes // 2 + nodes % 2) - len(self.told)
            if missing := pairs or self.run.ranks - len(self.ranks):
                raise self.error(f"{missing} {'pairs' if pairs else 'ranks'} are missing")
        self.head[kind] = record

    def _read_pair(self, pair: Pair) -> None:
        self._check_pair()
        key = pair.round, pair.first, pair.second
        if key in self.told or not self._is_planned(*key):
            raise self.error(
                f"ranks {pair.first} and {pair.second} are no pair of this round, or stand twice"
            )
        self.told.add(key)
        if (
            not pair.usual_us <= pair.median_us <= pair.p99_us <= pair.p999_us
            or pair.slow > pair.exchanges
        ):
            raise self.error("the percentiles do not grow, or more are slow than there are")
        if pair.beyond_us < 0.5 * pair.usual_us * (1 - 1e-8):
            raise self.error("what is slow is not half as long again as usual")
        self.pairs[pair] = []

    def _placed(self) -> tuple[int, int]:
        """Return the ranks of a node, and the nodes."""
        each = self.head[Options].ranks
        return each, self.run.ranks // each

    def _is_planned(self, number: int, first: int, second: int) -> bool:
        """Tell whether ranks are a pair of a round: of nodes 0 and 1, 2 and 3; of the last and 0.

        No list of all is made: a damaged text may state any number of them.
        """
        each, nodes = self._placed()
        (a, rank), (b, other) = divmod(first, each), divmod(second, each)
        if number == 0:
            together = a % 2 == 0 and b == a + 1 < nodes
        else:
            together = (number, a, b, nodes % 2) == (1, 0, nodes - 1, 1)
        return together and rank == other

    def _read_exchange(self, row: Exchange) -> None:
        if not self.pairs:
            raise self.error("an exchange before its pair")
        pair, rows = next(reversed(self.pairs.items()))
        if row.number >= pair.exchanges or any(_order(each) >= _order(row) for each in rows[-1:]):
            raise self.error("this exchange does not follow the one before it")
        (send, sent, looked, got), (answer, answered, sought, had) = row.first_ns, row.second_ns
        if not (send <= sent and send <= looked <= got and sought <= had <= answer <= answered):
            raise self.error("times of a rank that cannot follow each other")
        is_slow = row.round_trip_us > pair.usual_us + pair.beyond_us - _ROUNDED
        if row.why == "slow" and not is_slow:
            raise self.error(f"{row.round_trip_us:g} us of a slow exchange, which is not slow")
        rows.append(row)

    def _check_pair(self) -> None:
        """Raise ParseError unless all that is written of the last pair is there."""
        if not self.pairs:
            return
        pair = next(reversed(self.pairs))
        planned = {why: min(most, pair.exchanges) for why, most in MOST.items()}
        planned["slow"] = min(self.head[Options].keep, pair.slow)
        for why, count in planned.items():
            if (found := len(self.of(pair, why))) != count:
                raise self.error(
                    f"{found} exchanges ({why}) of the pair {pair.first} and {pair.second} "
                    f"instead of {count}"
                )

    def _read_detours(self, row: Detours) -> None:
        if not self.ranks:
            self._check_pair()
        if row.rank != len(self.ranks):
            raise self.error(f"rank {row.rank} where {len(self.ranks)} should be")
        longest = [length / 1000 for length in row.longest_ns]
        if len(row.at_ns) != len(longest) or sorted(longest, reverse=True) != longest:
            raise self.error("the longest detours have no times, or do not come first")
        if sum(longest) > row.lost_us * (1 + 1e-8) + _ROUNDED * len(longest):
            raise self.error("some detours are longer than all of them together")
        least = row.count * row.least_us
        fits = least * (1 - 1e-8) <= row.lost_us <= row.worked_us
        if not fits or bool(row.count) != bool(longest):
            raise self.error("time lost, detours and time worked do not fit each other")
        self.ranks.append(row)


def _order(row: Exchange) -> tuple[int, int]:
    return (*MOST, "slow").index(row.why), row.number


def metrics(values: Mapping[str, float] | None = None) -> dict[str, tuple[Any, str]]:
    """Return metric -> (value, unit) of values by their stems; of None what a run will measure."""
    return {
        sized(stem, SIZE) if unit == "us" and stem.startswith("latency") else stem: (
            values and values[stem], unit,
        )
        for stem, unit in _STEMS.items()
    }  # fmt: skip
