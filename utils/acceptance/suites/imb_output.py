"""Outputs of the Intel MPI Benchmarks (IMB) 2018 to 2021.

The form, of which each run of a benchmark prints one table::

    #    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
    # Benchmarking Sendrecv
    # #processes = 2
    # ( 2 additional processes waiting in MPI_Barrier)
           #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
                0           50         0.29         0.29         0.29         0.00
                1           50         0.18         0.19         0.18        10.73

    # All processes entering MPI_Finalize

Where an operation can be completed at once or many together, there is a table of each, called
`#    MODE: NON-AGGREGATE` and `#    MODE: AGGREGATE`. IMB-MT prints no last line and tells
`(threads: 1)` with the processes. IMB-HALO has no first line either, and no tables::

    # Benchmarking simple_halo (processes: 2; threads: 1; dimensions: 1)
    4(x4)(bytes) 0.58435(usec) 27.3809(Mb/s)

Times are in us; Mbytes are 10^6 bytes since IMB 2018 (2^20 up to IMB 4, which this parser
refuses). Numbers are printed with `%13d`, `%13.2f` and the message rate with `%13.0f`, names in the
header with `%13s`, and all of IMB-HALO with `%g`.

Sources: the IMB user guide 2021 ("Reported throughput"), outputs of IMB 2021.7 and 2021.11, of
2018.0 to 2021.11 the functions IMB_edit_format, IMB_display_times and IMB_calculate_times
(IMB_output.c), and of 2021.11 MT_benchmark.h, imb_p2p_*.c and halo_benchmark.h.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from acceptance.core.findings import Finding
from acceptance.suites.imb import (
    BENCHMARKS,
    MANY,
    PREFIX,
    SECONDS,
    SINGLE,
    ImbBenchmark,
    key_of,
    repeated,
)
from acceptance.suites.output import HALF, SLACK, JobTime, Range, Table, Tables

#: What the first line calls a component -> its family.
_FAMILIES = {
    "MPI-1": "mpi1", "MPI-2": "ext", "MPI-NBC": "nbc", "MPI-RMA": "rma", "MPI-IO": "io",
    "MPI-4": "mpi4", "MPI-1 (GPU)": "gpu", "IMB-P2P": "p2p", "MT": "mt",
}  # fmt: skip
#: Header token -> name of the column. Barrier has no `#bytes`.
_NAMES = {
    "#bytes": "size",
    "#repetitions": "repetitions",
    "t[usec]": "t",
    "t_min[usec]": "t_min",
    "t_max[usec]": "t_max",
    "t_avg[usec]": "t_avg",
    "Mbytes/sec": "bandwidth",
    "Msg/sec": "messages",
    "t_ovrl[usec]": "t_ovrl",
    "t_pure[usec]": "t_pure",
    "t_CPU[usec]": "t_cpu",
    "overlap[%]": "overlap",
    "defects": "defects",
}

_VERSION = re.compile(
    r"#\s+Intel ?\(R\) MPI Benchmarks? (?:Suite )?V?(?P<version>[\w. ]+?), (?P<part>\S+) part"
    r"(?P<gpu> \(GPU\))?"
)
_BENCHMARK = re.compile(r"# Benchmarking (?P<name>\S+)(?: \(\d+( x \d+)+\))?\s*\Z")
_MODE = re.compile(rf"#\s+MODE: (?P<mode>{SINGLE}|{MANY})\s*\Z")
_PROCESSES = re.compile(r"# #processes = (?P<n>\d+)(?: \(threads: (?P<threads>\d+)\))?\s*\Z")
_HALO = re.compile(
    r"# Benchmarking simple_halo "
    r"\(processes: (?P<n>\d+); threads: (?P<threads>\d+); dimensions: (?P<sides>\d+)\)\Z"
)
_HALO_ROW = re.compile(
    r"(?P<size>[^( ]+)\(x(?P<messages>[^) ]+)\)\(bytes\) "
    r"(?P<time>\S+)\(usec\) (?P<rate>\S+)\(Mb/s\)\Z"
)
_GENERAL = re.compile(r"\d+(\.\d+)?(e[-+]\d\d)?\Z", re.ASCII)
_DATE = re.compile(r"# Date\s+: (?P<date>\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\Z", re.ASCII)
#: How the program was called; up to 2018 in several lines.
_CALL = re.compile(r"^# Calling sequence was: *\n(?:#? *\n)*(?P<call>(?:# *\S.*\n)+)", re.MULTILINE)
_MPI = re.compile(r"# MPI Version\s+: (?P<version>\S+)")
#: What IMB writes instead of a row's values where it gives a message size up -> what that means.
#: Source: IMB 2021.7 and 2021.11, src_c/IMB_output.c, the cases of `sample_failure`.
_GIVEN_UP = {
    "time-out.;": "IMB gave this size up: its time limit (-time) was over",
    "out-of-mem.;": "IMB gave this size up: it needs more memory than its limit (-mem)",
    "int-overflow.;": "IMB gave this size up: the bytes of all ranks are more than an int holds",
}
# Since 2021.8.
_GIVEN_UP["int-overflow;"] = _GIVEN_UP["int-overflow.;"]
#: A time is far off another one from this factor on, and near to it up to that one.
_FAR, _NEAR = 4.0, 1.25
#: Sizes whose times show an order: those of fewer may be in one by chance on a busy machine.
_IN_ORDER = 5
#: What IMB-MT prints for more messages a second than an int holds (MT_benchmark.h casts): on x86
#: and on ARM.
_INT_MAX = 2**31 - 1
_TOO_MANY = (f"{-_INT_MAX - 1}", f"{_INT_MAX}")
#: The first try of a size, by which IMB's limit of time (`SECONDS`) leaves repetitions out, may
#: have been so many times slower, on a busy node, than what was measured then.
_SLOWER = 10
#: Messages of each process that a repetition of Uniband and Biband has (MAX_WIN_SIZE).
_WINDOW = 64
_FINISHED = "# All processes entering MPI_Finalize"
_FIRST_DECIMAL_YEAR = 2018


def parse(text: str, source: str = "stdout") -> "Output":
    """Read the complete output of one run of an IMB program.

    Raises ParseError, with the line, for anything but a complete and consistent output.
    """
    output = Output(text, source)
    for line in output.lines():
        output.read_line(line, line.strip())
    output.check_whole()
    return output


class Output(Tables):
    """An output of IMB, with a table for each benchmark."""

    suite = "IMB"
    names = _NAMES
    whole = ("repetitions", "messages")
    above_zero = ("t", "t_max", "t_avg", "t_pure", "t_ovrl")
    times = ("t_min", "t_avg", "t_max")
    half_rate = 0.5

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.finished = False
        #: The component, how many threads each process has, and sides the grid of IMB-HALO.
        self.family = ""
        self.threads, self.dimensions = 1, 0
        #: When it began, by the clock of its first rank; None: not told.
        self.date: datetime | None = None
        self.dated = 0

    @property
    def row(self) -> ImbBenchmark:
        """Return the row of the benchmark that the reader stands in."""
        return BENCHMARKS[key_of(self.family, self.benchmark)]

    @property
    def called(self) -> list[str]:
        """Return the arguments that the program says it got; none: it does not say."""
        found = _CALL.search(self.text)
        return re.sub("^#", "", found["call"], flags=re.MULTILINE).split()[1:] if found else []

    def only_table(self, benchmark: str, processes: int) -> Table:
        """Return the one table of a run, or its two joined: see `Tables.only_table`."""
        row = BENCHMARKS[benchmark]
        self.stand()
        if self.family != row.family:
            self.benchmark = row.name
            raise self.error(
                f"the output is that of IMB-{self.family.upper()}, not of {row.program}"
            )
        count, processes = max(1, len(row.modes)), 1 if row.alone else processes
        tables = self.only_tables(row.name, processes, count)
        modes = sorted(table.mode for table in tables if table.mode)
        if modes != sorted(row.modes):
            raise self.error(f"tables of the modes {modes} instead of {sorted(row.modes)}")
        return self._joined(*sorted(tables, key=lambda table: table.mode != SINGLE))

    def of_another_job(self, asked: Sequence[str], count: int, job: JobTime) -> Iterator[Finding]:
        """Yield what contradicts the job that asked a program for these words.

        `count` is how many repetitions it asked for. IMB-MT and IMB-HALO tell neither their time
        nor how they were called, IMB-HALO no repetitions.
        """
        if self.family not in ("mt", "halo"):
            lines = self.text.splitlines()
            if self.date is None:
                raise self.error("no line '# Date', by which the output is of this job")
            self.stand(self.dated, lines[self.dated - 1])
            yield from self.outside(self.date, job)
            self.stand()
            if self.called != [*asked]:
                yield self.contradiction("arguments", " ".join(self.called), " ".join(asked))
        for table in self.tables:
            yield from self._repeated_otherwise(table, count)

    def _repeated_otherwise(self, table: Table, count: int) -> Iterator[Finding]:
        """Yield the first row of a table that was repeated more often than asked for, or less.

        Less is what IMB's time limit leaves, of which the row says how long one took; no size is
        repeated more often than the one before it.
        """
        self.benchmark, most = table.benchmark, count
        for row in (row for row in table.rows if "repetitions" in row.values):
            key = key_of(self.family, table.benchmark)
            ran = int(row.values["repetitions"])
            most = min(most, repeated(key, table.mode, row.size, count))
            least = most
            if self.family not in ("p2p", "mt"):
                time = self._time_of_one(table, row.values)
                least = math.ceil(min(most, 1e6 * SECONDS / time) / _SLOWER)
            if not least <= ran <= most:
                self.stand(row.number, self.text.splitlines()[row.number - 1])
                of = "" if row.size is None else f" of {row.size} bytes"
                yield self.contradiction(f"repetitions{of}", f"{ran}", f"{most}")
                return
            most = ran

    def _time_of_one(self, table: Table, values: Mapping[str, float]) -> float:
        """Return how long one repetition took (us), that of Uniband and Biband by its messages."""
        times = [value for name, value in values.items() if name.startswith("t")]
        messages = _WINDOW * table.processes
        return max(HALF, *times, 0 if times else 1e6 * messages / max(1, values["messages"]))

    def _time(self, text: str) -> datetime:
        """Read a time as C's `asctime` writes it, in no locale."""
        try:
            return datetime.strptime(text, "%a %b %d %H:%M:%S %Y")
        except ValueError:
            raise self.error("that is no time as IMB prints it") from None

    def _joined(self, first: Table, second: Table | None = None) -> Table:
        """Return a table with the columns of a second one, of the other mode, as well."""
        if second is None:
            return first
        many = {each.size: each for each in second.rows}
        if [*many] != [each.size for each in first.rows]:
            self.stand(second.number)
            raise self.error("the tables of both modes have other message sizes")
        return replace(
            first,
            columns=(*first.columns, *(PREFIX + name for name in second.columns[1:])),
            rows=[
                replace(
                    each,
                    values=each.values
                    | {PREFIX + name: value for name, value in many[each.size].values.items()},
                )
                for each in first.rows
            ],
        )

    def check_whole(self) -> None:
        """Refuse an output of which a part is missing."""
        if not self.family:
            first = next(line for line in self.text.splitlines() if line.strip())
            self.benchmark = ""
            self.stand(0, first)
            raise self.error("this is no output of IMB, or not its beginning")
        if self.family in ("mt", "halo"):
            self.require_last_line()
        elif not self.finished:
            raise self.error(f"the output ends in the middle, without {_FINISHED!r}")
        if not self.tables:
            self.stand()
            raise self.error("the program ran no benchmark at all")
        for table in self.tables:
            self.benchmark = table.benchmark
            self.check_order(table)
            if not table.rows:
                self.stand(table.number)
                raise self.error("a table without rows")

    def read_line(self, line: str, stripped: str) -> None:
        """Read a line of any kind."""
        if stripped.startswith("Invalid "):
            raise self.error("the program did not understand its arguments")
        if (match := _VERSION.match(line) or _HALO.match(line)) and self.family:
            raise self.error("the output of a second run")
        if match := _VERSION.match(line):
            self.version = match["version"]
            self.check_version(self.version)
            self.family = _FAMILIES.get(match["part"] + (match["gpu"] or ""), "")
            if not self.family:
                raise self.error(f"a component of IMB that is not known: {match['part']}")
        elif match := _HALO.match(line):
            self.family, self.threads = "halo", int(match["threads"])
            self.dimensions = int(match["sides"])
            self.begin(Table("simple_halo", self.number, int(match["n"])))
        elif match := _DATE.match(line):
            self.date, self.dated = self._time(match["date"]), self.number
        elif match := _MPI.match(line):
            self.mpi_standard = match["version"]
        elif match := _BENCHMARK.match(line):
            self.begin(Table(match["name"], self.number))
        elif stripped.startswith(_FINISHED):
            self.finished = True
        elif self.finished and re.match(r"\d", stripped):
            raise self.error("a row after the end of the output")
        elif self.tables and not self.finished:
            self.read_in_table(self.tables[-1], stripped)

    def check_version(self, version: str) -> None:
        """Refuse an IMB of another megabyte."""
        year = re.match(r"\d{4}", version)
        if not year or int(year[0]) < _FIRST_DECIMAL_YEAR:
            raise self.error(
                f"IMB {version} counts a megabyte as 2^20 bytes; use IMB 2018 or newer"
            )

    def begin(self, table: Table) -> None:
        """Begin with a table."""
        self.benchmark = table.benchmark
        if not self.family:
            return  # an output without its beginning, which is refused at its end
        if key_of(self.family, table.benchmark) not in BENCHMARKS:
            raise self.error(f"a benchmark of IMB-{self.family.upper()} that is not known")
        self.tables.append(table)

    def read_in_table(self, table: Table, stripped: str) -> None:
        """Read a line between two titles."""
        if match := _PROCESSES.match(self.line):
            table.processes = int(match["n"])
            self.threads = int(match["threads"] or 1)
        elif match := _MODE.match(self.line):
            if table.mode:
                raise self.error("a second mode of one table")
            table.mode = match["mode"]
        elif self.family == "halo" and stripped:
            self.read_halo(table, stripped)
        elif stripped.startswith(("#bytes", "#repetitions")):
            self.read_header(table, stripped, ["repetitions"])
            order = [name for name in _NAMES.values() if name in table.columns]
            # Of the two times of an overlap IMB-RMA prints the other one first.
            if order != [*table.columns] and "t_pure" not in order:
                raise self.error("the columns stand in another order than IMB prints them")
        elif not stripped or stripped.startswith("#"):
            return
        elif table.columns:
            self.read_row(table, stripped.split())
        else:
            raise self.error("a line between a benchmark's title and its header")

    def read_row(self, table: Table, tokens: Sequence[str]) -> None:
        """Read a row of a table, if it has values."""
        for token in tokens:
            if token in _GIVEN_UP:
                raise self.error(_GIVEN_UP[token])
        super().read_row(table, tokens)

    def read_halo(self, table: Table, stripped: str) -> None:
        """Read a line of IMB-HALO, in which all of the messages of a process are counted."""
        self.require_whole_line()
        if not (match := _HALO_ROW.match(stripped)):
            raise self.error("that is no line as IMB-HALO prints them")
        size, messages = self.integer(match["size"]), self.integer(match["messages"])
        time, rate = (self.general(match[name]) for name in ("time", "rate"))
        if not time.under(size * messages).agrees(rate, slack=SLACK):
            raise self.error(
                f"the bandwidth {rate.value:g} is not that of its line, {size * messages} bytes in "
                f"{time.value:g} us: {size * messages / time.value:g}"
            )
        table.columns = ("size", "t", "bandwidth")
        self.add_row(table, size, {"t": time.value, "bandwidth": rate.value})

    def general(self, token: str) -> Range:
        """Read a number above zero as C++ prints it: `%g`, of six digits."""
        if not _GENERAL.match(token) or token != f"{float(token):g}" or not float(token):
            raise self.error(f"{token!r} is no number as IMB-HALO prints it")
        value = float(token)
        return Range.rounded(value, 0.5 * 10.0 ** (math.floor(math.log10(value)) - 5))

    def value(self, name: str, token: str) -> float:
        """Read a value of a column; defects are none, messages maybe more than an int holds."""
        if self.family == "mt" and name == "messages" and token in _TOO_MANY:
            return math.inf
        value = super().value(name, token)
        if name == "defects" and value:
            raise self.error("the benchmark found defects in the data it received")
        return value

    def add_row(self, table: Table, size: int | None, values: dict[str, float]) -> None:
        """Add a row as `Tables` does; what computation hides has to follow from its times."""
        if "overlap" in values:
            self.check_overlap(*(values[name] for name in ("t_ovrl", "t_pure", "t_cpu", "overlap")))
        super().add_row(table, size, values)

    def check_overlap(self, both: float, pure: float, computing: float, overlap: float) -> None:
        """Compare a share with its times: hidden is what both take less one after the other."""
        shared = min(pure, computing) if self.family == "io" else max(pure, computing)
        hidden = pure + computing - both
        # Within what printing has rounded off, and from nothing to all.
        ends = [
            100 * min(1.0, max(0.0, (hidden + off) / max(shared + by, HALF)))
            for off in (-3 * HALF, 3 * HALF)
            for by in (-HALF, HALF)
        ]
        if not min(ends) - 2 * HALF <= overlap <= max(ends) + 2 * HALF:
            raise self.error(
                f"the overlap {overlap:.2f} % is not that of its line: {hidden:.2f} of "
                f"{shared:.2f} us are hidden"
            )

    def check_average(
        self, low: float, average: float, high: float, processes: int, slack: float = 2 * HALF
    ) -> None:
        """Compare the times of all threads of all processes."""
        super().check_average(low, average, high, processes * self.threads, slack)

    def check_rate(self, table: Table, size: int | None, values: dict[str, float]) -> None:
        """Compare what a line says twice.

        IMB-MT counts messages by the average of the times, and the bytes of one thread by the
        longest one, which is at most the sum of all. IMB-P2P counts both by the longest one, and
        its time is the sum of all over the messages, halved for a PingPong.
        """
        if self.family != "mt" or "messages" not in values:
            super().check_rate(table, size, values)
            if self.family == "p2p":
                if not {"t", "messages"} <= values.keys():
                    raise self.error("IMB-P2P prints time and messages a second beside each rate")
                ways = 2 if table.benchmark == "PingPong" else 1
                time = Range.rounded(values["t"]).times(ways / 1e6)
                rate = Range.rounded(values["messages"], 0.5)
                least, most = time.low * rate.low, time.high * rate.high
                if most * (1 + 1e-3) < 1 or least * (1 - 1e-3) > table.processes:
                    raise self.error(
                        f"{rate.value:.0f} messages a second of {values['t']:.2f} us are those of "
                        f"{time.value * rate.value:.2f} processes"
                    )
            return
        if "t_avg" not in values:
            raise self.error("IMB-MT prints the average time beside each rate of messages")
        pairs = table.processes * self.threads // 2
        by_time = Range.rounded(values["t_avg"]).under(1e6 * pairs)
        counted = values["messages"]
        rate = Range(counted, min(counted, _INT_MAX), counted + 1)
        if not by_time.agrees(rate, slack=SLACK):
            raise self.error(
                f"{rate.value:.0f} messages a second of {pairs} pairs are not one in "
                f"{values['t_avg']:.2f} us of each"
            )
        if counted == math.inf:
            rate, values["messages"] = by_time, by_time.value
        moved = rate.times((size or 0) / self.threads / 1e6)
        most, bandwidth = moved.high, values["bandwidth"]
        least = moved.low / (table.processes * self.threads)
        if not least * (1 - SLACK) - HALF <= bandwidth <= most * (1 + SLACK) + HALF:
            raise self.error(
                f"the bandwidth {bandwidth:.2f} is not that of its line, {rate.value:.0f} messages "
                f"of {size} bytes a second: {most:.2f} at most"
            )
        values["bandwidth"] = bandwidth or most

    def moved(self, table: Table, size: int) -> int | None:
        """Return the bytes that a bandwidth counts."""
        return size * self.row.counted if self.row.counted else None

    def check_order(self, table: Table) -> None:
        """Refuse a row whose time and bandwidth stand in each other's place.

        Their product is right all the same. But the time is far below those of the sizes beside it,
        which are in order, and the number in the place of the bandwidth is near to them. A time far
        above them is no proof: a busy machine has been seen to print one with just that bandwidth.
        Where messages are counted as well, `check_rate` has told the two apart.
        """
        if "messages" in table.columns:
            return
        rows = [row for row in table.rows if row.size and {"t", "bandwidth"} <= row.values.keys()]
        for number, row in enumerate(rows[1:-1] if len(rows) > _IN_ORDER else (), 1):
            others = [(one.size or 1, one.values["t"]) for one in rows if one is not row]
            low, high = others[number - 1][1], others[number][1]
            time, bandwidth = row.values["t"], row.values["bandwidth"]
            if (
                time * _FAR < low <= bandwidth * _NEAR
                and bandwidth <= high * _NEAR
                and all(
                    before / _NEAR <= after <= before * _NEAR * larger / smaller
                    for (smaller, before), (larger, after) in pairwise(others)
                )
            ):
                self.stand(row.number, self.text.splitlines()[row.number - 1])
                what = f"the time {time:.2f} and the bandwidth {bandwidth:.2f} are exchanged"
                raise self.error(f"{what}: the sizes beside it took {low:.2f} and {high:.2f} us")
