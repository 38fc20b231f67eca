"""What the library costs on top of ReFrame and of the benchmark itself; ratios of one run.

Run by `make bench`; asserts nothing, since the machines are shared.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from acceptance.core.text import table
from acceptance.machine.partition_size import usable_cores
from acceptance.suites import SUITES, imb
from tests import stored as database
from tests.places import ROOT, WHEELS

PAIRS = 5
SELECT = "PingPong.*%placement=intra-node"
COMMAND = ["mpiexec", "-n", "2", f"{WHEELS}/bin/IMB-MPI1", "PingPong", "-npmin", "2", "-iter",
           "1000", "-msglog", "0:22"]  # fmt: skip

MINIMAL = f"""
    import reframe as rfm
    import reframe.utility.sanity as sn

    @rfm.simple_test
    class Minimal(rfm.RunOnlyRegressionTest):
        valid_systems = ["*"]
        valid_prog_environs = ["+imb"]
        num_tasks = 2
        num_tasks_per_node = 2
        executable = "{COMMAND[3]}"
        executable_opts = {COMMAND[4:]}

        @sanity_function
        def sane(self):
            return sn.assert_found("MPI_Finalize", self.stdout)

        @performance_function("us")
        def latency(self):
            return sn.extractsingle(r"^ +0 +1000 +(\\S+)", self.stdout, 1, float)
"""

TRIVIAL = """
    import reframe as rfm
    import reframe.utility.sanity as sn

    @rfm.simple_test
    class Trivial(rfm.RunOnlyRegressionTest):
        number = parameter(range({number}))
        valid_systems = ["*"]
        valid_prog_environs = ["*"]
        executable = "true"

        @sanity_function
        def sane(self):
            return True
"""

#: A system with enough partitions that `-l` has some 10,000 cases to find, and empty programs.
LARGE = """
    site_configuration = {{
        "systems": [{{
            "name": "large", "hostnames": ["large"],
            "partitions": [{{
                "name": f"p{{n}}", "scheduler": "local", "launcher": "local",
                "environs": ["large-all"],
                "extras": {{"nodes": 8, "cores": 64, "memory": 2**38}},
                "processor": {{
                    "num_cpus": 64, "num_cpus_per_core": 1, "num_sockets": 2,
                    "num_cpus_per_socket": 32,
                }},
            }} for n in range({partitions})],
        }}],
        "environments": [{{
            "name": "large-all", "features": ["imb", "osu"], "target_systems": ["large"],
            "extras": {{"suites": {{"imb": {programs!r}, "osu": {programs!r}}}}},
        }}],
    }}
"""
CASES = 10000


class Bench:
    """A folder of its own, and ReFrame in it; a bare machine's, or this one's with its Spack."""

    def __init__(self, folder: Path, *, bare: bool) -> None:
        self.folder = folder
        hidden = {"HOME": str(folder), "SPACK_ROOT": ""} if bare else {}
        self.environment = {
            **os.environ,
            **hidden,
            "ACCEPTANCE_VAR": str(folder / "var"),
            "RFM_CONFIG_FILES": str(ROOT / "config/settings.py"),
        }

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def reframe(self, *arguments: object, **environment: str) -> tuple[float, str]:
        """Return wall time (s) and output; exits when ReFrame fails."""
        start = time.perf_counter()
        done = subprocess.run(
            ["reframe", *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**self.environment, **environment},
        )
        if done.returncode or "Ran 0/" in done.stdout:
            sys.exit(done.stdout + done.stderr)
        return time.perf_counter() - start, done.stdout

    def by_hand(self) -> str:
        return subprocess.run(
            COMMAND,
            capture_output=True,
            text=True,
            check=True,
            env={
                **os.environ,
                "PATH": f"{WHEELS}/bin:{os.environ['PATH']}",
                "LD_LIBRARY_PATH": f"{WHEELS}/lib",
            },
        ).stdout

    def ours(self) -> float:
        return self.reframe("-c", ROOT / "checks/imb.py", "-r", "-p", "wheels", "-n", SELECT)[0]

    def wall(self) -> list[object]:
        minimal = self.write("minimal.py", MINIMAL)
        self.ours()  # fill the caches
        ratios = [
            self.ours() / self.reframe("-c", minimal, "-r", "-p", "wheels")[0] for _ in range(PAIRS)
        ]
        return ["wall of our check / minimal check by hand", *spread(ratios), "<= 1.1"]

    def values(self) -> list[list[object]]:
        metrics = {"latency_1024": [], "bandwidth_65536": [], "bandwidth_4194304": []}
        for _ in range(PAIRS):
            self.ours()
            case = database.session(self.folder / "var/results.db").cases[0]
            output = self.by_hand()
            for name, ratios in metrics.items():
                stem, size = name.split("_")
                row = re.search(rf"^ +{size} +\d+ +(\S+) +(\S+)$", output, re.MULTILINE)
                mine = next(metric.value for metric in case.metrics if metric.name == name)
                ratios.append(mine / float(row[1 if stem == "latency" else 2]))
        return [
            [f"{name} of our check / by hand", *spread(ratios), "1.00 within the spread"]
            for name, ratios in metrics.items()
        ]

    def listing(self, check: str) -> list[object]:
        """Compare the processor time of a listing in the mode acceptance with that of plain cases.

        What else runs here changes it less than the time on the wall.
        """
        programs = self.folder / "programs"
        programs.mkdir(exist_ok=True)
        of_imb = {row.program for row in imb.BENCHMARKS.values()}
        for name in (*of_imb, *SUITES["osu"].programs):
            (programs / name).write_text("#!/bin/sh\n")
            (programs / name).chmod(0o755)
        ours = ("-c", ROOT / f"checks/{check}.py", "-l", "-S", "mode=acceptance")

        def on(partitions: int) -> dict[str, str]:
            text = LARGE.format(partitions=partitions, programs=str(programs))
            files = f"{ROOT / 'config/settings.py'}:{self.write('large.py', text)}"
            return {"RFM_CONFIG_FILES": files, "RFM_SYSTEM": "large"}

        found = re.search(r"Found (\d+) check", self.reframe(*ours, **on(1))[1])
        checks = int(found[1])
        partitions = max(CASES // checks, 1)
        trivial = self.write("trivial.py", TRIVIAL.format(number=checks))
        large = on(partitions)
        ratios = [
            self.processor_time(*ours, **large) / self.processor_time("-c", trivial, "-l", **large)
            for _ in range(3)
        ]
        cases = checks * partitions
        what = f"reframe -l of {check}.py, {cases} cases / as many trivial ones"
        return [what, *spread(ratios), "<= 1.25"]

    def processor_time(self, *arguments: object, **environment: str) -> float:
        """Return the processor time (s) of ReFrame."""
        before = os.times()
        self.reframe(*arguments, **environment)
        after = os.times()
        return sum(after[2:4]) - sum(before[2:4])


def spread(ratios: list[float]) -> list[str]:
    return [
        f"{statistics.median(ratios):.2f}",
        f"{min(ratios):.2f} .. {max(ratios):.2f}",
        str(len(ratios)),
    ]


def why_not() -> str:
    """Return why this machine cannot run the bench; empty if it can."""
    if not Path(COMMAND[3]).exists():
        return f"no {COMMAND[3]}: `make setup` installs it, on x86_64"
    return "" if usable_cores() > 1 else "two ranks on one node need two cores"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), bare=True)
        rows = [bench.wall(), *bench.values(), bench.listing("imb"), bench.listing("osu")]
    print(table(("ratio", "median", "spread", "pairs", "goal"), rows))


if __name__ == "__main__":
    main()
