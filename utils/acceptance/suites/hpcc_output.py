"""Output of HPCC 1.5.0: the file `hpccoutf.txt`, to which each run appends.

The form, in which every test has a section of its own::

    This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012
    Begin of StarDGEMM section.
    Scaled residual: 0.0148816
    Node(s) with error 0
    End of StarDGEMM section.
    Begin of Summary section.
    HPL_Tflops=0.0179497
    End of Summary section.
    End of HPC Challenge tests.

HPCC exits with 0 whatever happened, and runs its defaults when it cannot use `hpccinf.txt`, so
that `check` compares the output with what was asked for. Numbers are C's `%g`; -1 is a test that
did not run. Source of the form and of the bounds: HPCC 1.5.0, src/io.c and the source of each test.

Results of the summary stand in their sections, too. A section and the summary print one variable
with two formats, or a result and the work and the time of which it is made. A figure stands for all
numbers that are printed like it; two figures that have none of these in common contradict each
other. Sources: HPCC 1.5.0, `src/io.c` for the summary; `onecpu.c`, `single_cpu.c`,
`star_single_cpu.c` of each test, `FFT/mpifft.c`, `RandomAccess/MPIRandomAccess.c`,
`PTRANS/pdtransdriver.c`, `HPL_pdtest.c` and `src/bench_lat_bw_1.5.2.c` for the sections. These
formats are the same from 1.4.0 on.
"""

import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from acceptance.core.errors import ParseError
from acceptance.suites.output import LineReader

_STREAM = ("Copy", "Scale", "Add", "Triad")
#: Section -> keys of the summary that are its results.
TESTS: dict[str, tuple[str, ...]] = {
    "MPIRandomAccess": ("MPIRandomAccess_GUPs",),
    "StarRandomAccess": ("StarRandomAccess_GUPs",),
    "SingleRandomAccess": ("SingleRandomAccess_GUPs",),
    "MPIRandomAccess_LCG": ("MPIRandomAccess_LCG_GUPs",),
    "StarRandomAccess_LCG": ("StarRandomAccess_LCG_GUPs",),
    "SingleRandomAccess_LCG": ("SingleRandomAccess_LCG_GUPs",),
    "PTRANS": ("PTRANS_GBs",),
    "StarDGEMM": ("StarDGEMM_Gflops",),
    "SingleDGEMM": ("SingleDGEMM_Gflops",),
    "StarSTREAM": tuple(f"StarSTREAM_{kernel}" for kernel in _STREAM),
    "SingleSTREAM": tuple(f"SingleSTREAM_{kernel}" for kernel in _STREAM),
    "MPIFFT": ("MPIFFT_Gflops",),
    "StarFFT": ("StarFFT_Gflops",),
    "SingleFFT": ("SingleFFT_Gflops",),
    "LatencyBandwidth": (
        *(f"{bound}PingPongLatency_usec" for bound in ("Min", "Avg", "Max")),
        *(f"{bound}PingPongBandwidth_GBytes" for bound in ("Min", "Avg", "Max")),
        *(f"{order}OrderedRingLatency_usec" for order in ("Naturally", "Randomly")),
        *(f"{order}OrderedRingBandwidth_GBytes" for order in ("Naturally", "Randomly")),
    ),
    "HPL": ("HPL_Tflops",),
}
#: HPCC passes a residual below this, in units of the error that rounding explains.
THRESHOLD = 16.0
#: And a RandomAccess with this fraction of wrong words in its table.
WRONG_WORDS = 0.01

_SUMMARY = "Summary"
#: Keys of the summary whose value is a text.
_TEXTS = ("VersionRelease", "LANG", "HPL_cpfact", "HPL_crfact", "HPL_ctop", "HPL_order", "FFT_API")
_EPSILON = 2.0**-53

