"""Output of the NAS Parallel Benchmarks (NPB) 3.3 and 3.4, MPI.

One run of a program prints a title, a body of its own, and a final block, the same for all::

     NAS Parallel Benchmarks 3.4 -- FT Benchmark
    ...
     FT Benchmark Completed.
     Class           =                        S
     Size            =             64x  64x  64
    ...
     Active processes=                        2
     Mop/s total     =                  4100.24
    ...
     Verification    =               SUCCESSFUL
    ...
     Internet: npb@nas.nasa.gov

Only this block is read: bodies say SUCCESSFUL too, even with the wrong number of processes. 3.3
has `Compiled procs` for `Active processes` and ends with a fax number; timers, if enabled, follow
the block. Times are in s, rates in 10^6 operations a second, both with two decimals. Sources:
`common/print_results.f`, `c_print_results.c`, and runs, of 3.3.1 and 3.4.2.
"""

import re
from dataclasses import dataclass

from acceptance.core.errors import ParseError
from acceptance.suites.npb import benchmarks as npb
from acceptance.suites.npb import operations
from acceptance.suites.output import LineReader

#: Label in the block -> field of `Result`, in their order.
LABELS = {
    "Class": "problem_class",
    "Size": "size",
    "Iterations": "iterations",
    "Time in seconds": "seconds",
    "Total processes": "processes",
    "Compiled procs": "compiled",
    "Active processes": "active",
    "Mop/s total": "mops_total",
    "Mop/s/process": "mops_per_process",
    "Operation type": "operation",
    "Verification": "verified",
    "Version": "version",
    "Compile date": "compile_date",
}
#: The one of these two that the other release prints.
OTHERS = {"3.3": "Active processes", "3.4": "Compiled procs"}
#: How the last line of the block ends.
LAST = {"3.3": "Fax: 650-604-3957", "3.4": "npb@nas.nasa.gov"}
OPERATIONS = {"is": "keys ranked", "ep": "Random numbers generated"}  # others: floating point
_OPTION = re.compile(
    r"(?P<name>MPI(F77|FC|CC)|[FC]LINK(FLAGS)?|[FC]MPI_(LIB|INC)|[FC]FLAGS|RAND|MULTICPUS)\s*="
)
_ADDRESS = re.compile(
    r"Please send |NPB Development Team\Z|(Internet: )?npb@nas\.nasa\.gov\Z|If email is not "
    r"|MS T27A-1\Z|NASA Ames |Moffett Field|Fax: "
)
_TITLE = re.compile(r"NAS Parallel Benchmarks (?P<version>\S+) -- (?P<name>[A-Z]{2}) Benchmark\Z")
_COMPLETED = re.compile(r"(?P<name>[A-Z]{2}) Benchmark Completed\.?\Z")
_FIELD = re.compile(r"(?P<label>[A-Z][A-Za-z/ ]*?) *=(?: (?P<value>.*))?\Z")
# How the programs say why they stop. `Error is 0.8E-15` in the body of CG and MG is a result.
_REASON = re.compile(
    r"(\*{3} )?ERROR\b|Error ?:|Error encountered|Too many nodes|PROBLEM SIZE IS TOO|SUBDOMAIN SIZE"
    r"|Problem size too big|Space for matrix elements"
)
_INTEGER = re.compile(r"(?:0|[1-9]\d*)\Z", re.ASCII)
# Fortran may drop a zero before the point.
_NUMBER = re.compile(r"(?:0|[1-9]\d*)?\.\d\d\Z", re.ASCII)
_SIZE = re.compile(r"(\d+)(?: *x *(\d+) *x *(\d+))?\Z", re.ASCII)


