"""Noise or network: what `nodes/detours.py` says of each late message, against what was done to it.

Run by `make bench`; asserts nothing, since the machines are shared. Two nodes in namespaces with a
core each exchange small messages with Open MPI over TCP. Injected are

- CPU hogs: a process on the core of a node runs for 2 ms, then sleeps for 15 to 35 ms;
- delays: behind a bucket of tokens (tbf, 200 Mbit/s) a burst of 56 kB makes messages of one way
  wait for up to 2.2 ms, every 15 to 35 ms.

The truth of a late message does not come from what it is compared with. Linux notes when each rank
leaves its core and comes back (perf_event_open, PERF_RECORD_SWITCH), whoever takes it: also what
else runs on this machine. A burst notes when it began and ended; its bytes take as long as the
bucket lets them. What covers two thirds of the time that a message was late, where nothing else
covers a third, is the truth; other messages are counted as having none. Precision: of those that
are given to a cause, and have a truth, the share of that truth. Recall: of those of a truth the
share that is given to it; one for which it says that it cannot tell is not.
"""

import argparse
import bisect
import ctypes
import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from acceptance.core.text import table
from acceptance.nodes.detours import NETWORK, UNEXPLAINED, Causes
from acceptance.suites.detours import Measured
from tests import netns, patterns_program
from tests.netns import DEVICE, NAMES

SECONDS = 10
#: The truths of messages; the last ones have none: nothing covers them, or several causes do.
NONE, SEVERAL = WITHOUT = "nothing seen", "several"
TRUTHS = (*NAMES, NETWORK, *WITHOUT)
#: Bits per second of the bucket, and bytes of a burst with its headers.
RATE, BURST = 200e6, 40 * 1442
HOG = """
import random, time
while True:
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass
    time.sleep(random.uniform(0.015, 0.035))
"""
SEND = """
import random, socket, sys, time
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    begin = time.monotonic_ns()
    for _ in range(40):
        to.sendto(bytes(1400), (sys.argv[1], 9))
    print(begin, time.monotonic_ns(), flush=True)
    time.sleep(random.uniform(0.015, 0.035))
"""
#: Runs a command before others: Linux weighs sessions, and processes within them.
PREFERRED = '{{ echo {nice} > /proc/self/autogroup; }} 2> /dev/null\nexec nice -n {nice} "$@"\n'
#: A rank waits until it is watched.
WRAPPER = """#!/bin/sh
echo $$ > {folder}/pid.$OMPI_COMM_WORLD_RANK.new
mv {folder}/pid.$OMPI_COMM_WORLD_RANK.new {folder}/pid.$OMPI_COMM_WORLD_RANK
while [ ! -e {folder}/go ]; do sleep 0.02; done
taskset -pc $(echo {cpus} | cut -d, -f$((OMPI_COMM_WORLD_RANK + 1))) $$ > {folder}/pinned.$$
"""
#: Name -> nodes with a hog, nodes whose messages to the other one are delayed.
RUNS = {
    "nothing injected": ((), ()),
    "hog on node1": (NAMES[:1], ()),
    "hog on node2": (NAMES[1:], ()),
    "hogs on both": (NAMES, ()),
    "delay node1 to node2": ((), NAMES[:1]),
    "delay node2 to node1": ((), NAMES[1:]),
    "delays both ways": ((), NAMES),
    "hog on node2, delays both ways": (NAMES[1:], NAMES),
}
#: Those of the nodes: also two threads of one core, where ranks would share a thread otherwise.
CPUS = sorted(os.sched_getaffinity(0))[:2]
Span = tuple[float, float]


