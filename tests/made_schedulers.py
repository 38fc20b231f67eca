"""PBS Pro and Flux that nobody has here: commands which take what the documented ones take.

`install(folder, nodes)` puts them into `folder/bin`. A job is a process of this machine; on a node
`hostname` and sysfs are those in `folder/NODE`. Like the real ones they refuse what they do not
know, and PBS packs the chunks of a job onto one node unless told to scatter them.

Sources: qsub(1B), qstat(1B) and pbsnodes of OpenPBS 23; flux-batch(1), flux-run(1) and
flux-resource(1) of flux-core 0.88, and its Python module `flux.job`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

COMMANDS = ("qsub", "qstat", "pbsnodes", "mpirun", "flux")
#: The Python module by which ReFrame talks to Flux.
_MODULE = """\
import pathlib

FOLDER = pathlib.Path({folder!r})


class JobspecV1:
    @classmethod
    def from_command(cls, **_):
        return cls()


class JobID(str):
    pass


class Future:
    def __init__(self, job):
        self.job = job

    def done(self):
        return (FOLDER / f"{{self.job}}.status").exists()

    def exception(self, timeout=None):
        return None

    def result(self, timeout=None):
        return int((FOLDER / f"{{self.job}}.status").read_text())


class FluxExecutor:
    def attach(self, job):
        return Future(job)
"""


def install(folder: Path, nodes: dict[str, str]) -> dict[str, str]:
    """Make the commands, for nodes that are up or away for a reason; return their environment."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "nodes.json").write_text(json.dumps(nodes))
    for name in COMMANDS:
        path = folder / "bin" / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} {name} {folder} "$@"\n')
        path.chmod(0o755)
    for name in nodes:
        hostname = folder / name / "bin/hostname"
        hostname.parent.mkdir(parents=True, exist_ok=True)
        hostname.write_text(f"#!/bin/sh\necho {name}\n")
        hostname.chmod(0o755)
    module = folder / "python/flux"
    module.mkdir(parents=True)
    (module / "__init__.py").write_text("")
    (module / "job.py").write_text(_MODULE.format(folder=str(folder)))
    path = f"{folder / 'python'}:{os.environ.get('PYTHONPATH', '')}"
    programs = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"PATH": programs, "PYTHONPATH": path}


def _refuse(text):
    sys.exit(f"made: {text}")


