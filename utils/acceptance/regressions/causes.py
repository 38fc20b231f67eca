"""What the series of an incident have in common, and the others on the partition have not."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from acceptance.core.metrics import split
from acceptance.detection.constants import CAUSE_BEFORE, CAUSE_SHARE, CAUSES_NAMED, NODES_NAMED
from acceptance.regressions.changes import Change
from acceptance.regressions.history.series import Sample, Series

#: Attributes of a series that can explain, and how they are called; the likeliest first.
ATTRIBUTES = {
    "environment": "environment",
    "mpi": "MPI",
    "placement": "placement",
    "mapping": "mapping",
    "intranode": "path inside a node:",
    "suite": "suite",
    "benchmark": "benchmark",
    "nodes": "number of nodes:",
    "np": "number of processes:",
    "metric": "metric",
}


def common(affected: Sequence[Change], judged: Iterable[Series]) -> str:
    """Return what the affected series share: software, nodes, links, attributes, message sizes.

    `judged` are all series of the partition that were judged; those that were not affected tell
    what sets the affected ones apart.
    """
    ours = {id(change.series) for change in affected}
    others = [one for one in judged if id(one) not in ours]
    found = [
        _texts(affected),
        _software(affected),
        _nodes(affected, others),
        *_attributes([change.series for change in affected], others),
        _sizes([change.series for change in affected], others),
        _links(affected),
    ]
    return "; ".join(filter(None, found))


def _texts(affected: Sequence[Change]) -> str:
    texts = Counter(change.text for change in affected if change.text)
    return texts.most_common(1)[0][0] if texts else ""


def _split(change: Change) -> tuple[list[Sample], list[Sample]]:
    """Return the samples before the change, and those since."""
    samples, at = change.series.samples, change.series.index(change.session)
    return samples[max(at - CAUSE_BEFORE, 0) : at], samples[at:]


def _software(affected: Sequence[Change]) -> str:
    changes: Counter[str] = Counter()
    known = same = 0
    for change in affected:
        before, after = _split(change)
        # The first sample after a change is an estimate: it may be one too early or too late.
        near = [sample.software for sample in before[-2:] + after[:2]]
        if not before or not after or not all(near):
            continue
        known += 1
        changed = [_change(dict(old), dict(new)) for old, new in pairwise(near) if old != new]
        if changed:
            changes[changed[0]] += 1
        else:
            same += 1
    if not known:
        return ""
    if changes and changes.total() >= CAUSE_SHARE * known:
        return f"the software changed with it: {changes.most_common(1)[0][0]}"
    return "with the same software as before" if same == known else ""


def _change(old: dict[str, str], new: dict[str, str]) -> str:
    """Say what differs; the hash only where nothing else does, for it differs with anything."""
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    names = [name for name in names if name != "hash"] or names
    return ", ".join(
        f"{name} {old.get(name, 'none')[:40]} -> {new.get(name, 'none')[:40]}" for name in names
    )


def _nodes(affected: Sequence[Change], others: Iterable[Series]) -> str:
    """Name the nodes that all affected samples had and no other one; else those that are new."""
    split_samples = [_split(change) for change in affected]
    # The first sample after a change is an estimate: what follows it is surer.
    since = [
        set(sample.nodes)
        for _, after in split_samples
        for sample in (after[2:] if len(after) >= 4 else after)
        if sample.nodes
    ]
    if not since:
        return ""
    shared = set.intersection(*since)
    first = min((change.session for change in affected), key=lambda session: session.number)
    unaffected = {
        node
        for one in others
        for sample in one.samples[one.index(first) :]
        for node in sample.nodes
    }
    before = {node for samples, _ in split_samples for sample in samples for node in sample.nodes}
    culprits = shared - unaffected
    if culprits and unaffected:
        return f"all ran on {_names(culprits)}, and nothing else did"
    new = shared - before
    if new and before:
        return f"all sample on {_names(new)} since then, and did not before"
    return ""


def _names(nodes: Iterable[str]) -> str:
    names = sorted(nodes)
    more = f" and {len(names) - NODES_NAMED} more" if len(names) > NODES_NAMED else ""
    return ", ".join(names[:NODES_NAMED]) + more


def attributes(series: Series) -> dict[str, str]:
    """Return what may set a series apart from others: attribute -> value."""
    keys = dict(series.case.key.keys)
    software = dict(series.samples[-1].software) if series.samples else {}
    found = {
        "environment": series.case.key.environment,
        "mpi": software.get("mpi", ""),
        "suite": series.case.suite,
        "benchmark": series.case.benchmark or series.case.key.check.split(" ")[0],
        "metric": split(series.metric)[0],
        **{name: keys.get(name, "") for name in ("placement", "mapping", "intranode")},
        **{name: keys.get(name, "") for name in ("nodes", "np")},
    }
    return {name: found[name] for name in ATTRIBUTES}


def _attributes(ours: Sequence[Series], others: Sequence[Series]) -> list[str]:
    """Say which attributes all of ours have, and not all of the others."""
    if len(ours) < 2:
        return []
    mine, rest = [attributes(one) for one in ours], [attributes(one) for one in others]
    found: list[tuple[int, str]] = []
    for name, title in ATTRIBUTES.items():
        values = {one[name] for one in mine}
        if len(values) != 1 or "" in values:
            continue
        value = values.pop()
        too = sum(one[name] == value for one in rest)
        if too < len(rest):
            only = "only " if not too else ""
            found.append((too, f"{only}{title} {value}"))
    # What fewer of the others share tells more; the sort keeps the likeliest of equals first.
    return [text for _, text in sorted(found, key=lambda one: one[0])[:CAUSES_NAMED]]


def _sizes(ours: Sequence[Series], others: Sequence[Series]) -> str:
    """Say whether it is the large messages, or the small ones, that moved."""
    sizes = [split(one.metric)[1] for one in ours]
    mine = [size for size in sizes if size is not None]
    metrics = {(one.case.benchmark, split(one.metric)[0]) for one in ours}
    rest = [
        size
        for one in others
        if (one.case.benchmark, split(one.metric)[0]) in metrics
        and (size := split(one.metric)[1]) is not None
    ]
    if len(mine) < max(2, len(sizes)) or not rest:
        return ""
    if max(rest) < min(mine):
        return f"messages of {min(mine)} bytes and more"
    if min(rest) > max(mine):
        return f"messages of up to {max(mine)} bytes"
    return ""


def _links(affected: Sequence[Change]) -> str:
    """Tell what the links of the nodes showed since, and did not show before."""
    found: Counter[str] = Counter()
    for change in affected:
        before, after = _split(change)
        known = {text for sample in before for text in sample.findings}
        found.update({text for sample in after for text in sample.findings} - known)
    if not found:
        return ""
    texts = [text for text, _ in found.most_common(NODES_NAMED)]
    return f"links: {', '.join(texts)}"