_TITLE = re.compile(r"This is the DARPA/DOE HPC Challenge Benchmark version (?P<version>\S+)")
_SECTION = re.compile(r"(?P<edge>Begin|End) of (?P<name>\w+) section\.\Z", re.ASCII)
_END = "End of HPC Challenge tests."
_ENDING = re.compile(rf"^{re.escape(_END)}\nCurrent time .+\n\n#{{72}}\n\Z", re.MULTILINE)
_VALUE = re.compile(r"(?P<key>[A-Za-z]\w*)=(?P<value>.*)\Z", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+\Z", re.ASCII)

#: The lines of HPL and PTRANS with a residual, and what they are when it is small enough.
_RESIDUALS = {
    "HPL": (
        re.compile(r"\|\|Ax-b\|\|_oo/"),
        re.compile(r"\S+= +(?P<residual>\d+\.\d+) \.+ PASSED\Z"),
    ),
    "PTRANS": (
        re.compile(r"(WALL|CPU) "),
        re.compile(r"\w+ +(\S+ +){7}PASSED +\S+ +(?P<residual>\d+\.\d+)\Z"),
    ),
}
#: Counts of what went wrong, and how many of them a section has.
_TESTS_LOST = re.compile(r" *(?P<n>\d+) tests (completed and failed|skipped)"), 2
_NODES_LOST = re.compile(r"Node\(s\) with error (?P<n>-?\d+)\Z"), 1
#: What HPCC prints besides its results when something is wrong; not all of it ends in Success=0.
_COMPLAINT = re.compile(
    r"\[\d+\]: ERROR|HPL (ERROR|WARNING) from|Failed (Validation|to allocate)|.*\(failed\)\.|"
    r"ILLEGAL|Unable to perform|Bad \w+ parameters"
)


@dataclass(frozen=True)
class Line:
    """A line of the output and its number, counted from 1."""

    number: int
    text: str


@dataclass
class Output:
    """A whole run: HPCC's version, its summary, and the lines of each section.

    `lines` has the line of each key of the summary.
    """

    version: str = ""
    summary: dict[str, str | float] = field(default_factory=dict)
    lines: dict[str, Line] = field(default_factory=dict)
    sections: dict[str, list[Line]] = field(default_factory=dict)

    def residuals(self, test: str = "HPL") -> list[Line]:
        """Return the lines with the residuals of HPL or PTRANS."""
        return [line for line in self.sections[test] if _RESIDUALS[test][0].match(line.text)]


def parse(text: str, source: str = "hpccoutf.txt") -> Output:
    """Read the output of one complete run of HPCC.

    Raises ParseError, with the line, for anything but one whole output in which each test has its
    section. Whether the run is the one that was asked for, and correct, is for `check` to tell.
    """
    reader = _Reader(text, source)
    for line in reader.lines():
        reader.read_line(line)
    return reader.whole()


def check(
    output: Output,
    *,
    order: int,
    block: int,
    grid: tuple[int, int],
    processes: int,
    source: str = "hpccoutf.txt",
) -> None:
    """Make sure that HPCC ran what it was asked for, all of it, with correct results.

    Raises ParseError with the line and the test: another order, block, grid (P, Q) or number of
    processes; HPL or PTRANS without a residual that passed; more than 1 % of wrong words in the
    table of RandomAccess; MPIFFT off by more than rounding explains (16 eps ln N, HPCC's bound); a
    process that failed; data that arrived wrong; a result that is missing, zero or negative, which
    is a test that did not run; HPCC's own verdict; and a summary that a section contradicts.
    """
    _Check(output, source).run(
        CommWorldProcs=processes, HPL_N=order, HPL_NB=block, HPL_nprow=grid[0], HPL_npcol=grid[1]
    )


class _Reader(LineReader):
    """One reading of an output of HPCC; `benchmark` is the section in which it stands."""

    suite = "HPCC"
    decimal = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?\Z", re.ASCII | re.IGNORECASE)

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.output = Output()

    def whole(self) -> Output:
        """Return the output; raises ParseError where a part of it is missing."""
        if not self.output.version:
            self.stand()
            raise self.error("this is no output of HPCC, or not its beginning")
        self.require_last_line()
        if not _ENDING.search(self.text):
            raise self.error(f"the output does not end as HPCC does, with {_END!r} and a rule")
        self.stand()
        for self.benchmark in (*TESTS, _SUMMARY):
            if self.benchmark not in self.output.sections:
                raise self.error("the section is missing")
        return self.output

    def read_line(self, text: str) -> None:
        if found := _TITLE.match(text):
            if self.output.version:
                raise self.error("the output of a second run; HPCC appends to its file")
            self.output.version = found["version"]
        elif found := _SECTION.match(text):
            self.read_edge(found["edge"], found["name"])
        elif text == _END and self.benchmark:
            raise self.error("the section has no end")
        elif self.benchmark == _SUMMARY:
            self.read_value(text)
        elif self.benchmark:
            self.output.sections[self.benchmark].append(Line(self.number, text))

    def read_edge(self, edge: str, name: str) -> None:
        if edge == "End":
            if name != self.benchmark:
                raise self.error(f"the section {name} ends and did not begin")
            self.benchmark = ""
        elif self.benchmark:
            raise self.error("the section has no end")
        elif name in self.output.sections:
            raise self.error(f"the section {name} stands twice")
        else:
            self.benchmark = name
            self.output.sections[name] = []

    def read_value(self, text: str) -> None:
        found = _VALUE.match(text)
        if not found:
            raise self.error("this is no key=value")
        key, value = found["key"], found["value"]
        if key in self.output.summary:
            raise self.error(f"{key} stands twice")
        self.output.summary[key] = value if key in _TEXTS else self.value(value)
        self.output.lines[key] = Line(self.number, self.line)

    def value(self, text: str) -> float:
        value = int(text) if _INTEGER.match(text) else self.real(text, negative=True)
        if not is_printed(text):
            raise self.error(f"{text!r} is no number as HPCC prints it")
        return value


class _Check:
    """The checks of one output, from the run as a whole to each result."""

    def __init__(self, output: Output, source: str) -> None:
        self.output = output
        self.source = source

    def error(self, test: str, message: str, line: Line | None = None) -> ParseError:
        line = line or Line(0, "")
        return ParseError(self.source, message, benchmark=test, number=line.number, line=line.text)

    def value(self, test: str, key: str) -> float:
        value = self.output.summary.get(key)
        if not isinstance(value, int | float):
            raise self.error(test, f"{key} is missing in the summary")
        return value

    def run(self, **wanted: int) -> None:
        for key, number in wanted.items():
            if self.value(_SUMMARY, key) != number:
                message = f"{key} is not {number}"
                if key.startswith("HPL_"):
                    message += "; HPCC takes defaults for an hpccinf.txt that it cannot use"
                raise self.error(_SUMMARY, message, self.output.lines[key])
        for test, keys in TESTS.items():
            self.check_section(test)
            for key in keys:
                if self.value(test, key) <= 0:
                    raise self.error(test, "no result", self.output.lines[key])
        for test in ("MPIRandomAccess", "MPIRandomAccess_LCG"):
            self.check_error(test, f"{test}_ErrorsFraction", WRONG_WORDS)
        points = max(1.0, self.value("MPIFFT", "MPIFFT_N"))
        self.check_error("MPIFFT", "MPIFFT_maxErr", THRESHOLD * _EPSILON * math.log(points))
        if self.value(_SUMMARY, "Success") != 1:
            raise self.error(_SUMMARY, "a test failed", self.output.lines["Success"])
        for test in TESTS:
            self.check_figures(test)

    def check_figures(self, test: str) -> None:
        """Make sure that the summary states what the section does."""
        section = [line.text for line in self.output.sections[test]]

        def printed(key: str) -> str:
            self.value(test, key)
            return self.output.lines[key].text.partition("=")[2]

        for key, words in contradictions(test, section, printed):
            raise self.error(test, words, self.output.lines[key])

    def check_section(self, test: str) -> None:
        for line in self.output.sections[test]:
            if _COMPLAINT.match(line.text):
                raise self.error(test, "HPCC found an error", line)
        if test in _RESIDUALS:
            self.check_residuals(test)
            self.check_counts(test, *_TESTS_LOST)
        elif test.startswith(("Star", "Single")):
            self.check_counts(test, *_NODES_LOST)

    def check_residuals(self, test: str) -> None:
        lines = self.output.residuals(test)
        if not lines:
            raise self.error(test, "no residual")
        for line in lines:
            passed = _RESIDUALS[test][1].match(line.text)
            if not passed or float(passed["residual"]) > THRESHOLD:
                raise self.error(test, "the residual did not pass", line)

    def check_counts(self, test: str, pattern: re.Pattern[str], wanted: int) -> None:
        """Make sure that a section has so many lines of a pattern, and that each counts zero."""
        found = [line for line in self.output.sections[test] if pattern.match(line.text)]
        if len(found) != wanted:
            raise self.error(test, f"{len(found)} counts of failures instead of {wanted}")
        for line in found:
            if (match := pattern.match(line.text)) and int(match["n"]):
                raise self.error(test, "not all of it was done", line)

    def check_error(self, test: str, key: str, bound: float) -> None:
        if not 0 <= self.value(test, key) <= bound:
            raise self.error(test, f"not within 0 and {bound:.3g}", self.output.lines[key])


_SLACK = 1e-9  # of floating point
_DIGITS = 6  # of a %g
#: What a template calls a number: `%.6f` and so on, `%d`, `%.3e`; and any word.
_FORMS = {digits: rf"(?:0|[1-9]\d*)\.\d{{{digits}}}" for digits in "2369"} | {
    "d": r"0|[1-9]\d*",
    "e": r"\d\.\d{3}e[+-]\d\d",
    "s": r"\S+",
}
_FIELD = re.compile(r"<(?P<key>\w*):(?P<form>\w)>")


@dataclass(frozen=True)
class Figure:
    """A number as it is printed, and the bounds between which it lies."""

    text: str
    low: float
    high: float

    def times(self, factor: float) -> "Figure":
        """Return this in another unit."""
        return Figure(self.text, self.low * factor, self.high * factor)

    def under(self, work: float) -> "Figure":
        """Return work over this: no finite number over what is not above zero."""
        low, high = (work / bound if bound > 0 else math.inf for bound in (self.high, self.low))
        return Figure(self.text, low, high)

    def agrees(self, other: "Figure", *, same: bool = False) -> bool:
        """Tell whether a number can be printed as both; `same`: the one that both are made of.

        Bounds of decimals are decimals: two of one number share half of the finer one's range at
        least, never only a bound. In another unit it may have been rounded before.
        """
        share = min(self.high, other.high) - max(self.low, other.low)
        if same:
            return share >= 0.25 * min(self.high - self.low, other.high - other.low)
        return share >= -_SLACK * min(abs(self.low), abs(other.low))


@dataclass(frozen=True)
class Statement:
    """Lines of a section; `<key:form>` in them is a number that the summary has under a key.

    It is to be multiplied with `factor` or, where `inverse` is set, to divide it.
    """

    template: str
    factor: float = 1.0
    inverse: bool = False

    @property
    def same(self) -> bool:
        """Tell whether the summary prints the very same number."""
        return self.factor == 1 and not self.inverse

    @property
    def keys(self) -> list[str]:
        """Return the keys of the summary that this states."""
        return [place["key"] for place in _FIELD.finditer(self.template) if place["key"]]

    def figures(self, text: str) -> dict[str, tuple[int, Figure]]:
        """Return key -> the line, from 0 on, on which it stands last, and its figure."""
        matches = list(_pattern(self.template).finditer(text))
        if not matches:
            return {}
        found = matches[-1]
        scale = Figure.under if self.inverse else Figure.times
        return {
            key: (text.count("\n", 0, found.start(key)), scale(fixed(value), self.factor))
            for key, value in found.groupdict().items()
        }


@functools.cache
def _pattern(template: str) -> re.Pattern[str]:
    """Return the regular expression of a template; numbers may have blanks before them."""
    pattern, end = "^", 0
    for place in _FIELD.finditer(template):
        group = f"?P<{place['key']}>" if place["key"] else "?:"
        pattern += re.escape(template[end : place.start()]) + rf" *({group}{_FORMS[place['form']]})"
        end = place.end()
    return re.compile(pattern + re.escape(template[end:]) + "$", re.MULTILINE | re.ASCII)


def fixed(text: str) -> Figure:
    """Read a number that has all its decimals, as of `%.6f` and `%.3e`; `%d` is exact."""
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    half = 0.5 * 10.0 ** (int(exponent or 0) - decimals) if decimals else 0.0
    return Figure(text, float(text) - half, float(text) + half)


def general(text: str) -> Figure:
    """Read a number of the summary, `%d` or `%g`: six digits, without the zeros at their end."""
    value = float(text)
    exact = not value or (text.isdecimal() and len(text) > _DIGITS)
    half = 0.0 if exact else 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - _DIGITS)
    return Figure(text, value - half, value + half)


