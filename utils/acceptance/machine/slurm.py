"""The nodes that Slurm has for a partition of ReFrame: which are up, and why the others are not.

A partition of ReFrame is a choice among Slurm's nodes, made by its `access` options. They are read
as ReFrame 4.10 reads them (`SlurmJobScheduler.filternodes`), so that `--distribute` and this agree:
of several partitions a node is in all; without `--partition` it is in the default one. Source of
the options, and of the form of a constraint: sbatch(1) of Slurm 22.05.

What Slurm's `scontrol` and `srun` say of a cluster: records of `Key=Value`, and lists.
`scontrol show node --oneliner` has a record a line; a value may hold blanks, as that of `OS`::

    NodeName=node1 Arch=x86_64 CoresPerSocket=2  CPUAlloc=0 CPUEfctv=1 CPUTot=2 ... State=IDLE

`scontrol show config` has an entry a line, `ClusterName             = acceptance`. Sources:
scontrol(1) and srun(1) of Slurm 22.05, sinfo(1) for node states; what 23.02 to 26.05 print more or
otherwise: `src/api/node_info.c`, `partition_info.c` and `slurm/slurm.h` of each.

What Slurm says of a job that did not end by itself. Sources: what `slurmstepd` of Slurm 22.05
writes to a job's standard error (`src/slurmd/slurmstepd/req.c`), the job states of sacct(1), and
`scontrol show job`.

What a program said last before it failed is told without what MPI and the launcher add to it.
Sources: what Open MPI 4.1, MPICH 4.0 with UCX 1.13, Intel MPI 2021 and Slurm 22.05 print when a
program calls MPI_Abort, exits with a status, or is ended by a signal.
"""

import itertools
import math
import re
import shlex
from argparse import ArgumentError, ArgumentParser
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from acceptance.core import machine
from acceptance.core.errors import Fault, ParseError
from acceptance.core.findings import Finding
from acceptance.core.text import natural

#: ReFrame's schedulers that submit to Slurm.
SLURM = ("slurm", "squeue")
PATIENCE = 30  # seconds that a controller has to answer; by itself scontrol would wait longer
Value = TypeVar("Value")
_KEY = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9_:/]*)=(?P<value>.*)\Z")
_NOTHING = ("", "(null)", "N/A", "None", "none")

#: States and flags in which a node takes no job of everyone, or is not there.
_AWAY = {
    "BLOCKED", "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "EXTERNAL", "FAIL", "FAILING",
    "FUTURE", "INVAL", "INVALID_REG", "MAINT", "MAINTENANCE", "NOT_RESPONDING", "NO_RESPOND",
    "PERFCTRS", "POWER_DOWN", "POWERING_DOWN", "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED",
    "RESERVED", "UNKNOWN",
}  # fmt: skip
#: Those of a node that is kept for a reservation, whose jobs do get it; and those that a
#: reservation with the flag MAINT has beside. A node may be in another reservation with that flag.
_KEPT, _MAINTAINED = {"RESERVED"}, {"MAINT", "MAINTENANCE"}


class SchedulerFault(Fault):
    """Why a scheduler, or a part of it, cannot be used: what, and what to do."""


@dataclass(frozen=True)
class SlurmNode:
    """A node as Slurm has it: its state as people know it from sinfo, and why it is away.

    So have those of PBS and Flux (`acceptance.machine.schedulers`), with states of their own.

    `up`: it takes jobs, at once or when another one ends. It does not when it is down, drained,
    draining, failing, kept for a reservation of others, or of an unknown state. `cores` are those
    that jobs get, `memory` is in bytes, 0 if unknown; `address` is where its slurmd is reached.
    """

    name: str
    state: str
    reason: str
    up: bool
    states: frozenset[str] = frozenset()
    address: str = ""
    arch: str = ""
    sockets: int = 1
    cores_per_socket: int = 1
    threads: int = 1
    cores: int = 1
    memory: int = 0
    features: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """Return its name, its state, and the reason that was written: `node3 is drained (fan)`."""
        return f"{self.name} is {self.state}" + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True)
class PartitionRecord:
    """A partition as Slurm has it; no `groups` means that all may use it.

    `most_nodes` is the largest number of nodes of a job, None without a limit.
    """

    name: str
    up: bool
    default: bool
    root_only: bool
    groups: frozenset[str]
    most_nodes: int | None
    hidden: bool = False


