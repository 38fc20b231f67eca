"""`suites/osu.py` on recorded outputs of OMB, whole and mutilated."""

import re

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import osu
from tests.conftest import DATA
from tests.recorded import runs
from tests.rows import like

LATENCY = "osu_latency.openmpi.txt"
VALIDATED = "osu_latency_c_validate.openmpi.txt"
RATE = "osu_mbw_mr.openmpi.txt"
FULL = "osu_alltoall_f_np4.openmpi.txt"
BARRIER = "osu_barrier.openmpi.txt"
PUT = "osu_put_latency.openmpi.v5.3.2.txt"
INIT = "osu_init.openmpi.txt"
HELLO = "osu_hello.openmpi.txt"

TIMES = ("size", "latency")
BANDWIDTHS = ("size", "bandwidth")
RATES = ("size", "bandwidth", "messages")
EXTREMES = ("min", "max", "repetitions")

#: File -> program, version, processes that it tells of, rows, columns.
WHOLE = {
    LATENCY: ("latency", "7.4", 0, 23, TIMES),
    "osu_latency.openmpi.v5.4.1.txt": ("latency", "5.4.1", 0, 7, TIMES),
    "osu_latency.openmpi.v7.2.txt": ("latency", "7.2", 0, 7, TIMES),
    "osu_latency_m8.openmpi.txt": ("latency", "7.4", 0, 1, TIMES),
    VALIDATED: ("latency", "7.4", 0, 11, (*TIMES, "validation")),
    "osu_bw.openmpi.txt": ("bw", "7.4", 0, 23, BANDWIDTHS),
    "osu_bibw.openmpi.txt": ("bibw", "7.4", 0, 23, BANDWIDTHS),
    "osu_multi_lat.openmpi.txt": ("multi_lat", "7.4", 0, 23, TIMES),
    RATE: ("mbw_mr", "7.4", 2, 23, RATES),
    "osu_mbw_mr_np4.openmpi.txt": ("mbw_mr", "7.4", 4, 13, RATES),
    "osu_mbw_mr.openmpi.v5.6.1.txt": ("mbw_mr", "5.6.1", 2, 7, RATES),
    "osu_mbw_mr_c.openmpi.v5.9.txt": ("mbw_mr", "5.9", 2, 7, (*RATES, "validation")),
    "osu_mbw_mr.openmpi.v7.2.txt": ("mbw_mr", "7.2", 2, 7, RATES),
    "osu_mbw_mr_bc.mpich.txt": ("mbw_mr", "7.4", 2, 7, (*RATES, "validation")),
    "osu_allgather.mpich.txt": ("allgather", "7.4", 0, 7, TIMES),
    "osu_allgatherv.mpich.txt": ("allgatherv", "7.4", 0, 7, TIMES),
    "osu_allreduce.openmpi.txt": ("allreduce", "7.4", 0, 21, TIMES),
    "osu_allreduce.openmpi.v6.2.txt": ("allreduce", "6.2", 0, 5, TIMES),
    "osu_alltoall.openmpi.txt": ("alltoall", "7.4", 0, 21, TIMES),
    FULL: ("alltoall", "7.4", 0, 13, (*TIMES, *EXTREMES)),
    "osu_alltoallv.mpich.txt": ("alltoallv", "7.4", 0, 7, TIMES),
    BARRIER: ("barrier", "7.4", 0, 1, ("latency",)),
    "osu_barrier_f.openmpi.txt": ("barrier", "7.4", 0, 1, ("latency", *EXTREMES)),
    "osu_bcast.openmpi.txt": ("bcast", "7.4", 0, 21, TIMES),
    "osu_gather.mpich.txt": ("gather", "7.4", 0, 7, TIMES),
    "osu_reduce_fc.mpich.txt": (
        *("reduce", "7.4", 0, 5),
        (*TIMES, *EXTREMES, "validation"),
    ),
    "osu_reduce_scatter_fc.mpich.txt": (
        *("reduce_scatter", "7.4", 0, 5),
        (*TIMES, *EXTREMES, "validation"),
    ),
    "osu_scatter.mpich.txt": ("scatter", "7.4", 0, 7, TIMES),
    PUT: ("put_latency", "5.3.2", 0, 24, TIMES),
    "osu_get_latency.openmpi.txt": ("get_latency", "7.4", 0, 23, TIMES),
    "osu_put_bw.openmpi.txt": ("put_bw", "7.4", 0, 23, BANDWIDTHS),
    "osu_get_bw.mpich.txt": ("get_bw", "7.4", 0, 7, BANDWIDTHS),
    INIT: ("init", "7.4", 2, 1, ()),
    "osu_init.mpich.txt": ("init", "7.4", 2, 1, ()),
    HELLO: ("hello", "7.4", 2, 0, ()),
    "osu_hello.mpich.txt": ("hello", "7.4", 2, 0, ()),
}

