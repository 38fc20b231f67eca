"""References in ReFrame's own form, `reference = {"$ref": "refs.yaml"}`: read, and written.

Source: ReFrame 4.10, `docs/howto.rst`, "External references", and `core/pipeline.py`. A file has an
entry for each class of checks. Its levels are those of `$index`, without one `system:partition`;
below them stands metric -> [value, lower, upper, unit]. A number and its text are different keys,
and a text that is no key is compared with the keys as regular expressions, in their order.

A class is called as its benchmark, with `_` for a dot: `osu_latency`. An entry of another name is
of a check of the site itself.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from acceptance.core import records
from acceptance.core.groups import grouped
from acceptance.core.records import NO_YAML
from acceptance.core.text import printable
from acceptance.core.words import UNITS, read_metric, sized
from acceptance.references.records import (
    OTHERS,
    PARAMETERS,
    Reference,
    ReferenceFault,
    decimal,
    write_parameters,
)
from acceptance.references.rows import known, parameters, refuse, text_of
from acceptance.suites import class_of, of_class

#: Attributes of any check that are numbers -> the keys that they are.
_NUMBERS = {"num_tasks": "np", "num_tasks_per_node": "per_node"}
_PLACE, _ENVIRONMENT, _ANY = "$partition", "$environ", ".*"
#: What `$index` may name -> the key that it is.
_KEYS = {
    _PLACE: _PLACE,
    _ENVIRONMENT: "environment",
    **_NUMBERS,
    **{key: key for key in PARAMETERS if key not in ("message_size", "sizes", "environment")},
}
#: Key -> what `$index` calls it, the first of its names.
_LEVELS = {key: level for level, key in reversed(_KEYS.items())}


def read(path: Path) -> list[Reference]:
    """Return the references of a site's file, baselines with bounds of their own.

    Raises ReferenceFault, with the line, for what is malformed, could never fail, or would be
    matched with nothing.
    """
    text = text_of(path)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except NO_YAML as err:
        mark = getattr(err, "problem_mark", None)
        line = mark.line + 1 if mark else 0
        raise ReferenceFault(f"cannot be read: {err}", where=str(path), number=line) from None
    if root is None:
        raise ReferenceFault("has no entry", where=str(path))
    found: list[Reference] = []
    for name, entry in _items(path, root):
        levels = dict(_items(path, entry))
        own = [key for key in levels if key.value == "$index"]
        with _at(path, own[0] if own else name):
            index = _index(name.value, levels.pop(own[0]) if own else None)
        found += _leaves(path, [name], index, [*levels.items()])
    return found


@contextmanager
def _at(path: Path, node: yaml.Node) -> Iterator[None]:
    try:
        yield
    except ValueError as err:
        line = node.start_mark.line + 1
        raise ReferenceFault(str(err), where=str(path), number=line) from None


def _data(node: yaml.Node) -> Any:
    """Return the value of a node; raises ValueError for one that is no plain value."""
    try:
        return yaml.safe_load(yaml.serialize(node))
    except NO_YAML as err:
        raise ValueError(f"cannot be read: {err}") from None


def _items(path: Path, node: yaml.Node) -> list[tuple[yaml.Node, yaml.Node]]:
    """Return keys and values of a mapping that is not empty and has no key twice."""
    with _at(path, node):
        refuse(not isinstance(node, yaml.MappingNode), "is no mapping of names to values")
        refuse(not node.value, "has no entry")
        for key, _ in node.value:
            refuse(not isinstance(key, yaml.ScalarNode), "a key is neither a name nor a number")
    seen: set[str] = set()
    for key, _ in node.value:
        with _at(path, key):
            refuse(key.value in seen, f"{key.value!r} stands twice")
        seen.add(key.value)
    return list(node.value)


def _index(name: str, node: yaml.Node | None) -> list[str]:
    """Return what the levels of an entry are; raises ValueError for what no result here has."""
    index = [_PLACE] if node is None else _data(node)
    refuse(not isinstance(index, list), "$index is no list of names")
    # Of a site's own check no other key is known.
    names = _KEYS if of_class(name) != name else (_PLACE, _ENVIRONMENT)
    for each in index:
        known(f"attribute in the $index of {name}", str(each), names)
    for key, times in Counter(_KEYS[each] for each in index).items():
        refuse(times > 1, f"the $index of {name} has two levels for {key}")
    refuse(_PLACE not in index, f"the $index of {name} is without {_PLACE}: it is of no system")
    return index


def _leaves(
    path: Path, above: list[yaml.Node], index: Sequence[str], items: Iterable[tuple[Any, Any]]
) -> Iterator[Reference]:
    for key, node in items:
        keys = [*above, key]
        if len(above) <= len(index):
            with _at(path, key):
                name = index[len(above) - 1]
                wrong = name in _NUMBERS and not key.tag.endswith(":int")
                refuse(wrong, f"{name} is a number: {key.value!r} as a text matches nothing")
            yield from _leaves(path, keys, index, _items(path, node))
            continue
        with _at(path, key):
            yield _reference(path, key.start_mark.line + 1, keys, index, _data(node))


def _reference(
    path: Path, line: int, nodes: Sequence[yaml.Node], index: Sequence[str], data: object
) -> Reference:
    name, *texts, metric = (node.value for node in nodes)
    keys = {
        _KEYS[level]: text
        for level, text in zip(index, texts, strict=True)
        if text != _ANY and (text or _KEYS[level] not in OTHERS)
    }
    system, colon, partition = keys.pop(_PLACE, "").partition(":")
    refuse(not colon or system != path.stem, f"write the partition as {path.stem}:PARTITION")
    if isinstance(data, list) and data[:1] == ["$xfail"]:
        raise ValueError(
            "$xfail has no end: state the reference itself, and until when its case may fail by "
            "`acceptance alerts ack --expected`"
        )
    if not isinstance(data, list) or len(data) != 4:
        raise ValueError(f"{data!r} is not of the form [value, lower, upper, unit]")
    value, lower, upper, unit = data
    refuse(
        lower in (None, -1) and upper is None,
        "nothing can miss it: write a lower bound above -1, or an upper bound",
    )
    known("unit", str(unit), UNITS)
    stem, own = read_metric(metric)
    return records.read(
        Reference,
        {
            "source": "baseline", "origin": path.stem, "where": " ".join((name, *texts, metric)),
            "system": system, "partition": partition, "benchmark": of_class(name), "metric": stem,
            "parameters": parameters(write_parameters(keys | own)), "relation": "=",
            "value": value, "unit": unit, "printed": str(value), "note": "", "path": path,
            "line": line, "within": (lower, upper),
        },
        "a reference",
    )  # fmt: skip


#: Row of references -> its thresholds, as fractions; None: it judges nothing.
Thresholds = Callable[[Reference], tuple[float | None, float | None] | None]


def as_text(
    rows: Iterable[Reference], thresholds: Thresholds, best: Callable[[list[Reference]], Reference]
) -> str:
    """Return what ReFrame takes; `best` picks of rows of one result, or raises ValueError.

    Each number has its origin beside it. What cannot be written is told in its place.
    """
    lines = [
        '# For checks of ReFrame from 4.10 on: reference = {"$ref": "THIS FILE"}, and',
        "# require_reference = True, without which a key that does not match judges nothing.",
        "# The name of a class, and its attributes in $index, are as below; they are texts, but",
        "# for num_tasks*.",
    ]
    for name, of_benchmark in sorted(grouped(rows, lambda row: row.benchmark).items()):
        bounds = {id(row): thresholds(row) for row in of_benchmark}
        judging = []
        for row in of_benchmark:
            if not row.partition:
                lines.append(f"# {_origin(row)}: is of no partition")
            elif "sizes" in row.parameters:
                lines.append(f"# {_origin(row)}: is of no single message size")
            elif bounds[id(row)] is None:
                lines.append(f"# {_origin(row)}: judges nothing")
            else:
                judging.append(row)
        stated = {key for row in judging for key in row.parameters}
        index = [_PLACE, *(_LEVELS[key] for key in dict.fromkeys(_KEYS.values()) if key in stated)]
        if judging:
            lines += ["", f"{class_of(name)}:", f"  $index: {json.dumps(index)}"]
            lines += _levels(judging, index, bounds, best, "  ")
    return "\n".join(lines) + "\n"


def _levels(
    rows: list[Reference],
    index: Sequence[str],
    bounds: Mapping[int, Any],
    best: Callable[[list[Reference]], Reference],
    indent: str,
) -> Iterator[str]:
    if not index:
        for metric, found in sorted(grouped(rows, _metric).items()):
            try:
                row = best(found)
            except ValueError as err:
                yield f"{indent}# {metric}: {err}"
                continue
            lower, upper = ("null" if each is None else decimal(each) for each in bounds[id(row)])
            values = f"[{decimal(row.value)}, {lower}, {upper}, {json.dumps(row.unit)}]"
            yield f"{indent}{json.dumps(metric)}: {values}  # {_origin(row)}"
        return
    level, *below = index
    texts = [_text(row, level) for row in rows]
    loose = [row for row, text in zip(rows, texts, strict=True) if text is None]
    for text in sorted({text for text in texts if text is not None}, key=_in_order):
        of_it = [row for row, own in zip(rows, texts, strict=True) if own in (text, None)]
        yield f"{indent}{text if level in _NUMBERS else json.dumps(text)}:"
        yield from _levels(of_it, below, bounds, best, indent + "  ")
    if loose and level in _NUMBERS:  # which no expression matches
        yield from (f"{indent}# of any other {level}: {_origin(row)}" for row in loose)
    elif loose:
        yield f"{indent}{json.dumps(_ANY)}:"
        yield from _levels(loose, below, bounds, best, indent + "  ")


def _in_order(text: str) -> tuple[int, str]:
    return int(text) if text.isdecimal() else 0, text


def _text(row: Reference, level: str) -> str | None:
    """Return what a row has at a level; None where it does not matter."""
    if level == _PLACE:
        return f"{row.system}:{row.partition}"
    key = _KEYS[level]
    return row.parameters.get(key, "" if key in OTHERS else None)


def _metric(row: Reference) -> str:
    size = row.parameters.get("message_size")
    return row.metric if size is None else sized(row.metric, int(size))


def _origin(row: Reference) -> str:
    return printable(f"{row.citation} ({row.path.name}:{row.line})", keep="")
