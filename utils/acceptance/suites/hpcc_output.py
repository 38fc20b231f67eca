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
that `Output.check` compares the output with what was asked for. Numbers are C's `%g`; -1 is a test
that did not run. Source of the form and of the bounds: HPCC 1.5.0, src/io.c and the source of each
test.

Results of the summary stand in their sections, too, and only there what the slowest process had. A
section and the summary print one variable with two formats, or a result and the work and the time
of which it is made. A figure stands for all numbers that are printed like it; two figures that have
none of these in common contradict each other. Sources: HPCC 1.5.0, `src/io.c` for the summary;
`onecpu.c`, `single_cpu.c`, `star_single_cpu.c` of each test, `FFT/mpifft.c`,
`RandomAccess/MPIRandomAccess.c`, `PTRANS/pdtransdriver.c`, `HPL_pdtest.c` and
`src/bench_lat_bw_1.5.2.c` for the sections. These formats are the same from 1.4.0 on.
"""

import functools
import math
import re
from collections.abc import Callable, Iterator
from datetime import datetime

from acceptance.core.errors import ParseError
from acceptance.core.findings import Finding
from acceptance.suites.hpcc import KERNELS, METRICS
from acceptance.suites.output import JobTime, LineReader, Range

_KEYS = [column.name for column in METRICS.values()]


def _section_of(key: str) -> str:
    """Return the section of the output that has the value of a key of the summary, too."""
    network = "PingPong" in key or "OrderedRing" in key
    return "LatencyBandwidth" if network else key.rpartition("_")[0]


#: Section -> keys of the summary that are its results.
TESTS = {
    test: tuple(key for key in _KEYS if _section_of(key) == test)
    for test in dict.fromkeys(map(_section_of, _KEYS))
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
_ENDING = re.compile(
    rf"^{re.escape(_END)}\nCurrent time \(\d+\) is .+\n\n#{{72}}\n\Z", re.ASCII | re.MULTILINE
)
#: When HPCC, and then each test, began or ended (seconds since 1970).
_TIME = re.compile(r"Current time \((?P<seconds>\d{1,11})\) is ", re.ASCII)
_VALUE = re.compile(r"(?P<key>[A-Za-z]\w*)=(?P<value>.*)\Z", re.ASCII)
#: What the slowest process of a test had.
_SLOWEST = re.compile(r"Minimum G(UP|flop)/s (?P<value>(0|[1-9]\d*)\.\d{6})\Z", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+\Z", re.ASCII)

_TESTS_LOST = r" *\d+ tests (completed and failed|skipped)", r" *0+ ", 2
#: Section -> how lines begin that say how it went, one that passes, and how many counts of what
#: went wrong there are; 0: these are residuals, of which there is any number.
_RULES = {
    **{
        test: [(r"Node\(s\) with error ", r"Node\(s\) with error -?0+\Z", 1)]
        for test in TESTS
        if test.startswith(("Star", "Single"))
    },
    "HPL": [
        (r"\|\|Ax-b\|\|_oo/", r"\S+= +(?P<residual>\d+\.\d+) \.+ PASSED\Z", 0),
        _TESTS_LOST,
    ],
    "PTRANS": [
        (r"(WALL|CPU) ", r"\w+ +(\S+ +){7}PASSED +\S+ +(?P<residual>\d+\.\d+)\Z", 0),
        _TESTS_LOST,
    ],
}
#: What HPCC prints besides its results when something is wrong; not all of it ends in Success=0.
_COMPLAINT = re.compile(
    r"\[\d+\]: ERROR|HPL (ERROR|WARNING) from|Failed (Validation|to allocate)|.*\(failed\)\.|"
    r"ILLEGAL|Unable to perform|Bad \w+ parameters"
)


#: The number of a line, counted from 1, and its text.
Line = tuple[int, str]


def parse(text: str, source: str = "hpccoutf.txt") -> "Output":
    """Read the output of one complete run of HPCC.

    Raises ParseError, with the line, for anything but one whole output in which each test has its
    section. Whether the run is the one that was asked for, and correct, `Output.check` tells.
    """
    output = Output(text, source)
    for line in output.lines():
        output.read_line(line)
    output.check_whole()
    return output


class Output(LineReader):
    """A whole run: HPCC's version, its summary, and the lines of each section.

    `printed` has the line of each key of the summary; `benchmark` is the section that is read.
    """

    suite = "HPCC"
    decimal = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?\Z", re.ASCII | re.IGNORECASE)

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.version = ""
        self.summary: dict[str, str | float] = {}
        self.printed: dict[str, Line] = {}
        self.sections: dict[str, list[Line]] = {}

    def _fault(self, test: str, message: str, line: Line | None = None) -> ParseError:
        """Return the fault of a test, and of a line."""
        self.benchmark = test
        self.stand(*(line or ()))
        return self.error(message)

    def check_whole(self) -> None:
        """Raise ParseError where a part of the output is missing."""
        if not self.version:
            raise self._fault("", "this is no output of HPCC, or not its beginning")
        self.require_last_line()
        if not _ENDING.search(self.text):
            raise self.error(f"the output does not end as HPCC does, with {_END!r} and a rule")
        for test in (*TESTS, _SUMMARY):
            if test not in self.sections:
                raise self._fault(test, "the section is missing")
        for test, keys in TESTS.items():
            for key in keys:
                if key.endswith("_min"):
                    self._read_slowest(test, key)

    def _read_slowest(self, test: str, key: str) -> None:
        """Read what the slowest process of a test had, as if the summary had it."""
        lines = [line for line in self.sections[test] if line[1].startswith("Minimum ")]
        found = _SLOWEST.match(lines[0][1]) if len(lines) == 1 else None
        if not found:
            raise self._fault(test, "this is not one slowest process", lines[-1] if lines else None)
        self.summary[key], self.printed[key] = float(found["value"]), lines[0]

    def read_line(self, text: str) -> None:
        """Read a line of any kind."""
        if found := _TITLE.match(text):
            if self.version:
                raise self.error("the output of a second run; HPCC appends to its file")
            self.version = found["version"]
        elif found := _SECTION.match(text):
            self._read_edge(found["edge"], found["name"])
        elif text == _END and self.benchmark:
            raise self.error("the section has no end")
        elif self.benchmark == _SUMMARY:
            self._read_value(text)
        elif self.benchmark:
            self.sections[self.benchmark].append((self.number, text))

    def _read_edge(self, edge: str, name: str) -> None:
        if edge == "End":
            if name != self.benchmark:
                raise self.error(f"the section {name} ends and did not begin")
            self.benchmark = ""
        elif self.benchmark:
            raise self.error("the section has no end")
        elif name in self.sections:
            raise self.error(f"the section {name} stands twice")
        else:
            self.benchmark = name
            self.sections[name] = []

    def _read_value(self, text: str) -> None:
        found = _VALUE.match(text)
        if not found:
            raise self.error("this is no key=value")
        key, value = found["key"], found["value"]
        if key in self.summary:
            raise self.error(f"{key} stands twice")
        self.summary[key] = value if key in _TEXTS else self._number_of(value)
        self.printed[key] = (self.number, self.line)

    def _number_of(self, text: str) -> float:
        value = int(text) if _INTEGER.match(text) else self.real(text, negative=True)
        # C's `%d`, `%g` and `%e` print no `007.50` and no `1.`.
        is_whole = re.fullmatch(r"-?[1-9]\d*", text, re.ASCII)
        if not is_whole and text not in (f"{float(text):g}", f"{float(text):e}"):
            raise self.error(f"{text!r} is no number as HPCC prints it")
        return value

    def check(self, *, order: int, block: int, grid: tuple[int, int], processes: int) -> None:
        """Make sure that HPCC ran what it was asked for, all of it, with correct results.

        Raises ParseError with the line and the test: another order, block, grid (P, Q) or number of
        processes; HPL or PTRANS without a residual that passed; more than 1 % of wrong words in the
        table of RandomAccess; MPIFFT off by more than rounding explains (16 eps ln N, HPCC's
        bound); a process that failed; data that arrived wrong; a result that is missing, zero or
        negative, which is a test that did not run; HPCC's own verdict; and a summary that a section
        contradicts.
        """
        asked = {"CommWorldProcs": processes, "HPL_N": order, "HPL_NB": block}
        for key, number in {**asked, "HPL_nprow": grid[0], "HPL_npcol": grid[1]}.items():
            if self.value(_SUMMARY, key) != number:
                message = f"{key} is not {number}"
                if key.startswith("HPL_"):
                    message += "; HPCC takes defaults for an hpccinf.txt that it cannot use"
                raise self._fault(_SUMMARY, message, self.printed[key])
        for test, keys in TESTS.items():
            self._check_section(test)
            for key in keys:
                if self.value(test, key) <= 0:
                    raise self._fault(test, "no result", self.printed[key])
        for test in ("MPIRandomAccess", "MPIRandomAccess_LCG"):
            self._check_error(test, f"{test}_ErrorsFraction", WRONG_WORDS)
        points = max(1.0, self.value("MPIFFT", "MPIFFT_N"))
        self._check_error("MPIFFT", "MPIFFT_maxErr", THRESHOLD * _EPSILON * math.log(points))
        if self.value(_SUMMARY, "Success") != 1:
            raise self._fault(_SUMMARY, "a test failed", self.printed["Success"])
        for test in TESTS:
            for key, words in self.contradictions(test):
                raise self._fault(test, words, self.printed[key])

    def of_another_job(self, job: JobTime) -> Iterator[Finding]:
        """Yield the times at which tests began and ended that are not within that of the job."""
        self.benchmark, (begin, _) = "", job
        for line in self.lines():
            if match := _TIME.match(line):
                told = datetime.fromtimestamp(int(match["seconds"]), begin.tzinfo)
                yield from self.outside(told, job)

    def value(self, test: str, key: str) -> float:
        """Return a number of the summary."""
        value = self.summary.get(key)
        if not isinstance(value, int | float):
            raise self._fault(test, f"{key} is missing in the summary")
        return value

    def _check_section(self, test: str) -> None:
        for line in self.sections[test]:
            if _COMPLAINT.match(line[1]):
                raise self._fault(test, "HPCC found an error", line)
        for begin, passing, number in _RULES.get(test, ()):
            lines = [line for line in self.sections[test] if re.match(begin, line[1])]
            if number and len(lines) != number:
                raise self._fault(test, f"{len(lines)} counts of failures instead of {number}")
            if not lines:
                raise self._fault(test, "no residual")
            wrong = "not all of it was done" if number else "the residual did not pass"
            for line in lines:
                passed = re.match(passing, line[1])
                if not passed or float(passed.groupdict().get("residual", 0)) > THRESHOLD:
                    raise self._fault(test, wrong, line)

    def _check_error(self, test: str, key: str, bound: float) -> None:
        if not 0 <= self.value(test, key) <= bound:
            raise self._fault(test, f"not within 0 and {bound:.3g}", self.printed[key])

    def contradictions(self, test: str) -> Iterator[tuple[str, str]]:
        """Yield each key of the summary that the section of its test contradicts, and how.

        A section that does not state a result, or not as HPCC prints it, contradicts it, too.
        """
        text = "\n".join(line for _, line in self.sections[test])
        templates = _SAID.get(test, [])
        if test == "MPIFFT":
            points = self.value(test, "MPIFFT_N")
            operations = 5e-9 * points * math.log2(max(1.0, points))
            templates = [*templates, f"Computing: <MPIFFT_Gflops:3:{operations!r}/>"]
        for template in templates:
            *_, said = None, *_pattern(template).finditer(text)  # the last one
            for key, scale in _keys(template).items():
                if said is None:
                    yield key, "the section does not state it as HPCC does"
                elif not self._figure(test, key).agrees(_read(said[key], scale), same=not scale):
                    line = text.splitlines()[text.count("\n", 0, said.start(key))].strip()
                    yield key, f"the section states something else: {line!r}"
        for key in TESTS[test]:
            if key in _WORK:
                yield from self._made(test, key)
            if key.endswith("_min"):
                mean = TESTS[test][0]
                if Range.rounded(self.value(test, key), 5e-7).low > self._figure(test, mean).high:
                    yield key, f"above the average, {self.printed[mean][1]}"
        if test == "LatencyBandwidth":
            for what in ("Latency_usec", "Bandwidth_GBytes"):
                bounds = [f"{bound}PingPong{what}" for bound in ("Min", "Avg", "Max")]
                low, average, high = (self._figure(test, key) for key in bounds)
                if low.low > average.high or average.low > high.high:
                    least, _, most = (self.printed[key][1] for key in bounds)
                    yield bounds[1], f"not between {least} and {most}"

    def _figure(self, test: str, key: str) -> Range:
        """Return a number of the summary, as it is printed."""
        self.value(test, key)
        return general(self.printed[key][1].partition("=")[2])

    def _made(self, test: str, key: str) -> Iterator[tuple[str, str]]:
        """Yield a result that is not the work over the time, which the summary has, too."""
        time, of, work = _WORK[key]
        seconds, result = self._figure(test, time), self._figure(test, key)
        rate = seconds.under(work(self.value(test, of)))
        # PTRANS keeps the rate of its slowest run and the time of its last one.
        if not rate.agrees(result) and (test != "PTRANS" or result.low > rate.high):
            yield key, f"{self.printed[time][1]} makes it {rate.low:.6g}"


_DIGITS = 6  # of a %g
#: What a template calls a number: `%.6f` and so on, `%d`, `%.3e`; and any word.
_FORMS = {digits: rf"(?:0|[1-9]\d*)\.\d{{{digits}}}" for digits in "2369"} | {
    "d": r"0|[1-9]\d*",
    "e": r"\d\.\d{3}e[+-]\d\d",
    "s": r"\S+",
}
_FIELD = re.compile(r"<(?P<key>\w*):(?P<form>\w)(?::(?P<scale>[^>]+))?>")


def _keys(template: str) -> dict[str, str]:
    """Return the keys of the summary that a template states, and how its numbers are scaled."""
    fields = _FIELD.finditer(template)
    return {field["key"]: field["scale"] or "" for field in fields if field["key"]}


@functools.cache
def _pattern(template: str) -> re.Pattern[str]:
    """Return the regular expression of a template; numbers may have blanks before them."""
    pattern, end = "^", 0
    for place in _FIELD.finditer(template):
        group = f"?P<{place['key']}>" if place["key"] else "?:"
        pattern += re.escape(template[end : place.start()]) + rf" *({group}{_FORMS[place['form']]})"
        end = place.end()
    return re.compile(pattern + re.escape(template[end:]) + "$", re.MULTILINE | re.ASCII)


def _read(text: str, scale: str) -> Range:
    """Read a number of a section, which has all its decimals: `%.6f`, `%.3e`; `%d` is exact.

    It is scaled as the field of a template says: `1e3` times it, or `8/`, eight over it.
    """
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    half = 0.5 * 10.0 ** (int(exponent or 0) - decimals) if decimals else 0.0
    figure = Range.rounded(float(text), half)
    return (
        figure.under(float(scale[:-1])) if scale.endswith("/") else figure.times(float(scale or 1))
    )


def general(text: str) -> Range:
    """Read a number of the summary, `%d` or `%g`: six digits, without the zeros at their end."""
    value = float(text)
    exact = not value or (text.isdecimal() and len(text) > _DIGITS)
    half = 0.0 if exact else 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - _DIGITS)
    return Range.rounded(value, half)


#: Section -> what it says: lines in which `<key:form>` is a number that the summary has under a
#: key, `<key:form:1e3>` one that is to be multiplied, `<key:form:8/>` one that is to divide 8.
#:
#: Latencies in the section are in ms, bandwidths in MB/s. A size over the bandwidth of a message of
#: it is its latency, with more digits: 8 bytes over MB/s is in us, that of the slowest pair the
#: lowest bandwidth's.
_SAID = {
    # The rate of the slowest run so far; the CPU lines have another one.
    "PTRANS": [
        "WALL <:d> <PTRANS_n:d> <:d> <PTRANS_nb:d> <PTRANS_nprow:d> <PTRANS_npcol:d> <:2> PASSED "
        "<PTRANS_GBs:3> <:2>"
    ],
    "MPIFFT": [
        "Vector size: <MPIFFT_N:d>",
        "max(|x-x0|): <MPIFFT_maxErr:e>",
        "Gflop/s: <MPIFFT_Gflops:3>",
    ],
    "HPL": [
        "W<:s> <HPL_N:d> <HPL_NB:d> <HPL_nprow:d> <HPL_npcol:d> <HPL_time:2> <HPL_Tflops:e:1e-3>"
    ],
    "LatencyBandwidth": [
        "Ping Pong:\nLatency   min / avg / max: <MinPingPongLatency_usec:6:1e3> / "
        "<AvgPingPongLatency_usec:6:1e3> / <MaxPingPongLatency_usec:6:1e3> msecs\n"
        "Bandwidth min / avg / max: <MinPingPongBandwidth_GBytes:3:1e-3> / "
        "<AvgPingPongBandwidth_GBytes:3:1e-3> / <MaxPingPongBandwidth_GBytes:3:1e-3> MByte/s",
        "Message Length: 8\nLatency   min / avg / max: <:6> / <:6> / <:6> msecs\n"
        "Bandwidth min / avg / max: <MaxPingPongLatency_usec:3:8/> / <:3> / "
        "<MinPingPongLatency_usec:3:8/> MByte/s",
        "Max Ping Pong Latency: <MaxPingPongLatency_usec:6:1e3> msecs",
        "Randomly Ordered Ring Latency: <RandomlyOrderedRingLatency_usec:6:1e3> msecs",
        "Min Ping Pong Bandwidth: <MinPingPongBandwidth_GBytes:6:1e-3> MB/s",
        "Naturally Ordered Ring Bandwidth: <NaturallyOrderedRingBandwidth_GBytes:6:1e-3> MB/s",
        "Randomly  Ordered Ring Bandwidth: <RandomlyOrderedRingBandwidth_GBytes:6:1e-3> MB/s",
        "On naturally ordered ring: latency= <NaturallyOrderedRingLatency_usec:6:1e3> msec, "
        "bandwidth= <:6> MB/s",
        "On randomly  ordered ring: latency= <RandomlyOrderedRingLatency_usec:6:1e3> msec, "
        "bandwidth= <:6> MB/s",
        "Message Size: <:d> Byte\nNatural Order Latency: <:6> msec\n"
        "Natural Order Bandwidth: <NaturallyOrderedRingLatency_usec:6:8/> MB/s\n"
        "Avg Random Order Latency: <:6> msec\n"
        "Avg Random Order Bandwidth: <RandomlyOrderedRingLatency_usec:6:8/> MB/s\n\n"
        "Message Size: <:d> Byte",
    ],
    # What each process runs for itself: of all of them the average counts.
    "StarSTREAM": [f"Average {kernel} GB/s <StarSTREAM_{kernel}:6>" for kernel in KERNELS],
    "SingleSTREAM": [f"Single STREAM {name} GB/s <SingleSTREAM_{name}:6>" for name in KERNELS],
}
for _test, _name, _unit in (
    ("RandomAccess", "", "GUP"),
    ("RandomAccess_LCG", "", "GUP"),
    ("DGEMM", "DGEMM ", "Gflop"),
    ("FFT", "FFT ", "Gflop"),
):
    _key = f"{_test}_{_unit}s"
    _SAID[f"Star{_test}"] = [f"Average {_unit}/s <Star{_key}:6>"]
    _SAID[f"Single{_test}"] = [f"Single {_name}{_unit}/s <Single{_key}:6>"]
for _test in ("MPIRandomAccess", "MPIRandomAccess_LCG"):
    _SAID[_test] = [
        f"Real time used = <{_test}_time:6> seconds",
        f"<{_test}_GUPs:9> Billion(10^9) Updates    per second [GUP/s]",
    ]

#: Result -> the keys of its time, and of what its work (in the result's unit) is made of.
_WORK: dict[str, tuple[str, str, Callable[[float], float]]] = {
    # HPL_pdtest.c: 2/3 N^3 - 1/2 N^2 to factorise, 2 N^2 to solve.
    "HPL_Tflops": ("HPL_time", "HPL_N", lambda n: 1e-12 * n**2 * (2 / 3 * n + 3 / 2)),
    "PTRANS_GBs": ("PTRANS_time", "PTRANS_n", lambda n: 8e-9 * n**2),
    **{
        f"{test}_GUPs": (f"{test}_time", f"{test}_ExeUpdates", lambda n: 1e-9 * n)
        for test in ("MPIRandomAccess", "MPIRandomAccess_LCG")
    },
}