#: File, number of the row, and all that the row holds.
SPOTS = [
    (LATENCY, 0, 1, {"latency": 0.18}),
    (LATENCY, 22, 4194304, {"latency": 1298.85}),
    ("osu_bw.openmpi.txt", 10, 1024, {"bandwidth": 12734.86}),
    (RATE, 0, 1, {"bandwidth": 24.38, "messages": 24382717.23}),
    (RATE, 22, 4194304, {"bandwidth": 8337.60, "messages": 1987.84}),
    (VALIDATED, 10, 1024, {"latency": 0.19, "validation": 1}),
    (FULL, 12, 4096, {"latency": 23.90, "min": 22.22, "max": 25.56, "repetitions": 20}),
    (BARRIER, 0, None, {"latency": 0.28}),
    (PUT, 0, 0, {"latency": 0.02}),
    (INIT, 0, None, {"min": 225000, "avg": 225000, "max": 225000}),
    ("osu_init.mpich.txt", 0, None, {"min": 77000, "avg": 79000, "max": 81000}),
]


#: All programs of one MPI that its OSU 7.4 has (Open MPI 4.1.4, MPICH 4.0.2, Intel MPI 2021.18).
EVERY = ("every.openmpi.txt", "every.mpich.txt", "every.impi.txt")


def recorded_runs(name):
    """Return program -> output of a file of all programs."""
    return dict(runs("osu", (DATA / "osu" / name).read_text()))


def of_mpich(program):
    return recorded_runs("every.mpich.txt")[program]


@pytest.fixture
def read(recorded):
    return lambda name: recorded(f"osu/{name}")


@pytest.mark.parametrize("name", EVERY)
def test_every_program_is_read_with_its_percentiles(name):
    found = recorded_runs(name)
    lacking = {"partitioned_latency"}
    if name == "every.openmpi.txt":
        lacking |= {n for n, r in osu.BENCHMARKS.items() if r.family == "persistent-collective"}
    assert {*found} == {*osu.BENCHMARKS} - lacking
    for program, text in found.items():
        row = osu.BENCHMARKS[program]
        output = osu.parse(text, "run.out", 2, program)
        table = output.only_table(program, 2)
        sizes = osu.message_sizes(program, 2, 4, 64) if row.sized else [None]
        assert [each.size for each in table.rows] == (sizes if program != "hello" else [])
        wanted = {column.name for column in (*row.columns, *row.percentiles)}
        assert all(wanted <= each.values.keys() for each in table.rows), program