def takes_jobs(
    states: Collection[str], *, reserved: bool = False, maintained: bool = False
) -> bool:
    """Tell whether a node in these states takes jobs, at once or when another one ends.

    With `reserved` those jobs are of the reservation that keeps it; it has the flag MAINT if it is
    `maintained`.
    """
    usable = (_KEPT if reserved else set()) | (_MAINTAINED if maintained else set())
    return not (set(states) - usable) & _AWAY


def show(*what: str) -> str:
    """Return what `scontrol show ...` prints; raises SchedulerFault when it does not answer."""
    command = ["scontrol", "show", *what]
    done = machine.run(command, PATIENCE)
    if done.fault:
        raise SchedulerFault(f"{' '.join(command)}: {done.fault}")
    return done.out


def all_nodes(*of: str) -> list[SlurmNode]:
    """Ask Slurm for its nodes, those of hidden partitions, too; raises SchedulerFault.

    `of` is the option that names another cluster (`of_cluster`).
    """
    return _records("node", "NodeName", _node, of)


def all_partitions(*of: str) -> list[PartitionRecord]:
    """Ask Slurm for its partitions, also for hidden ones; raises SchedulerFault."""
    return _records("partition", "PartitionName", _partition, of)


def of_cluster(access: Sequence[str]) -> list[str]:
    """Return the option of the cluster that `access` options name (`-M`), which scontrol has, too.

    Raises SchedulerFault for several: a job would run on either, and no node can be named.
    """
    cluster = options_of(access).get("--clusters", "")
    if "," in cluster or cluster == "all":
        raise SchedulerFault(
            f"--clusters={cluster}: a job would run on any of them; name one (`-M`, or "
            "slurm_multi_cluster_mode in the sched_options), and have a partition for each"
        )
    return [f"--clusters={cluster}"] if cluster else []


def config(text: str) -> dict[str, str]:
    """Read `scontrol show config`: key -> value, empty where Slurm has none."""
    entries: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip():
            entries.setdefault(key.strip(), "" if value.strip() in _NOTHING else value.strip())
    return entries


def mpi_plugins(text: str) -> list[str]:
    """Read `srun --mpi=list`: the plugins, and the versions of pmix, in the order of the list.

    Before 22.05 each line began with `srun: `, and the list came on standard error.
    """
    plugins = []
    for line in text.splitlines():
        words = line.removeprefix("srun: ").strip()
        if words.startswith("specific pmix plugin versions available:"):
            plugins += words.partition(":")[2].replace(",", " ").split()
        elif words and " " not in words:
            plugins.append(words)
    return list(dict.fromkeys(name for name in plugins if name != "none"))


def _records(
    what: str, first: str, make: Callable[[dict[str, str]], Value], of: Sequence[str]
) -> list[Value]:
    made = []
    for number, line in enumerate(show(what, "--oneliner", "--all", *of).splitlines(), 1):
        if not line.strip():
            continue
        record = _record(line)
        try:
            if next(iter(record), None) != first:
                raise ValueError(f"does not begin with {first}=")
            made.append(make(record))
        except (KeyError, ValueError) as err:
            why = f"has no {err.args[0]}" if isinstance(err, KeyError) else str(err)
            wrong = ParseError(f"scontrol show {what}", why, number=number, line=line)
            raise SchedulerFault(
                f"what Slurm says is not of a form that is known here: {wrong}"
            ) from None
    return made


def _record(line: str) -> dict[str, str]:
    """Take a record apart. A key that stands twice is part of a later value (Reason, Comment)."""
    record: dict[str, str] = {}
    last = ""
    for word in line.split():
        key = _KEY.match(word)
        if key and key["key"] not in record:
            last = key["key"]
            record[last] = key["value"]
        elif last:
            record[last] += f" {word}"
        else:
            break
    return record


