"""Himeno's benchmark, NAMD, CPMD and SPEC MPI2007: outputs in their documented form, and mutilated.

Himeno's source of 3.0 was built with three MPIs to compare: outputs of grids XS to L are read.
"""

import math

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import SUITES, cpmd, himeno, namd, specmpi
from tests.made_applications import of_both, of_cpmd, of_himeno, of_namd, of_spec

#: Suite -> a good output, and how it is read.
READ = {
    "himeno": (of_himeno(), lambda text: himeno.parse(text, "S", 2)),
    "namd": (of_namd(), lambda text: namd.parse(text, 4).seconds),
    "cpmd": (of_both(), lambda text: cpmd.parse(text, "c120", 4).seconds),
    "specmpi": (of_spec(), lambda text: specmpi.parse(text, "104.milc", 64, "table.csv")[0]),
}


def replaced(suite, *pairs):
    """Return a good output with texts, that have to be there, in place of others."""
    text = READ[suite][0]
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def test_good_outputs_give_their_times_and_rates():
    found = {suite: read(text) for suite, (text, read) in READ.items()}
    inner = 126 * 62 * 62
    assert found["himeno"] == pytest.approx(34e-9 * inner * 60 / 3.0)
    assert (found["namd"], found["cpmd"]) == (137.253464, (102.15, 208.2))
    assert found["specmpi"] == 262.012345


@pytest.mark.parametrize(
    ("suite", "old", "new", "words"),
    [
        # Another input, or another number of processes.
        ("himeno", "mimax=  129  mjmax=  65", "mimax=  257  mjmax=  129", "a grid of (257, 129"),
        ("himeno", "K-decomp=  1", "K-decomp=  2", "cut the grid into"),
        ("namd", "92224 ATOMS", "1066628 ATOMS", "1066628 atoms instead of 92224"),
        ("namd", "Running on 4 processors", "Running on 1 processors", "1 processes instead of 4"),
        ("cpmd", "RYDBERG):          35.0", "RYDBERG):          20.0", "20 Ry instead of 35"),
        ("cpmd", "  154 ", "  108 ", "a mesh of (108, 96, 96)"),
        ("cpmd", "     3    3877", "   xxx    3877", "3 processes instead of 4"),
        ("cpmd", cpmd.STEPS[2], "OPTIMIZATION OF IONIC POSITIONS", "step 2 is nothing known"),
        ("specmpi", "104.milc,64,", "104.milc,32,", "32 processes instead of 64"),
        ("specmpi", "mref iteration", "mtest iteration", "'mtest iteration #1' instead of 'mref'"),
        # It failed, or did not end.
        ("himeno", " Sequential", " Invalid number of PE\n Seq", "it did not begin"),
        ("namd", "WRITING", "FATAL ERROR: Low global exclusion count\nWRITING", "program failed"),
        ("namd", "WallClock:", "WallClock", "cut: there is no WallClock"),
        ("namd", "ENERGY:    5000", "ENERGY:    4999", "but 0 to 4999"),
        ("cpmd", "CPMD ENDED", "CPMD", "step 1 did not end"),
        ("cpmd", " PROGRAM CPMD ENDED", " PROGRAM STOPS IN SUBROUTINE X", "the program failed"),
        ("specmpi", ",1,S,", ",1,VE,", "its results are wrong"),
        ("specmpi", "104.milc,64,262.012345,5.973,1,S", "104.milc,,,,,NR", "it did not run"),
        # Numbers that contradict each other, or that cannot be.
        ("himeno", "time(s):   3.0", "time(s):   3.1", "60 loops in 3.1 s are"),
        ("himeno", "Loop executed for  60", "Loop executed for  66", "60 were announced"),
        ("himeno", "Gosa :   1.0", "Gosa :   9.0E+01\n!", "the output is cut or another"),
        ("himeno", "600MHz :   ", "600MHz :   1", "follows"),
        ("namd", "-222495.4000", "-22249.5400", "where apoa1 has -222495.4"),
        # The same atoms with steps of 2 fs, as published.
        ("namd", "-222495.4000", "-231342.0906", "where apoa1 has -222495.4"),
        ("namd", "-222495.4000", "nan", "no finite number"),
        ("namd", "WallClock: 137.2", "WallClock: 1372", "is no number as NAMD prints it"),
        ("namd", "WallClock: 137", "WallClock: 117", "a step ended after"),
        ("cpmd", "-683.00000 -683.00000 -682.99995", "-683.0 -683.0 -680.0", "EHAM is not"),
        ("cpmd", "=       -683.0", "=       -583.0", "it did not restart from it"),
        ("cpmd", "         4  0.00012", "            0.00012", "4 steps of 5"),
        ("cpmd", "     5 STEPS", "     1000000000000 STEPS", "5 steps of 1000000000000"),
        ("specmpi", '262.012345,5.973,1,S,,,,,,"Sel', '62.012345,5.973,1,S,,,,,,"Sel', "times of"),
        ("specmpi", '"Tested', '"tested', "the table is cut"),
        ("specmpi", "262.012345", "2,62.012345", "13 values under a title of 12"),
    ],
)
def test_another_run_or_a_mutilated_output_is_refused(suite, old, new, words):
    text, read = replaced(suite, (old, new)), READ[suite][1]
    with pytest.raises(ParseError) as caught:
        read(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("suite", READ)
def test_no_part_of_an_output_is_read(suite):
    text, read = READ[suite]
    for end in range(0, len(text) - 1, len(text) // 97):
        with pytest.raises(ParseError):
            read(text[:end])
    with pytest.raises(ParseError):
        read(text + text)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"gosa": 3.4e-2}, "a residual of 0.034 after 3 loops, where it is 0.003416"),
        ({"last": 5e-2}, "the residual grew"),
    ],
)
def test_a_residual_of_another_computation_is_refused(made, words):
    with pytest.raises(ParseError, match=words):
        himeno.parse(of_himeno(**made), "S", 2)


