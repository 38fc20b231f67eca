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
"""

import math
import re
from dataclasses import dataclass, field

from acceptance.core.errors import ParseError
from acceptance.suites.hpcc import sections
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
    return _Reader(text, source).read()


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

    def read(self) -> Output:
        for line in self.lines():
            self.read_line(line)
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
        if not sections.is_printed(text):
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

        for key, words in sections.contradictions(test, section, printed):
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
