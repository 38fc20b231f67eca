"""`suites/npb.py` on recorded outputs of NPB 3.3.1 and 3.4.1 to 3.4.3, whole and mutilated.

Those of 3.4.3 are by a public copy whose calls of a tracer do nothing. DT ran with more ranks than
cores: it wants five at least.
"""

import re

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import npb
from tests.conftest import DATA

NAMES = sorted(path.name for path in (DATA / "npb").iterdir())
#: Runs that went wrong -> line to blame (0: the whole output), benchmark, words.
FAULTY = {
    "wrong_np_cg.S.2_on_4.openmpi.txt": (11, "cg", "num of procs allocated ( 4 ) is not equal to"),
    "wrong_np_is.S.4_on_2.openmpi.txt": (9, "is", "ERROR: compiled for 4 processes Number of"),
    "3.3_wrong_cg.S.1_on_2.mpich.txt": (11, "cg", "compiled number of procs ( 1 )"),
    "3.3_wrong_ft.S.1_on_2.mpich.txt": (32, "ft", "the results are wrong or not verified"),
    "3.3_wrong_ft.S.2_on_1.mpich.txt": (6, "ft", "Only 1 processors found"),
    "3.3_wrong_is.S.1_on_2.mpich.txt": (9, "is", "ERROR: compiled for 1 processes Number of"),
    "3.3_wrong_lu.S.2_on_1.mpich.txt": (11, "lu", "SUBDOMAIN SIZE IS TOO LARGE"),
    "3.3_wrong_mg.S.2_on_1.mpich.txt": (0, "mg", "no final block: the program did not end"),
    "3.4_input_mg.S.2.openmpi.txt": (24, "mg", "it is no class; U is a size that none has"),
    "3.4_wrong_bt.S.2.openmpi.txt": (1, "", "Expecting a square number of processes (such as 1)"),
    "3.4_wrong_bt.S.25.openmpi.txt": (10, "bt", "'Error: Cell size too small. Min size is 3'"),
    "3.4_wrong_cg.S.3.openmpi.txt": (1, "", "processor topology for 3 processes Expecting a power"),
    "3.4_wrong_is.S.3.openmpi.txt": (2, "", "(3) is not a power of two (2?) Exiting program!"),
    "3.4_wrong_dt-bh.A.21.openmpi.txt": (16, "dt-bh", "the results are wrong or not verified"),
}
#: Verified runs of which not all processes were at work, or not as many as the program is for.
UNEQUAL = {
    "3.3_wrong_bt.S.1_on_2.mpich.txt": (2, 1),
    "3.3_wrong_ep.S.1_on_2.mpich.txt": (2, 1),
    "3.3_wrong_lu.S.1_on_2.mpich.txt": (2, 1),
    "3.3_wrong_mg.S.1_on_2.mpich.txt": (2, 1),
    "3.4_inactive_cg.S.3.openmpi.txt": (3, 2),
}
#: A run of DT with a process that had nothing to do.
IDLE = "3.4_inactive_dt-bh.S.6.openmpi.txt"
VERIFIED = [name for name in NAMES if name not in FAULTY]
WHOLE = [name for name in VERIFIED if name not in (*UNEQUAL, IDLE)]
CG = "cg.S.2.openmpi.txt"
BT = "3.4_bt.W.1.openmpi.txt"
EP = "3.4_ep.S.4.openmpi.txt"
IS = "is.S.4.openmpi.txt"
DT = "3.4.3_dt-sh.S.12.openmpi.txt"

#: Files and all that their blocks hold, but for the date.
SPOTS = {
    CG: ("cg", "S", (1400,), 15, 0.02, 2, 2, 4269.75, 2134.87, "floating point", "3.3"),
    IS: ("is", "S", (65536,), 10, 0.0, 4, 4, 274.84, 68.71, "keys ranked", "3.3"),
    "bt.S.4.openmpi.txt": (
        *("bt", "S", (12, 12, 12), 60, 0.04, 4, 4),
        *(5438.91, 1359.73, "floating point", "3.3"),
    ),
    EP: (
        *("ep", "S", (33554432,), 0, 0.18, 4, 4),
        *(181.76, 45.44, "Random numbers generated", "3.4.2"),
    ),
    "3.4_cg.S.2.openmpi.txt": (
        *("cg", "S", (1400,), 15, 0.02, 2, 2),
        *(3680.89, 1840.45, "floating point", "3.4.2"),
    ),
    DT: ("dt-sh", "S", (6912,), 12, 0.0, 12, 28.64, 2.39, "bytes transmitted", "3.4.3"),
}
#: Labels whose values are the same in all of them.
UNTOLD = ("Verification", "Compile date")