def _node(record: dict[str, str]) -> SlurmNode:
    threads = max(1, _count(record, "ThreadsPerCore"))
    total = _count(record, "CPUTot")
    if "CPUEfctv" in record:
        cpus = _count(record, "CPUEfctv")
    else:  # before 22.05
        cpus = total - threads * _count(record, "CoreSpecCount", 0)
    mebibytes = _count(record, "RealMemory") - _count(record, "MemSpecLimit", 0)
    states = read_states(record["State"])
    return SlurmNode(
        name=record["NodeName"],
        state=_state(states),
        reason=record.get("Reason", ""),
        up=takes_jobs(states),
        states=states,
        address=record.get("NodeAddr") or record["NodeName"],
        arch=record.get("Arch", ""),
        sockets=max(1, _count(record, "Sockets")),
        cores_per_socket=max(1, _count(record, "CoresPerSocket")),
        threads=threads,
        cores=max(1, cpus // threads),
        # 1 is what Slurm takes where slurm.conf says nothing.
        memory=mebibytes * 2**20 if mebibytes > 1 else 0,
        features=_words(record.get("ActiveFeatures", record.get("AvailableFeatures", ""))),
        partitions=_words(record.get("Partitions", "")),
    )


def _partition(record: dict[str, str]) -> PartitionRecord:
    most = record.get("MaxNodes", "UNLIMITED")
    return PartitionRecord(
        name=record["PartitionName"],
        up=record["State"] == "UP",
        default=record.get("Default") == "YES",
        root_only=record.get("RootOnly") == "YES",
        groups=_words(record.get("AllowGroups", "ALL")) - {"ALL"},
        most_nodes=None if most == "UNLIMITED" else _count(record, "MaxNodes"),
        hidden=record.get("Hidden") == "YES",
    )


def read_states(text: str) -> frozenset[str]:
    """Return state and flags: of `IDLE+DRAIN`, and of `DOWN*`, which does not respond."""
    bare = text.split()[0] if text.split() else "UNKNOWN"
    states = set(re.sub(r"[^A-Z_+]", "", bare).split("+")) - {""}
    return frozenset(states | ({"NOT_RESPONDING"} if "*" in bare else set()))


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in text.split(",") if word not in _NOTHING)


def _count(record: dict[str, str], key: str, default: int | None = None) -> int:
    if default is not None and record.get(key, "") in _NOTHING:
        return default
    if not (record[key].isascii() and record[key].isdigit()):
        raise ValueError(f"{key} is {record[key]!r}, which is no number")
    return int(record[key])


#: The options that choose nodes; each has a value.
_OPTIONS = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
for _names in (
    "-p --partition",
    "-C --constraint",
    "-x --exclude",
    "-w --nodelist",
    "--reservation",
    "-M --clusters",
    # Of PBS and Flux; of Slurm -q is another one.
    "-q --queue",
):
    _OPTIONS.add_argument(*_names.split(), type=str.strip)
_OPTIONS.add_argument("--requires", action="append")
#: A word between commas, of which brackets may have some, and what is in brackets.
_WORD, _RANGES = re.compile(r"(?:[^,\[]|\[[^\]]*\]?)+"), re.compile(r"\[([^\[\]]*)\]")
#: A number or a range of them, and more nodes than there are.
_RANGE, _MOST = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII), 1_000_000
#: What a node is; its other states are flags.
_BASES = ("ALLOCATED", "DOWN", "ERROR", "FUTURE", "IDLE", "MIXED", "UNKNOWN")
#: A group of a constraint that has no other in it, and a feature, or what such a group came to.
_GROUP = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_FEATURE = re.compile(r"(<yes>|<no>|[A-Za-z0-9_.:+=/-]+)\Z")


def partition_nodes(access: Sequence[str]) -> list[SlurmNode]:
    """Return Slurm's nodes for the `access` options of a partition, sorted by name.

    What is kept for a reservation is up where these name one. Raises SchedulerFault when Slurm does
    not answer, when it knows no node that the options choose, or for an option whose value cannot
    be read.
    """
    chosen, of = options_of(access), of_cluster(access)
    known = {node.name: node for node in all_nodes(*of)}
    partitions = set(filter(None, chosen.get("--partition", "").split(","))) or {_default(*of)}
    names = {name for name, node in known.items() if partitions <= node.partitions}
    if expression := chosen.get("--constraint"):
        names = {name for name in names if satisfies(known[name].features, expression)}
    reservation = chosen.get("--reservation", "")
    reserved, flags = _reservation(reservation, of) if reservation else ("", set())
    for option in ("--reservation", "--nodelist", "--exclude"):
        if value := chosen.get(option):
            names_in = reserved if option == "--reservation" else value
            listed = set(_listed(option, value, names_in, known))
            names = names - listed if option == "--exclude" else names & listed
    if not names:
        raise SchedulerFault(f"Slurm has no node for {' '.join(access) or 'its default partition'}")
    nodes = [known[name] for name in sorted(names, key=natural)]
    if reservation:
        how = {"reserved": True, "maintained": "MAINT" in flags}
        nodes = [replace(node, up=takes_jobs(node.states, **how)) for node in nodes]
    return nodes