class Switches:
    """When a process leaves its core and comes back, as Linux notes it."""

    SYSCALL = 298  # perf_event_open on x86_64
    PAGES, PAGE = 512, mmap.PAGESIZE
    RECORD_SWITCH, OUT = 14, 1 << 13

    def __init__(self, process: int) -> None:
        # struct perf_event_attr: a software event that counts nothing (9), each record with TID and
        # TIME (6); sample_id_all, use_clockid and context_switch; CLOCK_MONOTONIC.
        flags = 1 << 18 | 1 << 25 | 1 << 26
        attr = struct.pack("IIQQQQQ", 1, 112, 9, 0, 6, 0, flags)
        attr += struct.pack("IIQQQQIiQII", 0, 0, 0, 0, 0, 0, 0, time.CLOCK_MONOTONIC, 0, 0, 0)
        libc = ctypes.CDLL(None, use_errno=True)
        self.file = libc.syscall(self.SYSCALL, attr.ljust(112, b"\0"), process, -1, -1, 0)
        if self.file < 0:
            raise OSError(ctypes.get_errno(), "perf_event_open: " + os.strerror(ctypes.get_errno()))
        self.ring = mmap.mmap(self.file, (1 + self.PAGES) * self.PAGE)

    def away(self) -> list[Span]:
        """Return from when to when (ns) it was away."""
        head, _, offset, size = struct.unpack_from("QQQQ", self.ring, 1024)
        size, offset = size or self.PAGES * self.PAGE, offset or self.PAGE
        data, at, spans, since = self.ring[offset : offset + size], 0, [], 0.0
        if head > size:
            raise OSError("more switches than there is room for")
        while at < head:
            kind, misc, length = struct.unpack_from("IHH", data, at)
            if kind == self.RECORD_SWITCH:
                _, _, when = struct.unpack_from("IIQ", data, at + 8)
                if misc & self.OUT:
                    since = when
                elif since:
                    spans.append((since, when))
            at += length
        return spans


def covered(spans: list[Span], begin: float, end: float) -> float:
    """Return how much of a time these spans, in their order, cover."""
    first = bisect.bisect(spans, begin, key=lambda span: span[1])
    last = bisect.bisect(spans, end, key=lambda span: span[0])
    return sum(max(0.0, min(end, b) - max(begin, a)) for a, b in spans[first:last])


class Run:
    """A run with what was injected; `pairs` has the truth and the cause of each late message."""

    def __init__(self, pair: netns.Pair, program: Path, folder: Path, nice: int) -> None:
        self.pair, self.program, self.folder, self.preferred = (
            pair,
            program,
            folder,
            (PREFERRED.format(nice=nice)),
        )

    def measure(self, hogs: tuple[str, ...], delayed: tuple[str, ...], seconds: float) -> None:
        folder = self.folder
        cpus = ",".join(map(str, CPUS))
        (folder / "wrapper").write_text(WRAPPER.format(folder=folder, cpus=cpus) + self.preferred)
        (folder / "wrapper").chmod(0o755)
        for path in (*folder.glob("pid.*"), *folder.glob("go")):
            path.unlink()
        command = [
            patterns_program.MPIS["openmpi"].launcher, "-n", "2", folder / "wrapper", self.program,
            "detours", "--seconds", str(seconds), "--keep", "1000000",
        ]  # fmt: skip
        variables = {**os.environ, **self.pair.variables("openmpi")}
        job = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
        others: list[subprocess.Popen] = []
        try:
            ranks = [Switches(self.process(rank)) for rank in range(2)]
            for node in hogs:
                cpu = str(CPUS[NAMES.index(node)])
                others.append(self.start("taskset", "-c", cpu, sys.executable, "-c", HOG))
            bursts = [self.delay(node) for node in delayed]
            others += bursts
            (folder / "go").touch()
            text = job.communicate()[0]
        finally:
            job.kill()
            for each in others:
                each.kill()
            for node in delayed:
                self.pair.run(node, "tc", "qdisc", "delete", "dev", DEVICE, "root")
        spans = [self.spans(each) for each in bursts]
        self.judge(text, [each.away() for each in ranks], dict(zip(delayed, spans, strict=True)))

    def process(self, rank: int) -> int:
        path = self.folder / f"pid.{rank}"
        end = time.monotonic() + 60
        while not path.exists():
            if time.monotonic() > end:
                raise OSError(f"rank {rank} did not start")
            time.sleep(0.02)
        return int(path.read_text())

    def delay(self, node: str) -> subprocess.Popen:
        limits = f"dev {DEVICE} root tbf rate {RATE / 1e6:g}mbit burst 4kb latency 200ms"
        self.pair.run(node, "tc", "qdisc", "replace", *limits.split())
        other = NAMES[1 - NAMES.index(node)]
        shown = self.pair.run(other, "ip", "-4", "-o", "address", "show", "dev", DEVICE)
        address = shown.split("inet ")[1].split("/")[0]
        return self.start(*self.pair.into(node), sys.executable, "-c", SEND, address)

    def start(self, *command: str) -> subprocess.Popen:
        """Start a process in a session of its own, preferred as the ranks are."""
        words = ["sh", "-c", self.preferred, "sh", *command]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def spans(self, sender: subprocess.Popen) -> list[Span]:
        """Return from when to when (ns) a bucket let messages wait."""
        said = sender.communicate()[0].splitlines()
        bursts = [tuple(map(int, line.split())) for line in said if len(line.split()) == 2]
        found: list[Span] = []
        for begin, end in bursts:
            # Behind what is left of the burst before, if that was so late.
            begin = max(begin, found[-1][1]) if found and found[-1][1] > begin else begin
            found.append((begin, max(begin + BURST * 8 / RATE * 1e9, end)))
        return found

    def judge(self, text: str, away: list[list[Span]], delays: dict[str, list[Span]]) -> None:
        measured = Measured(text, ranks=2)
        self.causes = Causes.of(measured)
        (tail,) = self.causes.tails
        begin = measured.ranks[0].begin_ns
        self.pairs: list[tuple[str, str]] = []
        for late in tail.late:
            message = late.message
            send, sent, got = (begin + 1000 * t for t in (message.send, message.sent, message.got))
            sender, receiver = NAMES[message.way], NAMES[1 - message.way]
            since, excess = got - 1000 * late.excess, 1000 * max(late.excess, 1e-3)
            parts = {
                sender: covered(away[message.way], send, sent) / excess,
                receiver: covered(away[1 - message.way], since, got) / excess,
                NETWORK: covered(delays.get(sender, []), since, got) / excess,
            }
            first, second, _ = sorted(parts, key=lambda name: -parts[name])
            is_clear = parts[first] >= 2 / 3 and parts[second] < 1 / 3
            without = NONE if parts[first] < 2 / 3 else SEVERAL
            self.pairs.append((first if is_clear else without, late.cause))
        self.exchanges = tail.pair.exchanges
        self.clock = tail.clock


