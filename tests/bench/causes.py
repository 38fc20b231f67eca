"""Causes told of faults that were made: rows are what was wrong, columns what was told.

Run by `make bench`; asserts nothing. Each line says of how many runs which cause was told, the
share that was right, and the share that was wrong: `cannot-tell` is neither. With `--keep` each run
is in a file as it comes, and one that is there is not made again.

Simulated are all faults of the simulator, on a fat tree of HDR and on one of QDR. What names a node
or a link is told by the curves of all pairs, what has none by the nights before: ping-pong of n0
with n1 and n4. SimGrid has no noise, so each fault is simulated at two places, and noise is laid
over its curves: of a time 2 %, one in 20 up to twice as long, of a night another 2 %. On the tree
of QDR a cable that loses a tenth is still faster than the slots: no curve shows it.

Real are two nodes in network namespaces, over TCP: their link limited to a half and to a third of
its rate (tc, tbf), another process that takes a rank's core for 0.5 ms in 2, another eager limit,
TCP in place of shared memory, and nothing at all. There the good curves and the slow ones take
turns within a second: this machine's own clock changes by half from one second to the next. Ranks
have real-time priority where they may, since others use the machine, too. Latency alone nobody can
inject here: the kernel has no netem, and a route through further namespaces is paid by the sender's
processor, whose o rises.
"""

import argparse
import contextlib
import dataclasses
import json
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from acceptance.core.pairs import Curve
from acceptance.core.text import table
from acceptance.detection import causes
from acceptance.fabric import Facts, trainings
from acceptance.machine import Layout
from acceptance.machine.placement import HOST_FILE, PLATFORM_FILE
from acceptance.nodes import causes as of_nodes
from acceptance.nodes import culprits
from acceptance.simulation import DEFECTS, Injected, Platform, SimulatedRun, Tree, write
from acceptance.simulation.platform import parameters_of
from acceptance.suites import all_pairs
from acceptance.suites.all_pairs import Measured
from acceptance.suites.patterns import SOURCES
from tests import needs, netns
from tests.patterns_program import MPIS, environment
from tests.places import ROOT