#: Program -> what stands in a line of it, what in its place, and why that is refused.
FAULTS = {
    "iallreduce": ("a part", "is not that of its line"),
    "ibarrier": ("a part", "is not that of its line"),
    "latency": ("a percentile", "a percentile is less than a lower one"),
    "put_bw": ("a percentile", "a percentile is less than a lower one"),
    "bcast_persistent": ("a percentile", "a percentile is less than a lower one"),
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("program", FAULTS)
def test_numbers_of_a_line_that_do_not_agree_are_refused(name, program):
    text = recorded_runs(name).get(program) or of_mpich(program)
    table = osu.parse(text, "run.out", 2, program).tables[0]
    lines = text.splitlines()
    row = lines[table.rows[-1].number - 1]
    what, words = FAULTS[program]
    fields = row.split()
    # The overlap, or the lowest percentile.
    at = table.columns.index("overlap" if what == "a part" else min(table.columns[2:]))
    other = "999999.00" if what == "a percentile" else f"{(float(fields[at]) + 50) % 100:.2f}"
    other = like(row, " ".join([*fields[:at], other, *fields[at + 1 :]]))
    with pytest.raises(ParseError, match=words) as caught:
        osu.parse(text.replace(row, other), "run.out", 2, program)
    assert caught.value.number == table.rows[-1].number


def test_the_program_tells_titles_apart_that_several_have():
    text = of_mpich("bw_fan_in")
    for program in ("bw_fan_in", "bw_fan_out"):
        table = osu.parse(text, "run.out", 2, program).only_table(program, 2)
        assert table.columns == ("size", "bandwidth"), "7.4 calls it a latency"
    with pytest.raises(ParseError, match="the header has no column bandwidth"):
        osu.parse(text, "run.out", 2, "bw")
    with pytest.raises(ParseError, match="the output is that of alltoallw, which was not asked"):
        osu.parse(of_mpich("neighbor_alltoallw"), "run.out", 2, "ialltoall").only_table(
            "ialltoall", 2
        )


def test_the_synchronization_is_the_one_that_was_asked_for():
    output = osu.parse(of_mpich("put_bibw"), "run.out", 2, "put_bibw")
    output.require_comment("Synchronization", osu.SYNCHRONIZATIONS["pscw"])
    with pytest.raises(ParseError, match=r"run.out:1: .*no line '# Synchronization: MPI_Win_fen"):
        output.require_comment("Synchronization", osu.SYNCHRONIZATIONS["fence"])


def test_what_a_launcher_says_below_the_table_of_latency_mt_is_no_row():
    text = of_mpich("latency_mt")
    assert "BAD TERMINATION" in text
    assert len(osu.parse(text, "run.out", 2, "latency_mt").tables[0].rows) == 5
    end = text[text.index("\n=====") :]
    refused(of_mpich("latency") + end, "latency", end.splitlines()[1], "1 fields where the header")


def test_the_header_of_ibarrier_up_to_7_1_begins_like_no_other():
    """As its sources print it (print_preamble_nbc): columns of 20, no `#`."""
    text = of_mpich("ibarrier")
    title = next(line for line in text.splitlines() if line.startswith("# OSU"))
    names = ("Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)")
    rows = [
        "".join(f"{word:>20}" for word in row) for row in (names, ("4.00", "2.50", "2.00", "25.00"))
    ]
    told = "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait"
    text = "\n".join(["", title.replace("7.4", "5.6.3"), told, "", *rows, ""])
    table = osu.parse(text, "run.out", 2, "ibarrier").only_table("ibarrier", 2)
    (row,) = table.rows
    assert (row.size, row.values["latency"], row.values["overlap"]) == (None, 2.0, 25.0)


def test_the_times_of_latency_mp_end_where_its_columns_do_not():
    text = of_mpich("latency_mp")
    (table,) = osu.parse(text, "run.out", 2, "latency_mp").tables
    row = text.splitlines()[table.rows[1].number - 1]
    refused(text.replace(row, row.replace("  ", " ", 1)), "latency_mp", row.replace("  ", " ", 1),
            "characters from the left, its column")  # fmt: skip


def row_of(text, start):
    """Return the first line whose first field this is."""
    return next(line for line in text.splitlines() if line.split()[:1] == [start])


def refused(text, program, line, words=""):
    """Parse what must be refused; `line` is the line to blame, or its number."""
    with pytest.raises(ParseError) as caught:
        osu.parse(text, "run.out")
    fault = caught.value
    number = line if isinstance(line, int) else text.splitlines().index(line) + 1
    place = f"run.out:{number}: " if number else "run.out: "
    assert (fault.source, fault.number, fault.benchmark) == ("run.out", number, program)
    assert str(fault).startswith(f"{place}{program}: " if program else place)
    assert words in str(fault)
    if not isinstance(line, int):
        assert str(fault).endswith(repr(line.strip()))


def test_each_recorded_output_is_listed(recorded):
    faulty = {"osu_allreduce_c_fail.openmpi.txt"}
    assert {path.name for path in (DATA / "osu").iterdir()} == {*WHOLE, *EVERY, *faulty}


@pytest.mark.parametrize("name", WHOLE)
def test_a_recorded_output_is_read_completely(read, name):
    program, version, processes, rows, columns = WHOLE[name]
    output = osu.parse(read(name))
    (table,) = output.tables
    assert (table.benchmark, output.version, table.processes) == (program, version, processes)
    assert (len(table.rows), table.columns) == (rows, columns)


@pytest.mark.parametrize("name", [name for name, whole in WHOLE.items() if whole[4]])
def test_rows_know_their_lines(read, name):
    lines = read(name).splitlines()
    rows = osu.parse(read(name)).tables[0].rows
    assert [row.number for row in rows] == [
        number for number, line in enumerate(lines, 1) if line.strip()[:1].isdigit()
    ]
    for row in rows:
        fields = lines[row.number - 1].replace("Pass", "1").split()
        printed = [float(field) for field in fields]
        assert printed == [*([] if row.size is None else [row.size]), *row.values.values()]


@pytest.mark.parametrize(("name", "row", "size", "values"), SPOTS)
def test_a_row_holds_the_printed_values(read, name, row, size, values):
    found = osu.parse(read(name)).tables[0].rows[row]
    assert (found.size, found.values) == (size, values)


def test_the_launch_of_hello_is_in_seconds(read):
    (row,) = osu.parse(read(HELLO) + "launched in 431209 us\n").tables[0].rows
    assert (row.size, row.values) == (None, {"launch": 0.431209})


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("launched in 0 us\n", "launched in 0 us", "launch is zero"),
        (
            "launched in 9 us\nlaunched in 8 us\n",
            "launched in 8 us",
            "a second row in a table without",
        ),
        ("launched in -4 us\n", "launched in -4 us", "between the title and the header"),
        ("This is a test with 2 processes\n", 3, "the number of processes stands twice"),
    ],
)
def test_another_launch_is_refused(read, text, line, words):
    refused(read(HELLO) + text, "hello", line, words)


