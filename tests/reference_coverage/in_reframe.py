"""Prints the cases of a system as data; `listing.py` starts it, and has the form of what it prints.

usage: python -m tests.reference_coverage.in_reframe SYSTEM FILE...

Nothing runs and no scheduler is asked. ReFrame's own listing knows names, but neither the keys and
metrics of a case nor what judges them.
"""

import functools
import importlib
import json
import os
import sys

import reframe.core.config as config
import reframe.core.runtime as runtime
from reframe.frontend import autodetect

from acceptance.core.extras import MODES
from checks import partitions
from checks.base import JudgedCheck, library


def start(system: str) -> None:
    """Take the configuration, as ReFrame does."""
    files = os.environ["RFM_CONFIG_FILES"].split(":")
    configuration = config.load_config("<builtin>", *files)
    configuration.validate()
    configuration.select_subconfig(system)
    runtime.init_runtime(configuration)
    # The modes that the command names, and a partition has, are others than all of them.
    partitions.modes_of_run = lambda: {*MODES}
    autodetect.detect_topology()


def checks_of(name: str) -> list:
    """Return the checks that a file makes; ValueError unless it makes all of them."""
    registry = importlib.import_module(f"checks.{name}")._rfm_test_registry
    asked = sum(map(len, registry._tests.values()))
    made = [check for check in registry.instantiate_all() if not check.is_fixture()]
    if len(made) != asked:
        raise ValueError(f"ReFrame makes {len(made)} of {asked} cases; see: reframe -c checks -l")
    checks = [check for check in made if isinstance(check, JudgedCheck)]
    for check in checks:
        check.asks_scheduler = False
    return checks


def records(check) -> list[dict]:
    """Return the cases of a check; what is alike in several modes is one of them."""
    found, name = [], check.display_name
    for part in runtime.runtime().system.partitions:
        modes = [mode for mode in MODES if fits(check, part, mode)]
        alike = [[mode] for mode in modes] if check.differs_by_mode else [modes] if modes else []
        if not alike:
            continue
        environs = runtime.valid_sysenv_comb([part.fullname], check.valid_prog_environs)
        for group in alike:
            check.mode = group[0]
            for environ in environs.get(part, ()):
                found.append({"name": name, **record_of(check, part, environ), "modes": group})
    return found


def fits(check, part, mode: str) -> bool:
    """Tell whether a partition runs a check in a mode."""
    check.mode = mode
    if hasattr(check, "fits"):
        return bool(check.fits(part))
    return part.fullname in check.valid_systems


@functools.cache
def has_rows(*place: str) -> bool:
    """Tell whether `reference/` has any row of a system, a partition and a benchmark."""
    rows = (*library().values, *library().baselines)
    return any((row.system, row.partition, row.benchmark) == place for row in rows)


def record_of(check, part, environ) -> dict:
    """Return what a check measures on a partition, and the rows that judge it."""
    # No other copy: ReFrame attaches the hooks of each one anew, which costs most of all of this.
    check, untouched = object.__new__(type(check)), check.__dict__
    check.__dict__.update(untouched)
    check._current_partition, check._current_environ = part, environ
    record = {
        "system": runtime.runtime().system.name,
        "partition": part.name,
        "environment": environ.name,
        "benchmark": check.benchmark_name,
    }
    try:
        check.settle()
        check.declared = check.listed()
    except ValueError as err:
        return {**record, "fault": str(err)}
    rows = {}
    if has_rows(record["system"], part.name, check.benchmark_name):
        rows = {name: check.judged_by_row(name, unit)[0] for name, unit in check.declared.items()}
    return {
        **record,
        "keys": check.parameters(),
        "metrics": check.declared,
        "judged": {name: [str(row.path), row.line] for name, row in rows.items() if row},
    }


if __name__ == "__main__":
    try:
        start(sys.argv[1])
    except Exception as err:
        sys.exit(f"the configuration of {sys.argv[1]}: {err}")
    cases = []
    for stem in sys.argv[2:]:
        try:
            cases += [record for check in checks_of(stem) for record in records(check)]
        except Exception as err:
            sys.exit(f"checks/{stem}.py: {type(err).__name__}: {err}")
    # In one go: `json.dump` encodes piece by piece, in Python.
    sys.stdout.write(json.dumps(cases))
