"""A system with two environments that differ in variables, and a program that these slow down.

Also a bisection whose runs are made, without ReFrame.
"""

import math
import random

from acceptance.campaigns.bisect import Bisection, Plan
from acceptance.campaigns.changes import Side
from acceptance.ledger import Case, Metric

#: Prints its time, which varies by some per mille; it needs WITH where NEEDS is set.
PROGRAM = """\
#!/bin/bash
echo run >> {folder}/ran
if [ -e {folder}/hold ] && [ "$(wc -l < {folder}/ran)" -gt "$(cat {folder}/hold)" ]; then
    while [ ! -e {folder}/go ]; do sleep 0.05; done
fi
[ "$NEEDS" = 2 ] && [ "$WITH" != 2 ] && {{ echo "NEEDS without WITH"; exit 1; }}
us=$((1000 + RANDOM % 10))
{slow}
echo "took $us us"
"""
CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Slowed(rfm.RunOnlyRegressionTest):
    valid_systems = valid_prog_environs = ["*"]
    executable = {program!r}

    @sanity_function
    def ended(self):
        return sn.assert_found("^took", self.stdout)

    @performance_function("us")
    def duration(self):
        return sn.extractsingle(r"^took (\\d+) us", self.stdout, 1, float)
"""


def make(site, names, slow, more=""):
    """Give a site the environments `fast` and `slow`: of each name 1 and 2; return the check."""
    program, check = site.folder / "program.sh", site.folder / "slowed.py"
    program.write_text(PROGRAM.format(folder=site.folder, slow=slow))
    program.chmod(0o755)
    check.write_text(CHECK.format(program=str(program)))
    environments = [
        {"name": name, "env_vars": [[each, value] for each in names]}
        for name, value in (("fast", "1"), ("slow", "2"))
    ]
    site.add_system(f"""
        site_configuration = {{
            "systems": [{{
                "name": "made", "hostnames": [".*"],
                "partitions": [{{
                    "name": "one", "scheduler": "local", "launcher": "local", "max_jobs": 1,
                    "environs": ["fast", "slow"],
                }}],
            }}],
            "environments": {environments!r},
        }}
        {more}
    """)
    return check


def side(text, variables=(), **more):
    """Return a side whose environment has these variables."""
    environment = {"name": text, "env_vars": [*variables], **more.pop("environment", {})}
    return Side(text, "made:one", environment, **more)


def cases(values, *, metric="duration", unit="us", fault=""):
    """Return what ReFrame would have stored of a case that measured this; a `fault` failed it."""
    same = {
        "system": "made", "partition": "one", "filename": "slowed.py", "suite": "", "run_index": 0,
        "environment": "any", "nodes": (), "fixture": False, "benchmark": "", "keys": {},
        "declared": {}, "provenance": {}, "findings": (),
    }  # fmt: skip
    if fault:
        return [Case(
            **same, name="Slowed", result="fail", fail_phase="sanity", fail_reason=fault, metrics=()
        )]  # fmt: skip
    found = []
    for number, value in enumerate(values):
        one = Metric(metric, value, unit, None, None, None, "", True)
        name = "Slowed" if len(values) == 1 else f"Slowed %.repeat_no={number}"
        found.append(Case(
            **same, name=name, result="pass", fail_phase="", fail_reason="", metrics=(one,)
        ))  # fmt: skip
    return found


def bisection(good, bad, level, spread=0.01, seed=1, least=0.05, **more):
    """Return a bisection whose runs are made, and the lines that it tells.

    `level` returns what an environment (its variables) measures: a value, or why it does not run.
    """
    noise, lines = random.Random(seed), []

    def measure(name, number, environment, times):
        found = level(dict(environment.get("env_vars", ())))
        if isinstance(found, str):
            return cases((), fault=found)
        return cases([found * math.exp(noise.gauss(0, spread)) for _ in range(times)], **more)

    plan = Plan(good, bad, {"name": "made", "partitions": []}, (), least)
    return Bisection(plan, measure, lines.append), lines