def test_only_table_returns_what_was_asked_for(read):
    output = osu.parse(read(RATE))
    assert output.only_table("mbw_mr", 2) is output.tables[0]
    output = osu.parse(read(LATENCY), processes=2)
    assert output.only_table("latency", 2).benchmark == "latency"


@pytest.mark.parametrize(
    ("name", "program", "processes", "number", "words"),
    [
        (LATENCY, "bw", 2, 2, "the output is that of latency, which was not asked for"),
        (RATE, "mbw_mr", 4, 1, "ran with 2 processes instead of 4"),
        (INIT, "init", 4, 1, "ran with 2 processes instead of 4"),
        (HELLO, "hello", 4, 1, "ran with 2 processes instead of 4"),
    ],
)
def test_only_table_refuses_another_run(read, name, program, processes, number, words):
    with pytest.raises(ParseError) as caught:
        osu.parse(read(name), "run.out", processes).only_table(program, processes)
    assert str(caught.value) == f"run.out:{number}: {program}: {words}"


#: What replaces the row of a size (for Barrier: its one row) in a recorded output.
BAD_ROWS = {
    "zero": (LATENCY, "1024", "1024 0.00", "latency is zero"),
    "zero bandwidth": ("osu_bw.openmpi.txt", "1024", "1024 0.00", "bandwidth is zero"),
    "zero of barrier": (BARRIER, "0.28", "0.00", "latency is zero"),
    "size shrinks": (LATENCY, "1024", "256 0.19", "message sizes do not grow"),
    "stray comment": (LATENCY, "1024", "# Datatype: MPI_INT.", "in the middle of the table"),
    "wrong data": (VALIDATED, "1024", "1024 0.19 Fail", "is not the data that was sent"),
    "odd validation": (VALIDATED, "1024", "1024 0.19 Pas", "'Pas' is neither Pass nor Fail"),
    "min above average": (FULL, "1024", "1024 7.85 7.90 8.03 20", "does not hold"),
    "max below average": (FULL, "1024", "1024 7.85 7.53 7.84 20", "does not hold"),
    "no iterations": (FULL, "1024", "1024 7.85 7.53 8.03 0", "no repetitions"),
    "rate too high": (
        RATE,
        "1024",
        "1024 13095.70 12788871.46",
        "is not that of its line, 1024 bytes a message: ",
    ),
    "bandwidth too high": (
        RATE,
        "4194304",
        "4194304 8337.90 1987.84",
        "bandwidth 8337.90 is not that of its line, 4194304 bytes a message: 8337.61",
    ),
    "MiB": (
        RATE,
        "1024",
        "1024 12489.03 12788771.46",
        "is not that of its line, 1024 bytes a message: ",
    ),
}


