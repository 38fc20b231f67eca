"""SPEC MPI2007, medium suite: 13 codes, each in a run of its own, as in kandadai2009.

The installation is the site's, since the suite is licensed: the folder with `shrc`, `bin/runspec`
and `config/`. `runspec` starts the ranks as the configuration says, checks what they computed, and
writes a table (`--output_format=csv`, MPIM2007.<number>.<size>.csv)::

    valid,0

    "Full Results Table"

    Benchmark,"Base # Ranks","Est. Base Run Time","Est. Base Ratio",...,"Base Status",...
    104.milc,64,262.012345,5.973,1,S,,,,,,"mref iteration #1"
    107.leslie3d,,,,,NR,,,,,NR

    "Selected Results Table"

It has the selected ones once more, with `SelectedIteration (base #1; peak #1)`, and ends in a line
`"Tested with SPEC MPI2007 ",v2.0.  Report",...`. A status is S, or what went wrong (CE: compiling,
RE: running, VE: the results are wrong). Times are in s; a run that may not be published is an
estimate (Est.). Source: the suite's formatter csv.pl, revision 6364.
"""

import csv
import re
from collections.abc import Mapping

from acceptance.core.errors import ParseError
from acceptance.suites.output import LineReader
from acceptance.suites.records import TIME, Benchmark, Suite

PROGRAM, SETTINGS, SIZE = "runspec", "shrc", "mref"
#: The codes of the medium suite.
CODES = (
    *("104.milc", "107.leslie3d", "113.GemsFDTD", "115.fds4", "121.pop2", "122.tachyon"),
    *("126.lammps", "127.wrf2", "128.GAPgeofem", "129.tera_tf", "130.socorro", "132.zeusmp2"),
    "137.lu",
)
#: The macro that is the command which starts ranks; in the configuration: `submit =
#: %{acceptance_launch} $command`.
LAUNCH = "acceptance_launch"
BENCHMARKS = {
    f"specmpi.{code}": Benchmark(code, (TIME,), sized=False, since_mode="acceptance")
    for code in CODES
}
SUITE = Suite("specmpi", "SPEC MPI2007", (PROGRAM,), "", BENCHMARKS, inputs=(SETTINGS, "config"))

#: The tables, and what begins a row's last field there.
_TABLES = {"Full Results Table": SIZE, "Selected Results Table": "SelectedIteration (base #1"}
_COLUMNS = ("Base # Ranks", "Base Run Time", "Base Status", "Description")
_STATUS = {
    "CE": "it was not compiled", "RE": "it ended with a failure", "VE": "its results are wrong",
    "NR": "it did not run",
}  # fmt: skip


#: The last line, with the version of the suite.
_END = re.compile(r'"Tested with SPEC MPI\S* ","?v(?P<version>[\d.]+?)\.  Report')


def options(code: str, processes: int, config: str) -> list[str]:
    """Return the options of `runspec`, but for the macro, by which it runs a code once."""
    return [
        *(f"--config={config}", f"--size={SIZE}", f"--ranks={processes}", "--tune=base"),
        *("--iterations=1", "--noreportable", "--output_format=csv", code),
    ]


class Output(LineReader):
    """The table of one run of one code; both places of a result are to agree."""

    suite = "SPEC MPI2007"
    decimal = re.compile(r"\d+(\.\d+)?\Z", re.ASCII)

    version = ""

    def read(self, code: str, processes: int) -> float:
        """Return the time (s) of a code with so many processes."""
        self.benchmark = code
        end = _END.match(self.text.rstrip("\n").rpartition("\n")[2])
        if not end or not self.text.endswith("\n"):
            raise self.error("the table is cut: its last line is another")
        self.version = end["version"]
        rows = [self._row(title, code) for title in _TABLES]
        for title, (number, row) in zip(_TABLES, rows, strict=True):
            self.stand(number, ",".join(row.values()))
            if (status := row["Base Status"]) != "S":
                raise self.error(f"the status is {status}: {_STATUS.get(status, 'not known')}")
            if (ranks := self.integer(row["Base # Ranks"])) != processes:
                raise self.error(f"ran with {ranks} processes instead of {processes}")
            if not row["Description"].startswith(_TABLES[title]):
                raise self.error(f"{row['Description']!r} instead of {_TABLES[title]!r}")
        times = {self.real(row["Base Run Time"]) for _, row in rows}
        if len(times) != 1 or not all(times):
            raise self.error(f"times of {' and '.join(map(str, sorted(times)))} s")
        return times.pop()

    def _row(self, title: str, code: str) -> tuple[int, dict[str, str]]:
        """Return the one row of a code in a table, with its line."""
        lines = self.text.splitlines()
        if lines.count(f'"{title}"') != 1:
            raise self.error(f"there is no {title}, or several")
        begin, header, found = lines.index(f'"{title}"') + 1, list[str](), []
        for number, fields in enumerate(csv.reader(lines[begin:]), begin + 1):
            if fields[:1] == ["Benchmark"]:
                header = [name.removeprefix("Est. ") for name in fields]
            elif fields[:1] == [code]:
                found.append((number, fields))
            elif header and fields in ([], [""]):
                break
        if len(found) != 1 or {*_COLUMNS} - {*header}:
            raise self.error(f"{title}: {len(found)} rows of {code}, where one run was asked for")
        number, fields = found[0]
        if len(fields) != len(header):
            self.stand(number, ",".join(fields))
            raise self.error(f"{len(fields)} values under a title of {len(header)}")
        return number, dict(zip(header, fields, strict=True))


def parse(text: str, code: str, processes: int, source: str) -> tuple[float, str]:
    """Return the time (s) that a table has of a code, and the suite's version.

    Raises ParseError, with the line, for another run, one that failed, and a table that is cut.
    """
    output = Output(text, source)
    return output.read(code, processes), output.version


def table_of(tables: Mapping[str, str], code: str, processes: int) -> str:
    """Return the name of the table that a run of a code has written, of those that are there.

    Of several, by name, it is the one that has a result of the code with so many processes: other
    runs of the installation may end meanwhile. Raises ParseError for none, or several.
    """
    result = f"\n{code},{processes},"
    names = [name for name in tables if len(tables) == 1 or result in tables[name]]
    if len(names) != 1:
        told = f"{', '.join(names or tables)}: which is of this run?"
        raise ParseError(PROGRAM, told if tables else "it wrote no table")
    return names[0]