NODES, LEAF = 16, 4
FABRICS = {
    "HDR": {"technology": "infiniband", "rate": "HDR", "lanes": 4, "pcie": "4.0", "pcie_lanes": 16},
    "QDR": {"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8},
}
#: What is told of a fault if that is right; of all others it is the rate that the link trained at.
RIGHT = {
    "latency-10": "delay", "latency-50": "delay", "cable-loss": "rate-lost",
    "nodes-swapped": "longer-route", "ranks-misplaced": "another-way",
}  # fmt: skip
TRAINED, CANNOT_TELL = "link-trained-lower", causes.CANNOT_TELL
#: Sizes of the ping-pongs of nights, and ms of a loop. In one of a message or two, what the loop
#: begins with is a 20th of the time; the loop of a real night has 5 ms.
SIZES = "8,16,32,64,128,256,512,1k,2k,4k,8k,16k,32k,64k,128k,256k"
LOOP = 0.2
NIGHTS = 10


def why_not():
    """Say what is missing; empty where the bench can run."""
    return needs.why_not("smpirun") or ""


def in_part():
    """Say what is left out here."""
    return netns.why_no_open_mpi() or ""


class Told:
    """What was told of each run of a fault, in a file as it comes."""

    def __init__(self, path, runs):
        self.path, self.runs = path, runs
        lines = path.read_text().splitlines() if path.exists() else ()
        self.kinds = {(fault, run): kinds for fault, run, kinds in map(json.loads, lines)}

    def left(self, fault):
        """Return the runs of a fault that are not there."""
        return [run for run in self.runs if (fault, run) not in self.kinds]

    def add(self, fault, run, kinds):
        self.kinds[fault, run] = kinds
        with self.path.open("a") as file:
            file.write(json.dumps([fault, run, kinds]) + "\n")

    def row(self, fault, right):
        """Return a row: how often what was told, and the shares that were right and wrong."""
        runs = [self.kinds.get((fault, run), ()) for run in self.runs]
        counts = Counter(kind for kinds in runs for kind in kinds)
        whole = max(counts.total(), 1)
        good = sum(counts[each] for each in right)
        neither = counts["no culprit"] + (CANNOT_TELL not in right and counts[CANNOT_TELL])
        told = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
        shares = (f"{100 * count / whole:.0f} %" for count in (good, whole - good - neither))
        return fault, " or ".join(right), told, *shares


# --- simulated ------------------------------------------------------------------------------------


def smpi(folder, run, *command):
    """Run a program on a simulated system; return what it printed."""
    write(folder, run)
    quiet = [f"--log={name}.thres:warning" for name in ("xbt_cfg", "smpi_config")]
    done = subprocess.run(
        ["smpirun", "-np", str(len(run.ranks)), *quiet, "-platform", PLATFORM_FILE,
         "-hostfile", HOST_FILE, *map(str, command)],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def noisy(curve, draw):
    """Return a curve with noise."""
    times = np.array(curve.times) * np.exp(0.02 * draw.standard_normal(len(curve.times)))
    times *= np.where(draw.random(len(times)) < 0.05, 1 + draw.random(len(times)), 1)
    times *= np.exp(0.02 * draw.standard_normal())
    late = times * (1.2 + 0.3 * draw.random(len(times)))
    return replace(curve, times=tuple(times), late=tuple(late) if curve.late else ())


def healthy(facts):
    """Return a run on a healthy fat tree."""
    platform = Platform.of(facts, NODES, tree=Tree(LEAF, LEAF))
    return SimulatedRun.of(facts, platform, Layout(NODES, 1, "inter-node"))


def matrix_of(folder, program, run):
    """Return what all pairs measure."""
    smpi(
        folder, run, program, "all-pairs", "--bytes", all_pairs.SIMULATED_LARGE, "--limit", 3600,
        "--output", all_pairs.MATRIX, "--timeout", 0, "--time", all_pairs.SIMULATED,
    )  # fmt: skip
    return Measured((folder / all_pairs.MATRIX).read_text(), all_pairs.MATRIX, NODES).matrix


def pingpongs(folder, program, run):
    """Return distance -> the curve of rank 0 with the rank so far away."""
    options = ("--sizes", SIZES, "--time", LOOP, "--warmup", 1, "--repeat", 1)
    printed = smpi(folder, run, program, "distance", *options)
    rows = [json.loads(line) for line in printed.splitlines() if '"distance"' in line[:20]]
    found = {}
    for far in {row["distance"] for row in rows}:
        of = [row for row in rows if row["distance"] == far]
        found[far] = Curve(*zip(*((row["size_B"], row["latency_us"]) for row in of), strict=True))
    return found


def by_pairs(matrix, slow, facts, draw):
    """Return the causes that all pairs tell of slow culprits with noise on their curves."""
    curves = {pair: tuple(noisy(each, draw) for each in of) for pair, of in matrix.curves.items()}
    noise = {
        name: values * np.exp(0.005 * draw.standard_normal(values.shape))
        for name, values in matrix.values.items()
    }
    made = dataclasses.replace(matrix, curves=curves, values=noise)
    found = of_nodes.with_causes(made, slow, facts)
    return [each.cause.kind for each in found if each.cause]


def by_nights(before, since, facts, draw):
    """Return the cause that the nights of a fault tell, of the curve that changed more."""

    def apart(far):
        return abs(np.log(np.array(since[far].times) / before[far].times)).max()

    far = max((1, LEAF), key=apart)
    nights = [[noisy(of[far], draw) for _ in range(NIGHTS)] for of in (before, since)]
    return [causes.judge(*nights, tuple(trainings.steps(facts)), facts.switch).kind]


def simulated(folder, told):
    """Yield a row for each fault: who told what, how often."""
    built = ["make", "-s", "-C", SOURCES, "MPICC=smpicc", f"BUILD={folder}/smpi"]
    subprocess.run(built, check=True)
    program = folder / "smpi/patterns"
    for fabric, given in FABRICS.items():
        facts = Facts.read(given)
        facts = replace(facts, switch=parameters_of(facts).switch)
        good = healthy(facts)
        before = pingpongs(folder, program, good)
        name = f"{fabric} nothing"
        for seed in told.left(name):
            told.add(name, seed, by_nights(before, before, facts, np.random.default_rng(seed)))
        yield told.row(name, (CANNOT_TELL,))
        for fault in DEFECTS.values():
            here = [Injected.of(f"{fault.name}:{place}".rstrip(":")) for place in places(fault)]
            if reason := here[0].why_not(facts, good.platform):
                print(f"{fabric} {fault.name}: not there: {reason}")
                continue
            name, right = f"{fabric} {fault.name}", RIGHT.get(fault.name, TRAINED)
            if fabric == "QDR" and fault.loss:
                right = CANNOT_TELL
            # A tenth less is no culprit among all pairs.
            is_of_pairs = fault.where != "fabric" and not fault.moved and not fault.loss
            for number, injected in enumerate(here):
                seeds = [seed for seed in told.left(name) if seed % len(here) == number]
                if not seeds:
                    continue
                measured = (matrix_of if is_of_pairs else pingpongs)(
                    folder, program, injected.apply(good)
                )
                slow = culprits.find(measured) if is_of_pairs else []
                for seed in seeds:
                    draw = np.random.default_rng(seed)
                    told.add(
                        name, seed,
                        by_pairs(measured, slow, facts, draw) or ["no culprit"] if is_of_pairs
                        else by_nights(before, measured, facts, draw),
                    )  # fmt: skip
            yield told.row(name, (right,))


def places(fault):
    """Return two places of a fault."""
    if fault.where == "fabric":
        return ("",)
    if fault.where == "uplink":
        return "leaf1-up1", "leaf2-up0"
    return ("n1",) if fault.moved or fault.loss else ("n1", "n6")


# --- real -----------------------------------------------------------------------------------------

NAMES = ("caus1", "caus2")
LARGEST, PASSES = 1 << 20, 11
#: Seconds that a curve may take, start of the ranks included: a usual one takes less than one.
LIMIT = 60
#: Runs lost one after the other that end the bench: this machine cannot measure now.
MOST_LOST = 3
#: A process that takes a core for 0.5 ms and leaves it for 1.5.
HOG = """
import time
while True:
    end = time.perf_counter() + 0.0005
    while time.perf_counter() < end:
        pass
    time.sleep(0.0015)
"""
#: Each rank has a CPU of its own; the hog takes that of the second one.
REAL_TIME = ("sh", "-c", 'exec chrt -f 1 taskset -c $OMPI_COMM_WORLD_RANK "$0" "$@"')
EAGER = {"OMPI_MCA_btl_tcp_eager_limit": "2048", "OMPI_MCA_btl_tcp_rndv_eager_limit": "2048"}


def build(folder):
    """Return the program that measures curves, built with Open MPI."""
    made = ["make", "-s", "-C", SOURCES, f"MPICC={MPIS['openmpi'].compiler}", f"BUILD={folder}"]
    subprocess.run(made, check=True)
    objects = [path for path in folder.glob("*.o") if path.name != "main.o"]
    subprocess.run(
        [MPIS["openmpi"].compiler, "-std=c11", "-O2", f"-I{SOURCES}", "-o", folder / "curves",
         ROOT / "tests/bench/curves.c", *objects, "-lm"], check=True,
    )  # fmt: skip
    return folder / "curves"


class Program:
    """The program on two nodes; each call measures a curve. After a failure it is started again."""

    def __init__(self, program, variables):
        self.command = [MPIS["openmpi"].launcher, "-n", "2", *REAL_TIME, program, str(LARGEST)]
        self.environment = environment("openmpi") | variables
        self.running = None

    def curve(self):
        """Return a curve; raises OSError, and ends the program, where none comes in time."""
        if self.running is None:
            self.running = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            self._measured()  # ranks that have just begun take longer
        read = self._measured()
        return Curve(*(tuple(read[key]) for key in ("bytes", "time_us", "late_us", "overhead_us")))

    def _measured(self):
        try:
            self.running.stdin.write("\n")
            self.running.stdin.flush()
            if not select.select([self.running.stdout], [], [], LIMIT)[0]:
                raise OSError(f"no curve in {LIMIT} s: the ranks hang")
            line = self.running.stdout.readline()
            if not line.endswith("\n"):
                raise OSError("the ranks waited in vain for each other: this machine is too busy")
        except OSError:
            self.end()
            raise
        return json.loads(line)

    def end(self):
        """End the program, by force where it hangs."""
        if self.running is None:
            return
        running, self.running = self.running, None
        with contextlib.suppress(OSError):
            running.stdin.close()
        for force in (running.terminate, running.kill):
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                force()
        running.wait()
        running.stdout.close()


def in_turn(good, slow, slowed=contextlib.nullcontext):
    """Return the curves of two running programs in turn; in the context the second one is slow."""
    sides = ([], [])
    for _ in range(PASSES):
        sides[0].append([good.curve()])
        with slowed():
            sides[1].append([slow.curve()])
    return causes.in_turn(*sides)


@contextlib.contextmanager
def hogged(hog):
    hog.send_signal(signal.SIGCONT)
    time.sleep(0.05)
    try:
        yield
    finally:
        hog.send_signal(signal.SIGSTOP)


def real(folder, told):
    """Yield a row for each fault."""
    program = build(folder / "openmpi")
    (folder / "nodes").mkdir()
    with contextlib.ExitStack() as stack:
        pair = stack.enter_context(netns.Pair(folder / "nodes", NAMES))

        def started(variables):
            running = Program(program, variables)
            stack.callback(running.end)
            return running

        tcp = pair.variables("openmpi")
        good, eager = started(tcp), started(tcp | EAGER)
        shared, through = (
            started({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": f"self,{by}"})
            for by in ("vader", "tcp")
        )
        hog = subprocess.Popen(["chrt", "-f", "2", "taskset", "-c", "1", sys.executable, "-c", HOG])
        stack.callback(hog.kill)
        hog.send_signal(signal.SIGSTOP)

        def limited(factor):
            """Limit the link to a share of what it does now: this machine's clock is not steady."""
            times = np.median([good.curve().times for _ in range(PASSES)], axis=0)
            whole = 8 * LARGEST / 2 / (times[-1] - times[-2]) / 1000  # Gb/s
            return lambda: pair.shaped(f"{whole / factor:.3f}gbit", "256kb", NAMES[:1])

        rate = (TRAINED, "rate-lost")
        faults = {
            "nothing": ((CANNOT_TELL,), lambda: in_turn(good, good)),
            "half of the rate (tbf)": (rate, lambda: in_turn(good, good, limited(2))),
            "a third (tbf)": (rate, lambda: in_turn(good, good, limited(3))),
            "a busy core": (("noise",), lambda: in_turn(good, good, lambda: hogged(hog))),
            "another eager limit": (("protocol-switch",), lambda: in_turn(good, eager)),
            "TCP for shared memory": (("another-way",), lambda: in_turn(shared, through)),
        }
        lost = 0
        for run, (name, (right, measured)) in product(told.runs, faults.items()):
            if run not in told.left(name):
                continue
            try:
                cause = causes.judge(*measured())
            except OSError as err:
                print(f"run {run} of {name} is left out: {err}", file=sys.stderr)
                lost += 1
                if lost == MOST_LOST:
                    print(f"and all after it: {lost} were lost in a row", file=sys.stderr)
                    break
                continue
            lost = 0
            told.add(name, run, [cause.kind])
            if cause.kind not in right:
                print(f"{run} {name}: {cause.text}", file=sys.stderr)
        for name, (right, _) in faults.items():
            yield told.row(name, right)


def main():
    parser = argparse.ArgumentParser("tests.bench.causes", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30, help="of each fault (30)")
    parser.add_argument("--only", choices=("simulated", "real"), help="leave the others out")
    parser.add_argument("--first", type=int, default=1000, help="number of the first run, its seed")
    parser.add_argument("--keep", type=Path, help="file of runs, of this state of the code")
    options = parser.parse_args()
    runs = range(options.first, options.first + options.runs)
    header = ("fault", "its cause", "told, of so many runs", "right", "wrong")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        told = Told(options.keep or folder / "told", runs)
        if options.only != "real":
            print(table(header, [*simulated(folder, told)], width=120), flush=True)
        if options.only != "simulated" and not in_part():
            print(f"\n{table(header, [*real(folder, told)], width=120)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
