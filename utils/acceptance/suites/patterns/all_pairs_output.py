"""What `patterns all-pairs --output FILE` writes: a value of each pair of nodes.

The form, of three nodes and the first of two rounds::

    # version: 1.0
    # pattern: all-pairs
    # ranks: 3
    # bytes: 4194304
    # schedule: shifts
    # rounds: 2
    # estimate: 0.4
    # node 0: node1
    # node 1: node2
    # node 2: node3
    # values
    failed 1 2 0 latency: node1 did not answer within 5 s
    latency 1 1.2312 1.2294 -
    bandwidth 1 12021 12019 -
    both 1 11873 11902 -
    again bandwidth 0 1 12022 suspect
    again bandwidth 1 2 12020 control
    # not_measured: 0
    # not_again: 0
    # end

A round has a line of each quantity with the value of each sender by its rank, in the unit of
`core.pair_matrix.UNITS` (MB are 10^6 bytes). In round k of the schedule `shifts` rank i sends to
rank i + k (modulo the number of ranks). Rounds that were chosen are of the schedule `chosen`, and
a line `pairs 1 0>2 2>1` comes before the values of each. The rounds come in any order. `-` stands
where a node does not send, or failed as a line before says: round, sender, receiver, and why.
`again` is a pair measured once more while no other was busy, because its value was low or as a
control. In the end there are the numbers of rounds that were not measured, and of suspects that
were not measured again, for lack of time. A file without `# end` is that of a job that ended early.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from acceptance.core.errors import ParseError
from acceptance.core.pair_matrix import UNITS, Pair, PairMatrix
from acceptance.suites.output import LineReader

#: A number with a point in it or none, no exponent.
_DECIMAL = re.compile(r"(0|[1-9]\d*)(\.\d+)?\Z", re.ASCII)
_VALUE = r"(?:-|(?:0|[1-9]\d*)(?:\.\d+)?)"
_ROW = re.compile(rf"{_VALUE}(?: {_VALUE})*\Z", re.ASCII)
_KEY = re.compile(r"# (?P<key>[a-z_-]+(?: \d+)?): (?P<value>.*)\Z", re.ASCII)
_WAY = re.compile(r"(?P<sender>\d+)>(?P<receiver>\d+)\Z", re.ASCII)


@dataclass(frozen=True)
class Measured:
    """A file: of its `planned` rounds `left` have no values; `fault`: why it is no complete one."""

    header: Mapping[str, str]
    matrix: PairMatrix
    planned: int
    left: int
    fault: ParseError | None = None


def parse(text: str, source: str = "all-pairs.txt", ranks: int = 0) -> PairMatrix:
    """Read a complete file; `ranks` (0: any) is how many it must be of. Raises ParseError."""
    return read(text, source, ranks).matrix


def read(text: str, source: str = "all-pairs.txt", ranks: int = 0) -> Measured:
    """Read a complete file, and what it says beside its values. Raises ParseError."""
    measured = read_so_far(text, source, ranks)
    if measured.fault:
        raise measured.fault
    return measured


def read_so_far(text: str, source: str = "all-pairs.txt", ranks: int = 0) -> Measured:
    """Read the whole rounds of a file up to its first fault: the job may have ended early.

    Raises ParseError when there is no whole header.
    """
    reader = _Reader(text, source)
    reader.read_header(ranks)
    fault = None
    try:
        reader.read_values()
        reader.check_end()
    except ParseError as found:
        fault = found
    return reader.measured(fault)


@dataclass
class _Round:
    """A round while it is read: who receives from each sender (-1: it sends to none)."""

    number: int
    receivers: NDArray[np.int64]
    failed: set[int] = field(default_factory=set)
    rows: dict[str, NDArray[np.float64]] = field(default_factory=dict)


class _Reader(LineReader):
    """One reading of a file, and the matrix so far."""

    suite = "patterns"
    decimal = _DECIMAL

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.benchmark = "all-pairs"
        self.rows = self.lines()
        self.keys: dict[str, str] = {}
        self.last: dict[str, int] = {}
        self.ended = False
        self.round: _Round | None = None
        self.seen: set[int] = set()
        self.failed: dict[Pair, str] = {}
        self.again: dict[str, dict[Pair, float]] = {quantity: {} for quantity in UNITS}
        self.controls: set[Pair] = set()

    def read_header(self, ranks: int) -> None:
        for line in self.rows:
            if line == "# values":
                break
            self.require_whole_line()
            match = _KEY.match(line)
            if not match:
                raise self.error("no `# key: value` of a header")
            if match["key"] in self.keys:
                raise self.error(f"{match['key']} stands twice in the header")
            self.keys[match["key"]] = match["value"].strip()
        else:
            self.stand()
            raise self.error("the header does not end: the job measured nothing")
        if self.keys.get("pattern") != "all-pairs":
            raise self.error(f"the pattern is {self.keys.get('pattern')}, not all-pairs")
        self.count = self.integer(self._key("ranks"))
        if self.count < 2 or ranks not in (0, self.count):
            raise self.error(f"{self.count} ranks instead of {ranks or 'two or more'}")
        self.planned = self.integer(self._key("rounds"))
        self.schedule = self._key("schedule")
        if self.schedule not in ("shifts", "chosen"):
            raise self.error(f"unknown schedule {self.schedule!r}")
        self.nodes = tuple(self._key(f"node {rank}") for rank in range(self.count))
        if len({*self.nodes}) < self.count or not all(self.nodes):
            raise self.error("the names of the nodes are not distinct")
        self.values = {name: np.full((self.count, self.count), np.nan) for name in UNITS}
        self.rounds = np.zeros((self.count, self.count), dtype=np.int32)

    def _key(self, name: str) -> str:
        if name not in self.keys:
            raise self.error(f"the header has no `{name}`")
        return self.keys[name]

    def read_values(self) -> None:
        for line in self.rows:
            self.require_whole_line()
            if self.ended:
                raise self.error("a line after the end")
            word, _, rest = line.partition(" ")
            if word in UNITS:
                self._read_row(word, rest)
            elif word == "again":
                self._read_again(rest.split(" "))
            elif word in (readers := {"pairs": self._read_pairs, "failed": self._read_failed}):
                readers[word](rest)
            else:
                self._read_last(line)

    def _read_pairs(self, rest: str) -> None:
        number, *ways = rest.split(" ")
        receivers = np.full(self.count, -1)
        for way in ways:
            match = _WAY.match(way)
            if not match:
                raise self.error(f"{way!r} is no pair of ranks")
            sender, receiver = self._pair(match["sender"], match["receiver"])
            if receivers[sender] >= 0 or receiver in receivers:
                raise self.error(f"a rank of {way} sends or receives twice in its round")
            receivers[sender] = receiver
        if self.schedule != "chosen":
            raise self.error("chosen pairs among shifts")
        self._begin(self.integer(number), receivers)

    def _begin(self, number: int, receivers: NDArray[np.int64]) -> _Round:
        if self.round:
            raise self.error(f"round {self.round.number} has no end")
        if number in self.seen or not number:
            raise self.error(f"no round {number}, or a second one")
        self.round = _Round(number, receivers)
        return self.round

    def _of_round(self, token: str) -> _Round:
        """Return the round of this number, which a line of the shifts begins itself."""
        number = self.integer(token)
        if self.round is None and self.schedule == "shifts":
            if number >= self.count:
                raise self.error(f"no shift of {self.count} ranks by {number}")
            return self._begin(number, (np.arange(self.count) + number) % self.count)
        if self.round is None or self.round.number != number:
            raise self.error(f"a line of round {number}, which did not begin")
        return self.round

    def _read_failed(self, rest: str) -> None:
        number, sender, receiver, why = [*rest.split(" ", 3), "", "", ""][:4]
        pair = self._pair(sender, receiver)
        if number == "again" and why:
            self.failed.setdefault(pair, f"alone: {why}")
            return
        now = self._of_round(number)
        if now.receivers[pair[0]] != pair[1] or not why or now.rows:
            raise self.error("no pair of this round that failed for a reason")
        now.failed.add(pair[0])
        self.failed[pair] = why

    def _read_row(self, quantity: str, rest: str) -> None:
        token, _, numbers = rest.partition(" ")
        now = self._of_round(token)
        if quantity != [*UNITS][len(now.rows)]:
            raise self.error(f"{quantity} in place of {[*UNITS][len(now.rows)]}")
        if not _ROW.match(numbers):
            raise self.error("a value that is no number")
        tokens = numbers.split(" ")
        if len(tokens) != self.count:
            raise self.error(f"{len(tokens)} values of {self.count} ranks")
        row = np.array([np.nan if token == "-" else float(token) for token in tokens])
        none = np.isnan(row)
        if (row == 0).any() or np.isinf(row).any():
            raise self.error("a value that cannot have been measured")
        if (~none & (now.receivers < 0)).any():
            raise self.error("a value of a rank that sends nothing in this round")
        for rank in np.flatnonzero(none & (now.receivers >= 0)):
            if int(rank) not in now.failed:
                raise self.error(f"no value of rank {rank}, and no line says why")
        now.rows[quantity] = row
        if len(now.rows) == len(UNITS):
            self._store(now)

    def _store(self, now: _Round) -> None:
        senders = np.flatnonzero(now.receivers >= 0)
        receivers = now.receivers[senders]
        if self.rounds[senders, receivers].any():
            raise self.error("a pair is in two rounds")
        self.rounds[senders, receivers] = now.number
        for quantity, row in now.rows.items():
            self.values[quantity][senders, receivers] = row[senders]
        self.seen.add(now.number)
        self.round = None

    def _read_again(self, tokens: list[str]) -> None:
        if self.round:
            raise self.error(f"round {self.round.number} has no end")
        if len(tokens) != 5 or tokens[0] not in UNITS or tokens[4] not in ("suspect", "control"):
            raise self.error("no pair that was measured again")
        quantity, sender, receiver, value, kind = tokens
        pair, again = self._pair(sender, receiver), self.again[quantity]
        if pair in again or not self.real(value):
            raise self.error("this was measured again before, or has no value")
        again[pair] = self.real(value)
        if kind == "control":
            self.controls.add(pair)

    def _pair(self, sender: str, receiver: str) -> Pair:
        pair = self.integer(sender), self.integer(receiver)
        if pair[0] == pair[1] or max(pair) >= self.count:
            raise self.error(f"{sender} and {receiver} are no two of {self.count} ranks")
        return pair

    def _read_last(self, line: str) -> None:
        match = _KEY.match(line)
        if match and match["key"] in ("not_measured", "not_again"):
            self.last[match["key"]] = self.integer(match["value"])
        elif line != "# end":
            raise self.error("an unknown line")
        self.ended = not match

    def check_end(self) -> None:
        if not self.ended:
            raise self.error("the file has no end: the job ended before it had measured all")
        if self.round or len(self.last) != 2:
            raise self.error("the file ends too early")
        if len(self.seen) + self.last["not_measured"] != self.planned:
            left = self.last["not_measured"]
            raise self.error(f"{len(self.seen)} rounds and {left} left are not {self.planned}")

    def measured(self, fault: ParseError | None) -> Measured:
        matrix = PairMatrix(
            self.nodes,
            self.values,
            self.rounds,
            {quantity: again for quantity, again in self.again.items() if again},
            frozenset(self.controls),
            self.failed,
            self.last.get("not_again", 0),
        )
        return Measured(self.keys, matrix, self.planned, self.planned - len(self.seen), fault)