@pytest.mark.parametrize("fault", BAD_ROWS)
def test_a_bad_row_is_refused_by_name(read, fault):
    name, start, row, words = BAD_ROWS[fault]
    text = read(name)
    real = row_of(text, start)
    row = like(real, row)
    refused(text.replace(real + "\n", f"{row}\n"), WHOLE[name][0], row, words)


@pytest.mark.parametrize(
    ("name", "start", "row"),
    [
        (PUT, "0", "0 0.00"),
        (FULL, "1024", "1024 7.85 0.00 8.03 20"),
        (FULL, "1024", "1024 7.85 7.85 7.85 20"),
        (RATE, "1024", "1024 13095.70 12788771.00"),
        (RATE, "4194304", "4194304 8337.62 1987.84"),
        (RATE, "4194304", "4194304 8337.58 1987.84"),
    ],
    ids=["no time for no data", "min of 0.00", "all equal", "rounded", "rounded up", "down"],
)
def test_what_rounding_explains_is_accepted(read, name, start, row):
    text = read(name)
    real = row_of(text, start)
    (table,) = osu.parse(text.replace(real + "\n", like(real, row) + "\n")).tables
    (found,) = [found for found in table.rows if found.size == int(start)]
    assert list(found.values.values()) == [float(field) for field in row.split()[1:]]


def test_a_bandwidth_below_the_printed_digits_is_computed(read):
    text = read(RATE)
    real = row_of(text, "1")
    (table,) = osu.parse(text.replace(real, like(real, "1 0.00 3277.98"))).tables
    assert table.rows[0].values == {"bandwidth": pytest.approx(0.00327798), "messages": 3277.98}
    row = like(real, "1 0.00 32779.80")
    refused(text.replace(real, row), "mbw_mr", row, "bandwidth 0.00 is not that of its line")
    row = like(real, "1 0.00 0.00")
    refused(text.replace(real, row), "mbw_mr", row, "bandwidth is zero")


@pytest.mark.parametrize("name", [LATENCY, VALIDATED, RATE, FULL, PUT, BARRIER])
def test_a_column_that_moves_is_refused(read, name):
    text = read(name)
    real = text.splitlines()[-1]
    for gap in re.finditer(r"(?<= ) (?=\w)", real):
        for other in ("", "  "):
            row = real[: gap.start()] + other + real[gap.end() :]
            words = "characters from the left, its column"
            refused(text.replace(real + "\n", row + "\n"), WHOLE[name][0], row, words)
    if real[0] != " ":
        row = " " + real.replace("  ", " ", 1)
        refused(text.replace(real, row), WHOLE[name][0], row, "does not begin its line")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        # (3 x 7.53 + 8.03)/4 and (7.53 + 3 x 8.03)/4
        ("1024 7.64 7.53 8.03 20", "the average 7.64 is none of 4 times of which the smallest is "
         "7.53 and the largest 8.03: that is not below 7.66"),
        ("1024 7.92 7.53 8.03 20", "not above 7.90"),
        ("1024 7.85 7.53 803.00 20", "not below 206.40"),
        ("1024 7.85 7.53 8.03 80", "80 repetitions, after 20 of a smaller message"),
    ],
)  # fmt: skip
def test_times_and_repetitions_that_cannot_be_are_refused(read, row, words):
    text = read(FULL)
    real = row_of(text, "1024")
    row = like(real, row)
    with pytest.raises(ParseError) as caught:
        osu.parse(text.replace(real, row), "run.out", 4)
    assert caught.value.number == text.splitlines().index(real) + 1
    assert words in str(caught.value)
    assert osu.parse(text, processes=4).only_table("alltoall", 4).rows


