"""Schedulers beside Slurm: the nodes that PBS and Flux have, and how a job gets just those it asks.

Nothing can be placed with any other scheduler of ReFrame's; `refusal` says so. A node of PBS is a
host, whose vnodes are taken together.

`pbsnodes -a` of OpenPBS, PBS Pro and Torque has a node a paragraph::

    node1
         state = job-exclusive
         resources_available.ncpus = 64
         comment = bad cable

Sources: pbsnodes, qsub(1B), pbs_resources(7B) and pbs_node_attributes(7B) of OpenPBS 23; qsub and
pbsnodes of Torque 6; flux-resource(1), flux-batch(1) and flux-run(1) of flux-core 0.88, and the
RFCs 20 (R), 22 (sets of ranks) and 29 (lists of hosts) of Flux. `qsub` and `pbsnodes` of Debian's
slurm-wlm-torque answer alike.
"""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from acceptance.core import machine, records
from acceptance.core.text import natural
from acceptance.machine.placement import Layout
from acceptance.machine.slurm import (
    PATIENCE,
    SLURM,
    SchedulerFault,
    SlurmNode,
    names_of,
    options_of,
    partition_nodes,
)

#: ReFrame's schedulers that submit to PBS; torque has a form of its own.
PBS = ("pbs", "pbspro", "torque")
FLUX = "flux"
#: Those that can be asked for the nodes of a partition.
ASKED = (*SLURM, *PBS, FLUX)
#: Those whose nodes ReFrame knows by itself.
_HERE = ("local", "ssh")
#: ReFrame's other schedulers, and why ranks cannot be placed there. Source: ReFrame 4.10.
_UNPLACED = {
    "lsf": "ReFrame asks LSF for a number of nodes, never for those of a name, and learns none",
    "sge": "ReFrame asks SGE for a slot, whatever number of processes a case has",
    "oar": "ReFrame asks OAR for cores of some hosts, never for those of a name, and learns none",
}
#: States of a node of PBS or Torque in which it takes jobs, at once or when another one ends.
_UP = {"free", "busy", "job-busy", "job-exclusive", "job-sharing", "time-shared"}
#: States of a node of Flux in which it does, if it is online.
_UP_IN_FLUX = {"avail", "allocated", "housekeeping"}
_ENTRY = re.compile(r"\s+(?P<key>\S+) = (?P<value>.*)")
_UNITS = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


def refusal(scheduler: str, launcher: str, verified: bool) -> str:
    """Say why no rank can be placed on a partition, and what to do; empty where one can.

    `verified`: its ranks are to say where they stand. A scheduler of the site's own then places
    them as it does.
    """
    todo = f'write another "scheduler" into the partition: {", ".join((*ASKED, "local"))}'
    if scheduler in _UNPLACED:
        return f"no ranks can be placed with {scheduler}: {_UNPLACED[scheduler]}; {todo}"
    if scheduler not in (*ASKED, *_HERE, "") and verified:
        return (
            f"no ranks can be placed with {scheduler}, which nothing here knows; {todo}; or state "
            '"verify_placement": False in its `extras`: each result then says "not verified"'
        )
    if scheduler == FLUX and launcher not in (FLUX, "local"):
        return (
            f"no ranks can be placed by {launcher} in a job of Flux, whose nodes no MPI's launcher "
            f'learns; write "launcher": "{FLUX}" into the partition'
        )
    if launcher == FLUX and scheduler != FLUX:
        return (
            f"the launcher {FLUX} starts nothing in a job of {scheduler or 'another scheduler'}; "
            'write that of the MPI as "launcher" into the partition'
        )
    return ""


def lists_nodes(system: Mapping[str, Any]) -> bool:
    """Tell whether a system has a scheduler to ask, and no partition whose nodes nobody lists."""
    schedulers = {partition.get("scheduler") for partition in system["partitions"]}
    return bool(schedulers & {*ASKED}) and schedulers <= {*ASKED, *_HERE}


def access_of(partition: Mapping[str, Any]) -> list[str]:
    """Return the `access` options of a partition, and the clusters that ReFrame adds to these."""
    clusters = partition.get("sched_options", {}).get("slurm_multi_cluster_mode")
    more = [f"--clusters={','.join(clusters)}"] if clusters else []
    return [*partition.get("access", ()), *more]


