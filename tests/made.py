"""Results databases that ReFrame could have written, of any number of nights.

`tests/utils/regressions/test_history.py` holds the form against a database that ReFrame did
write.
"""

import json
import random
import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path

NIGHT = 86400.0
#: 2026-01-01, 22:00 UTC.
FIRST = 1767304800.0
COMMAND = "/opt/clone/.venv/bin/reframe -c checks -r"
SOFTWARE = {
    "spec": "osu-micro-benchmarks@7.5.1",
    "hash": "aaaaaaa",
    "compiler": "gcc@13.2.0",
    "mpi": "openmpi@4.1.6",
    "target": "zen4",
    "suite": "OSU 7.5",
}


@dataclass
class Case:
    """A case: `metrics` has metric -> (value, unit), or (value, unit, reference, lower, upper)."""

    name: str = "OsuMpi %benchmark=bw %np=2 %placement=inter-node"
    metrics: dict = field(default_factory=dict)
    system: str = "made"
    partition: str = "compute"
    environment: str = "spack-openmpi"
    nodes: tuple = ("node01", "node02")
    keys: dict = field(default_factory=lambda: {"np": "2", "nodes": "2", "placement": "inter-node"})
    benchmark: str = "osu.bw"
    suite: str = "osu"
    provenance: dict = field(default_factory=lambda: dict(SOFTWARE))
    findings: tuple = ()
    result: str = "pass"
    run_index: int = 0
    fixture: bool = False
    plain: bool = False
    completed: float | None = None
    #: Anything else that is stored with it.
    more: dict = field(default_factory=dict)

    def data(self, uuid, number, end):
        """Return the case as ReFrame 4.10 stores it; `plain`: without what our checks log."""
        failed = self.result == "fail"
        perfvalues = {}
        for metric, (value, unit, *judged) in self.metrics.items():
            reference, lower, upper = judged or (0, None, None)
            key = f"{self.system}:{self.partition}:{metric}"
            perfvalues[key] = [value, reference, lower, upper, unit, "pass"]
        completed = end if self.completed is None else self.completed
        own = {
            "benchmark_name": self.benchmark,
            "suite": self.suite,
            "keys": self.keys,
            "declared": {metric: unit for metric, (_, unit, *_) in self.metrics.items()},
            "judged_by": {},
            "provenance": self.provenance,
            "findings": list(self.findings),
        }
        return {
            "environ": self.environment,
            "fail_phase": "sanity" if failed else None,
            "fail_reason": "sanity error: made to fail" if failed else None,
            "filename": "/opt/clone/checks/osu.py",
            "fixture": self.fixture,
            "job_completion_time": None,
            "job_completion_time_unix": completed,
            "partition": self.partition,
            "result": self.result,
            "run_index": self.run_index,
            "scheduler": "squeue",
            "session_uuid": uuid,
            "uuid": f"{uuid}:{self.run_index}:{number}",
            "job_exitcode": 0,
            "job_nodelist": list(self.nodes),
            "system": self.system,
            "display_name": self.name,
            "name": self.name,
            "unique_name": self.name.replace(" ", "_"),
            "modules": [],
            "perfvalues": None if failed else perfvalues,
            **({} if self.plain else own),
            **self.more,
        }


