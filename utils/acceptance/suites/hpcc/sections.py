"""What an output of HPCC says twice: results of the summary that stand in their sections, too.

A section and the summary print one variable with two formats, or a result and the work and the
time of which it is made. A figure stands for all numbers that are printed like it; two figures
that have none of these in common contradict each other. Sources: HPCC 1.5.0, `src/io.c` for the
summary; `onecpu.c`, `single_cpu.c`, `star_single_cpu.c` of each test, `FFT/mpifft.c`,
`RandomAccess/MPIRandomAccess.c`, `PTRANS/pdtransdriver.c`, `HPL_pdtest.c` and
`src/bench_lat_bw_1.5.2.c` for the sections. These formats are the same from 1.4.0 on.
"""

import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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
        return [field["key"] for field in _FIELD.finditer(self.template) if field["key"]]

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
    for field in _FIELD.finditer(template):
        group = f"?P<{field['key']}>" if field["key"] else "?:"
        pattern += re.escape(template[end : field.start()]) + rf" *({group}{_FORMS[field['form']]})"
        end = field.end()
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