def is_printed(text: str) -> bool:
    """Tell whether C's `%d`, `%g` or `%e` prints a finite number like this; not `007.50`, `1.`."""
    value = float(text)
    return text in (f"{value:g}", f"{value:e}") or bool(re.fullmatch(r"-?[1-9]\d*", text, re.ASCII))


def _local() -> Iterator[tuple[str, Statement]]:
    """Yield what the tests say that a process runs for itself; of EP, the average counts."""
    tests = [("RandomAccess", "", "GUP"), ("RandomAccess_LCG", "", "GUP")]
    tests += [("DGEMM", "DGEMM ", "Gflop"), ("FFT", "FFT ", "Gflop")]
    for test, name, unit in tests:
        key = f"{test}_{unit}s"
        yield f"Star{test}", Statement(f"Average {unit}/s <Star{key}:6>")
        yield f"Single{test}", Statement(f"Single {name}{unit}/s <Single{key}:6>")
    for kernel in ("Copy", "Scale", "Add", "Triad"):
        yield "StarSTREAM", Statement(f"Average {kernel} GB/s <StarSTREAM_{kernel}:6>")
        yield "SingleSTREAM", Statement(f"Single STREAM {kernel} GB/s <SingleSTREAM_{kernel}:6>")


def _random_access(test: str) -> Iterator[tuple[str, Statement]]:
    for template in (
        f"Real time used = <{test}_time:6> seconds",
        f"<{test}_GUPs:9> Billion(10^9) Updates    per second [GUP/s]",
    ):
        yield test, Statement(template)


