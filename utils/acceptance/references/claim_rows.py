"""The claims of `claims.csv` and `sites/claims/`: read, and validated by their relation."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from acceptance.core import records
from acceptance.core.words import UNITS, is_simulated
from acceptance.references.fields import Row, known, number, parameters, refuse, rows
from acceptance.references.records import (
    CLAIM_COLUMNS,
    RANGED,
    RELATIONS,
    Claim,
    Partition,
    Side,
    bounds,
)

#: Units of claims besides those of metrics: a plain quotient, and its decimal logarithm.
CLAIM_UNITS = ("x", "decade")


def claims(
    path: Path, papers: Collection[str], partitions: Mapping[str, Partition] | None
) -> list[Claim]:
    """Return the claims of a file: of papers, or of a site where there are no `partitions`.

    A site's claims may name partitions that only its configuration knows, of any system; who
    evaluates them checks that.
    """
    seen: dict[tuple[str, ...], int] = {}

    def make(row: Row, line: int) -> Claim:
        paper, expected = row["paper"], row["expected"]
        if paper not in papers:
            if partitions is None:
                raise ValueError(f"the paper is {paper!r} in the claims of {path.stem!r}")
            raise ValueError(f"papers.bib has no entry {paper!r}")
        refuse(expected not in ("", "yes"), f"expected is {expected!r}; write yes, or nothing")
        value = _claimed(row)
        left = _side(row["left"], paper, partitions)
        right = _side(row["right"], paper, partitions) if row["right"] else None
        identity = tuple(
            row[name] for name in CLAIM_COLUMNS if name not in ("printed", "expected", "note")
        )
        first = seen.setdefault(identity, line)
        refuse(first != line, f"the same claim as in line {first}")
        typed = {
            "parameters": parameters(row["parameters"], ranges=True),
            "left": left,
            "right": right,
            "value": value,
            "expected": expected == "yes",
            "source": "site" if partitions is None else "published",
        }
        claim = records.read(Claim, {**row, **typed, "path": path, "line": line}, "a row")
        _check_form(claim)
        return claim

    return rows(path, CLAIM_COLUMNS, make)


def _claimed(row: Row) -> tuple[float, ...]:
    """Return the value of a claim: two bounds of a range, none of an ordering."""
    relation, unit, text = row["relation"], row["unit"], row["value"]
    known("relation", relation, RELATIONS)
    form = RELATIONS[relation].value
    if form == "none" or (form == "place" and not text):
        refuse(bool(text or unit), f"{relation!r} has neither value nor unit")
        return ()
    if form in ("place", "step"):
        refuse(bool(unit), f"the value of {relation!r} is one of the key: it has no unit")
    else:
        known("unit", unit, (*UNITS, *CLAIM_UNITS))
    ends = [text] if form == "number" else text.split("..")
    refuse(form in ("range", "step") and len(ends) != 2, f"{text!r} is no range low..high")
    value = tuple(map(number, ends))
    refuse([*value] != sorted(value), f"{text!r} is a range upside down")
    refuse(relation == "up-to" and value[0] == 0, "'up-to' nothing is no claim")
    return value


def _check_form(claim: Claim) -> None:
    """Refuse a claim whose sides are not what its kind of relation is said of."""
    relation, kind, left, right = claim.relation, claim.kind, claim.left, claim.right
    refuse(left == right, "left and right are the same")
    for side in claim.sides:
        refuse(not claim.stated(side)[0], "the column 'benchmark' is empty, and no side names one")
        refuse(side.over == replace(side, over=None), "above and below the line is the same")
    systems = [side.system for side in claim.sides]
    refuse(claim.paper not in systems, f"neither side is of {claim.paper}")
    kinds = {is_simulated(system) for system in systems}
    refuse(len(kinds) > 1, "what is simulated is not compared with what is measured")
    refuse((kind.shape == "curve") != (right is None), _FORMS[kind.shape].format(relation))
    if kind.shape == "curve":
        ranges = [key for key in RANGED if bounds(left.keys.get(key, ""))]
        alone = len(ranges) == 1 and left.over is None and bool(left.partition)
        refuse(not alone, _FORMS["curve"].format(relation))
    elif kind.shape == "machines":
        refuse(any(side.partition or side.over for side in claim.sides), _FORMS["machines"])
    else:
        refuse(not any(side.partition for side in claim.sides), "neither side names a partition")


#: Shape of a kind of relation -> what is wrong with a claim that has another form.
_FORMS = {
    "pair": "{!r} is said of two sides",
    "curve": "{!r} is said of one side: left names a partition, right is empty, and one of its "
    "keys has a range, low..high or low..",
    "machines": "'proportional' is said of all partitions: neither side names one",
}


def _side(text: str, paper: str, partitions: Mapping[str, Partition] | None) -> Side:
    """Read a side, or a quotient of two: `system:partition;key=value / system:partition`."""
    above, line, below = text.partition(" / ")
    side = _result(above, paper, partitions)
    return replace(side, over=_result(below, paper, partitions)) if line else side


def _result(text: str, paper: str, partitions: Mapping[str, Partition] | None) -> Side:
    fullname, _, rest = text.partition(";")
    system, colon, partition = fullname.partition(":")
    if partitions is None:
        if not re.match(r"[\w-]+:[\w-]*\Z", fullname):
            raise ValueError(f"{fullname!r} is not of the form system:partition")
    elif system != paper or not colon:
        raise ValueError(f"{fullname!r} is no partition of {paper}")
    elif partition and fullname not in partitions:
        raise ValueError(f"systems.csv has no partition {fullname!r}")
    parts = [part.partition("=") for part in filter(None, rest.split(";"))]
    names = {key: value for key, _, value in parts if key in ("benchmark", "metric")}
    others = ";".join("".join(part) for part in parts if part[0] not in names)
    return Side(system, partition, {**names, **parameters(others, ranges=True)})