@pytest.mark.parametrize("grid", himeno.GRIDS)
@pytest.mark.parametrize("processes", [1, 2, 6, 16, 128])
def test_a_grid_is_cut_for_all_processes(grid, processes):
    cut = himeno.parts(grid, processes)
    assert math.prod(cut) == processes
    assert himeno.parse(of_himeno(grid, processes), grid, processes) > 0
    assert himeno.answers(grid, processes).split() == [grid, *map(str, cut)]


def test_two_halves_are_cut_where_the_least_is_exchanged():
    assert himeno.parts("L", 2) == (2, 1, 1)
    assert himeno.points("L") == "513x257x257"


def test_a_line_of_a_compiler_may_go_on_in_the_next_one():
    assert himeno.parse(replaced("himeno", ("time(s):", "\n time(s):")), "S", 2) > 0


def test_namd_is_asked_for_as_many_steps_as_papers_have():
    asked = namd.configuration("timestep 1.0\nnumsteps            500\noutputtiming 20\n")
    assert asked.splitlines()[1].split() == ["numsteps", "5000"]
    for wrong in ("timestep 1.0\n", "numsteps 1\nrun 500\n"):
        with pytest.raises(ValueError, match="how many steps"):
            namd.configuration(wrong)


def test_one_table_is_that_of_the_run():
    milc, pop = of_spec(), of_spec("121.pop2")
    failed = of_spec(processes="", seconds="", status="NR")
    tables = {"a.csv": milc, "b.csv": pop, "c.csv": of_spec(processes=8)}
    assert specmpi.table_of(tables, "104.milc", 64) == "a.csv"
    # What is wrong with the only one is told by who reads it.
    assert specmpi.table_of({"a.csv": failed}, "104.milc", 64) == "a.csv"
    for several in ({}, {"a.csv": milc, "b.csv": milc}, {"a.csv": failed, "b.csv": pop}):
        with pytest.raises(ParseError, match=r"no table|[ab].csv, b.csv: which is of this run"):
            specmpi.table_of(several, "104.milc", 64)


def test_a_step_alone_is_no_run_of_cpmd():
    with pytest.raises(ParseError, match="1 steps instead of 2"):
        cpmd.parse(of_cpmd(), "c120", 4)


def test_what_is_missing_says_what_an_installation_needs():
    told = {key: SUITES[key].how_to_get() for key in READ}
    assert "name the folder of namd2 and apoa1/apoa1.namd" in told["namd"]
    assert "name the folder of runspec and shrc, config" in told["specmpi"]
    assert "HIMENO_SOURCE=<the folder of himenoBMTxpr.f90>" in told["himeno"]
