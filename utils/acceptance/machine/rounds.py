"""Rounds of disjoint pairs of nodes, and jobs of several launches of which each is one round.

In a round all pairs measure at once. Of the nodes 0 to n-1 (n > 2) the rounds are

- `neighbours`: 0-1, 2-3, ...;
- `shifted`: 1-2, 3-4, ...;
- `ends`: 0 and n-1 alone;
- `halves` (n > 3): 0-h, 1-(h+1), ... with h = n // 2.

The first three are pairs of neighbours in the order of the job's nodes, which in a healthy fat tree
do not collide: each node has two partners, which tell it from either of them. They are a ring, and
of a ring every second node may be slow without a pair that is good; and they hardly use the upper
switches. For both there is `halves`, in which pairs may well collide. Each round is a launch on
some of the nodes, of `halves` in another order than theirs, which not every launcher takes.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from acceptance.core.errors import ParseError

#: The round of partners that are far from each other.
HALVES = "halves"

#: Prints the nodes of a job in the order of the ranks: sh hosts.sh FILE_WITH_RANK_REPORTS.
HOSTS_SCRIPT = Path(__file__).with_name("hosts.sh")

_MARK = re.compile(r"launch of round (?P<round>\w+), repetition (?P<repetition>\d+)\Z")


@dataclass(frozen=True)
class Round:
    """A round: the first and the last node, counted from 0, of each row of nodes in it.

    Of the nodes that take part the first one is the partner of the second, and so on; the last one
    of an odd number waits. They follow row by row, or `in_turn`: the first one of each row, then
    the second ones; all rows are then of one length.
    """

    name: str
    rows: tuple[tuple[int, int], ...]
    in_turn: bool = False

    @property
    def nodes(self) -> list[int]:
        """Return the nodes that take part, in the order of their ranks."""
        rows: list[Iterable[int]] = [range(first, last + 1) for first, last in self.rows]
        groups = zip(*rows, strict=True) if self.in_turn else rows
        return [node for group in groups for node in group]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs."""
        return list(zip(self.nodes[::2], self.nodes[1::2], strict=False))

    @property
    def choice(self) -> str:
        """Return the command that chooses the nodes from a file, its argument, of one a line."""
        if not self.in_turn:
            script = ";".join(f"{first + 1},{last + 1}p" for first, last in self.rows)
            return f"sed -n '{script}'"
        (first, last), *_ = self.rows
        printed = ", ".join(f"node[i + {start}]" for start, _ in self.rows)
        loop = f"for (i = 1; i <= {last - first + 1}; i++) print {printed}"
        return f"awk -v OFS='\\n' '{{ node[NR] = $0 }} END {{ {loop} }}'"


def rounds(nodes: int) -> list[Round]:
    """Return the rounds for so many nodes, two at least; all nodes are in the first one."""
    found = [Round("neighbours", ((0, nodes - 1),))]
    if nodes > 2:
        last = nodes - 1 if nodes % 2 else nodes - 2
        found += [Round("shifted", ((1, last),)), Round("ends", ((0, 0), (nodes - 1, nodes - 1)))]
    if nodes > 3:
        half = nodes // 2
        found.append(Round(HALVES, ((0, half - 1), (half, 2 * half - 1)), in_turn=True))
    return found


def mark(name: str, repetition: int) -> str:
    """Return the command of a job that says, in both its outputs, which launch comes next."""
    text = f"launch of round {name}, repetition {repetition}"
    return f"echo '{text}'; echo '{text}' >&2"


def launches(text: str, source: str) -> dict[tuple[str, int], str]:
    """Return what each launch of a job wrote, by the name of its round and its repetition.

    The text of each begins with as many empty lines as there are before it, so that whoever reads
    it counts the lines of the whole. Raises ParseError for a launch that is there twice.
    """
    parts: dict[tuple[str, int], list[str]] = {}
    part: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if match := _MARK.match(line.strip()):
            key = match["round"], int(match["repetition"])
            if key in parts:
                raise ParseError(source, "this launch is there twice", number=number, line=line)
            part = parts[key] = ["\n"] * number
        else:
            part.append(line)
    return {key: "".join(lines) for key, lines in parts.items()}