@pytest.mark.parametrize("name", [LATENCY, VALIDATED, RATE, FULL, BARRIER, PUT, INIT])
def test_every_cut_in_a_line_is_refused(read, name):
    text = read(name)
    rows = len(osu.parse(text).tables[0].rows)
    for length in range(len(text)):
        cut = text[:length]
        if cut.endswith("\n") and cut.splitlines()[-1][:1].isdigit():
            assert len(osu.parse(cut).tables[0].rows) < rows
        else:
            with pytest.raises(ParseError):
                osu.parse(cut)


def test_a_line_cut_in_its_number_is_named(read):
    text = read(LATENCY)
    row = row_of(text, "1048576")
    cut = text.partition(row)[0] + row[:-1]
    refused(cut, "latency", row[:-1], "the output ends in the middle of a line")


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        (LATENCY, "Avg Latency(us)", "Avg Latency(ns)", "unknown column 'Avg Latency(ns)'"),
        (RATE, "Messages/s", "  Packets/s", "unknown column 'Packets/s'"),
        (FULL, "Iterations", "P999 Tail Lat(us)", "unknown column 'P999 Tail Lat(us)'"),
        (LATENCY, "Avg Latency(us)", "Bandwidth (MB/s)", "has no column latency"),
        (
            "osu_bw.openmpi.txt",
            "Bandwidth (MB/s)",
            "Latency (us)",
            "has no column bandwidth",
        ),
        (RATE, "        Messages/s", "", "has no column messages"),
        (LATENCY, "# Size       Avg", "# Avg", "has no column size"),
        (FULL, "Max Latency(us)", "Min Latency(us)", "a column stands twice"),
        (LATENCY, "# Datatype: MPI_CHAR.", "# Send Buffer on DEVICE (D)", "unknown column"),
    ],
)
def test_an_unknown_header_is_refused(read, name, old, new, words):
    text = read(name).replace(old, new)
    changed = set(text.splitlines()) - set(read(name).splitlines())
    refused(text, WHOLE[name][0], changed.pop(), words)


def test_a_row_without_its_header_is_refused(read):
    text = read(LATENCY)
    header = next(line for line in text.splitlines() if line.startswith("# Size"))
    text = text.replace(header + "\n", "")
    refused(text, "latency", row_of(text, "1"), "a line between the title and the header")


@pytest.mark.parametrize("name", [LATENCY, RATE, BARRIER])
def test_a_repeated_header_is_refused(read, name):
    text = read(name)
    header = next(line for line in text.splitlines() if line.startswith(("# Size", "# Avg")))
    again = header + " "
    text = text.replace(header, f"{header}\n{again}")
    refused(text, WHOLE[name][0], again, "a second header in one table")


@pytest.mark.parametrize("name", WHOLE)
def test_two_runs_in_one_output_are_refused(read, name):
    text = read(name)
    number = osu.parse(text).tables[0].number
    with pytest.raises(ParseError, match="a second title: two runs in one output") as caught:
        osu.parse(text + text)
    assert caught.value.number == len(text.splitlines()) + number


@pytest.mark.parametrize("name", [LATENCY, "osu_barrier_f.openmpi.txt", FULL])
def test_a_second_title_before_the_table_is_refused(read, name):
    text = read(name)
    title = text.splitlines()[1]
    text = text.replace(title, f"{title}\n{title} ")
    refused(text, WHOLE[name][0], title + " ", "a second title")