@dataclass(frozen=True)
class Result:
    """The final block of one run; `number` is its first line, `numbers` are those of the fields.

    `size` is as in `acceptance.suites.npb.benchmarks.sizes`. `compiled` is None in 3.4, `active` in
    3.3. `seconds` and Mop/s mean nothing for a run shorter than `benchmarks.TIMING_FLOOR`.
    """

    name: str
    problem_class: str
    size: tuple[int, ...]
    iterations: int
    seconds: float
    processes: int
    compiled: int | None
    active: int | None
    mops_total: float
    mops_per_process: float
    operation: str
    verified: bool
    version: str
    number: int
    numbers: dict[str, int]

    @property
    def communication_time(self) -> float:
        """Return the time (us) where no computation takes any."""
        return operations.communication_time(self.name, self.problem_class, self.mops_total)


def parse(text: str, source: str = "stdout") -> Result:
    """Read the output of one run of an NPB program.

    Raises ParseError, with the line, for anything but one whole, consistent and verified result;
    with the program's own words if it says why it stopped.
    """
    return _Reader(text, source).read()


def only_result(
    text: str, name: str, problem_class: str, processes: int, source: str = "stdout"
) -> Result:
    """Read the output of one benchmark, class and number of processes, all of them at work.

    Raises ParseError as `parse` does, and when another benchmark, class, size, or number of
    iterations or processes was run, or the program was built for another number; and when time
    and rate are not those of its operations.
    """
    result = parse(text, source)
    size, iterations = npb.sizes(name, problem_class)
    asked = {"name": name, "problem_class": problem_class, "size": size, "iterations": iterations}
    asked |= dict.fromkeys(("processes", "compiled", "active"), processes)
    for label, wanted in asked.items():
        found = getattr(result, label)
        if found not in (wanted, None):
            message = f"{label.replace('_', ' ')} is {found} instead of {wanted}"
            number = result.numbers.get(label, result.number)
            raise ParseError(source, message, benchmark=name, number=number)
    figures = name, problem_class, result.seconds, result.mops_total
    if message := operations.contradiction(*figures):
        number = result.numbers["mops_total"]
        raise ParseError(source, message, benchmark=name, number=number)
    return result


