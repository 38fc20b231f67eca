"""Whether MPI inside a node does what the node does without it, as `machine/without_mpi.py` says.

Bandwidth. A message goes through memory of both processes: it is copied into it and out of it, so
that one way has half of what a core copies or more: the second copy may begin before the first one
ends, and an MPI that reads the other process's memory needs only one. Both ways at once have twice
that. Whose caches keep what of the messages is up to the MPI, so that copies beyond all caches are
the reference. Two cores copy what they can, inside of the caches, at most: more is implausible.
Only from `LARGE` bytes on, of benchmarks that send one message at a time: windows of messages wait
for each other, as no copy does.

Latency. A message that the kernel's TCP carries takes what a byte takes over the loopback: both
sides look for it all the time, as here. Through memory of both it is a small part of that. Half of
it is the reference. A collective operation takes one step where it is a tree or doubles its
partners (log2 p of them), and one for each partner where each has something else for it (p - 1):
some do with less (Bruck), none with more. Only up to `SMALL` bytes. Sources: Chan et al.,
"Collective communication: theory, practice, and experience", 2007; Thakur et al., "Optimization of
collective communication operations in MPICH", 2005.

Noise. The lowest quarter of what was measured counts, of copies that of all cores at once. Linux
tells for how long processes of the job waited for a CPU while it ran (`waited.sh`). Results
miss their references for certain if they do so by more seconds, over all repetitions, than that,
twice over (caches are cold then); or if all times of a case do while little of its time was waited
(`QUIET`): the repetitions of a small message are over in a fraction of a turn of the scheduler,
which cannot hit each loop of them (`FEW` or more). Else they are not judged, nor is a single loop
that is slow where all others are not: some hypervisors tell of no stop. It is assumed that nothing
else slows the node down: another user of the memory on other cores is not seen. Nothing is assumed
of NUMA: the two processes here are on the first and the last CPU of the job, MPI's mostly nearer.
"""

import re
import time
from collections.abc import Mapping
from math import ceil, log2

from msgspec import Struct

from acceptance.core.records import from_json
from acceptance.core.text import plural, rounded_bytes
from acceptance.core.words import read_metric, split_metric
from acceptance.fabric.limits import exceeds
from acceptance.machine import Layout
from acceptance.suites import Benchmark

#: Bytes up to which the time of a message is judged, and from which on its bandwidth is.
SMALL, LARGE = 2**10, 2**16
#: How often a message has to be sent for its time, or its bandwidth, to be judged.
OFTEN = {"us": 100, "MB/s": 10}
#: How much of the time that processes waited may explain of results; below which share of all
#: time it explains nothing that all times of a case show, and how many loops these are at least.
_COLD, QUIET, FEW = 2.0, 0.3, 4
#: Bytes of /dev/shm that an MPI may want on a node: Intel MPI and Open MPI take a few MiB a rank.
ROOM = 2**26
#: Ticks a second of /proc/stat, whatever the kernel's own clock.
_TICKS = 100

Quarters = tuple[float, float, float]


class Unaided(Struct, frozen=True):
    """What a node did without MPI: copies (bytes -> MB/s), and times of one way (us).

    Of each value the lowest quarter, the median and the highest. `shm`: bytes of /dev/shm, and free
    ones. `refused`: why no process may read another one's memory.
    """

    node: str
    time: float
    cores: int
    alone: dict[int, Quarters]
    together: dict[int, Quarters]
    core: Quarters | None = None
    tcp: Quarters | None = None
    shm: tuple[int, int] | None = None
    refused: str = ""

    @property
    def place(self) -> str:
        """Say where and when it was measured."""
        return f"on {self.node} at {time.strftime('%H:%M', time.localtime(self.time))}"

    @property
    def copy(self) -> float:
        """Return what a core copies for certain while all do, whatever is in caches, MB/s."""
        return min(lowest for lowest, *_ in self.together.values())

    def most(self) -> float:
        """Return what two cores copy at most, MB/s: the fastest ones, where cores differ."""
        copies = (*self.alone.values(), *self.together.values())
        return 2 * max(highest for *_, highest in copies)


def read(text: str) -> Unaided:
    """Read what `without_mpi.py` printed; raises ValueError."""
    try:
        unaided: Unaided = from_json(text, Unaided)
    except ValueError as err:
        raise ValueError(f"without_mpi.py: {err}") from None
    return unaided


def has_formula(benchmark: Benchmark) -> bool:
    """Tell whether any metric of a benchmark may be judged."""
    # Programs that send one size to each pair (`pair_size`) do not say how often.
    of_pair = benchmark.pair_latency and not benchmark.pair_size
    of_message = of_pair or benchmark.one_message or benchmark.link_factor
    # One-sided messages that are added up, or each of which all wait for, are more than a copy.
    return bool((of_message and not benchmark.reduction) or benchmark.operation)


def ways(benchmark: Benchmark, name: str) -> int:
    """Return how many ways a bandwidth adds up to; 0: it is not judged."""
    stem, size = split_metric(name)
    if size is None or size < LARGE or not any(each.unit == "us" for each in benchmark.columns):
        return 0
    if benchmark.pair_bandwidth and stem.startswith(benchmark.pair_bandwidth):
        return 1
    return 0 if benchmark.pair_sum or stem != "bandwidth" else benchmark.link_factor or 0