def nodes_of(scheduler: str, access: Sequence[str]) -> list[SlurmNode]:
    """Return the nodes that a scheduler has for the `access` options of a partition, by name.

    Raises SchedulerFault where it does not answer, has none, or an option cannot be read.
    """
    if scheduler in SLURM:
        return partition_nodes(access)
    found = _of_flux(access) if scheduler == FLUX else _of_pbs(access)
    excluded = names_of(options_of(access).get("--exclude", ""))
    found = [node for node in found if node.name not in excluded]
    if not found:
        raise SchedulerFault(f"{scheduler} has no node for {' '.join(access) or 'its jobs'}")
    return sorted(found, key=lambda node: natural(node.name))


def _answer(*command: str) -> str:
    done = machine.run(command, PATIENCE)
    if done.fault:
        raise SchedulerFault(f"{' '.join(command)}: {done.fault}")
    return done.out


def _of_pbs(access: Sequence[str]) -> list[SlurmNode]:
    vnodes = [*_vnodes(_answer("pbsnodes", "-a"))]
    queue = options_of(access).get("--queue", "")
    if re.match(r"[RSM]\d", queue):
        raise SchedulerFault(f"-q {queue}: which nodes a reservation has is not read here")
    bound = {vnode.get("queue", "") for vnode in vnodes}
    wanted = [word for words in access if not words.startswith(("-", "#"))
              for word in words.split(":")]  # fmt: skip
    hosts: dict[str, list[dict[str, str]]] = {}
    for vnode in vnodes:
        # Jobs of a queue that has no vnodes of its own take those that are no other queue's.
        of_queue = vnode.get("queue", "") == (queue if queue in bound else "")
        if of_queue and all(_has(vnode, word, vnodes) for word in wanted):
            host = vnode.get("resources_available.host", vnode["name"])
            hosts.setdefault(host, []).append(vnode)
    return [_host(name, of_host) for name, of_host in hosts.items()]


def _vnodes(text: str) -> Iterator[dict[str, str]]:
    """Yield what `pbsnodes -a` says of each vnode; raises SchedulerFault for another form."""
    for paragraph in filter(None, (part.strip("\n") for part in re.split(r"\n\s*\n", text))):
        name, *lines = paragraph.splitlines()
        entries = [_ENTRY.match(line) for line in lines]
        vnode = {entry["key"]: entry["value"] for entry in entries if entry}
        if name != name.strip() or "state" not in vnode:
            raise SchedulerFault(f"pbsnodes -a: {name!r}: no node and its state can be read")
        yield {"name": name, **vnode}


def _has(vnode: Mapping[str, str], word: str, vnodes: Collection[Mapping[str, str]]) -> bool:
    """Tell whether a vnode has what a chunk asks for; amounts, which are numbers, tell no nodes.

    Of Torque a word is a property, or a number of cores of a node.
    """
    key, equals, value = word.partition("=")
    if not equals:
        return word in re.split(r"[,\s]+", vnode.get("properties", ""))
    key = f"resources_available.{key}"
    if value[:1].isdigit() or not any(key in each for each in vnodes):
        return True
    return value in vnode.get(key, "").split(",")


def _host(name: str, vnodes: Sequence[Mapping[str, str]]) -> SlurmNode:
    """Return a host: its `cores` are those that a chunk may have, which is within a vnode."""
    states = frozenset(word.strip() for each in vnodes for word in each["state"].split(","))
    told = [each.get("comment") or each.get("note", "") for each in vnodes]
    cpus = [each.get("resources_available.ncpus", each.get("np", "0")) for each in vnodes]
    sizes = [re.fullmatch(r"(\d+)([kmgt]?b)", each.get("resources_available.mem", ""))
             for each in vnodes]  # fmt: skip
    return SlurmNode(
        name=name,
        state="+".join(sorted(states - {"free"})) or "free",
        reason="; ".join(dict.fromkeys(filter(None, told))),
        up=states <= _UP,
        states=states,
        address=name,
        cores=max(int(count) if count.isdigit() else 0 for count in cpus),
        memory=sum(int(size[1]) * _UNITS[size[2]] for size in sizes if size),
    )


