"""What an acceptance is to see of nodes, and how often it measures all their pairs for that.

The spread of a pair, and by how much good nodes differ, are those that a partition last showed;
where nobody has measured them they are assumed, and that is said. The least passes are taken with
which a node of the asked loss is found as surely as asked, in each partition: one step measures
all, so that the partition that needs most tells. The campaign's file keeps them as arguments of the
step.
"""

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from acceptance.campaigns.steps import ALL_PAIRS, ALL_PAIRS_TEST
from acceptance.core.pairs import ROUND_S
from acceptance.core.text import WIDTH, number_text, plural, table, time_text, wrapped
from acceptance.core.words import SIMULATED
from acceptance.ledger import Ledger
from acceptance.machine import SlurmNode
from acceptance.rfm.configuration import Site
from acceptance.verdict import (
    ROUNDS_LIMIT,
    Aim,
    Paired,
    Power,
    chance_table,
    stated_nodes,
    why_no_case,
)

#: The spread of a pair where none was measured.
ASSUMED = 0.02
#: Passes at most.
MOST = 31
#: All rounds and passes may take so many times as long as is planned, and `ROUNDS_LIMIT`.
LONGER = 2
_PILOT = "a pilot measures it: reframe -c checks/all_pairs.py --mode=smoke -r"


class Planned(Struct, frozen=True):
    """The passes over a partition, what they can see, and where its spread is known from.

    `why` says why nothing can be planned.
    """

    place: str
    passes: int = 1
    power: Power | None = None
    source: str = ""
    why: str = ""

    @property
    def seconds(self) -> float:
        """Return about how long the rounds take."""
        return self.passes * self.power.pairs * ROUND_S if self.power else 0.0

    @property
    def line(self) -> str:
        """Say it in a line, for the log and the verdict."""
        if self.power is None:
            return f"{self.place}: {self.why}"
        power, aim = self.power, self.power.aim
        times = plural(self.passes, "time")
        text = f"{self.place}: all pairs of {plural(power.nodes, 'node')}, {times}"
        if aim.detect and not power.is_enough:
            ideal = replace(power, noise=0.0).is_enough
            few = f"{MOST} times are the most, and too few" if ideal else "no number is enough"
            text += f"; {few} for a loss of {aim.detect:.1%} as asked"
        return f"{text}; {power.could}; {self.source}"

    @property
    def lines(self) -> list[str]:
        """Say it with nodes, pairs, time, and the chance of each loss."""
        place, _, said = self.line.partition(" ")
        first = wrapped(f"{place} ", said, 4)
        if self.power is None:
            return first
        power, aim = self.power, self.power.aim
        pairs = power.nodes * (power.nodes - 1) // 2
        hours = number_text(self.seconds * power.nodes / 3600)
        told = (
            f"{pairs} pairs, each way, in {power.pairs} rounds, and inside of each node: about "
            f"{time_text(self.seconds)}, {hours} node-hours. A good cluster is accepted by its "
            f"nodes with {power.accepted_good:.1%} (asked: {1 - aim.false:.1%}); one with slow "
            "nodes with:"
        )
        rows = table(*chance_table(power.characteristic), width=WIDTH - 4).splitlines()
        cables = "Cables between switches: not known before the routes of the fabric are read"
        return [
            *first, *wrapped("", told, 4), *(f"    {row}" for row in rows), f"    {cables}",
        ]  # fmt: skip


def planned(
    aim: Aim,
    configuration: Site,
    system: Mapping[str, Any],
    known: Mapping[str, Sequence[SlurmNode]],
    limited: Mapping[str, Collection[str]],
    past: Ledger | None,
) -> list[Planned]:
    """Return what is planned for each partition of a system of a configuration.

    `known` are those of its scheduler, `limited` those that the operator wants, `past` what was
    measured here.
    """
    plans, stated = [], stated_nodes(configuration, [system["name"]])
    for partition in system["partitions"]:
        name = partition["name"]
        place, only = f"{system['name']}:{name}", limited.get(name, ())
        up = [node for node in known.get(name, ()) if node.up and (not only or node.name in only)]
        count = len(up) if name in known else stated.get(place)
        alone = {**system, "partitions": [partition]}
        if none := why_no_case(ALL_PAIRS, configuration, alone):
            plans.append(Planned(place, why=f"no pair is measured: {none.text}"))
        elif count is None:
            plans.append(Planned(place, why="nobody knows how many nodes it has"))
        elif count < 4:  # what fits do with fewer no formula says
            plans.append(Planned(place, why=Power(count, 0, ASSUMED, 0.0, aim).could))
        else:
            plans.append(_once(place, count, aim, past, SIMULATED in partition.get("extras", {})))
    each = [plan.power for plan in plans if plan.power and aim.detect]
    most = max((power.passes(MOST) for power in each), default=1)
    return [replace(of, passes=most, power=of.power.taken(most)) if of.power else of
            for of in plans]  # fmt: skip


def _once(place: str, count: int, aim: Aim, past: Ledger | None, simulated: bool) -> Planned:
    noise, differ = ASSUMED, 0.0
    source = f"a spread of {ASSUMED:.0%} is assumed: none was measured here; {_PILOT}"
    if simulated:
        noise, source = 0.0, "a simulation has no noise"
    elif last := next(_measured(place, past), None) if past else None:
        shown, passes, when = last
        noise, differ = shown.noise / shown.of_passes(passes), shown.differ
        source = f"its spread is that of {when}"
    return Planned(place, 1, Power(count, count - 1, noise, differ, aim), source)


def _measured(place: str, past: Ledger) -> Iterator[tuple[Power, int, str]]:
    """Yield what all pairs of a partition showed, with their passes, the last one first."""
    for session in past.sessions_of_check(ALL_PAIRS_TEST, math.inf):
        for case in session.cases:
            if f"{case.system}:{case.partition}" == place and case.all_pairs:
                data = {**case.all_pairs, "environment": case.environment}
                with contextlib.suppress(ValueError):  # what is malformed is told by a verdict
                    found = msgspec.convert(data, Paired)
                    if found.power:
                        yield found.power, found.passes, f"session {session.uuid[:8]}"


def options_of(aim: Aim, plans: Sequence[Planned]) -> list[str]:
    """Return the options of ReFrame by which all pairs are measured and judged so."""
    if not aim.detect:
        return []
    asked = f"aim={aim.detect:g},{aim.power:g},{aim.false:g}"
    passes = f"passes={max((plan.passes for plan in plans), default=1)}"
    # What takes longer than the mode allows by itself is not cut short.
    longest = max((plan.seconds for plan in plans), default=0.0)
    limit = f"limit={math.ceil(LONGER * longest) + ROUNDS_LIMIT}"
    return [word for each in (asked, passes, limit) for word in ("-S", f"{ALL_PAIRS_TEST}.{each}")]