def excluded_nodes(access: Sequence[str]) -> str:
    """Return the list of nodes that the `access` options of a partition exclude; empty for none."""
    return options_of(access).get("--exclude", "")


def partition_option(access: Sequence[str]) -> str:
    """Return the partition of Slurm that the `access` options choose, else the default one."""
    named = options_of(access).get("--partition", "").split(",")[0]
    return named or _default(*of_cluster(access))


def names_of(text: str) -> list[str]:
    """Return the names of a list such as node[1-3,07],login, and the numbers of `[0-3]`.

    Raises SchedulerFault for a range without numbers, or that runs backwards, for a bracket that is
    not closed, and for too many.
    """
    names: list[str] = []
    for word in _WORD.findall(text):
        fixed = _RANGES.split(word)
        if any({*part} & {*"[]"} for part in fixed[::2]):
            raise SchedulerFault(f"{word}: a bracket is not closed, or not open")
        choices = [_ranges(word, part) for part in fixed[1::2]]
        count = math.prod(sum(len(numbers) for _, numbers in each) for each in choices)
        if len(names) + count > _MOST:
            raise SchedulerFault(f"{word}: these are more than {_MOST} nodes")
        written = [[f"{n:0{width}}" for width, ns in each for n in ns] for each in choices]
        for chosen in itertools.product(*written):
            fixed[1::2] = chosen
            names.append("".join(fixed))
    return names


def _ranges(word: str, listed: str) -> list[tuple[int, range]]:
    """Return the ranges of `01-04,7`, each with its digits; raises SchedulerFault."""
    found = []
    for part in listed.split(","):
        first, last = match.groups(match[1]) if (match := _RANGE.fullmatch(part)) else ("1", "0")
        found.append((len(first), range(int(first), int(last) + 1)))
        if not 0 < len(found[-1][1]) <= _MOST:
            raise SchedulerFault(f"{word}: {part!r} is no range of numbers such as 1-16")
    return found


def satisfies(features: frozenset[str], expression: str) -> bool:
    """Tell whether features are those of a constraint: names, `&`, `|`, groups in () or [].

    `&` binds closer, as in ReFrame. Raises SchedulerFault for anything else, such as counts (`*2`).
    """
    text = expression
    try:
        while group := _GROUP.search(text):
            word = "<yes>" if _has_any(features, group[1]) else "<no>"
            text = text[: group.start()] + word + text[group.end() :]
        return _has_any(features, text)
    except ValueError:
        raise SchedulerFault(
            f"--constraint={expression}: not read here: only features, &, |, () and [] are"
        ) from None


def _has_any(features: frozenset[str], text: str) -> bool:
    """Tell whether all features of a term of `a&b|c` are there; ValueError for anything else."""
    terms = [re.split(r"\s*[&,]\s*", term.strip()) for term in text.split("|")]
    if not all(_FEATURE.match(word) for words in terms for word in words):
        raise ValueError(text)
    return any(features.union(["<yes>"]).issuperset(words) for words in terms)


def options_of(access: Sequence[str]) -> dict[str, str]:
    """Return the options that choose nodes, by their long names; the last one counts.

    Of several `--requires` each counts, as with Flux. Raises SchedulerFault for an option without a
    value.
    """
    try:
        words = [word for option in access for word in shlex.split(option)]
        given = vars(_OPTIONS.parse_known_args(words)[0])
    except ArgumentError as err:
        raise SchedulerFault(f"{' '.join(access)}: {err.argument_name} has no value") from None
    except ValueError as err:  # a quotation mark without its other one
        raise SchedulerFault(f"{' '.join(access)}: {err}") from None
    several = given["requires"]
    given["requires"] = ",".join(each or "" for each in several) if several else None
    chosen = {f"--{name}": value for name, value in given.items() if value is not None}
    for name, value in chosen.items():
        if not value:
            raise SchedulerFault(f"{' '.join(access)}: {name} has no value")
    return chosen