class _Reader(LineReader):
    """One reading of an output of NPB, and the block so far."""

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.release = ""
        self.block = 0
        #: Label -> what stands behind it, and where.
        self.entries: dict[str, tuple[str, int, str]] = {}
        #: Names of the compile options; None before them.
        self.options: list[str] | None = None
        self.address, self.whole = False, False

    def error_in(self, label: str, message: str) -> ParseError:
        self.stand(*self.entries[label][1:])
        return self.error(message)

    def read(self) -> Result:
        # Not splitlines(), which splits at more than newlines.
        *lines, rest = self.text.split("\n")
        for number, line in enumerate(lines, 1):
            self.stand(number, line)
            self.read_line(line.strip())
        if not self.block:
            self.stopped([*lines, rest])
        self.stand(len(lines) + 1, rest)
        if rest.strip():
            raise self.error("the output ends in the middle of a line")
        if self.block and not self.whole:
            self.number -= 1
            raise self.error("the final block is cut off here")
        self.stand()
        if not self.benchmark:
            raise self.error("this is no output of NPB: its title is missing")
        if not self.block:
            raise self.error("no final block: the program did not end")
        return self.result()

    def stopped(self, lines: list[str]) -> None:
        """Raise ParseError with the program's own words, up to five lines, if it has some."""
        for start, first in enumerate(lines):
            if _REASON.match(first.strip()):
                words: list[str] = []
                for line in lines[start : start + 5]:
                    # Each process may say the same.
                    if not line.strip() or line in words:
                        break
                    words.append(line)
                self.stand(start + 1, " ".join(" ".join(words).split()))
                raise self.error("the program stopped")

    def read_line(self, line: str) -> None:
        if match := _TITLE.match(line):
            self.read_title(match["name"].lower(), match["version"])
        elif match := _COMPLETED.match(line):
            self.read_completed(match["name"].lower())
        elif self.block and line and not self.whole:
            self.read_in_block(line)

    def read_title(self, name: str, version: str) -> None:
        if self.benchmark:
            raise self.error("a second title: two runs in one output")
        if name not in npb.NAMES:
            raise self.error("the title of a benchmark that is not known")
        try:
            self.release = npb.release(version)
        except ValueError as error:
            raise self.error(str(error)) from None
        self.benchmark = name

    def read_completed(self, name: str) -> None:
        if self.block:
            raise self.error("a second final block: two runs in one output")
        if name != self.benchmark:
            raise self.error(f"the final block of {name} under {self.benchmark or 'no'} title")
        self.block = self.number

    def read_in_block(self, line: str) -> None:
        expected = [label for label in LABELS if label != OTHERS[self.release]]
        if len(self.entries) < len(expected):
            self.read_field(line, expected[len(self.entries)])
        elif self.options is None and line == "Compile options:":
            self.options = []
        elif self.options is not None and not self.address and (found := _OPTION.match(line)):
            if found["name"] in self.options:
                raise self.error(f"{found['name']} stands twice in the final block")
            self.options.append(found["name"])
        elif self.options and _ADDRESS.match(line):
            self.address = True
            self.whole = line.endswith(LAST[self.release])
        else:
            raise self.error("an unknown line in the final block")

    def read_field(self, line: str, expected: str) -> None:
        found = _FIELD.match(line)
        if not found or found["label"] not in LABELS:
            raise self.error("an unknown line in the final block")
        label = found["label"]
        if label in self.entries:
            raise self.error(f"{label!r} stands twice in the final block")
        if label != expected:
            raise self.error(f"{label!r} where the final block of {self.release} has {expected!r}")
        self.entries[label] = found["value"] or "", self.number, self.line

    def result(self) -> Result:
        problem_class = self.value("Class")
        if problem_class not in tuple(npb.CLASSES):
            raise self.error_in("Class", "it is no class; U is a size that none has")
        if self.value("Verification") != "SUCCESSFUL":
            raise self.error_in("Verification", "the results are wrong or not verified")
        size = _SIZE.match(self.value("Size"))
        if not size:
            raise self.error_in("Size", "it is no size")
        version = self.value("Version")
        if not f"{version}.".startswith(f"{self.release}."):
            raise self.error_in("Version", f"version {version} under a title of {self.release}")
        operation = OPERATIONS.get(self.benchmark, "floating point")
        if self.value("Operation type") != operation:
            raise self.error_in("Operation type", f"{self.benchmark} counts {operation!r}")
        processes = self.count("Total processes")
        total = self.number_of("Mop/s total", _NUMBER)
        each = self.number_of("Mop/s/process", _NUMBER)
        # Both are rounded to two decimals; 1e-9: the slack of floating point.
        if abs(total / processes - each) > 0.005 * (1 + 1 / processes) + 1e-9 * each:
            raise self.error_in("Mop/s/process", "it is not Mop/s total over the processes")
        old = self.release == "3.3"
        return Result(
            name=self.benchmark,
            problem_class=problem_class,
            size=tuple(int(points) for points in size.groups() if points),
            iterations=self.count("Iterations", zero=self.benchmark == "ep"),
            seconds=self.number_of("Time in seconds", _NUMBER, zero=True),
            processes=processes,
            compiled=self.count("Compiled procs") if old else None,
            active=None if old else self.count("Active processes"),
            mops_total=total,
            mops_per_process=each,
            operation=operation,
            verified=True,
            version=version,
            number=self.block,
            numbers={LABELS[label]: number for label, (_, number, _) in self.entries.items()},
        )

    def value(self, label: str) -> str:
        value = self.entries[label][0].strip()
        if not value:
            raise self.error_in(label, "no value")
        if "*" in value:
            raise self.error_in(label, "the number is too large for its field")
        return value

    def number_of(self, label: str, form: re.Pattern[str], *, zero: bool = False) -> float:
        text = self.value(label)
        if not form.match(text) or (float(text) == 0 and not zero):
            kind = "finite number" if form is _NUMBER else "integer"
            bound = "from zero on" if zero else "above zero"
            raise self.error_in(label, f"{text!r} is no {kind} {bound} as NPB prints it")
        return float(text)

    def count(self, label: str, *, zero: bool = False) -> int:
        return int(self.number_of(label, _INTEGER, zero=zero))