def _submit(folder, script, where, output, errors, workdir, ranks):
    """Start a job on these nodes; return its number."""
    job = str(len([*folder.glob("*.job")]) + 1)
    (folder / f"{job}.job").write_text(json.dumps(where))
    (folder / f"{job}.script").write_text(Path(script).read_text())
    (folder / f"{job}.nodefile").write_text("".join(f"{node}\n" * ranks[node] for node in where))
    # The status comes when the outputs are whole.
    run = f"cd {workdir}; sh {script} > {output} 2> {errors}; echo $? > {folder}/{job}.new"
    given = {"PBS_NODEFILE": f"{folder}/{job}.nodefile", "MADE_NODES": ",".join(where)}
    subprocess.Popen(
        ["sh", "-c", f"{run}; mv {folder}/{job}.new {folder}/{job}.status"],
        env=_on(folder, where[0], **given),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    return job


def _on(folder, node, **more):
    path = f"{folder}/{node}/bin:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "SYSFS": f"{folder}/{node}/sys", **more}


def _nodes(folder):
    nodes = json.loads((folder / "nodes.json").read_text())
    return nodes, [name for name, reason in nodes.items() if not reason]


def qsub(folder, arguments):
    """Take a script whose directives ask for chunks."""
    nodes, up = _nodes(folder)
    given = {"-l": []}
    words = " ".join(arguments[:-1]).split()
    for line in Path(arguments[-1]).read_text().splitlines():
        words += line.removeprefix("#PBS ").split() if line.startswith("#PBS ") else []
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option not in ("-N", "-o", "-e", "-l", "-q"):
            _refuse(f"qsub: invalid option {option}")
        given[option] = [*given["-l"], value] if option == "-l" else value
    resources = dict(value.split("=", 1) for value in given["-l"])
    if unknown := {*resources} - {"select", "place", "walltime"}:
        _refuse(f"qsub: Unknown resource {unknown}")
    ranks, free = {}, [*up]
    for chunk in resources["select"].split("+"):
        count, *parts = chunk.split(":")
        asked = dict(part.split("=") for part in parts)
        if int(asked["ncpus"]) > 2:
            _refuse("qsub: no node has so many CPUs")
        for _ in range(int(count)):
            node = asked.get("host") or free[0]
            if node not in nodes:
                _refuse(f"qsub: Unknown host {node}")
            ranks[node] = ranks.get(node, 0) + int(asked["mpiprocs"])
            if resources.get("place", "").startswith("scatter"):
                free.remove(node)
    print(_submit(folder, arguments[-1], [*ranks], given["-o"], given["-e"], ".", ranks) + ".made")


def qstat(folder, arguments):
    """Say how jobs are, in JSON."""
    if arguments[:3] != ["-xf", "-F", "json"]:
        _refuse(f"qstat: {arguments}")
    jobs = {}
    for name in arguments[3:]:
        number = name.partition(".")[0]
        where = json.loads((folder / f"{number}.job").read_text())
        jobs[name] = {"job_state": "R", "exec_host": "+".join(f"{node}/0" for node in where)}
        if (status := folder / f"{number}.status").exists():
            jobs[name] |= {"job_state": "F", "Exit_status": int(status.read_text())}
    print(json.dumps({"Jobs": jobs}))


def pbsnodes(folder, arguments):
    """Say what nodes there are."""
    if arguments != ["-a"]:
        _refuse(f"pbsnodes: {arguments}")
    for name, reason in _nodes(folder)[0].items():
        print(f"{name}\n     Mom = {name}\n     state = {'offline' if reason else 'free'}")
        print(f"     resources_available.host = {name}\n     resources_available.ncpus = 2")
        print(f"     comment = {reason}\n" if reason else "")


def mpirun(folder, arguments):
    """Start a rank at each line of the file of nodes, as many as there shall be."""
    lines = Path(os.environ["PBS_NODEFILE"]).read_text().split()
    program = arguments[arguments.index("sh") :]
    _ranks(folder, lines[: int(arguments[arguments.index("-np") + 1])], program, "OMPI_COMM_WORLD")


def _ranks(folder, where, program, flavour):
    names = {"OMPI_COMM_WORLD": ("RANK", "LOCAL_RANK"), "FLUX_TASK": ("RANK", "LOCAL_ID")}
    rank_name, local_name = (f"{flavour}_{name}" for name in names[flavour])
    for rank, node in enumerate(where):
        local = where[:rank].count(node)
        more = {rank_name: str(rank), local_name: str(local)}
        if status := subprocess.run(program, env=_on(folder, node, **more)).returncode:
            sys.exit(status)


def flux(folder, arguments):
    """Run a batch script in an instance of whole nodes, ranks in there, or say what nodes are."""
    what, *words = arguments
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("nodes", "nslots", "ntasks"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("job-name", "output", "error", "cwd", "time-limit", "taskmap", "queue"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--exclusive", action="store_true")
    for name in ("requires", "setopt"):
        parser.add_argument(f"--{name}", action="append", default=[])
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    nodes, up = _nodes(folder)
    if what == "resource":
        _resource(words, nodes)
        return
    given = parser.parse_args(words)
    if what == "batch":
        if not given.exclusive or not re.fullmatch(r"\d+(\.\d+)?s", given.time_limit):
            _refuse("flux batch: nodes are not whole, or without a limit")
        for constraint in given.requires:
            wanted = constraint.removeprefix("hosts:").split(",")
            up = [name for name in up if name in wanted]
        where = up[: given.nodes]
        if len(where) < given.nodes:
            _refuse("flux batch: unsatisfiable request")
        once = dict.fromkeys(where, 1)
        job = _submit(folder, given.rest[0], where, given.output, given.error, given.cwd, once)
        (folder / f"{job}.options").write_text(" ".join(words))
        print(job)
        return
    where = os.environ["MADE_NODES"].split(",")[: given.nodes]
    share = -(-given.ntasks // given.nodes)
    order = [where[rank // share] for rank in range(given.ntasks)]
    if given.taskmap == "cyclic":
        order = [where[rank % given.nodes] for rank in range(given.ntasks)]
    _ranks(folder, order, given.rest, "FLUX_TASK")


def _resource(words, nodes):
    if words[0] == "R":
        ranks = f"0-{len(nodes) - 1}"
        execution = {
            "R_lite": [{"rank": ranks, "children": {"core": "0-1"}}],
            "nodelist": [*nodes],
        }
        print(json.dumps({"version": 1, "execution": execution}))
        return
    if words[:2] != ["status", "-no"]:
        _refuse(f"flux resource: {words}")
    for name, reason in nodes.items():
        values = {"statex": "drained" if reason else "avail", "status": "online"}
        print(words[2].format(**values, nodelist=name, reason=reason))


if __name__ == "__main__":
    command, place, *rest = sys.argv[1:]
    {"qsub": qsub, "qstat": qstat, "pbsnodes": pbsnodes, "mpirun": mpirun, "flux": flux}[command](
        Path(place), rest
    )