def scores(pairs: list[tuple[str, str]]) -> dict[str, tuple[int, int, float, float]]:
    """Return of each cause: messages with this truth, given to it with a truth, both shares."""
    counts = Counter(pairs)
    found = {}
    for cause in (*NAMES, NETWORK):
        right = counts[cause, cause]
        truth = sum(n for (true, _), n in counts.items() if true == cause)
        given = sum(
            n for (true, said), n in counts.items() if said == cause and true not in WITHOUT
        )
        found[cause] = truth, given, right / max(given, 1), right / max(truth, 1)
    return found


def why_not() -> str:
    """Return why this machine cannot run the bench; empty if it can."""
    if reason := netns.why_no_open_mpi():
        return reason
    if os.uname().machine != "x86_64":
        return "perf_event_open is called by its number on x86_64"
    if len(CPUS) < 2:
        return "two ranks that poll need two CPUs"
    try:
        Switches(os.getpid())
    except OSError as err:
        return f"Linux does not tell when a process leaves its core: {err}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument(
        "--nice", type=int, default=0, help="of ranks and hogs, below 0 where much else runs (0)"
    )
    parser.add_argument("--json", type=Path, help="write truth and cause of each message")
    parser.add_argument("runs", nargs="*", metavar="RUN", help=", ".join(RUNS))
    options = parser.parse_args()
    every: list[tuple[str, str]] = []
    rows, matrix = [], Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = patterns_program.build("openmpi")
        with netns.Pair(folder) as pair:
            for what in options.runs or RUNS:
                run = Run(pair, program, folder, options.nice)
                run.measure(*RUNS[what], options.seconds)
                every += run.pairs
                counts = Counter(true for true, _ in run.pairs)
                told = {f.nodes[0] if f.nodes else NETWORK for f in run.causes.findings()}
                rows.append([
                    what, run.exchanges, len(run.pairs),
                    *(counts[true] for true in TRUTHS),
                    f"{run.clock.scatter:.2f}", " ".join(sorted(told)) or "nobody",
                ])  # fmt: skip
    header = ["injected", "exchanges", "late", *TRUTHS, "clock (us)", "finding"]
    print(table(header, rows, width=120))
    matrix.update(every)
    causes = (*NAMES, NETWORK, UNEXPLAINED)
    print(table(["truth", *(f"said {cause}" for cause in causes)], [
        [true, *(matrix[true, said] for said in causes)] for true in TRUTHS
    ]))  # fmt: skip
    print(table(["cause", "of this truth", "given to it", "precision", "recall", "goal"], [
        [cause, truth, given, f"{precision:.1%}", f"{recall:.1%}", ">= 95 %"]
        for cause, (truth, given, precision, recall) in scores(every).items()
    ]))  # fmt: skip
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"load of the machine: {load}, on {os.cpu_count()} cores")
    if options.json:
        options.json.write_text(json.dumps(every))


if __name__ == "__main__":
    main()