@pytest.fixture
def read(recorded):
    return lambda name: recorded(f"npb/{name}")


def facts(name):
    """Return what a file's name tells: release, benchmark, class and processes."""
    found = re.match(r"(3\.[34])?(?:\.3)?_?(?:\w+_)?((?:dt-)?\w\w)\.(\w)\.(\d+)", name)
    return found[1] or "3.3", found[2], found[3], int(found[4])


def line_of(text, label):
    """Return the line of the final block that starts with a label."""
    block = text[text.rindex("\n", 0, text.index(" Benchmark Completed")) + 1 :]
    return next(line for line in block.splitlines() if line.startswith(f" {label}"))


def refused(text, number, words, name="cg"):
    """Parse what must be refused; `number` is that of the line to blame, or the line itself."""
    with pytest.raises(ParseError) as caught:
        npb.parse(text, "run.out")
    fault = caught.value
    if not isinstance(number, int):
        number = text.split("\n").index(number) + 1
    place = f"run.out:{number}: " if number else "run.out: "
    assert (fault.source, fault.number, fault.benchmark) == ("run.out", number, name)
    assert str(fault).startswith(f"{place}{name}: " if name else place)
    assert words in str(fault)


@pytest.mark.parametrize("name", WHOLE)
def test_a_recorded_output_is_read_completely(read, name):
    version, benchmark, problem_class, processes = facts(name)
    result = npb.only_result(read(name), benchmark, problem_class, processes)
    assert result.values == npb.parse(read(name)).values
    assert result.values["Version"].startswith(version)
    tells = benchmark not in npb.TRAFFIC
    assert result.values.get(npb.AT_WORK[version]) == (processes if tells else None)
    assert (npb.AT_WORK[version] in result.numbers) is tells
    assert result.mops_total > 0
    # That DT of 3.3 exits with 1 says no output.
    legal = npb.legal(benchmark, problem_class, processes, result.values["Version"])
    assert legal is (tells or version != "3.3")


def test_recorded_outputs_are_of_all_benchmarks_and_releases():
    both = {(*facts(name)[:2], facts(name)[3] > 1) for name in WHOLE}
    assert {what[:2] for what in both if what[2]} == {
        *((version, name) for version in ("3.3", "3.4") for name in npb.NAMES),
        *(("3.4", name) for name in npb.TRAFFIC),
        ("3.3", "dt-bh"),
    }
    newest = {name: facts(name)[1] for name in WHOLE if name.startswith("3.4.3_")}
    assert {*newest.values()} == npb.BENCHMARKS.keys()
    assert set(NAMES) >= {*FAULTY, *UNEQUAL, *SPOTS}


@pytest.mark.parametrize("name", VERIFIED)
def test_fields_know_their_lines(read, name):
    lines = read(name).splitlines()
    result = npb.parse(read(name))
    assert "Benchmark Completed" in lines[result.block - 1]
    for label, number in result.numbers.items():
        assert lines[number - 1].startswith(f" {label}")
    assert len(result.numbers) == (11 if result.benchmark in npb.TRAFFIC else 12)


@pytest.mark.parametrize("name", SPOTS)
def test_a_result_holds_the_printed_values(read, name):
    result = npb.parse(read(name))
    values = [result.values[label] for label in result.numbers if label not in UNTOLD]
    assert (result.benchmark, *values) == SPOTS[name]
    rate = 6 if name == DT else 7
    assert (result.seconds, result.mops_total) == (SPOTS[name][4], SPOTS[name][rate])


@pytest.mark.parametrize("name", FAULTY)
def test_a_run_that_went_wrong_is_refused_in_its_own_words(read, name):
    number, benchmark, words = FAULTY[name]
    refused(read(name), number, words, benchmark)


@pytest.mark.parametrize("name", UNEQUAL)
def test_a_verified_run_with_other_processes_is_refused(read, name):
    text = read(name)
    result = npb.parse(text)
    asked = result.values["Total processes"]
    (at_work,) = (result.values[k] for k in npb.AT_WORK.values() if k in result.values)
    assert (asked, at_work) == UNEQUAL[name]
    with pytest.raises(ParseError, match=r"(Compiled procs|Active processes) is \d instead"):
        npb.only_result(text, result.benchmark, "S", asked)
    with pytest.raises(ParseError, match=r"Total processes is \d instead of \d"):
        npb.only_result(text, result.benchmark, "S", at_work)


