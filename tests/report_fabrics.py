"""Sessions with all pairs of nodes, and with a look at a whole fabric, made for the report."""

from dataclasses import replace
from datetime import datetime, timezone

import msgspec
import numpy as np

from acceptance.core import state_files
from acceptance.fabric import stored, view
from acceptance.nodes import AllPairs, culprits
from tests import made_matrices
from tests.ibsim import fat_tree, topology_of
from tests.made import Case

PLACE = {"system": "made", "partition": "compute"}


def pairs_text(matrix):
    """Return a matrix as `patterns all-pairs --output` writes it, in the schedule of shifts."""
    count = len(matrix.nodes)
    shifts = sorted(set(np.unique(matrix.rounds).tolist()) - {0})
    fields = {"latency": "latency_us", "bandwidth": "bandwidth_MBps", "both": "both_MBps"}
    values = {name: matrix.values.get(name, matrix.values["bandwidth"] / 5000) for name in fields}
    lines = []
    ranks = np.arange(count)
    for shift in shifts:
        to = (ranks + shift) % count
        lines += [{"type": "failed", "sender": a, "receiver": b, "why": matrix.failed[a, b]}
                  for a, b in zip(ranks.tolist(), to.tolist(), strict=True)
                  if (a, b) in matrix.failed]  # fmt: skip
        rows = {fields[name]: [round(value, 4) if np.isfinite(value) else None
                               for value in of_all[ranks, to].tolist()]
                for name, of_all in values.items()}  # fmt: skip
        lines.append({"type": "round", "number": shift, **rows})
    for pair in sorted({pair for again in matrix.again.values() for pair in again}):
        alone = {field: float(f"{matrix.again.get(name, {}).get(pair, values[name][pair]):.9g}")
                 for name, field in fields.items()}  # fmt: skip
        why = "control" if pair in matrix.controls else "suspect"
        pair_of = {"because": why, "sender": pair[0], "receiver": pair[1]}
        lines.append({"type": "again", **pair_of, **alone})
    return made_matrices.written(matrix.nodes, lines, len(shifts))


def failing(matrix, pairs, why):
    """Return a matrix of which some pairs have no value, and why."""
    values = {name: each.copy() for name, each in matrix.values.items()}
    for each in values.values():
        for pair in pairs:
            each[pair] = np.nan
    again = {name: {pair: value for pair, value in each.items() if pair not in pairs}
             for name, each in matrix.again.items()}  # fmt: skip
    return replace(matrix, values=values, again=again, failed=dict.fromkeys(pairs, why),
                   controls=matrix.controls - {*pairs})  # fmt: skip


def pairs_case(folder, matrix, **fields):
    """Return the case of a matrix, whose file is left in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "all-pairs.txt").write_text(pairs_text(matrix))
    found, values = culprits.judge(matrix)
    stored = AllPairs.of_matrix(matrix, len(matrix.nodes) - 1, found, values)
    more = {
        "all_pairs": msgspec.to_builtins(stored),
        "outputdir": str(folder),
        "stagedir": str(folder),
    }
    return Case(**{
        "name": "AllPairs", "benchmark": "patterns.all-pairs", "suite": "patterns",
        "nodes": matrix.nodes, "metrics": {"latency_8": (2.0, "us")}, "more": more,
        "result": "fail" if any(each.fails for each in found) else "pass",
        **PLACE, **fields,
    })  # fmt: skip


def slow_node(count, **options):
    """Return a matrix with a slow node, measured again alone."""
    return made_matrices.made(count, 3, "node", repeats=True, **options)


def spoilt(nodes=16, leaves=4, spines=2):
    """Return a fat tree as it was accepted, and with a fault of each kind of a cable."""
    tree, each = fat_tree(nodes, leaves, spines), -(-nodes // leaves)
    before = named(topology_of(tree))
    tree.unplug((f"leaf{leaves // 2:02}", each + 2))
    tree.train(("leaf01", each + 1), "1xHDR")
    tree.train((f"leaf{leaves:02}", each + spines), "4xEDR")
    tree.unplug(("node0002", 1))
    if leaves > 8:
        tree.remove("spine03")
    return before, named(topology_of(tree))


def named(topology):
    """Return a topology whose hosts are nodes, by the first word of each one's description."""
    hosts = {device.name.split()[0]: (guid,) for guid, device in topology.devices.items()
             if device.kind == "host"}  # fmt: skip
    return replace(topology, hosts=hosts)


def fabric_case(workspace, before, now, name="made", **fields):
    """Return the case that looked at a fabric; what it keeps is written to the workspace."""
    errors = next(link for link in now.links if "spine01" in now.link_text(link)).ends[0]
    accepted = None
    if before is not None:
        when = datetime(2026, 1, 1, tzinfo=timezone.utc)
        accepted = stored.AcceptedFabric({when: "first"}, stored.Kept.of(before))
    seen, state = view.judge(
        now, {errors: {"SymbolErrorCounter": 900_000}}, hosts=view.Hosts({}), accepted=accepted,
        before=stored.State(1.79e9 - 86400, {}), now=1.79e9,
    )  # fmt: skip
    state_files.write(stored.state_path(workspace.var, name), state)
    if before is not None:
        path = stored.path_of(workspace.reference, name)
        state_files.write(path, accepted)
    told = {"fabric": "read by mlx5_0 of login1", "fabric_name": name,
            "fabric_sha256": stored.checksum(state.fabric)}  # fmt: skip
    return Case(**{
        "name": "FabricView %part=compute", "benchmark": "fabric.view", "suite": "fabric",
        "nodes": ("node0001",), "metrics": {"links": (len(now.links), "1")}, "provenance": told,
        "findings": tuple(each.as_data() for each in seen),
        "result": "fail" if any(each.fails for each in seen) else "pass", **PLACE, **fields,
    })  # fmt: skip