def steps(benchmark: Benchmark, name: str, processes: int) -> int:
    """Return how many messages after one another a time is judged as; 0: it is not."""
    stem, parameters = read_metric(name)
    if not 0 <= int(parameters.get("message_size", -1)) <= SMALL:
        return 0
    if benchmark.pair_latency and stem == benchmark.pair_latency:
        return 1
    if stem not in ("latency", "time"):
        return 0
    if benchmark.operation:
        return processes - 1 if benchmark.part else ceil(log2(processes))
    is_judged = benchmark.one_message or (benchmark.link_factor and not benchmark.pair_sum)
    return benchmark.messages if is_judged else 0


def reference(
    benchmark: Benchmark, name: str, unit: str, unaided: Unaided, layout: Layout
) -> tuple[float, str] | None:
    """Return what judges a metric inside a node, in its unit, and its citation; None: nothing."""
    if unit == "MB/s" and (count := ways(benchmark, name)):
        told = f"half of a core's copies, {unaided.copy:.5g} MB/s"
        return count * unaided.copy / 2, _citation(told, count, "ways", unaided)
    if unit == "us" and unaided.tcp and (count := steps(benchmark, name, layout.processes)):
        least = unaided.tcp[0]
        told = f"half of one way over loopback TCP, {least:.3g} us"
        return count * least / 2, _citation(told, count, "steps", unaided)
    return None


def _citation(told: str, count: int, what: str, unaided: Unaided) -> str:
    return f"machine itself, {told}{f' x {count} {what}' if count > 1 else ''}, {unaided.place}"


def implausible(
    benchmark: Benchmark, measurements: Mapping[str, tuple[float, str]], unaided: Unaided
) -> list[str]:
    """Return the worst bandwidth that is more than the cores of a pair copy, as a line."""
    most = unaided.most()
    over = {
        name: value / count
        for name, (value, unit) in measurements.items()
        if unit == "MB/s" and (count := ways(benchmark, name)) and exceeds(value, count * most)
    }
    if not over:
        return []
    name = max(over, key=over.__getitem__)
    value = measurements[name][0]
    return [
        f"implausible: {name} is {value:g} MB/s, two cores copy at most {most:.5g} "
        f"({ways(benchmark, name)} ways) {unaided.place}: these bytes were not moved"
    ]


def beyond(name: str, value: float, unit: str, bound: float, repetitions: int) -> float:
    """Return by how many seconds all repetitions took longer than a bound lets them; 0: none."""
    if unit == "us":
        return max(0.0, (value - bound) * repetitions / 1e6)
    return max(0.0, (split_metric(name)[1] or 0) * repetitions * (1 / value - 1 / bound) / 1e6)


def excuse(over: float, before: str, after: str, *, whole: bool) -> str:
    """Say why results that took `over` s too long need not be wrong; empty: they are.

    `before` and `after` are what `waited.sh` said. `whole`: all results of a kind took too long.
    """
    known = waited(before, after)
    if known is None:
        return "it may have been: this kernel does not tell for how long processes waited"
    busy, elapsed = known
    if over > _COLD * busy or (whole and busy < QUIET * elapsed):
        return ""
    return (
        f"processes waited for a CPU {busy:.2g} of {elapsed:.3g} s, which may explain the "
        f"{over:.2g} s that these took too long"
    )


def reasons(missing: Mapping[str, float], unaided: Unaided) -> list[str]:
    """Say what is to be looked at where results (metric -> value) are worse than their node."""
    times = [value for name, value in missing.items() if not name.startswith("bandwidth")]
    found = []
    if times and unaided.tcp:
        found.append(
            f"{plural(len(times), 'time')} from {min(times):.3g} us on, where one way over "
            f"loopback TCP takes {unaided.tcp[0]:.3g} us {unaided.place}: messages go through the "
            "network inside a node, not through memory"
        )
    if unaided.shm is None or unaided.shm[1] < ROOM:
        room = "there is no /dev/shm" if unaided.shm is None else (
            f"/dev/shm has {rounded_bytes(unaided.shm[1])} free of {rounded_bytes(unaided.shm[0])}"
        )  # fmt: skip
        found.append(f"{room} {unaided.place}: too little for an MPI's shared memory")
    if unaided.refused:
        found.append(
            "no process may read another one's memory (process_vm_readv: "
            f"{unaided.refused}) {unaided.place}: large messages are copied twice"
        )
    return found


def waited(before: str, after: str) -> tuple[float, float] | None:
    """Return for how long something waited for a CPU between two reports of `waited.sh`, in s.

    And the time between them. It is that of all CPUs together, or of the CPU with the most, with
    what a hypervisor took of all. None: this kernel does not tell.
    """
    first, last = _reports(before), _reports(after)
    waits = [
        last[name] - first[name]
        for name in first.keys() & last.keys()
        if name not in ("up", "stolen")
    ]
    if not waits or not {"up", "stolen"} <= first.keys() & last.keys():
        return None
    stolen = last["stolen"] - first["stolen"]
    return max(0.0, *waits) + max(0.0, stolen), last["up"] - first["up"]


#: Name -> where its number stands, and how many of it are a second. Of schedstat: of each CPU.
_COUNTERS = {
    "up": (r"(\d+\.\d+) \d", 1.0),
    "some": (r"some .*\btotal=(\d+)", 1e6),
    "stolen": (r"cpu +(?:\d+ ){7}(\d+)", _TICKS),
    "cpu": (r"cpu\d+ (?:\d+ ){7}(\d+)", 1e9),
}


def _reports(text: str) -> dict[str, float]:
    """Read the counters of a report, in s; of CPUs each one has its own name."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        for name, (pattern, second) in _COUNTERS.items():
            if match := re.match(pattern, line):
                key = line.split()[0] if name == "cpu" else name
                found[key] = float(match[1]) / second
    return found