class Database:
    """A results database in the making."""

    def __init__(self, path, version="1.0"):
        self.path = Path(path)
        self.connection = sqlite3.connect(self.path)
        # What is made need not outlive the machine's power.
        self.connection.execute("PRAGMA synchronous=OFF")
        run = self.connection.execute
        run(
            "CREATE TABLE sessions(uuid TEXT PRIMARY KEY, session_start_unix REAL, "
            "session_end_unix REAL, json_blob TEXT, report_file TEXT)"
        )
        run(
            "CREATE TABLE testcases(name TEXT,system TEXT, partition TEXT, environ TEXT, "
            "job_completion_time_unix REAL, session_uuid TEXT, uuid TEXT, "
            "FOREIGN KEY(session_uuid) REFERENCES sessions(uuid) ON DELETE CASCADE)"
        )
        run("CREATE INDEX index_testcases_time on testcases(job_completion_time_unix)")
        run("CREATE TABLE metadata(schema_version TEXT)")
        run("CREATE INDEX index_sessions_time on sessions(session_start_unix)")
        run("INSERT INTO metadata VALUES(?)", (version,))
        self.connection.commit()
        self.count = 0

    def add(
        self, cases, start=None, uuid=None, command=COMMAND, aborted=0, stored_as=None, label=""
    ):
        """Store a session of an hour; without `start` that of the next night. Returns its UUID."""
        start = FIRST + NIGHT * self.count if start is None else start
        uuid = uuid or f"{self.count:08x}-0000-4000-8000-000000000000"
        self.count += 1
        end = start + 3600
        runs = {}
        for number, case in enumerate(cases):
            runs.setdefault(case.run_index, []).append(
                case.data(uuid, number, start + 10.0 + number)
            )
        info = {
            "data_version": "4.2",
            "hostname": "login1",
            "uuid": uuid,
            "time_start": time.strftime("%Y%m%dT%H%M%S%z", time.localtime(start)),
            "time_start_unix": start,
            "time_end": time.strftime("%Y%m%dT%H%M%S%z", time.localtime(end)),
            "time_end_unix": end,
            "time_elapsed": end - start,
            "cmdline": command,
            "user": "operator",
            "version": "4.10.4",
            "workdir": "/opt/clone",
            "num_cases": len(runs.get(0, ())),
            "num_failures": 0,
            "num_aborted": aborted,
            "num_skipped": 0,
            **({"run": label} if label else {}),
        }
        report = {
            "session_info": info,
            "runs": [
                {"num_cases": len(found), "run_index": index, "testcases": found}
                for index, found in sorted(runs.items())
            ],
            "restored_cases": [],
        }
        self.store(stored_as or uuid, start, end, json.dumps(report))
        return uuid

    def store(self, uuid, start, end, blob):
        """Store any text as a session."""
        self.connection.execute(
            "INSERT INTO sessions VALUES(?, ?, ?, ?, ?)", (uuid, start, end, blob, None)
        )
        self.connection.commit()


def noisy(seed, level, spread=0.01):
    """Return a function night -> value around a level, the same for the same seed and night."""

    def value(night, factor=1.0):
        return level * factor * (1 + random.Random(f"{seed}/{night}").gauss(0, spread))

    return value


SIZES = (8, 65536, 4194304)


def nights(path, count, factor=None, cases=8, change=None, sizes=SIZES, noise=0.01, **fields):
    """Make a database of nights on which `cases` benchmarks measure latency and bandwidth.

    `factor(night, case, size)` is how much worse a metric is, `change(night, number, case)` alters
    a case or returns another one (None: it was not run). `fields` go to every case.
    """
    database = Database(path)
    for night in range(count):
        made = [one_night(night, number, factor, sizes, noise, **fields) for number in range(cases)]
        if change is not None:
            made = [change(night, number, case) for number, case in enumerate(made)]
        database.add([case for case in made if case is not None])
    return database


#: Steps of the nights of `campaigns`.
STEPS = ("links", "all_pairs", "hpcc", "imb", "npb", "osu")


def campaigns(path, count, factor=None, apart=NIGHT):
    """Make a database of `acceptance nightly`: each night a session for each step.

    `factor` is that of `one_night`, `apart` the seconds between two nights.
    """
    database = Database(path)
    for night in range(count):
        start = FIRST + apart * night
        id = time.strftime("nightly-%Y-%m-%dT%H%M%S", time.localtime(start))
        for number, step in enumerate(STEPS):
            database.add(
                [one_night(night, number, factor)],
                start + 60 * number,
                command=f"/opt/clone/.venv/bin/reframe -c /opt/clone/checks/{step}.py -r",
                label=f"{id}.{step}.3f2a9c",
            )
    return database


def one_night(night, number, factor=None, sizes=SIZES, noise=0.01, **fields):
    """Return the case of one benchmark on one night, each with two nodes of its own."""
    metrics = {}
    for size in sizes:
        worse = factor(night, number, size) if factor else 1.0
        latency = noisy(f"latency {number} {size}", 1 + size / 1000, noise)
        bandwidth = noisy(f"bandwidth {number} {size}", 10 + size / 500, noise)
        metrics[f"latency_{size}"] = (latency(night) * worse, "us")
        metrics[f"bandwidth_{size}"] = (bandwidth(night) / worse, "MB/s")
    return Case(
        name=f"OsuMpi %benchmark=b{number} %np=2 %placement=inter-node",
        benchmark=f"osu.b{number}",
        nodes=(f"node{2 * number:02d}", f"node{2 * number + 1:02d}"),
        metrics=metrics,
        **fields,
    )