@pytest.mark.parametrize("name", [BARRIER, INIT])
def test_a_second_line_of_values_is_refused(read, name):
    text = read(name)
    again = text.splitlines()[-1] + " "
    with pytest.raises(ParseError) as caught:
        osu.parse(f"{text}{again}\n")
    assert caught.value.number == len(text.splitlines()) + 1


@pytest.mark.parametrize("name", [LATENCY, RATE, PUT, BARRIER, INIT, HELLO])
def test_a_table_without_rows_is_refused(read, name):
    lines = read(name).splitlines()
    head = [line for line in lines if line.startswith("#") or not line.strip()]
    number = next(n for n, line in enumerate(head, 1) if line.startswith("# OSU"))
    refused("\n".join(head) + "\n", WHOLE[name][0], number, "a table without rows")


def test_a_line_after_the_table_is_refused(read):
    text = read(LATENCY) + "mpiexec: all done\n"
    refused(text, "latency", "mpiexec: all done", "3 fields where the header has 2")


def test_data_that_were_corrupted_are_refused(read):
    text = read("osu_allreduce_c_fail.openmpi.txt")
    refused(text, "allreduce", row_of(text, "16"), "is not the data that was sent")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("min: 5 ms, max: 4 ms, avg: 4 ms", "min 5 <= average 4 <= max 4 does not hold"),
        ("min: 0 ms, max: 0 ms, avg: 0 ms", "avg is zero"),
        ("min: 77 ms, max: 81 ms, avg: 77 ms", "the smallest is 77 and the largest 81: that is"),
        ("min: 77 ms, max: 810 ms, avg: 79 ms", "not below 443.50"),
        ("min: 077 ms, max: 81 ms, avg: 79 ms", "'077' is no whole number as OMB prints it"),
        ("min: -5 ms, max: 5 ms, avg: 5 ms", "between the title and the header"),
        ("min: 5 s, max: 5 s, avg: 5 s", "between the title and the header"),
    ],
)
def test_another_init_is_refused(values, words):
    line = f"nprocs: 2, {values}"
    refused(f"# OSU MPI Init Test v7.4\n{line}\n", "init", line, words)


@pytest.mark.parametrize("launched", [INIT, HELLO])
def test_a_table_of_a_start_up_program_is_refused(read, launched):
    title = next(line for line in read(launched).splitlines() if line.startswith("# OSU"))
    text = read(LATENCY).replace("# OSU MPI Latency Test v7.4", title)
    header = next(line for line in text.splitlines() if line.startswith("# Size"))
    refused(text, WHOLE[launched][0], header, "the header has no column ")


@pytest.mark.parametrize(
    "title",
    [
        "# OSU MPI-OPENACC Latency Test v7.5",
        "# OSU MPI Non-blocking Allgathering Latency Test v7.4",
        "# OSU OpenSHMEM Put Test v7.4",
    ],
)
def test_a_program_that_is_not_known_is_refused(read, title):
    text = read(LATENCY).replace("# OSU MPI Latency Test v7.4", title)
    refused(text, "", title, "the title of a program that is not known")


@pytest.mark.parametrize("version", ["5.3", "5.6.3", "6.0", "7.1-1", "7.3", "7.5", "7.5.2"])
def test_versions_are_read_from_the_title(read, version):
    assert osu.parse(read(LATENCY).replace("v7.4", f"v{version}")).version == version


@pytest.mark.parametrize(
    "text",
    ["Usage: osu_put_latency [options]\nOptions:\n", "bash: osu_bw: command not found\n", "1 0.5"],
)
def test_an_output_without_a_title_is_refused(text):
    refused(text, "", 0, "this is no output of OMB: its title is missing")


def test_warnings_before_the_title_are_no_fault(read):
    text = "libibverbs: Warning: no device\n" + read(LATENCY)
    assert osu.parse(text).tables[0].rows[0].number == 6
