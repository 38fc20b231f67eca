"""A site of its own for each test, whose configuration has the shape of `koop2008`'s."""

import re
import runpy

from acceptance.machine import externals
from tests import netns
from tests.places import ROOT, WHEELS
from tests.recorded import REPLAYED

#: What a site copies: its partitions have `slurm`, `srun`, a constraint, and the nodes alone.
TEMPLATE = runpy.run_path(str(ROOT / "config/systems/koop2008.py"))

#: What the project adds to the partitions of any system in `config/systems/`.
SETTINGS = runpy.run_path(str(ROOT / "config/settings.py"))

#: MPI -> environment variables with which `srun` starts its processes. The data of PMIx 4.2.2 are
#: in shared memory unless it is told otherwise, and one start in eighty crashed in there.
STARTS = {
    "openmpi": {"SLURM_MPI_TYPE": "pmix", "PMIX_MCA_gds": "hash"},
    "mpich": {"SLURM_MPI_TYPE": "pmi2"},
    "intel-mpi": {"SLURM_MPI_TYPE": "pmi2"},
}

#: Jobs of different partitions would share the cores of this machine.
SERIAL = "--exec-policy=serial"

#: Prints what was recorded once it may; `started` tells that it runs, and on which nodes.
PROGRAM = """\
#!/bin/sh
[ "$SLURM_PROCID" = 0 ] || exit 0
[ -z "{hangs}" ] || {replayed} {folder}/"$1".txt
echo "$SLURM_JOB_ID" > {folder}/started
while [ ! -e {folder}/go ]; do sleep 0.1; done
[ -n "{hangs}" ] || {replayed} {folder}/"$1".txt
"""


class ClusterSite:
    """A `tests.conftest.Site` that submits its jobs to a cluster."""

    def __init__(self, site, cluster):
        self.site, self.cluster = site, cluster
        site.environment |= cluster.environment

    def environment(self, mpi="intel-mpi", over=netns.DEVICE, **suites):
        """Return an environment with an MPI, started by srun; `suites` are folders of programs."""
        folders = {name: str(folder) for name, folder in suites.items()}
        needed = {**STARTS[mpi], **netns.messages(mpi, over)}
        if mpi == "intel-mpi":
            folders.setdefault("imb", f"{WHEELS}/bin")
            needed |= {
                **netns.ASLEEP,
                "PATH": f"{WHEELS}/bin:$PATH",
                "LD_LIBRARY_PATH": f"{WHEELS}/lib:$LD_LIBRARY_PATH",
                "I_MPI_ROOT": str(WHEELS),
            }
        return {
            "name": mpi,
            "target_systems": ["cluster"],
            "features": ["mpi", *folders],
            "extras": {"mpi": mpi, "suites": folders},
            "env_vars": [[name, value] for name, value in needed.items()],
        }

    def recorded(self, hangs=False, **outputs):
        """Return an environment whose IMB prints what was recorded: benchmark -> text.

        It waits until `go()` before it prints, or, when it hangs, after that.
        """
        folder = self.site.folder / "program"
        folder.mkdir()
        program = folder / "IMB-MPI1"
        program.write_text(
            PROGRAM.format(folder=folder, replayed=REPLAYED, hangs="yes" if hangs else "")
        )
        program.chmod(0o755)
        for name, text in outputs.items():
            (folder / f"{name}.txt").write_text(text)
        return {
            "name": "recorded",
            "target_systems": ["cluster"],
            "features": ["imb"],
            "extras": {"mpi": "mpich", "suites": {"imb": str(folder)}},
        }

    def go(self):
        """Let the recorded programs print."""
        (self.site.folder / "program/go").touch()

    def started(self):
        """Tell whether a recorded program has begun."""
        return (self.site.folder / "program/started").exists()

    def partition(self, name, environment, *, rate=None, cores=1, scheduler="squeue", **more):
        """Return a partition: that of koop2008, with what a site would write instead of it."""
        fabric = {"technology": "ethernet", "device": netns.DEVICE}
        template = TEMPLATE["SYSTEM"]["partitions"][0]
        # Each node keeps one core for itself (`CpuSpecList`), unless a job asks for both.
        both = ["--core-spec=0"] if cores > 1 else []
        return {
            **template,
            "name": name,
            "scheduler": scheduler,
            "access": [f"--constraint={name}", "--exclusive", *both],
            "environs": [environment["name"]],
            "processor": {
                "num_cpus": cores,
                "num_cpus_per_core": 1,
                "num_cpus_per_socket": cores,
                "num_sockets": 1,
            },
            "extras": {
                **template["extras"],
                "cores": cores,
                "memory": 10**9,
                "fabric": {**fabric, "rate": rate} if rate else fabric,
                "mode": "smoke",
            },
            **more,
        }

    def configure(self, environment, *partitions):
        """Give the site a system `cluster` of these partitions."""
        system = {
            **TEMPLATE["SYSTEM"],
            "name": "cluster",
            "hostnames": [".*"],
            "prefix": str(self.site.var),
            "partitions": [*map(SETTINGS["on_slurm"], partitions)],
        }
        # Of a campaign's links many jobs run side by side, as `config/settings.py` lets them.
        self.site.add_system(f"""
            import os

            system, most = {system!r}, os.environ.get("ACCEPTANCE_MAX_JOBS")
            for partition in system["partitions"] if most else ():
                partition["max_jobs"] = int(most)
            site_configuration = {{"systems": [system], "environments": [{environment!r}]}}
        """)

    def said(self, kind, status):
        """Return the exit status of a campaign and what each command says of it; and open alerts.

        It is the newest one of its kind, and what ended last. Of an export its number counts, too.
        """
        (newest,) = sorted((self.site.var / "campaigns").glob(f"{kind}-*"))[-1:]
        run = ("gate", "--run", newest.name)
        gates = {
            words: self.site.acceptance(*words)
            for words in (("gate",), run, ("gate", "--format", "junit"))
        }
        assert gates["gate",].output == gates[run].output
        export = self.site.acceptance("export", "prometheus")
        name = re.escape(newest.name.partition("-")[0])
        (number,) = re.findall(
            rf'^acceptance_verdict_status{{.*campaign="{name}".*}} (\d)',
            export.output,
            re.MULTILINE,
        )
        said = {" ".join(words): done.status for words, done in gates.items()}
        said |= {kind: status, "export": export.status, "number of export": int(number)}
        return said, self.site.acceptance("alerts", "--format", "json").data["open"]

    def imb(self, names, *options):
        """Run cases of checks/imb.py; return ReFrame's result.

        A partition has one job at a time; for two of them one wants `SERIAL`.
        """
        return self.site.reframe("-c", "checks/imb.py", "-r", "-n", names, *options)


def programs_of(mpi, folder):
    """Return the folder in which the programs of one of Debian's MPIs have their usual names."""
    return externals.prefix_of(mpi, folder / "prefix") / "bin"
