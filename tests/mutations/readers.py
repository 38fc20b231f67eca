"""Readers of outputs, each as the checks of its suite read one.

A function of `SUITES` takes a whole output and returns how a check that had asked for just this
run reads one: `read(text)` -> {metric: (value, unit)}. Both raise ParseError for what is refused.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone

from acceptance.core import words
from acceptance.core.errors import ParseError
from acceptance.nodes import Causes, under_load
from acceptance.suites import (
    detours,
    hpcc,
    hpcc_output,
    imb,
    imb_output,
    loaded,
    netperf,
    npb,
    osu,
    patterns,
)

#: Metric -> value and unit.
Values = dict[str, tuple[float, str]]
Reader = Callable[[str], Values]
#: When HPCC says that a test began.
TIME = re.compile(r"^Current time \((\d+)\)", re.MULTILINE)


def imb_reader(text: str) -> Reader:
    """Ask for the one benchmark of an output of IMB, and for its processes."""
    whole = imb_output.parse(text)
    name, processes = imb.key_of(whole.family, whole.benchmark), whole.tables[0].processes
    columns = imb.BENCHMARKS[name].columns
    whole.only_table(name, processes)
    repetitions = int(whole.tables[0].rows[0].values.get("repetitions", 0))
    asked = whole.called, repetitions, (at(whole.date), at(whole.date))

    def read(text: str) -> Values:
        output = imb_output.parse(text)
        table = output.only_table(name, processes)
        refuse(output.of_another_job(*asked))
        if output.threads != whole.threads:
            raise ParseError("mutation", "another number of threads")
        output.require_columns(table, [column.name for column in columns])
        return {
            name_of(column.stem, row.size): (row.values[column.name], column.unit)
            for column in columns
            for row in table.rows
            if imb.counts_size(name, column, row.size)
        }

    return read


def at(told: datetime | None) -> datetime:
    """Return a time that an output tells as that of its job."""
    return (told or datetime.fromtimestamp(0)).replace(tzinfo=timezone.utc)


def refuse(contradictions) -> None:
    for each in contradictions:
        raise ParseError("mutation", each.text)


def osu_reader(text: str, program: str = "") -> Reader:
    """Ask for the program and processes of an output of OMB; validated if it was."""
    (whole,) = osu.parse(text, program=program).tables
    name, validated = whole.benchmark, "validation" in whole.columns
    processes = whole.processes or (4 if is_refused(text, name, 2) else 2)
    percentiles = [c for c in osu.BENCHMARKS[name].percentiles if c.name in whole.columns]
    # The job adds the line that has hello's metric.
    added = "launched in 431209 us\n" if name == "hello" else ""

    def read(text: str) -> Values:
        # A mutation of the last line would cut the one that the job adds off the program's.
        output = osu.parse(text + added, "stdout", processes, name)
        table = output.only_table(name, processes)
        if validated != ("validation" in table.columns):
            raise ParseError("mutation", "not verified")
        output.require_columns(table, [column.name for column in percentiles])
        return {
            name_of(column.stem, row.size): (row.values[column.name], column.unit)
            for column in (*osu.BENCHMARKS[name].columns, *percentiles)
            for row in table.rows
        }

    return read


def is_refused(text: str, program: str, processes: int) -> bool:
    """Tell whether an output of OMB, which does not say of how many processes, is not of these."""
    try:
        osu.parse(text, "stdout", processes, program).only_table(program, processes)
    except ParseError:
        return True
    return False


def hpcc_reader(text: str) -> Reader:
    """Ask for the problem and the processes of an output of HPCC."""
    summary = hpcc_output.parse(text).summary
    times = [datetime.fromtimestamp(int(each), timezone.utc) for each in TIME.findall(text)]
    asked = {
        "order": int(summary["HPL_N"]),
        "block": int(summary["HPL_NB"]),
        "grid": (int(summary["HPL_nprow"]), int(summary["HPL_npcol"])),
        "processes": int(summary["CommWorldProcs"]),
    }

    def read(text: str) -> Values:
        output = hpcc_output.parse(text)
        refuse(output.of_another_job((times[0], times[-1])))
        output.check(**asked)
        return hpcc.values(
            output.summary, asked["processes"], ep_in_cache=False, single_in_cache=False
        )

    return read


def netperf_reader(text: str) -> Reader:
    """Ask for the test and the sizes of an output of netperf."""
    values = dict(re.findall("^([A-Z_]+)=(.*)$", text, re.MULTILINE))
    test = text.partition("MIGRATED ")[2].partition(" TEST")[0].replace(" ", "_")
    name, sizes = test.replace("REQUEST/RESPONSE", "RR"), ("REQUEST_SIZE", "RESPONSE_SIZE")
    sent, received = (int(values[size]) for size in sizes)
    if sent < 0:
        sent, received = int(values["LOCAL_SEND_SIZE"]), 0
    run, seconds = netperf.Run(name, sent, received, 0, 0), float(values["ELAPSED_TIME"])
    netperf.parse(text, "stdout", run, seconds)

    def read(text: str) -> Values:
        output = netperf.parse(text, "stdout", run, seconds)
        columns = netperf.BENCHMARKS[name].columns
        return {each.stem: (output.values[each.name], each.unit) for each in columns}

    return read


def npb_reader(text: str) -> Reader:
    """Ask for the benchmark, class and processes of an output of NPB."""
    whole = npb.parse(text)
    problem_class, processes = whole.values["Class"], whole.values["Total processes"]
    columns = [
        column
        for column in npb.METRICS
        if column in npb.BENCHMARKS[whole.benchmark].columns
        and (problem_class != "S" or column.stem != "time")
    ]

    def read(text: str) -> Values:
        result = npb.only_result(text, whole.benchmark, problem_class, processes)
        found = {column.stem: (getattr(result, column.name), column.unit) for column in columns}
        return found | {"is judged": (float(result.seconds >= npb.TIMING_FLOOR), "")}

    return read


def patterns_reader(text: str) -> Reader:
    """Ask for the pattern, the ranks and the message sizes of an output of our own program."""
    if '"pattern":"loaded"' in text:
        run = loaded.Measured(text)
        asked = "stdout", run.run.ranks, run.options.bytes
        return lambda text: under_load(loaded.Measured(text, *asked)).metrics
    whole = patterns.parse(text)
    name, ranks = whole.run.pattern, whole.run.ranks
    (row,) = (row for row in patterns.BENCHMARKS.values() if row.program == name)
    row = replace(row, sizes=whole.options.sizes or ())

    def read(text: str) -> Values:
        output = patterns.parse(text, pattern=name, ranks=ranks)
        return patterns.metrics(row, ranks, output)

    return read


def detours_reader(text: str) -> Reader:
    """Ask for the ranks of an output of `patterns detours`."""
    ranks = detours.Measured(text).run.ranks

    def read(text: str) -> Values:
        return Causes.of(detours.Measured(text, ranks=ranks)).metrics()

    return read


def name_of(stem: str, size: int | None) -> str:
    return stem if size is None else words.sized(stem, size)


SUITES: dict[str, Callable[..., Reader]] = {
    "imb": imb_reader,
    "osu": osu_reader,
    "hpcc": hpcc_reader,
    "netperf": netperf_reader,
    "npb": npb_reader,
    "patterns": patterns_reader,
    "detours": detours_reader,
}
