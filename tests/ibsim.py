"""InfiniBand fabrics for tests: `ibsim` answers the unmodified programs, `opensm` routes.

A fabric is a text in the form of ibnetdiscover; `fat_tree` makes one.
"""

import contextlib
import ctypes
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.fabric import outputs
from tests import needs
from tests.places import PATIENCE

PRELOADED = next(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"), Path("libumad2sim.so"))
_numbers = itertools.count()
_LIBC = ctypes.CDLL(None)
#: prctl(2).
PR_SET_PDEATHSIG = 1


def _end_with_tests():
    """Let the kernel end this program when the tests are killed, which end it otherwise."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


@dataclass
class Tree:
    """A fat tree of two levels whose cables can be spoilt before it is written.

    Device -> port -> (device, port, width and speed). Hosts are `node0001`, ..., leaves `leaf01`,
    ..., spines `spine01`, ...; their GUIDs follow from these names.
    """

    guids: dict = field(default_factory=dict)
    names: dict = field(default_factory=dict)
    ports: dict = field(default_factory=dict)
    cables: dict = field(default_factory=dict)

    def add(self, device, guid, ports, name):
        self.guids[device], self.ports[device], self.names[device] = guid, ports, name

    def plug(self, one, other, trained):
        self.cables[one], self.cables[other] = (other, trained), (one, trained)

    def unplug(self, one):
        """Take a cable away; returns its other end."""
        other, _ = self.cables.pop(one)
        del self.cables[other]
        return other

    def train(self, one, trained):
        """Let the link at a port run at another width and speed: `1xHDR`."""
        self.plug(one, self.cables[one][0], trained)

    def swap(self, one, other):
        """Let two cables change places at these ports."""
        (far, trained), (away, again) = self.cables[one], self.cables[other]
        self.plug(one, away, again)
        self.plug(other, far, trained)

    def move(self, old, new):
        """Plug the cable of a port into another one that is free."""
        far, trained = self.cables[old]
        self.unplug(old)
        self.plug(new, far, trained)

    def remove(self, device):
        """Take a device away, with its cables."""
        for end in [end for end in self.cables if end[0] == device]:
            if end in self.cables:
                self.unplug(end)
        del self.guids[device]

    def guid(self, device):
        """Return a GUID as the package writes it."""
        return f"0x{self.guids[device]:016x}"

    @property
    def net(self):
        """Return the text that ibsim reads."""
        lines, plugged = [], defaultdict(list)
        for (device, port), other in sorted(self.cables.items()):
            plugged[device].append((port, *other))
        for device, guid in self.guids.items():
            if is_host(device):
                lines += [f"caguid=0x{guid:x}", f'Ca\t{self.ports[device]} "{_id(device, guid)}"'
                          f'\t\t# "{self.names[device]}"']  # fmt: skip
            else:
                lines += [f"switchguid=0x{guid:x}({guid:x})", f"Switch\t{self.ports[device]} "
                          f'"{_id(device, guid)}"\t\t# "{self.names[device]}" enhanced port 0 '
                          "lid 0 lmc 0"]  # fmt: skip
            for port, (far, at), trained in plugged[device]:
                lines.append(self._cable(device, guid, port, far, at, trained))
            lines.append("")
        return "\n".join(lines)

    def _cable(self, device, guid, port, far, at, trained):
        near = f"({guid + port:x}) " if is_host(device) else ""
        other = self.guids[far]
        end = f"({other + at:x})" if is_host(far) else ""
        before = "lid 0 lmc 0 " if is_host(device) else ""
        return (
            f'[{port}]{near}\t"{_id(far, other)}"[{at}]{end} \t\t# {before}"{self.names[far]}" '
            f"lid 0 {trained}"
        )


def is_host(device):
    return device.startswith("node")


def _id(device, guid):
    return f"{'H' if is_host(device) else 'S'}-{guid:016x}"


def fat_tree(nodes=16, leaves=4, spines=2, uplinks=1, rate="4xHDR", spare=2):
    """Return a tree: each leaf has `uplinks` cables to each spine, switches `spare` free ports."""
    tree, each = Tree(), -(-nodes // leaves)
    for leaf in range(leaves):
        ports = each + spines * uplinks + spare
        tree.add(f"leaf{leaf + 1:02}", 0x248A070300A00000 + leaf, ports, f"leaf{leaf + 1:02}")
    for spine in range(spines):
        name = f"spine{spine + 1:02}"
        tree.add(name, 0x248A070300B00000 + spine, leaves * uplinks + spare, name)
    for node in range(nodes):
        name, leaf = f"node{node + 1:04}", f"leaf{node // each + 1:02}"
        tree.add(name, 0x98039B0300500000 + 16 * node, 1, f"{name} mlx5_0")
        tree.plug((name, 1), (leaf, node % each + 1), rate)
    for leaf, spine, up in itertools.product(range(leaves), range(spines), range(uplinks)):
        near = (f"leaf{leaf + 1:02}", each + spine * uplinks + up + 1)
        tree.plug(near, (f"spine{spine + 1:02}", leaf * uplinks + up + 1), rate)
    return tree


def dragonfly(groups=4, switches=4, nodes=2, spare=2, rate="4xHDR"):
    """Return a dragonfly: each switch has `nodes`, one link to each of its group, and one of
    `groups - 1` links of its group to another group, in turn.

    Switches are `group1-1`, ..., hosts `node0001`, ...
    """
    made = Tree()
    ports = nodes + switches - 1 + -(-(groups - 1) // switches) + spare
    pairs = list(itertools.product(range(groups), range(switches)))
    for number, (group, switch) in enumerate(pairs):
        name = f"group{group + 1}-{switch + 1}"
        made.add(name, 0x248A070300A00000 + number, ports, name)
        for node in range(nodes):
            host = f"node{number * nodes + node + 1:04}"
            guid = 0x98039B0300500000 + 16 * (number * nodes + node)
            made.add(host, guid, 1, f"{host} mlx5_0")
            made.plug((host, 1), (name, node + 1), rate)
    _mesh(made, pairs, groups, rate)
    return made


def dragonfly_plus(groups=3, leaves=2, spines=2, nodes=2, spare=2, rate="4xHDR"):
    """Return a dragonfly+: groups are fat trees, whose spines have a link to each other group."""
    made, number = Tree(), itertools.count()
    for group, leaf in itertools.product(range(groups), range(leaves)):
        name = f"group{group + 1}-leaf{leaf + 1}"
        made.add(name, 0x248A070300A00000 + next(number), nodes + spines + spare, name)
        for node in range(nodes):
            count = (group * leaves + leaf) * nodes + node
            host = f"node{count + 1:04}"
            made.add(host, 0x98039B0300500000 + 16 * count, 1, f"{host} mlx5_0")
            made.plug((host, 1), (name, node + 1), rate)
    for group, spine in itertools.product(range(groups), range(spines)):
        name = f"group{group + 1}-spine{spine + 1}"
        made.add(name, 0x248A070300B00000 + next(number), leaves + groups - 1 + spare, name)
        for leaf in range(leaves):
            made.plug(
                (name, leaf + 1), (f"group{group + 1}-leaf{leaf + 1}", nodes + spine + 1), rate
            )
    for spine in range(spines):
        for one, other in itertools.combinations(range(groups), 2):
            ends = [
                (f"group{here + 1}-spine{spine + 1}", leaves + 1 + there - (there > here))
                for here, there in ((one, other), (other, one))
            ]
            made.plug(*ends, rate)
    return made


def _mesh(made, pairs, groups, rate):
    """Plug the links of the switches of a dragonfly, each into its lowest free port."""
    used = {name: [port for device, port in made.cables if device == name] for name in made.ports}

    def free(name):
        used[name].append(max(used[name], default=0) + 1)
        return name, used[name][-1]

    switches = len(pairs) // groups
    names = [[f"group{g + 1}-{s + 1}" for s in range(switches)] for g in range(groups)]
    for group in names:
        for one, other in itertools.combinations(group, 2):
            made.plug(free(one), free(other), rate)
    for one, other in itertools.combinations(range(groups), 2):
        ends = names[one][(other - 1) % switches], names[other][one % switches]
        made.plug(*map(free, ends), rate)


def rail_tree(nodes=8, rails=4, spines=2, rate="4xNDR"):
    """Return a tree with a leaf for each rail: adapter r of each node is at leaf r."""
    made = Tree()
    for rail in range(rails):
        made.add(f"leaf{rail + 1:02}", 0x248A070300A00000 + rail, nodes + spines + 2,
                 f"leaf{rail + 1:02}")  # fmt: skip
    for spine in range(spines):
        made.add(f"spine{spine + 1:02}", 0x248A070300B00000 + spine, rails, f"spine{spine + 1:02}")
        for rail in range(rails):
            made.plug((f"spine{spine + 1:02}", rail + 1), (f"leaf{rail + 1:02}", nodes + spine + 1),
                      rate)  # fmt: skip
    for node, rail in itertools.product(range(nodes), range(rails)):
        device = f"node{node + 1:04}r{rail}"
        made.add(device, 0x98039B0300500000 + 16 * (node * rails + rail), 1,
                 f"node{node + 1:04} mlx5_{rail}")  # fmt: skip
        made.plug((device, 1), (f"leaf{rail + 1:02}", node + 1), rate)
    return made


def topology_of(tree):
    """Return the topology of a tree without any program: its text has ibnetdiscover's form."""
    return outputs.parse_netdiscover(tree.net + "\n")[0]


class Fabric:
    """ibsim with a fabric, and opensm, while the context lasts; several may run side by side.

    `environment` is that in which the programs talk to it; `at` says from which device they look.
    """

    def __init__(self, net, *, manager=True, at=""):
        self.net, self.manager, self.at = net, manager, at
        self.programs = []

    def __enter__(self):
        needs.skip_without(*needs.FABRIC)
        self.folder = Path(tempfile.mkdtemp(prefix="ibsim-"))
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _start(self):
        (self.folder / "fabric.net").write_text(self.net)
        socket = f"ibsim-{os.getpid()}-{next(_numbers)}"
        self.environment = {
            **os.environ,
            "PATH": needs.PATH,
            "IBSIM_SOCKNAME": socket,
            "LD_PRELOAD": str(PRELOADED),
            "OSM_TMP_DIR": str(self.folder),
            "OSM_CACHE_DIR": str(self.folder),
        }
        if self.at:
            self.environment["SIM_HOST"] = self.at
        plain = {**os.environ, "PATH": needs.PATH, "IBSIM_SOCKNAME": socket}
        self.simulator = self._program(
            ["ibsim", "-s", "-N", "20000", "-S", "2048", "-P", "131072", "fabric.net"],
            "ibsim.log", plain, stdin=subprocess.PIPE,
        )  # fmt: skip
        self._wait("ibsim.log", "sim>")
        if self.manager:
            self.manage()

    def manage(self, at=""):
        """Start a subnet manager, and wait until it has routed the fabric of a device."""
        (self.folder / "opensm.log").unlink(missing_ok=True)
        environment = {**self.environment, **({"SIM_HOST": at} if at else {})}
        command = ["opensm", "-f", str(self.folder / "opensm.log"), "-s", "0", "-d2"]
        self._program(command, "opensm.out", environment)
        self._wait("opensm.log", "SUBNET UP")

    def _program(self, command, log, environment, **others):
        with (self.folder / log).open("w") as file:
            program = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, env=environment, cwd=self.folder,
                start_new_session=True, preexec_fn=_end_with_tests,
                **{"stdin": subprocess.DEVNULL, **others},
            )  # fmt: skip
        self.programs.append(program)
        return program

    def _wait(self, log, text, seconds=PATIENCE):
        path, end = self.folder / log, time.monotonic() + seconds
        while time.monotonic() < end:
            if path.exists() and text in path.read_text(errors="replace"):
                return
            if (status := self.programs[-1].poll()) is not None:
                shown = path.read_text(errors="replace")[-1000:] if path.exists() else ""
                raise AssertionError(f"{self.programs[-1].args[0]} ended: {status}\n{shown}")
            time.sleep(0.02)
        raise AssertionError(f"{log} has no {text!r} after {seconds} s")

    def console(self, *commands):
        """Give commands to ibsim, and wait until each one is done: `Unlink "S-..."[6]`."""
        log = self.folder / "ibsim.log"
        for command in commands:
            before = log.read_text(errors="replace").count("sim>")
            self.simulator.stdin.write(f"{command}\n".encode())
            self.simulator.stdin.flush()
            end = time.monotonic() + PATIENCE
            while log.read_text(errors="replace").count("sim>") == before:
                assert time.monotonic() < end, f"ibsim does not answer {command}"
                time.sleep(0.01)

    def run(self, *command, **environment):
        """Run a program that looks at the fabric; returns what subprocess.run does."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            return subprocess.run(
                [str(word) for word in command], cwd=folder,
                env={**self.environment, **environment},
                capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def __exit__(self, *_):
        for program in reversed(self.programs):
            with contextlib.suppress(ProcessLookupError):
                program.send_signal(
                    signal.SIGTERM if program is not self.programs[0] else signal.SIGKILL
                )
            try:
                program.wait(5)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
            if program.stdin:
                program.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)


if __name__ == "__main__":
    print(fat_tree(*map(int, sys.argv[1:])).net)