#: Latencies in the section are in ms, bandwidths in MB/s. A size over the bandwidth of a message
#: of it is its latency, with more digits: 8 bytes over MB/s is in us, that of the slowest pair
#: the lowest bandwidth's.
_LATENCY_BANDWIDTH = (
    Statement(
        "Ping Pong:\nLatency   min / avg / max: <MinPingPongLatency_usec:6> / "
        "<AvgPingPongLatency_usec:6> / <MaxPingPongLatency_usec:6> msecs",
        1e3,
    ),
    Statement(
        "Ping Pong:\nLatency   min / avg / max: <:6> / <:6> / <:6> msecs\n"
        "Bandwidth min / avg / max: <MinPingPongBandwidth_GBytes:3> / "
        "<AvgPingPongBandwidth_GBytes:3> / <MaxPingPongBandwidth_GBytes:3> MByte/s",
        1e-3,
    ),
    Statement(
        "Message Length: 8\nLatency   min / avg / max: <:6> / <:6> / <:6> msecs\n"
        "Bandwidth min / avg / max: <MaxPingPongLatency_usec:3> / <:3> / "
        "<MinPingPongLatency_usec:3> MByte/s",
        8,
        inverse=True,
    ),
    Statement("Max Ping Pong Latency: <MaxPingPongLatency_usec:6> msecs", 1e3),
    Statement("Randomly Ordered Ring Latency: <RandomlyOrderedRingLatency_usec:6> msecs", 1e3),
    Statement("Min Ping Pong Bandwidth: <MinPingPongBandwidth_GBytes:6> MB/s", 1e-3),
    *(
        Statement(
            f"{words} Ordered Ring Bandwidth: <{order}OrderedRingBandwidth_GBytes:6> MB/s", 1e-3
        )
        for order, words in (("Naturally", "Naturally"), ("Randomly", "Randomly "))
    ),
    *(
        Statement(
            f"On {words} ordered ring: latency= <{order}OrderedRingLatency_usec:6> msec, "
            "bandwidth= <:6> MB/s",
            1e3,
        )
        for order, words in (("Naturally", "naturally"), ("Randomly", "randomly "))
    ),
    Statement(
        "Message Size: <:d> Byte\nNatural Order Latency: <:6> msec\n"
        "Natural Order Bandwidth: <NaturallyOrderedRingLatency_usec:6> MB/s\n"
        "Avg Random Order Latency: <:6> msec\n"
        "Avg Random Order Bandwidth: <RandomlyOrderedRingLatency_usec:6> MB/s\n\n"
        "Message Size: <:d> Byte",
        8,
        inverse=True,
    ),
)