@pytest.mark.parametrize(
    ("asked", "label", "words"),
    [
        (("bt", "S", 2), "", "this is cg instead of bt"),
        (("cg", "W", 2), "Class", "Class is S instead of W"),
        (("cg", "S", 4), "Total processes", "Total processes is 2 instead of 4"),
        (("is", "E", 2), "", "this is cg instead of is"),
    ],
)
def test_another_run_is_refused(read, asked, label, words):
    text = read(CG)
    with pytest.raises(ParseError) as caught:
        npb.only_result(text, *asked, "run.out")
    number = text.splitlines().index(line_of(text, label or "CG Benchmark Completed")) + 1
    assert str(caught.value) == f"run.out:{number}: {asked[0]}: {words}"


def test_a_process_of_dt_without_a_node_of_the_graph_is_refused(read):
    assert npb.parse(read(IDLE)).values["Total processes"] == 6
    assert [npb.legal("dt-bh", "S", processes) for processes in (5, 6)] == [True, False]
    with pytest.raises(ParseError, match="Total processes is 6 instead of 5"):
        npb.only_result(read(IDLE), "dt-bh", "S", 5)


@pytest.mark.parametrize(
    ("label", "old", "new", "words"),
    [
        ("Size", "1400", "1500", r"Size is \(1500,\) instead of \(1400,\)"),
        ("Iterations", "15", "16", "Iterations is 16 instead of 15"),
        ("Compiled procs", " 2", " 4", "Compiled procs is 4 instead of 2"),
    ],
)
def test_a_patched_program_is_refused(read, label, old, new, words):
    line = line_of(read(CG), label)
    text = read(CG).replace(line, line.replace(old, new))
    assert npb.parse(text)
    with pytest.raises(ParseError, match=words) as caught:
        npb.only_result(text, "cg", "S", 2)
    assert caught.value.number == read(CG).splitlines().index(line) + 1


@pytest.mark.parametrize("name", VERIFIED)
def test_every_cut_is_refused(read, name):
    text = read(name)
    last = npb.LAST[facts(name)[0]]
    end = text.index(last) + len(last) + 1
    for length in range(end):
        with pytest.raises(ParseError):
            npb.parse(text[:length])
    whole = npb.parse(text)
    assert npb.parse(text[:end]).values == whole.values
    for length in range(end + 1, len(text)):
        if text[:length].endswith("\n"):
            cut = npb.parse(text[:length])
            assert (cut.values, cut.numbers) == (whole.values, whole.numbers)


@pytest.mark.parametrize(
    ("end", "name"),
    [
        ("NAS Par", ""),
        ("zeta", "cg"),
        ("Mop/s tot", "cg"),
        ("RAND ", "cg"),
        ("Fax: 650-604-3957", "cg"),
    ],
)
def test_a_cut_in_a_line_is_named(read, end, name):
    text = read(CG)
    cut = text[: text.index(end) + len(end)]
    refused(cut, cut.count("\n") + 1, "the output ends in the middle of a line", name)


def test_a_cut_in_the_timers_after_the_block_is_refused(read):
    text = read("3.4_timers_cg.S.2.openmpi.txt")
    assert npb.parse(text).block == 33
    refused(text[:-20], text.count("\n"), "the output ends in the middle of a line")


def test_a_cut_after_a_line_is_placed(read):
    text = read(CG)
    cut = text[: text.index(" Mop/s total")]
    refused(cut, 39, "the final block is cut off here")
    refused(text[: text.index("   iteration")], 0, "no final block: the program did not end")


@pytest.mark.parametrize("name", [CG, BT, EP, IS, DT])
def test_every_missing_line_of_the_block_is_refused(read, name):
    lines = read(name).split("\n")
    result = npb.parse(read(name))
    for number in (result.block, *result.numbers.values()):
        text = "\n".join([*lines[: number - 1], *lines[number:]])
        with pytest.raises(ParseError):
            npb.parse(text)


@pytest.mark.parametrize("name", [CG, BT, EP, IS, DT])
def test_every_doubled_line_of_the_block_is_refused(read, name):
    lines = read(name).split("\n")
    result = npb.parse(read(name))
    options = [n for n, line in enumerate(lines, 1) if line.startswith("    ") and " = " in line]
    for number in (*result.numbers.values(), *options[-3:]):
        text = "\n".join([*lines[:number], lines[number - 1] + " ", *lines[number:]])
        refused(text, number + 1, "", result.benchmark)