def _default(*of: str) -> str:
    for record in all_partitions(*of):
        if record.default:
            return record.name
    raise SchedulerFault(
        "Slurm has no default partition: write --partition into the access options of the partition"
    )


def _reservation(name: str, of: Sequence[str]) -> tuple[str, set[str]]:
    """Return the list of a reservation's nodes, and its flags; raises SchedulerFault for none."""
    text = show("reservation", name, "--oneliner", *of)
    nodes, flags = (re.search(rf"(?:^|\s){key}=(\S+)", text) for key in ("Nodes", "Flags"))
    if not nodes or nodes[1] == "(null)":
        raise SchedulerFault(f"--reservation={name}: Slurm names no nodes of it")
    return nodes[1], set(flags[1].split(",")) if flags else set()


def _listed(option: str, value: str, names: str, known: Collection[str]) -> Iterator[str]:
    """Yield the nodes of a list, of an option; raises SchedulerFault for one that there is not."""
    for name in names_of(names):
        if name not in known:
            raise SchedulerFault(f"{option}={value}: Slurm has no node {name}")
        yield name


def _state(states: frozenset[str]) -> str:
    """Return a node's state as people know it from sinfo."""
    if "DRAIN" in states and "DOWN" not in states:
        busy = states & {"ALLOCATED", "MIXED", "COMPLETING"}
        return "draining" if busy else "drained"
    return "+".join(sorted(states, key=lambda word: (word not in _BASES, word))).lower()


#: A line without words. Open MPI puts its help between two of dashes.
_FRAME = re.compile(r"\W*\Z")
_DASHES = "-" * 60
#: How the help begins that Open MPI prints below what a program said.
_HELP = re.compile(r"MPI_ABORT was invoked|Primary job +terminated|\S+ (detected|noticed) that ")
#: Lines that say that a job is ended, or where a program crashed, and not why.
_ADDED = re.compile(
    r"Abort\(-?\d+\) on node \d+ .*: application called MPI_Abort\b"
    r"|\[\S+:\d+\] (\[ *\d+\]|\*\*\* (Process received|End of error|reported by|on communicator"
    r"|MPI_ERRORS_ARE_FATAL|  ))"
    r"|\[\S+:\d+\] ((Signal code|Failing at address):|\S+ ORTE_ERROR_LOG:)"
    r"|==== backtrace| *\d+ +\S+\(.*\) +\[0x"
    r"|(srun|slurmstepd): "
)
#: What says by which signal, or by whom, a process was ended.
_SAYS_END = re.compile(
    r"exited on signal \d+|\] (Signal: |Caught signal \d+)"
    r"|srun: error: \S+: tasks? [^:]+: (?!Exited with exit code)"
    # A step without a reason is cancelled because one of its tasks failed; 25.05 and newer say so.
    r"|slurmstepd: error: (?!\*\*\* STEP \S+ ON \S+ CANCELLED AT \S+"
    r"( DUE to SIGNAL [^*]+| DUE TO TASK FAILURE)? \*\*\*)"
)


def last_words(text: str) -> str:
    """Return the last line that the program itself wrote to its standard error.

    If MPI or the launcher says by which signal, or by whom, a process was ended, the first and the
    last of that follow. What they say stands alone where the program said nothing; "" where nobody
    did.
    """
    lines = [line.rstrip() for line in text.splitlines() if not _FRAME.match(line)]
    ended = [line for line in lines if _SAYS_END.search(line)]
    own = [
        line
        for line in _without_help(text.splitlines())
        if not _ADDED.match(line) and line not in ended
    ]
    words = [*own[-1:], *ended[:1], *ended[-1:]] or lines[-1:]
    return "; ".join(dict.fromkeys(line.strip() for line in words))