_SAID: tuple[tuple[str, Statement], ...] = (
    *_local(),
    *_random_access("MPIRandomAccess"),
    *_random_access("MPIRandomAccess_LCG"),
    # The rate of the slowest run so far; the CPU lines have another one.
    (
        "PTRANS",
        Statement(
            "WALL <:d> <PTRANS_n:d> <:d> <PTRANS_nb:d> <PTRANS_nprow:d> <PTRANS_npcol:d> <:2> "
            "PASSED <PTRANS_GBs:3> <:2>"
        ),
    ),
    ("MPIFFT", Statement("Vector size: <MPIFFT_N:d>")),
    ("MPIFFT", Statement("max(|x-x0|): <MPIFFT_maxErr:e>")),
    ("MPIFFT", Statement("Gflop/s: <MPIFFT_Gflops:3>")),
    *(("LatencyBandwidth", statement) for statement in _LATENCY_BANDWIDTH),
    (
        "HPL",
        Statement("W<:s> <HPL_N:d> <HPL_NB:d> <HPL_nprow:d> <HPL_npcol:d> <HPL_time:2> <:e>"),
    ),
    ("HPL", Statement("W<:s> <:d> <:d> <:d> <:d> <:2> <HPL_Tflops:e>", 1e-3)),
)


def contradictions(
    test: str, lines: Sequence[str], printed: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Yield each key of the summary that the section of its test contradicts, and how.

    `lines` are those of the section, `printed` returns the number of a key of the summary. A
    section that does not state a result, or not as HPCC prints it, contradicts it, too.
    """
    text = "\n".join(lines)
    statements = [statement for name, statement in _SAID if name == test]
    if test == "MPIFFT":
        points = float(printed("MPIFFT_N"))
        operations = 5e-9 * points * math.log2(max(1.0, points))
        statements.append(Statement("Computing: <MPIFFT_Gflops:3>", operations, inverse=True))
    for statement in statements:
        figures = statement.figures(text)
        for key in statement.keys:
            if key not in figures:
                yield key, "the section does not state it as HPCC does"
            elif not general(printed(key)).agrees(figures[key][1], same=statement.same):
                yield key, f"the section states something else: {lines[figures[key][0]].strip()!r}"
    yield from _made(test, printed)
    if test == "LatencyBandwidth":
        for what in ("Latency_usec", "Bandwidth_GBytes"):
            yield from _ordered(what, printed)


def _made(test: str, printed: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yield a result that is not the work over the time, which the summary has, too."""
    if test == "HPL":
        order = float(printed("HPL_N"))
        # HPL_pdtest.c: 2/3 N^3 - 1/2 N^2 to factorise, 2 N^2 to solve.
        key, time, work = "HPL_Tflops", "HPL_time", 1e-12 * order**2 * (2 / 3 * order + 3 / 2)
    elif test.startswith("MPIRandomAccess"):
        key, time = f"{test}_GUPs", f"{test}_time"
        work = 1e-9 * float(printed(f"{test}_ExeUpdates"))
    elif test == "PTRANS":
        key, time, work = "PTRANS_GBs", "PTRANS_time", 8e-9 * float(printed("PTRANS_n")) ** 2
    else:
        return
    made, result = general(printed(time)).under(work), general(printed(key))
    # PTRANS keeps the rate of its slowest run and the time of its last one.
    if not made.agrees(result) and (test != "PTRANS" or result.low > made.high):
        yield key, f"{time}={printed(time)} makes it {made.low:.6g}"


def _ordered(what: str, printed: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yield an average of ping-pong that is not between the minimum and the maximum."""
    low, middle, high = (f"{bound}PingPong{what}" for bound in ("Min", "Avg", "Max"))
    average = general(printed(middle))
    if general(printed(low)).low > average.high or average.low > general(printed(high)).high:
        yield middle, f"not between {low}={printed(low)} and {high}={printed(high)}"