@pytest.mark.parametrize("name", [CG, BT, EP, IS, DT])
def test_every_unknown_line_in_the_block_is_refused(read, name):
    lines = read(name).split("\n")
    result = npb.parse(read(name))
    end = next(n for n, line in enumerate(lines) if npb.LAST[facts(name)[0]] in line)
    for number in range(result.block, end):
        text = "\n".join([*lines[:number], "UCX  WARN  no device = mlx5", *lines[number:]])
        refused(text, number + 1, "an unknown line in the final block", result.benchmark)


def test_lines_around_the_block_are_no_fault(read):
    text = read(CG)
    body = " Verification    =             UNSUCCESSFUL\n Class           = U\n"
    text = "mpirun: hello\n Version = 9\n" + text.replace(" Benchmark completed", body + " Bench")
    assert npb.parse(text + "\n Verification    =             UNSUCCESSFUL\n").mops_total == 4269.75


@pytest.mark.parametrize("name", [CG, BT, EP, IS, DT])
def test_two_runs_in_one_output_are_refused(read, name):
    text = read(name)
    number = text.count("\n") + next(
        n for n, line in enumerate(text.splitlines(), 1) if "NAS Parallel" in line
    )
    refused(text + text, number, "a second title: two runs in one output", facts(name)[1])
    block = text[text.index(line_of(text, facts(name)[1].upper().replace("-", "_"))) :]
    refused(text + block, text.count("\n") + 1, "a second final block", facts(name)[1])


def test_a_run_after_one_that_was_cut_is_refused(read):
    text = read(CG)
    half = text[: text.index("   iteration")]
    refused(half + text, half.count("\n") + 3, "a second title: two runs in one output")


#: Label -> what may not stand behind it, and the words.
BAD_FIELDS = [
    ("Class", "U", "it is no class"),
    ("Class", "F", "it is no class"),
    ("Class", "", "no value"),
    ("Size", "****x****x****", "the number is too large for its field"),
    ("Size", "************", "the number is too large for its field"),
    ("Size", "12x  12", "it is no size"),
    ("Size", "-1400", "it is no size"),
    ("Iterations", "0", "'0' is no integer above zero"),
    ("Time in seconds", "2", "'2' is no finite number from zero on"),
    ("Total processes", "0", "'0' is no integer above zero"),
    ("Compiled procs", "0", "'0' is no integer above zero"),
    ("Mop/s total", "0.00", "'0.00' is no finite number above zero"),
    ("Mop/s/process", "Infinity", "'Infinity' is no finite number above zero"),
    ("Operation type", "keys ranked", "cg counts 'floating point'"),
    ("Verification", "UNSUCCESSFUL", "the results are wrong or not verified"),
    ("Verification", "NOT PERFORMED", "the results are wrong or not verified"),
    ("Verification", "SUCCESSFUL?", "the results are wrong or not verified"),
    ("Version", "3.4.2", "version 3.4.2 under a title of 3.3"),
    ("Version", "3.35", "version 3.35 under a title of 3.3"),
    ("Version", "3:3", "version 3:3 under a title of 3.3"),
]


@pytest.mark.parametrize(("label", "value", "words"), BAD_FIELDS)
def test_a_bad_field_is_refused_by_name(read, label, value, words):
    line = line_of(read(CG), label)
    bad = f"{line.partition('=')[0]}= {value:>24}"
    refused(read(CG).replace(line, bad), bad, words)


@pytest.mark.parametrize(
    ("name", "total", "each", "held"),
    [
        (CG, "4269.75", "2134.88", True),
        (CG, "4269.75", "2134.86", False),
        (CG, "4269.75", "2134.89", False),
        (CG, "4269.75", "4269.75", False),
        (EP, "181.76", "45.43", False),
        (EP, "181.76", "45.44", True),
        (EP, ".76", ".19", True),
        (BT, "1234567.89", "1234567.88", True),
        (BT, "1234567.89", "1234567.87", False),
    ],
)
def test_the_rate_of_a_process_is_its_share(read, name, total, each, held):
    text = read(name)
    for label, value in (("Mop/s total", total), ("Mop/s/process", each)):
        text = text.replace(line_of(text, label), f" {label:16s}=             {value:>12}")
    if held:
        assert npb.parse(text).mops_total == float(total)
    else:
        line = line_of(text, "Mop/s/process")
        refused(text, line, "it is not Mop/s total over the processes", facts(name)[1])


