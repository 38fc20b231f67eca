"""Claims of a made site, and results to evaluate them on."""

import csv
import shutil

from acceptance.references.records import CLAIM_COLUMNS
from tests.made import Case
from tests.utils.relations.second_reading import REFERENCE

OLD, NEW = "mine:old", "mine:new"
ROW = {
    "paper": "mine", "where": "contract of 2026-03", "benchmark": "imb.Alltoall", "metric": "time",
    "parameters": "", "left": NEW, "right": OLD, "relation": ">=", "value": "20", "unit": "%",
    "printed": "20", "expected": "yes", "note": "",
}  # fmt: skip


def copy_of_references(folder):
    """Copy the project's references, for claims of a site; return the copy."""
    copy = folder / "reference"
    shutil.copytree(REFERENCE, copy)
    (copy / "sites/claims").mkdir(parents=True, exist_ok=True)
    return copy


def write(folder, *changes, name="mine"):
    path = folder / f"sites/claims/{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, CLAIM_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**ROW, **change} for change in changes)
    return path


def result(
    where,
    value,
    *,
    day=0,
    unit="us",
    stem="time_8",
    benchmark="imb.Alltoall",
    result="pass",
    environment="spack-openmpi",
    fixture=False,
    **keys,
):
    """Make a case with one metric, or several of a dictionary; and the day of its session."""
    values = value if isinstance(value, dict) else {stem: value}
    own = {"np": "8", "nodes": "2", "placement": "inter-node", "mapping": "block", **keys}
    return day, Case(
        metrics={name: (number, unit) for name, number in values.items()},
        system=where.split(":")[0],
        partition=where.split(":")[1],
        environment=environment,
        keys={key: text for key, text in own.items() if text},
        benchmark=benchmark,
        result=result,
        fixture=fixture,
    )
