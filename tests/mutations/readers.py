"""Readers of outputs, each as the checks of its suite read one.

A function of `SUITES` takes a whole output and returns how a check that had asked for just this
run reads one: `read(text)` -> {metric: (value, unit)}. Both raise ParseError for what is refused.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from acceptance.core import metrics
from acceptance.core.errors import ParseError
from acceptance.suites.hpcc import benchmarks as hpcc
from acceptance.suites.hpcc import output as hpcc_output
from acceptance.suites.imb import benchmarks as imb
from acceptance.suites.imb import multi_output
from acceptance.suites.imb import output as imb_output
from acceptance.suites.npb import benchmarks as npb
from acceptance.suites.npb import output as npb_output
from acceptance.suites.osu import benchmarks as osu
from acceptance.suites.osu import output as osu_output
from acceptance.suites.patterns import benchmarks as patterns
from acceptance.suites.patterns import output as patterns_output

#: Metric -> value and unit.
Values = dict[str, tuple[float, str]]
Reader = Callable[[str], Values]


def imb_reader(text: str) -> Reader:
    """Ask for the one benchmark of an output of IMB-MPI1, and for its processes."""
    if "        Group " in text:
        return pairs_reader(text)
    (whole, *others) = imb_output.parse(text).tables
    if others or ", MPI-1 part" not in text:
        raise ParseError("recorded", "no check runs several benchmarks at once, or another program")
    name, processes = whole.benchmark, whole.processes
    columns = imb.BENCHMARKS[name].columns

    def read(text: str) -> Values:
        table = imb_output.only_table(imb_output.parse(text), name, processes)
        if missing := [column.name for column in columns if column.name not in table.columns]:
            raise ParseError("mutation", f"no column for {missing[0]}")
        return {
            name_of(column.stem, row.size): (row.values[column.name], column.unit)
            for column in columns
            for row in table.rows
            if imb.counts_size(name, column, row.size)
        }

    return read


def pairs_reader(text: str) -> Reader:
    """Ask for all pairs of the ranks at once, as `checks/nodes.py` does."""
    groups = re.search(r"(\d+) groups of 2", text)
    ranks = 2 * int(groups[1]) if groups else 2
    ranks += "additional process" in text
    sizes = sorted({int(size) for size in re.findall(r"^ {12}0 +(\d+) ", text, re.MULTILINE)})

    def read(text: str) -> Values:
        tables = multi_output.parse_pairs(text, ranks, sizes).tables
        return {
            f"{number}.{column}_{row.size}": (row.values[column], unit)
            for number, table in enumerate(tables)
            for row in table.rows
            for column, unit in (("t", "us"), ("mbytes", "MB/s"))
        }

    return read


def osu_reader(text: str) -> Reader:
    """Ask for the program and processes of an output of OMB; validated if it was."""
    whole = osu_output.parse(text)
    processes = whole.processes or (4 if is_refused(text, whole.program, 2) else 2)
    program, validated = osu.BENCHMARKS[whole.program], "validation" in whole.columns
    # The job adds the line that has hello's metric.
    added = "launched in 431209 us\n" if whole.program == "hello" else ""

    def read(text: str) -> Values:
        # A mutation of the last line would cut the one that the job adds off the program's.
        table = osu_output.only_table(text + added, whole.program, processes)
        if validated != ("validation" in table.columns):
            raise ParseError("mutation", "not verified")
        return {
            name_of(column.stem, row.size): (row.values[column.name], column.unit)
            for column in program.columns
            for row in table.rows
        }

    return read


def is_refused(text: str, program: str, processes: int) -> bool:
    """Tell whether an output of OMB, which does not say of how many processes, is not of these."""
    try:
        osu_output.only_table(text, program, processes)
    except ParseError:
        return True
    return False


def hpcc_reader(text: str) -> Reader:
    """Ask for the problem and the processes of an output of HPCC."""
    summary = hpcc_output.parse(text).summary
    asked = {
        "order": int(summary["HPL_N"]),
        "block": int(summary["HPL_NB"]),
        "grid": (int(summary["HPL_nprow"]), int(summary["HPL_npcol"])),
        "processes": int(summary["CommWorldProcs"]),
    }

    def read(text: str) -> Values:
        output = hpcc_output.parse(text)
        hpcc_output.check(output, **asked)
        return hpcc.values(
            output.summary, asked["processes"], ep_in_cache=False, single_in_cache=False
        )

    return read


def npb_reader(text: str) -> Reader:
    """Ask for the benchmark, class and processes of an output of NPB."""
    whole = npb_output.parse(text)
    columns = [c for c in npb.METRICS if whole.problem_class != "S" or c.stem != "time"]

    def read(text: str) -> Values:
        result = npb_output.only_result(text, whole.name, whole.problem_class, whole.processes)
        found = {column.stem: (getattr(result, column.name), column.unit) for column in columns}
        return found | {"is judged": (float(result.seconds >= npb.TIMING_FLOOR), "")}

    return read


def patterns_reader(text: str) -> Reader:
    """Ask for the pattern, the ranks and the message sizes of an output of our own program."""
    header = patterns_output.parse(text).header
    name, ranks = header["pattern"], int(header["ranks"])
    (row,) = (row for row in patterns.BENCHMARKS.values() if row.program == name)
    row = replace(row, sizes=tuple(map(int, header.get("sizes", "0").split(","))))

    def read(text: str) -> Values:
        output = patterns_output.parse(text, pattern=name, ranks=ranks)
        return patterns.metrics(row, ranks, output)

    return read


def name_of(stem: str, size: int | None) -> str:
    return stem if size is None else metrics.sized(stem, size)


SUITES: dict[str, Callable[[str], Reader]] = {
    "imb": imb_reader,
    "osu": osu_reader,
    "hpcc": hpcc_reader,
    "npb": npb_reader,
    "patterns": patterns_reader,
}