@pytest.mark.parametrize(
    ("old", "new", "number", "name", "words"),
    [
        ("3.3 -- CG", "3.2 -- CG", 3, "", "NPB '3.2' is not known"),
        ("3.3 -- CG", "3.3 -- UA", 3, "", "the title of a benchmark that is not known"),
        ("3.3 -- CG", "3.3 -- MG", 33, "mg", "the final block of cg under mg title"),
        ("NAS Parallel", "NPB", 33, "", "the final block of cg under no title"),
        ("Compiled procs  =", "Active processes=", 39, "cg", "'Active processes' where the final"),
        ("Total processes =", "Total threads   =", 38, "cg", "an unknown line in the final block"),
    ],
)
def test_another_title_or_label_is_refused(read, old, new, number, name, words):
    refused(read(CG).replace(old, new), number, words, name)


@pytest.mark.parametrize(
    ("old", "new", "words", "name"),
    [
        ("DT_SH.S Bench", "DT_SH.W Bench", "the block is that of class W", "dt-sh"),
        ("DT_SH.S Bench", "DT_BH.S Bench", None, "dt-bh"),
        ("DT_SH.S Bench", "DT Bench", "the final block of dt under dt title", "dt"),
        ("DT_SH.S Bench", "CG Bench", "the final block of cg under dt title", "dt"),
        (" Mop/s total", " Active processes= 12\n Mop/s total", "where the final block", "dt-sh"),
        ("bytes transmitted", "   floating point", "counts 'bytes transmitted'", "dt-sh"),
    ],
)
def test_another_graph_or_class_of_dt_is_refused(read, old, new, words, name):
    text = read(DT).replace(old, new, 1)
    if words is None:
        assert npb.parse(text).benchmark == name
        words = "this is dt-bh instead of dt-sh"
        with pytest.raises(ParseError, match=words):
            npb.only_result(text, "dt-sh", "S", 12)
    else:
        with pytest.raises(ParseError, match=words) as caught:
            npb.parse(text)
        assert caught.value.benchmark == name
    with pytest.raises(ParseError):
        npb.only_result(text, "dt-sh", "S", 12)


#: What DT wrote to its standard error: class A of a program whose integers do not wrap, and class
#: B, of which it says SUCCESSFUL, of one that is right and of one that is wrong.
SUMS = {
    ("dt-bh", "S", "DT_BH.S L2 Norm = 30892725.000000\n Deviation = 0.000000\n"): "",
    ("dt-bh", "B", " 0.DT_BH.B: (43,42)\n DT_BH.B L2 Norm = 4317114.000000\n"): "",
    ("dt-sh", "B", "DT_SH.B L2 Norm = 1836863082.000000\n No verification was performed.\n"): "",
    ("dt-bh", "B", "DT_BH.B L2 Norm = 4326574.000000\n No verification was performed.\n"):
        "DT_BH.B: the sum of what arrived is 4326574.000000 instead of 4317114.000000",
    ("dt-bh", "A", "DT_BH.A L2 Norm = 17791410.000000\n"): "instead of 17809491.000000",
    ("dt-bh", "S", "DT_BH.S L2 Norm = nan\n"): "is nan instead of",
    ("dt-bh", "S", "DT_WH.S L2 Norm = 30892725.000000\n"): "is not there",
    ("dt-bh", "S", "DT_BH.S L2 Norm = 30892725.000000\nDT_BH.S L2 Norm = 1.0\n"):
        "is 30892725.000000, 1.0 instead of",
    ("dt-wh", "S", ""): "DT_WH.S: the sum of what arrived is not there",
}  # fmt: skip


@pytest.mark.parametrize(("case", "words"), SUMS.items())
def test_the_sum_of_dt_must_be_the_right_one(case, words):
    name, problem_class, errors = case
    if not words:
        npb.check_sum(errors, name, problem_class)
        return
    with pytest.raises(ParseError) as caught:
        npb.check_sum(errors, name, problem_class, "run.err")
    assert str(caught.value).startswith(f"run.err: {name}: ")
    assert words in str(caught.value)


def test_an_output_without_a_title_is_refused():
    refused("bash: cg.S.x: command not found\n", 0, "this is no output of NPB", "")


def test_times_below_the_floor_are_read_and_left_to_the_caller(read):
    assert npb.parse(read(IS)).seconds == 0.0 < npb.TIMING_FLOOR
    assert npb.parse(read(BT)).seconds == 2.67 > npb.TIMING_FLOOR
