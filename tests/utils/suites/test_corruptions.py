"""What no parser of any suite may take: the same corruptions of an output of each of them."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import hpcc_output, imb_output, npb, osu, patterns
from tests.conftest import DATA
from tests.recorded import runs
from tests.rows import like


@dataclass(frozen=True)
class Sample:
    """A recorded output, and one of its lines that has a real number and a whole one, or two.

    `free` names the corruptions that make a number which the suite prints as well.
    """

    path: str
    parse: Callable
    benchmark: str
    #: The lines begin with these, and have these numbers.
    real: tuple[str, str]
    whole: tuple[str, str]
    free: frozenset[str] = frozenset()

    @property
    def text(self):
        """The whole file, or that of one program of many in it: `osu/every.mpich.txt/bw`."""
        path = DATA / self.path
        if path.exists():
            return path.read_text()
        return dict(runs(path.parts[-3], path.parent.read_text()))[path.name]


SAMPLES = {
    "imb": Sample(
        "imb/IMB-MPI1_PingPong.impi.txt", imb_output.parse, "PingPong",
        (r" +1024 ", "0.48"), (r" +1024 ", "1000"),
    ),
    "imb rate": Sample(
        "imb/IMB-MPI1_Uniband.impi.txt", imb_output.parse, "Uniband",
        (r" +1024 ", "818.31"), (r" +1024 ", "799129"),
    ),
    "imb overlap": Sample(
        "imb/IMB-NBC_Ibcast.openmpi.txt", imb_output.parse, "Ibcast",
        (r" +1 ", "0.80"), (r" +1 ", "20"),
    ),
    "imb messages": Sample(
        "imb/IMB-P2P_PingPong.openmpi.txt", imb_output.parse, "PingPong",
        (r" +1024 ", "0.23"), (r" +1024 ", "4258037"),
    ),
    "imb modes": Sample(
        "imb/IMB-RMA.mpich.txt/Bidir_get", imb_output.parse, "Bidir_get",
        (r" +64 ", "0.42"), (r" +64 ", "20"),
    ),
    "imb threads": Sample(
        "imb/IMB-MT.mpich.txt/UniBandMT", imb_output.parse, "UniBandMT",
        (r" +64 ", "879.65"), (r" +64 ", "20"),
    ),
    "imb files": Sample(
        "imb/IMB-IO.openmpi.txt/P_Read_Expl", imb_output.parse, "P_Read_Expl",
        (r" +64 ", "0.78"), (r" +64 ", "3"),
    ),
    "osu": Sample(
        "osu/osu_latency.openmpi.txt", osu.parse, "latency",
        (r"1024 ", "0.19"), (r"1024 ", "1024"),
    ),
    "osu rate": Sample(
        "osu/osu_mbw_mr.openmpi.txt", osu.parse, "mbw_mr",
        (r"1024 ", "12788771.46"), (r"1024 ", "1024"),
    ),
    "osu full": Sample(
        "osu/osu_alltoall_f_np4.openmpi.txt", osu.parse, "alltoall",
        (r"1024 ", "7.85"), (r"1024 ", "20"),
    ),
    "osu overlap": Sample(
        "osu/every.mpich.txt/iallreduce", osu.parse, "iallreduce",
        (r"64 ", "1.88"), (r"64 ", "64"),
    ),
    "osu percentile": Sample(
        "osu/every.mpich.txt/bw", osu.parse, "bw",
        (r"64 ", "836.43"), (r"64 ", "64"),
    ),
    "hpcc": Sample(
        "hpcc/hpccoutf.openmpi.txt", hpcc_output.parse, "Summary",
        ("HPL_Tflops=", "0.0179497"), ("HPL_N=", "1000"),
        # `%g` prints as many decimals as there are, and what has none like a whole number.
        frozenset({"digit lost", "point lost", "negative", "fraction", "short exponent"}),
    ),
    "npb": Sample(
        "npb/cg.S.2.openmpi.txt", npb.parse, "cg",
        (" Mop/s total ", "4269.75"), (" Iterations ", "15"), frozenset({"no whole part"}),
    ),
    "npb time": Sample(
        "npb/3.4_lu.W.2.openmpi.txt", npb.parse, "lu",
        (" Time in seconds ", "9.75"), (" Total processes ", "2"), frozenset({"no whole part"}),
    ),
    "npb traffic": Sample(
        "npb/3.4.3_dt-sh.S.12.openmpi.txt", npb.parse, "dt-sh",
        (" Mop/s total ", "28.64"), (" Total processes ", "12"), frozenset({"no whole part"}),
    ),
    "patterns": Sample(
        "patterns/aapc_np2.mpich.txt", patterns.parse, "",
        ('{"type":"phase"', "{loop_us}"), ('{"type":"phase"', "{repetitions}"),
        # The loop bounds the rate from above alone.
        frozenset({"digit lost"}),
    ),
}  # fmt: skip


#: Corruption of a real number like 0.48 -> what stands in its place.
REAL = {
    **{word: lambda number, word=word: word for word in (
        "nan", "-nan", "NaN", "inf", "-inf", "Infinity", "1e999", "****", "0x10", "1.2e", "1,5",
        "1.", "1_000", "?", "\u0661", "4.26E+03",
    )},
    "negative": lambda number: f"-{number}",
    "sign": lambda number: f"+{number}",
    "underscore": lambda number: f"{number[:-1]}_{number[-1]}",
    "exponent": lambda number: f"{float(number) * 10:g}e-1",
    "zero in front": lambda number: f"0{number}",
    "zeros in front": lambda number: f"00{number}",
    "zero behind": lambda number: f"{number}0",
    "digit lost": lambda number: number[:-1],
    "point lost": lambda number: number.replace(".", ""),
    "no whole part": lambda number: f".{number.partition('.')[2]}",
    "two points": lambda number: number.replace(".", ".."),
}  # fmt: skip
#: The same of a whole number like 1000.
WHOLE = {
    **{word: lambda number, word=word: word for word in (
        "nan", "inf", "1e999", "****", "0x10", "\u0661", "1,5",
    )},
    "negative": lambda number: f"-{number}",
    "sign": lambda number: f"+{number}",
    "underscore": lambda number: f"{number[0]}_{number[1:] or 0}",
    "fraction": lambda number: f"{number}.5",
    "point behind": lambda number: f"{number}.",
    "decimals": lambda number: f"{number}.00",
    "short exponent": lambda number: "1e3",
    "zero in front": lambda number: f"0{number}",
    "zeros in front": lambda number: f"00{number}",
}  # fmt: skip
WORDS = re.compile(
    "is no|is negative|too large for its field|no record of patterns|instead of|fields where"
)


def place(sample, kind):
    """Return the line of a sample, and its number as it is printed."""
    start, number = getattr(sample, kind)
    lines = [line for line in sample.text.splitlines() if re.match(start, line)]
    line = lines[0]
    if number in ("{1}", "{2}"):
        number = line.split()[1 if number == "{1}" else 3]
    elif number.startswith("{"):
        number = re.search(rf'"{number[1:-1]}":([\d.]+)', line)[1]
    return line, number


CASES = [
    (suite, kind, corruption)
    for suite, sample in SAMPLES.items()
    for kind, corruptions in (("real", REAL), ("whole", WHOLE))
    for corruption in corruptions
    if corruption not in sample.free
]


@pytest.mark.parametrize(("suite", "kind", "corruption"), CASES)
def test_a_corrupted_number_is_refused_with_its_line(suite, kind, corruption):
    sample = SAMPLES[suite]
    line, number = place(sample, kind)
    bad = (REAL if kind == "real" else WHOLE)[corruption](number)
    changed = re.sub(rf"(?<![\w.]){re.escape(number)}(?![\w.])", bad, line, count=1)
    assert changed != line
    if suite.startswith(("imb", "osu")):
        changed = like(line, changed)
    with pytest.raises(ParseError, match=WORDS) as refused:
        sample.parse(sample.text.replace(line + "\n", changed + "\n", 1), "run.out")
    assert refused.value.number == sample.text.splitlines().index(line) + 1
    assert refused.value.benchmark == sample.benchmark
    assert refused.value.source == "run.out"


@pytest.mark.parametrize("suite", SAMPLES)
@pytest.mark.parametrize("text", ["", "\n", " \n\t\n  "], ids=["nothing", "newline", "blanks"])
def test_an_empty_output_is_refused(suite, text):
    with pytest.raises(ParseError, match=r"^run\.out: .*the output is empty$"):
        SAMPLES[suite].parse(text, "run.out")


@pytest.mark.parametrize("suite", SAMPLES)
def test_the_output_of_another_program_is_refused(suite):
    with pytest.raises(ParseError, match="this is no output of"):
        SAMPLES[suite].parse("bash: it: command not found\n", "run.out")


@pytest.mark.parametrize("suite", SAMPLES)
def test_every_cut_in_a_line_is_refused(suite):
    """In steps, and at each byte of the last lines."""
    sample, text = SAMPLES[suite], SAMPLES[suite].text.rstrip()
    places = {*range(0, len(text), 101), *range(max(0, len(text) - 400), len(text))}
    for length in places:
        if not text[:length].endswith("\n"):
            with pytest.raises(ParseError):
                sample.parse(text[:length])


@pytest.mark.parametrize("suite", SAMPLES)
def test_two_runs_in_one_output_are_refused(suite):
    sample = SAMPLES[suite]
    with pytest.raises(ParseError, match=r"second|two runs") as refused:
        sample.parse(sample.text * 2, "run.out")
    assert refused.value.number > sample.text.count("\n")


@pytest.mark.parametrize("suite", [name for name in SAMPLES if name.startswith(("imb", "osu"))])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda line: " ".join(line.split()[:-1]), "fields where the header has"),
        (lambda line: f"{line} 1", "fields where the header has"),
        (lambda line: "libibverbs: Warning: no device mlx5", "fields where|is no "),
        (lambda line: "PSM3 hfi not found", "fields where|is no "),
        (lambda line: 74 * "-", "fields where|is no|is negative"),
        (lambda line: f"{line}\n{line}", "message sizes do not grow|a row of group"),
    ],
    ids=["field lost", "field added", "warning", "as many words", "rule", "row twice"],
)
def test_a_row_that_is_none_is_refused(suite, change, words):
    sample = SAMPLES[suite]
    line, _ = place(sample, "real")
    changed = change(line)
    if suite == "imb pairs" and not changed.split()[0].isdigit():
        words = ".*"
    with pytest.raises(ParseError, match=words):
        sample.parse(sample.text.replace(line + "\n", changed + "\n", 1), "run.out")