def _of_flux(access: Sequence[str]) -> list[SlurmNode]:
    """Ask Flux: the scheduler for what there is, the resource service for states and reasons."""
    chosen = options_of(access)
    queue = ["-q", chosen["--queue"]] if "--queue" in chosen else []
    text = _answer("flux", "resource", "R", *queue)
    try:
        execution = records.from_json(text)["execution"]
        nodelist = names_of(",".join(execution["nodelist"]))
        cores = {
            int(rank): len(names_of(f"[{each['children']['core']}]"))
            for each in execution["R_lite"]
            for rank in names_of(f"[{each['rank']}]")
        }
        # Host names are in the order of the ranks.
        names = dict(zip(sorted(cores), nodelist, strict=True))
        of_node = {name: cores[rank] for rank, name in names.items()}
        having = {
            prop: {names[int(rank)] for rank in names_of(f"[{ranks}]")}
            for prop, ranks in execution.get("properties", {}).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, SchedulerFault) as err:
        raise SchedulerFault(
            f"flux resource R: not of a form that is known here: {type(err).__name__}: {err}"
        ) from None
    wanted = chosen.get("--requires", "")
    if not re.fullmatch(r"[\w.,^-]*", wanted):
        raise SchedulerFault(f"--requires={wanted}: not read here: only names of properties are")
    for word in filter(None, wanted.split(",")):
        those = having.get(word.removeprefix("^"), set())
        of_node = {n: c for n, c in of_node.items() if (n in those) != word.startswith("^")}
    told = _states_of_flux(_answer(
        "flux", "resource", "status", "-no", "{statex}|{status}|{nodelist}|{reason}", *queue
    ))  # fmt: skip
    # A node in housekeeping has a second state: that counts in which it takes no jobs.
    states = dict(sorted(told, key=lambda node: node[1][0] not in _UP_IN_FLUX))
    return [_node_of_flux(name, count, *states.get(name, ("unknown", "", "")))
            for name, count in of_node.items()]  # fmt: skip


def _states_of_flux(text: str) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield node -> state, online or offline, and the reason of a drain."""
    for line in text.splitlines():
        state, online, names, reason = (word.strip() for word in (line + "|||").split("|")[:4])
        for name in names_of(names):
            yield name, (state, online, reason)


def _node_of_flux(name: str, cores: int, state: str, online: str, reason: str) -> SlurmNode:
    up = online == "online" and state in _UP_IN_FLUX
    states = frozenset(filter(None, (state, online if online != "online" else "")))
    text = "+".join(sorted(states - ({"avail"} if online == "offline" else set())))
    return SlurmNode(name, text, reason, up, states, address=name, cores=cores)


def of_pbs(
    scheduler: str, layout: Layout, cpus: int, nodes: Sequence[str], more: Sequence[str] = ()
) -> list[str]:
    """Return the options of qsub with which a job gets its nodes, each once and alone.

    A chunk has `cpus` CPUs and the ranks of a node; `nodes` are those by name, in the order of the
    ranks. `more` is what else a chunk asks for (`ngpus=4`), or a property of Torque.
    """
    names, counts = [*nodes[: layout.nodes]], layout.counts
    left = counts[len(names) :]
    chunks = [(name, count, 1) for name, count in zip(names, counts, strict=False)]
    chunks += [("", count, left.count(count)) for count in dict.fromkeys(left)]
    if scheduler == "torque":
        asked = [":".join((name or str(number), f"ppn={count}", *more))
                 for name, count, number in chunks]  # fmt: skip
        return [f"-l nodes={'+'.join(asked)}", "-l naccesspolicy=singlejob"]
    asked = [
        ":".join((
            str(number), f"ncpus={max(cpus, count)}", f"mpiprocs={count}",
            *([f"host={name}"] * bool(name)), *more,
        ))
        for name, count, number in chunks
    ]  # fmt: skip
    return [f"-l select={'+'.join(asked)}", "-l place=scatter:exclhost"]


def of_flux(layout: Layout, nodes: Sequence[str]) -> list[str]:
    """Return the options of `flux batch` for an instance of Flux that has whole nodes."""
    named = [f"--requires=hosts:{','.join(nodes)}"] if nodes else []
    return [f"--nodes={layout.nodes}", f"--nslots={layout.nodes}", "--exclusive", *named]


def words_of(options: Iterable[str]) -> list[str]:
    """Return options as words of a command, without what a preamble alone has (`#...`)."""
    return [word for option in options if not option.startswith("#")
            for word in shlex.split(option)]  # fmt: skip