def _without_help(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines with words that are outside of Open MPI's help."""
    before, within = "", False
    for line in lines:
        dashes = line.startswith(_DASHES)
        within = not dashes and (within or (before.startswith(_DASHES) and bool(_HELP.match(line))))
        if not within and not _FRAME.match(line):
            yield line
        before = line


#: State -> what it means; jobs in any other state have ended by themselves, or have not ended.
STATES = {
    "BOOT_FAIL": "its nodes did not boot",
    "CANCELLED": "somebody cancelled it",
    "DEADLINE": "it missed its deadline",
    "NODE_FAIL": "one of its nodes failed",
    "OUT_OF_MEMORY": "it used more memory than it may",
    "PREEMPTED": "another job took its nodes",
    "TIMEOUT": "it reached its time limit",
}
#: What ReFrame's scheduler `slurm` wants, and what to do where it is not there.
NO_ACCOUNTING = (
    "Slurm keeps no accounts of its jobs here (sacct does not answer), and ReFrame's scheduler "
    "`slurm` asks nothing else: write 'scheduler': 'squeue' into the partition, or set up slurmdbd "
    "(AccountingStorageType in slurm.conf)"
)

_ENDED = re.compile(
    r"\*\*\* (?P<what>JOB|STEP) (?P<id>\S+) ON (?P<node>\S+) (?P<how>[^*]+?) \*\*\*"
)
#: What pbs_mom writes of a job that it ends. Source: OpenPBS 23, src/resmom/mom_main.c.
_KILLED = re.compile(r"^=>> PBS: (job killed: .*)", re.MULTILINE)
_TIME = re.compile(r" AT \d{4}-\d\d-\d\dT[\d:]+")


def cut_short(errors: str, state: str = "") -> Finding | None:
    """Return why Slurm ended a job before its program did; None where it did not.

    `errors` is the job's standard error, `state` what the scheduler says (`CANCELLED by 0`,
    `TIMEOUT`). Slurm's exit status of such a job may well be 0. Kinds: time-limit, job-ended.
    """
    # A step alone is also ended when one of its ranks has crashed, which then says more itself.
    said = [match for match in _ENDED.finditer(errors) if "DUE TO TASK FAILURE" not in match["how"]]
    jobs = [match for match in said if match["what"] == "JOB"]
    first = next(iter([*jobs, *(match for match in said if " DUE TO " in match["how"])]), None)
    if killed := _KILLED.search(errors):
        kind = "time-limit" if "walltime" in killed[1] else "job-ended"
        return Finding(kind, f"PBS says: {killed[1].rstrip()}")
    if first is None:
        word = re.sub("[^A-Z_].*", "", state or "")
        kind = _kind(word)
        text = kind and f"the job did not end by itself: {STATES[word]} ({state})"
        return Finding(kind, text) if kind else None
    how, kind = _TIME.sub("", first["how"]), "job-ended"
    if "DUE TO TIME LIMIT" in how:
        how, kind = f"{how} (a check's limit: -S time_limit=30m)", "time-limit"
    text = f"the {first['what'].lower()} {first['id']} on {first['node']} was {how}"
    return Finding(kind, text)


def ask(job: str, access: Sequence[str] = ()) -> Finding:
    """Ask Slurm about a job, which has these `access` options; some time later it forgets it.

    Kinds are those of `cut_short`; empty where the state says nothing of the end.
    """
    try:
        command = ["scontrol", "show", "job", "--oneliner", *of_cluster(access), job]
    except SchedulerFault as err:
        return Finding("", f"Slurm cannot be asked about job {job}: {err}")
    done = machine.run(command, PATIENCE)
    if done.fault:
        return Finding("", f"Slurm cannot be asked about job {job}: {done.fault}")
    fields = dict(re.findall(r"(\w+)=(?!None\s|\(null\)\s)(\S+)", done.out + " "))
    state = fields.get("JobState", "no state")
    reason = f" ({fields['Reason']})" if "Reason" in fields else ""
    nodes = f" on {fields['NodeList']}" if "NodeList" in fields else ""
    return Finding(_kind(state), f"of job {job} Slurm says: {state}{reason}{nodes}")


def _kind(state: str) -> str:
    """Return the kind of a job's end; empty where the job ended by itself, or has not ended."""
    return "" if state not in STATES else "time-limit" if state == "TIMEOUT" else "job-ended"


def controller_fault() -> str:
    """Return why Slurm's controller does not answer; empty where it does."""
    return machine.run(["sinfo", "--noheader", "--format=%P"], PATIENCE).fault


def accounting_fault() -> str:
    """Return why sacct does not list jobs here; empty where it does."""
    command = ["sacct", "--noheader", "--allocations", "--format=jobid", "--starttime=now"]
    return machine.run(command, PATIENCE).fault


def lacks_accounting(message: str) -> bool:
    """Tell whether ReFrame stopped its run because sacct did not answer."""
    return "command 'sacct" in message
