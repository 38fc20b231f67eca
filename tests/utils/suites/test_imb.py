"""`suites/imb_output.py` on recorded outputs of IMB, whole and mutilated."""

import math
import re
from datetime import datetime, timedelta, timezone

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import imb, imb_output
from tests.conftest import DATA
from tests.recorded import runs
from tests.rows import like

PINGPONG = "IMB-MPI1_PingPong.impi.txt"
PINGPONG_P2P = "IMB-P2P_PingPong.openmpi.txt"
SENDRECV = "IMB-MPI1_PingPong_Sendrecv_Allreduce.openmpi.txt"
EXCHANGE = "IMB-MPI1_off_cache.openmpi.txt"
UNIBAND = "IMB-MPI1_Uniband.impi.txt"
ALLREDUCE = "IMB-MPI1_Allreduce.impi.txt"
ALLTOALL = "IMB-MPI1_Alltoall_np4.openmpi.txt"
BARRIER = "IMB-MPI1_Barrier.impi.txt"
IBCAST = "IMB-NBC_Ibcast.openmpi.txt"
WINDOW = "IMB-EXT_Window.openmpi.txt"
RMA = "IMB-RMA_Unidir_put.openmpi.txt"

LATENCY = ("size", "repetitions", "t", "bandwidth")
RATE = ("size", "repetitions", "bandwidth", "messages")
TIMES = ("size", "repetitions", "t_min", "t_max", "t_avg")
BANDWIDTH = (*TIMES, "bandwidth")
OVERLAP = ("size", "repetitions", "t_ovrl", "t_pure", "t_cpu", "overlap")

#: File -> version of IMB, of the MPI standard, and (benchmark, processes, rows, columns).
WHOLE = {
    PINGPONG: ("2021.11", "4.1", [("PingPong", 2, 24, LATENCY)]),
    "IMB-MPI1_PingPong.openmpi.txt": ("2021.7", "3.1", [("PingPong", 2, 15, LATENCY)]),
    PINGPONG_P2P: ("2021.7", "3.1", [("PingPong", 2, 11, (*LATENCY, "messages"))]),
    SENDRECV: (
        "2021.7",
        "3.1",
        [
            ("PingPong", 2, 22, LATENCY),
            ("Sendrecv", 2, 22, BANDWIDTH),
            ("Allreduce", 2, 20, TIMES),
        ],
    ),
    EXCHANGE: ("2021.7", "3.1", [("Exchange", 2, 14, BANDWIDTH)]),
    UNIBAND: ("2021.11", "4.1", [("Uniband", 2, 24, RATE)]),
    ALLREDUCE: ("2021.11", "4.1", [("Allreduce", 2, 22, TIMES)]),
    ALLTOALL: (
        "2021.7",
        "3.1",
        [
            ("Alltoall", 2, 12, TIMES),
            ("Alltoall", 4, 12, TIMES),
            ("Bcast", 2, 12, TIMES),
            ("Bcast", 4, 12, TIMES),
            ("Barrier", 2, 1, TIMES[1:]),
            ("Barrier", 4, 1, TIMES[1:]),
        ],
    ),
    "IMB-MPI1_PingPing.openmpi.txt": ("2021.7", "3.1", [("PingPing", 2, 18, LATENCY)]),
    "IMB-MPI1_Sendrecv_np3.openmpi.txt": ("2021.7", "3.1", [("Sendrecv", 3, 18, BANDWIDTH)]),
    "IMB-MPI1_Exchange.impi.txt": ("2021.11", "4.1", [("Exchange", 2, 18, BANDWIDTH)]),
    "IMB-MPI1_Allreduce_np4.openmpi.txt": ("2021.7", "3.1", [("Allreduce", 4, 16, TIMES)]),
    "IMB-MPI1_Reduce_np4.impi.txt": ("2021.11", "4.1", [("Reduce", 4, 16, TIMES)]),
    BARRIER: ("2021.11", "4.1", [("Barrier", 2, 1, TIMES[1:])]),
    IBCAST: ("2021.7", "3.1", [("Ibcast", 2, 12, OVERLAP)]),
    WINDOW: (
        "2021.7",
        "3.1",
        [
            ("Unidir_Put", 2, 10, LATENCY),
            ("Unidir_Put", 2, 10, LATENCY),
        ],
    ),
    RMA: (
        "2021.7",
        "3.1",
        [
            ("Unidir_put", 2, 12, LATENCY),
            ("Unidir_put", 2, 12, LATENCY),
        ],
    ),
}

#: File, number of the table and of the row in it, and all that the row holds.
SPOTS = [
    (PINGPONG, 0, 0, 0, 1000, {"t": 0.23, "bandwidth": 0.0}),
    (PINGPONG, 0, 23, 4194304, 10, {"t": 1341.78, "bandwidth": 3125.92}),
    ("IMB-MPI1_PingPong.openmpi.txt", 0, 1, 8, 50, {"t": 0.11, "bandwidth": 73.76}),
    (PINGPONG_P2P, 0, 0, 1, 20, {"t": 1.17, "bandwidth": 0.86, "messages": 857265}),
    (
        SENDRECV,
        1,
        13,
        4096,
        50,
        {"t_min": 2.46, "t_max": 2.46, "t_avg": 2.46, "bandwidth": 3331.90},
    ),
    (SENDRECV, 2, 1, 4, 50, {"t_min": 0.14, "t_max": 0.24, "t_avg": 0.19}),
    (
        EXCHANGE,
        0,
        13,
        4096,
        50,
        {"t_min": 6.36, "t_max": 6.37, "t_avg": 6.36, "bandwidth": 2572.58},
    ),
    (UNIBAND, 0, 0, 0, 1000, {"bandwidth": 0.0, "messages": 2516368}),
    (UNIBAND, 0, 23, 4194304, 10, {"bandwidth": 3335.66, "messages": 795}),
    (ALLREDUCE, 0, 21, 4194304, 10, {"t_min": 2382.89, "t_max": 3493.89, "t_avg": 2938.39}),
    (ALLTOALL, 0, 1, 1, 20, {"t_min": 0.13, "t_max": 5.92, "t_avg": 3.03}),
    (ALLTOALL, 1, 1, 1, 20, {"t_min": 0.25, "t_max": 7.40, "t_avg": 5.53}),
    (ALLTOALL, 5, 0, None, 20, {"t_min": 6.11, "t_max": 6.13, "t_avg": 6.12}),
    (BARRIER, 0, 0, None, 1000, {"t_min": 0.28, "t_max": 0.28, "t_avg": 0.28}),
    (IBCAST, 0, 1, 1, 20, {"t_ovrl": 0.80, "t_pure": 0.64, "t_cpu": 0.56, "overlap": 62.65}),
    (WINDOW, 0, 0, 0, 20, {"t": 0.02, "bandwidth": 0.0}),
    (WINDOW, 1, 9, 1024, 20, {"t": 1.52, "bandwidth": 673.35}),
    (RMA, 1, 10, 512, 20, {"t": 2.48, "bandwidth": 206.60}),
]


@pytest.fixture
def read(recorded):
    return lambda name: recorded(f"imb/{name}")


def row_of(text, start, benchmark=""):
    """Return the first row (a whole line) that starts with these fields, in a benchmark's table."""
    lines = text[text.index(f"# Benchmarking {benchmark}") :].splitlines()
    return next(line for line in lines if line.split()[: len(start.split())] == start.split())


def refused(text, benchmark, line, words=""):
    """Parse what must be refused; `line` is the line to blame, or its number."""
    with pytest.raises(ParseError) as caught:
        imb_output.parse(text, "run.out")
    fault = caught.value
    number = line if isinstance(line, int) else text.splitlines().index(line) + 1
    place = f"run.out:{number}: " if number else "run.out: "
    assert (fault.source, fault.number, fault.benchmark) == ("run.out", number, benchmark)
    assert str(fault).startswith(f"{place}{benchmark}: " if benchmark else place)
    assert words in str(fault)
    if not isinstance(line, int):
        assert str(fault).endswith(repr(line.strip()))


@pytest.mark.parametrize("name", WHOLE)
def test_a_recorded_output_is_read_completely(read, name):
    version, mpi_standard, tables = WHOLE[name]
    output = imb_output.parse(read(name))
    assert (output.version, output.mpi_standard) == (version, mpi_standard)
    assert [
        (table.benchmark, table.processes, len(table.rows), table.columns)
        for table in output.tables
    ] == tables


@pytest.mark.parametrize("name", WHOLE)
def test_rows_and_tables_know_their_lines(read, name):
    lines = read(name).splitlines()
    output = imb_output.parse(read(name))
    for table in output.tables:
        assert lines[table.number - 1].split() == ["#", "Benchmarking", table.benchmark]
    rows = [row for table in output.tables for row in table.rows]
    assert [row.number for row in rows] == [
        number for number, line in enumerate(lines, 1) if line.strip()[:1].isdigit()
    ]
    for row in rows:
        printed = [float(field) for field in lines[row.number - 1].split()]
        head = [] if row.size is None else [row.size]
        assert printed == [*head, *row.values.values()]


@pytest.mark.parametrize(("name", "table", "row", "size", "repetitions", "values"), SPOTS)
def test_a_row_holds_the_printed_values(read, name, table, row, size, repetitions, values):
    found = imb_output.parse(read(name)).tables[table].rows[row]
    assert (found.size, found.values) == (size, {"repetitions": repetitions, **values})


def test_only_table_returns_the_table_that_was_asked_for(read):
    output = imb_output.parse(read(UNIBAND))
    assert output.only_table("Uniband", 2) is output.tables[0]


@pytest.mark.parametrize(
    ("name", "benchmark", "processes", "number", "words"),
    [
        (PINGPONG, "Sendrecv", 2, 31, "the output is that of PingPong, which was not asked for"),
        (SENDRECV, "PingPong", 2, 61, "the output is that of Sendrecv, which was not asked for"),
        (PINGPONG, "PingPong", 4, 31, "ran with 2 processes instead of 4"),
        (WINDOW, "ext.Unidir_Put", 4, 31, "ran with 2 processes instead of 4"),
        (WINDOW, "ext.Window", 2, 31, "the output is that of Unidir_Put, which was not asked for"),
        (RMA, "ext.Accumulate", 2, 0, "the output is that of IMB-RMA, not of IMB-EXT"),
        (IBCAST, "Bcast", 2, 0, "the output is that of IMB-NBC, not of IMB-MPI1"),
    ],
)
def test_only_table_refuses_another_run(read, name, benchmark, processes, number, words):
    output = imb_output.parse(read(name), "run.out")
    with pytest.raises(ParseError) as caught:
        output.only_table(benchmark, processes)
    benchmark = benchmark.rpartition(".")[2]
    assert (caught.value.benchmark, caught.value.number) == (benchmark, number)
    place = f"run.out:{number}: " if number else "run.out: "
    assert str(caught.value).startswith(f"{place}{benchmark}: ")
    assert words in str(caught.value)


#: What replaces the row of a size (for Barrier: of a number of repetitions) in a recorded output.
BAD_ROWS = {
    "negative size": (PINGPONG, "PingPong", "0", "-1 1000 0.23 0.00", "-1 is negative"),
    "zero time": (PINGPONG, "PingPong", "1024", "1024 1000 0.00 2155.33", "t is zero"),
    "zero time of a collective": (
        ALLREDUCE,
        "Allreduce",
        "1024",
        "1024 1000 0.00 0.00 0.00",
        "t_max is zero",
    ),
    "zero time of a barrier": (BARRIER, "Barrier", "1000", "1000 0.00 0.00 0.00", "t_max is zero"),
    "no repetitions": (PINGPONG, "PingPong", "1024", "1024 0 0.48 2155.33", "no repetitions"),
    "stopped for its time": (
        ALLREDUCE,
        "Allreduce",
        "0",
        "0 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; "
        'use "-time X" or SECS_PER_SAMPLE=X (IMB_settings.h) to increase time limit.',
        "IMB gave this size up: its time limit (-time) was over",
    ),
    "stopped for its memory": (
        ALLTOALL,
        "Alltoall",
        "1024",
        "1024 out-of-mem.; needed X=   0.003 GB; use flag "
        '"-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)',
        "IMB gave this size up: it needs more memory than its limit (-mem)",
    ),
    "sizes that shrink": (PINGPONG, "PingPong", "1024", "256 1000 0.26 966.49", "do not grow"),
    "size 0 twice": (PINGPONG, "PingPong", "1", "0 1000 0.23 0.00", "do not grow"),
    "minimum above average": (
        ALLREDUCE,
        "Allreduce",
        "1024",
        "1024 1000 0.72 0.79 0.71",
        "does not hold",
    ),
    "average above maximum": (
        ALLREDUCE,
        "Allreduce",
        "1024",
        "1024 1000 0.63 0.70 0.71",
        "does not hold",
    ),
    # 0.48 us is 0.475 to 0.485: 1024 B in it are 2111.34 to 2155.79 MB/s.
    "bandwidth above the time's": (
        PINGPONG,
        "PingPong",
        "1024",
        "1024 1000 0.48 2155.80",
        "bandwidth",
    ),
    "bandwidth below the time's": (
        PINGPONG,
        "PingPong",
        "1024",
        "1024 1000 0.48 2111.33",
        "bandwidth",
    ),
    "megabytes of 2^20": (PINGPONG, "PingPong", "1024", "1024 1000 0.48 2055.48", "bandwidth"),
    "one message of Sendrecv": (
        SENDRECV,
        "Sendrecv",
        "1024",
        "1024 50 0.32 0.32 0.32 3223.37",
        "bandwidth",
    ),
    "two messages of Exchange": (
        EXCHANGE,
        "Exchange",
        "1024",
        "1024 50 0.53 0.53 0.53 3839.52",
        "bandwidth",
    ),
    # 795 messages are 794.5 to 795.5: of 4 MiB 3332.37 to 3336.57 MB.
    "bandwidth above the rate's": (
        UNIBAND,
        "Uniband",
        "4194304",
        "4194304 10 3336.60 795",
        "bandwidth",
    ),
    "bandwidth of half the rate": (
        UNIBAND,
        "Uniband",
        "1024",
        "1024 1000 818.31 399564",
        "bandwidth",
    ),
    "bandwidth of no data": (PINGPONG, "PingPong", "0", "0 1000 0.23 4.33", "bandwidth"),
}


@pytest.mark.parametrize("fault", BAD_ROWS)
def test_a_bad_row_is_refused_by_name(read, fault):
    name, benchmark, start, row, words = BAD_ROWS[fault]
    text = read(name)
    before, line, after = text.partition(row_of(text, start, benchmark) + "\n")
    assert line
    # Set apart from equal rows of other tables by its blanks.
    row = like(line, row) + "    "
    refused(f"{before}{row}\n{after}", benchmark, row, words)


@pytest.mark.parametrize(
    ("name", "benchmark", "start", "row"),
    [
        (ALLREDUCE, "Allreduce", "0", "0 1000 0.00 0.00 0.00"),
        (ALLREDUCE, "Allreduce", "1024", "1024 1000 0.00 0.01 0.01"),
        (PINGPONG, "PingPong", "1024", "1024 1000 0.48 2155.78"),
        (PINGPONG, "PingPong", "1024", "1024 1000 0.48 2111.35"),
        (UNIBAND, "Uniband", "4194304", "4194304 10 3336.56 795"),
    ],
    ids=["no time for no data", "t_min of 0.00", "rounded up", "rounded down", "rounded rate"],
)
def test_what_rounding_explains_is_accepted(read, name, benchmark, start, row):
    text = read(name)
    real = row_of(text, start)
    output = imb_output.parse(text.replace(real, like(real, row)))
    (found,) = [found for found in output.tables[0].rows if found.size == int(start)]
    assert list(found.values.values()) == [float(field) for field in row.split()[1:]]


def test_a_table_cut_in_a_line_names_the_line(read):
    text = read(PINGPONG)
    row = row_of(text, "65536")
    cut = row[: row.index("3996")]
    refused(text.partition(row)[0] + cut, "PingPong", cut, "in the middle of a line")


def test_a_table_cut_between_lines_names_the_last_line(read):
    text = read(SENDRECV)
    row = row_of(text, "512", "Sendrecv")
    cut = text[: text.index(row) + len(row) + 1]
    refused(cut, "Sendrecv", row, "the output ends in the middle")


def test_an_output_that_ends_before_its_last_line_is_refused(read):
    cut = read(PINGPONG).split("# All processes entering MPI_Finalize")[0]
    refused(cut, "PingPong", len(cut.splitlines()), "'# All processes entering MPI_Finalize'")


@pytest.mark.parametrize(
    ("name", "benchmark", "old", "new", "words"),
    [
        (PINGPONG, "PingPong", "Mbytes/sec", "Gbytes/sec", "unknown column 'Gbytes/sec'"),
        (UNIBAND, "Uniband", "Msg/sec", "t_med[usec]", "unknown column 't_med[usec]'"),
        (BARRIER, "Barrier", "t_avg[usec]", "t_avg[nsec]", "unknown column 't_avg[nsec]'"),
    ],
)
def test_an_unknown_column_is_refused(read, name, benchmark, old, new, words):
    text = read(name).replace(old, new)
    (line,) = [line for line in text.splitlines() if new in line]
    refused(text, benchmark, line, words)


def test_a_row_without_its_header_is_refused(read):
    text = read(PINGPONG)
    header = row_of(text, "#bytes")
    refused(
        text.replace(header + "\n", ""),
        "PingPong",
        row_of(text, "0"),
        "a line between a benchmark's title and its header",
    )


def test_a_repeated_header_is_refused(read):
    text = read(PINGPONG)
    header = row_of(text, "#bytes")
    again = header + " "
    text = text.replace(header, f"{header}\n{again}")
    refused(text, "PingPong", again, "a second header in one table")


def test_a_table_without_rows_is_refused(read):
    text = read(SENDRECV)
    lines = text.splitlines()
    start, end = (lines.index(row_of(text, size, "Sendrecv")) for size in ("0", "1048576"))
    del lines[start : end + 1]
    refused("\n".join(lines), "Sendrecv", 61, "a table without rows")


def test_an_output_without_benchmarks_is_refused(read):
    head, _, rest = read(PINGPONG).partition("# Benchmarking PingPong")
    text = f"{head}\n# !! Benchmark PingPong invalid for 1 processes !! \n\n{rest[-40:]}"
    refused(text, "", 0, "the program ran no benchmark at all")


def test_arguments_that_imb_does_not_know_are_reported(read):
    text = read("IMB-MT_PingPongMT.openmpi.txt")
    refused(text, "", "Invalid option -msglog", "did not understand its arguments")
    second = text.splitlines()[1]
    refused(second, "", "Invalid benchmark name 0:10", "did not understand its arguments")


def test_a_misspelt_benchmark_is_reported_although_others_ran(read):
    line = "Invalid benchmark name pingpongg"
    text = read(ALLTOALL).replace("# Alltoall\n", f"{line}\n", 1)
    refused(text, "", line, "did not understand its arguments")


def test_an_output_without_imbs_first_lines_is_refused(read):
    _, title, rest = read(PINGPONG).partition("# Benchmarking PingPong")
    refused(title + rest, "", 0, "this is no output of IMB")
    refused("bash: IMB-MPI1: command not found\n", "", 0, "this is no output of IMB")


VERSION = "Intel(R) MPI Benchmarks 2021.11, MPI-1 part"


@pytest.mark.parametrize(
    "version",
    [
        "Intel (R) MPI Benchmark Suite V2.3, MPI-1 part",
        "Intel (R) MPI Benchmark Suite V3.2, MPI-1 part",
        "Intel (R) MPI Benchmarks 4.1, MPI-1 part",
        "Intel (R) MPI Benchmarks 4.1 Update 1, MPI-1 part",
    ],
)
def test_versions_with_other_megabytes_are_refused(read, version):
    text = read(PINGPONG).replace(VERSION, version)
    refused(text, "", f"#    {version}", "counts a megabyte as 2^20 bytes")


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("Intel (R) MPI Benchmarks 2018, MPI-1 part", "2018"),
        ("Intel (R) MPI Benchmarks 2019 Update 6, MPI-1 part", "2019 Update 6"),
        ("Intel(R) MPI Benchmarks 2021.7, MPI-1 part", "2021.7"),
    ],
)
def test_versions_with_decimal_megabytes_are_read(read, version, found):
    assert imb_output.parse(read(PINGPONG).replace(VERSION, version)).version == found


def with_defects(text, defects):
    """Add the column that IMB prints when it was built to check its data."""
    text = text.replace("t_avg[usec]   Mbytes/sec", "t_avg[usec]   Mbytes/sec      defects")
    text = re.sub(r"^( +\d.*)$", r"\1         0.00", text, flags=re.MULTILINE)
    row = row_of(text, "1024")
    return text.replace(row, row.replace("0.00", defects)), row.replace("0.00", defects)


def test_defects_are_refused(read):
    text, row = with_defects(read(EXCHANGE), "0.25")
    refused(text, "Exchange", row, "the benchmark found defects")


def test_a_column_of_no_defects_is_read(read):
    text, _ = with_defects(read(EXCHANGE), "0.00")
    rows = imb_output.parse(text).tables[0].rows
    assert [row.values["defects"] for row in rows] == [0.0] * 14


def test_warnings_before_the_first_table_are_no_fault(read):
    text = read(PINGPONG)
    assert (
        imb_output.parse("libibverbs: Warning: no device\n" + text).tables[0].rows[0].number == 36
    )


@pytest.mark.parametrize(
    ("name", "benchmark", "column"),
    [
        (PINGPONG, "PingPong", "#repetitions"),
        (ALLREDUCE, "Allreduce", "t_avg[usec]"),
        (ALLREDUCE, "Allreduce", "t_max[usec]"),
    ],
)
def test_a_missing_column_is_refused(read, name, benchmark, column):
    head, line, table = read(name).partition(row_of(read(name), "#bytes"))
    index = line.split().index(column)
    rows = [line.split(), *(row.split() for row in table.split("\n\n")[0].splitlines()[1:])]
    table = "\n".join(" ".join(row[:index] + row[index + 1 :]) for row in rows)
    with pytest.raises(ParseError, match=f": {benchmark}: "):
        imb_output.parse(f"{head}{table}\n\n# All processes entering MPI_Finalize\n")


def test_a_column_that_stands_twice_is_refused(read):
    text = read(PINGPONG).replace("Mbytes/sec", "   t[usec]")
    with pytest.raises(ParseError, match="PingPong"):
        imb_output.parse(text)


@pytest.mark.parametrize("name", [PINGPONG, ALLREDUCE, BARRIER, UNIBAND])
def test_a_column_that_moves_is_refused(read, name):
    text = read(name)
    real = row_of(text, "1000" if name == BARRIER else "1024")
    benchmark = imb_output.parse(text).tables[0].benchmark
    for gap in re.finditer(r" (?=\d)", real):
        for other in ("", "  "):
            row = real[: gap.start()] + other + real[gap.end() :]
            # Without the one blank before its number the row has a field less, or another number.
            refused(text.replace(real, row), benchmark, row)
            if row.split() == real.split():
                refused(text.replace(real, row), benchmark, row, "characters from the left, its")


#: A row as it was printed, of two processes or four.
OF_TWO = (ALLREDUCE, "Allreduce", "8192 1000 2.03 10.30 6.16")
OF_FOUR = (ALLTOALL, "Alltoall", "1024 20 7.54 8.05 7.88")
AVERAGES = {
    "a hundred times as large": (
        *(*OF_TWO, "8192 1000 2.03 1030.00 6.16"),
        "average 6.16 is none of 2 times of which the smallest is 2.03 and the largest 1030: "
        "that is not below 516.01",
    ),
    "a digit": (*OF_TWO, "8192 1000 2.03 10.80 6.16", "not below 6.42"),
    "average too large": (*OF_TWO, "8192 1000 2.03 10.30 6.20", "not above 6.17"),
    "average too small": (*OF_TWO, "8192 1000 2.03 10.30 6.15", "not below 6.17"),
    # (3 x 7.54 + 8.05)/4 and (7.54 + 3 x 8.05)/4
    "of four, too small": (*OF_FOUR, "1024 20 7.54 8.05 7.65", "not below 7.67"),
    "of four, too large": (*OF_FOUR, "1024 20 7.54 8.05 7.94", "not above 7.92"),
}


@pytest.mark.parametrize("fault", AVERAGES)
def test_an_average_that_its_extremes_cannot_have_is_refused(read, fault):
    name, benchmark, printed, row, words = AVERAGES[fault]
    text = read(name)
    (real,) = (line for line in text.splitlines() if line.split() == printed.split())
    row = like(real, row)
    refused(text.replace(real, row), benchmark, row, words)


@pytest.mark.parametrize("average", ["7.67", "7.88", "7.92", "7.66", "7.93"])
def test_an_average_that_its_extremes_can_have_is_read(read, average):
    text = read(ALLTOALL)
    row = "         1024           20         7.54         8.05         7.88"
    assert row in text
    assert (
        imb_output.parse(text.replace(row, row.replace("7.88", average))).tables[1].processes == 4
    )


def exchanged(text, size):
    """Return an output of PingPong with time and bandwidth of a size exchanged, and the row."""
    real = row_of(text, size)
    *others, time, bandwidth = real.split()
    row = like(real, " ".join([*others, bandwidth, time]))
    return text.replace(real, row), row


def slow_link(text):
    """Return an output of PingPong with the times of a link of 1 Gb/s: 30 us and 118 MB/s."""
    for real in re.findall(r"^ +\d+ +\d+ .*$", text, re.MULTILINE):
        size, repetitions, *_ = map(int, real.split()[:2])
        time = 30 + size / 118
        text = text.replace(real, f"{size:13}{repetitions:13}{time:13.2f}{size / time:13.2f}")
    return text


def test_a_time_and_a_bandwidth_that_were_exchanged_are_refused(read):
    text = slow_link(read(PINGPONG))
    assert len(imb_output.parse(text).tables[0].rows) == 24
    words = "the time 117.60 and the bandwidth 8916.24 are exchanged: the sizes beside it took "
    changed, row = exchanged(text, "1048576")
    refused(changed, "PingPong", row, f"{words}4473.12 and 17802.47 us")


def test_a_few_sizes_prove_no_exchange(read):
    text = slow_link(read(PINGPONG))
    changed, row = exchanged(text, "1048576")
    rows = [row_of(text, str(1 << power)) for power in range(19, 23)]
    kept = {row, *rows}
    short = "\n".join(
        line for line in changed.splitlines() if line in kept or not re.match(r" +\d+ +\d+ ", line)
    )
    assert len(imb_output.parse(short).tables[0].rows) == 4


def test_an_empty_message_has_no_bandwidth_in_the_place_of_its_time(read):
    changed, row = exchanged(read(PINGPONG), "0")
    refused(changed, "PingPong", row, "the bandwidth 0.23 is not that of its line, 0 bytes in")


@pytest.mark.parametrize(
    "rows",
    [
        # Of busy machines: other jobs on their cores.
        {"32768": "4.51 7265.73", "65536": "10932.66 5.99", "131072": "5.99 21882.14"},
        {
            **{"262144": "869.81 301.38", "524288": "170.36 3077.47", "1048576": "3039.66 344.96"},
            "2097152": "9536.99 219.90",
        },
    ],
)
def test_times_in_disorder_are_read(read, rows):
    text = read(PINGPONG)
    for size, values in rows.items():
        real = row_of(text, size)
        text = text.replace(real, like(real, " ".join([*real.split()[:2], values])))
    found = {str(row.size): row.values["t"] for row in imb_output.parse(text).tables[0].rows}
    assert found.items() >= {size: float(row.split()[0]) for size, row in rows.items()}.items()


def test_columns_in_another_order_are_refused(read):
    text = read(PINGPONG)
    header = "      t[usec]   Mbytes/sec"
    changed = text.replace(header, "   Mbytes/sec      t[usec]")
    line = row_of(changed, "#bytes")
    refused(changed, "PingPong", line, "in another order than IMB prints them")


def test_repetitions_that_grow_are_refused(read):
    text = read(PINGPONG)
    real = row_of(text, "131072")
    row = real.replace(" 320 ", " 820 ")
    refused(text.replace(real, row), "PingPong", row, "820 repetitions, after 640 of a smaller")


def test_rows_after_the_end_are_refused(read):
    text = read(PINGPONG)
    row = row_of(text, "4194304")
    text = text.replace(row, f"# All processes entering MPI_Finalize\n{row}")
    refused(text, "PingPong", row)


def test_a_second_row_of_barrier_is_refused(read):
    text = read(BARRIER)
    row = row_of(text, "1000")
    again = like(row, "1000 9.99 9.99 9.99")
    refused(text.replace(row, f"{row}\n{again}"), "Barrier", again, "a second row")


def test_a_bandwidth_below_the_printed_digits_is_computed(read):
    text = read("IMB-MPI1_PingPong_Sendrecv_Allreduce.openmpi.txt")
    line = next(
        line for line in text.splitlines() if line.split()[:5] == "2 50 0.18 0.18 0.18".split()
    )
    slow = "            2           50      1162.10      1162.11      1162.11         0.00"
    table = imb_output.parse(text.replace(line, slow), "x").tables[1]
    assert table.rows[2].values["bandwidth"] == pytest.approx(2 * 2 / 1162.11)
    assert table.rows[0].values["bandwidth"] == 0, "an empty message has none"


#: Recorded outputs of all benchmarks of a component: its file, and how its last part is called.
COMPONENTS = sorted(path.name for path in (DATA / "imb").glob("IMB-[A-Z0-9]*.*.txt"))
COMPONENTS = [name for name in COMPONENTS if "_" not in name]


def benchmarks_of(family):
    return {key: row for key, row in imb.BENCHMARKS.items() if row.family == family}


@pytest.mark.parametrize("name", COMPONENTS)
def test_each_benchmark_of_a_component_is_read_as_its_case_reads_it(read, name):
    """Two processes, 64 and 128 bytes: all of its metrics are there, and above zero."""
    family = name.partition(".")[0].removeprefix("IMB-").lower()
    found = dict(runs("imb", read(name)))
    known = {row.name: key for key, row in benchmarks_of(family).items() if row.runs_with(2)}
    assert found.keys() == known.keys()
    for benchmark, text in found.items():
        row = imb.BENCHMARKS[known[benchmark]]
        table = imb_output.parse(text, name).only_table(known[benchmark], 2)
        assert table.processes == (1 if row.alone else 2)
        sizes = imb.message_sizes(known[benchmark], 2, 6, 7) if row.sized else [None]
        assert [each.size for each in table.rows] == sizes
        for column in row.columns:
            values = [
                each.values[column.name]
                for each in table.rows
                if imb.counts_size(known[benchmark], column, each.size)
            ]
            least = 0 if column == imb.OVERLAP else math.ulp(0)
            assert values, (benchmark, column)
            assert min(values) >= least, (benchmark, column)


def test_all_mpis_were_recorded():
    recorded = {(name.split(".")[0], name.split(".")[1]) for name in COMPONENTS}
    assert {mpi for _, mpi in recorded} == {"impi", "mpich", "openmpi"}
    # That of GPUs has outputs in `tests/checks/test_gpus.py`.
    programs = {row.program for row in imb.BENCHMARKS.values()} - {"IMB-MPI1-GPU"}
    assert {program for program, _ in recorded} == programs
    # Open MPI 4.1 knows no persistent collectives.
    assert programs - {program for program, mpi in recorded if mpi == "openmpi"} == {"IMB-MPI4"}


def joined(read):
    return imb_output.parse(read(WINDOW)).only_table("ext.Unidir_Put", 2)


def test_the_tables_of_both_modes_are_joined(read):
    table = joined(read)
    assert table.columns == (
        *LATENCY, "aggregate_repetitions", "aggregate_t", "aggregate_bandwidth",
    )  # fmt: skip
    last = table.rows[-1]
    assert (last.size, last.values["t"], last.values["aggregate_t"]) == (1024, 1.52, 1.53)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "MODE: NON-AGGREGATE",
            "MODE: AGGREGATE",
            "tables of the modes ['AGGREGATE', 'AGGREGATE']",
        ),
        ("#    MODE: AGGREGATE \n", "", "tables of the modes ['NON-AGGREGATE'] instead of"),
        ("         1024           20         1.52       673.35\n", "", "have other message sizes"),
    ],
    ids=["twice", "not told", "row lost"],
)
def test_tables_of_other_modes_are_refused(read, old, new, words):
    text = read(WINDOW)
    assert old in text
    with pytest.raises(ParseError, match=re.escape(words)):
        imb_output.parse(text.replace(old, new)).only_table("ext.Unidir_Put", 2)


def test_a_second_mode_of_one_table_is_refused(read):
    text = read(RMA).replace("#    MODE: AGGREGATE \n", "#    MODE: AGGREGATE \n" * 2)
    with pytest.raises(ParseError, match="a second mode of one table"):
        imb_output.parse(text)


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        (IBCAST, "ing Ibcast ", "ing Ibcost ", "a benchmark of IMB-NBC that is not known"),
        (PINGPONG, "MPI-1 part", "MPI-7 part", "a component of IMB that is not known: MPI-7"),
        (IBCAST, "       62.65", "        0.00", "the overlap 0.00 % is not that of its line"),
        (IBCAST, "        0.80", "        0.70", "the overlap 62.65 % is not that of its line"),
        ("IMB-MT.impi.txt", "# Benchmarking PingPongMT", "# Benchmarking PingPong",
         "of IMB-MT that is not known"),
    ],
)  # fmt: skip
def test_what_no_component_prints_is_refused(read, name, old, new, words):
    text = read(name)
    assert old in text
    with pytest.raises(ParseError, match=words):
        imb_output.parse(text.replace(old, new, 1))


THREADS, HALO = "IMB-MT_threads.openmpi.txt", "IMB-HALO.openmpi.txt"


def test_the_threads_of_a_process_are_read(read):
    assert imb_output.parse(read(THREADS)).threads == 2
    assert imb_output.parse(read("IMB-MT.openmpi.txt")).threads == 1
    assert imb_output.parse(read(HALO)).threads == 1


@pytest.mark.parametrize("column", [2, 3, 4])
@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_messages_of_threads_agree_with_their_time_and_bytes(read, column, factor):
    text = dict(runs("imb", read("IMB-MT.openmpi.txt")))["UniBandMT"]
    assert imb_output.parse(text).only_table("mt.UniBandMT", 2)
    row = row_of(text, "64")
    fields = row.split()
    changed = float(fields[column]) * factor
    fields[column] = f"{changed:.2f}" if column < 4 else f"{changed:.0f}"
    refused(
        text.replace(row, like(row, " ".join(fields))), "UniBandMT", like(row, " ".join(fields))
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (r"64\(x4\)", "64(x2)", "the bandwidth [0-9.]+ is not that of its line, 128 bytes in"),
        (r"\(usec\) \S+", "(usec) nan(Mb/s)", "no line as IMB-HALO prints them|is no number"),
        (r"64\(x4\)", "64(x4)(x4)", "no line as IMB-HALO prints them"),
        (r"\n128.*\n", "\n64(x4)(bytes) 1(usec) 256(Mb/s)\n", "message sizes do not grow"),
        (r"\n128.*\n", "\n128(x4)(bytes) 1.0(usec) 512(Mb/s)\n", "'1.0' is no number"),
        (r"\n\Z", "", "in the middle of a line"),
    ],
)
def test_a_line_that_no_grid_prints_is_refused(read, old, new, words):
    text = read(HALO)
    assert re.search(old, text)
    with pytest.raises(ParseError, match=words):
        imb_output.parse(re.sub(old, new, text, count=1))


def test_a_message_rate_of_few_messages_is_rounded(read):
    """One process waited for the other all the time: both times and the longest are one."""
    row = "           64           20         5.16        24.80       387473"
    text = dict(runs("imb", read("IMB-P2P.impi.txt")))["Corandom"]
    assert row in text
    slow = "           64           20      6362.59         0.01          157"
    (table,) = imb_output.parse(text.replace(row, slow)).tables
    assert table.rows[0].values["messages"] == 157
    with pytest.raises(ParseError, match=r"those of 0\.98 processes"):
        imb_output.parse(text.replace(row, slow.replace("157", "154")))


#: When the recorded PingPong began, and a job that ran it for a minute.
BEGAN = datetime(2026, 11, 20, 22, 8, 13, tzinfo=timezone.utc)
JOB = BEGAN - timedelta(seconds=1), BEGAN + timedelta(minutes=1)


def contradictions(text, job=JOB, **changes):
    output = imb_output.parse(text)
    asked = {"asked": output.called, "count": 1000, "job": job} | changes
    return [each.text for each in output.of_another_job(**asked)]


@pytest.mark.parametrize(
    ("name", "column", "said"),
    [
        ("IMB-P2P_PingPong.openmpi.txt", "Msg/sec", "IMB-P2P prints time and messages a second"),
        ("IMB-P2P_PingPong.openmpi.txt", "t[usec]", "IMB-P2P prints time and messages a second"),
        ("IMB-MT_threads.openmpi.txt", "t_avg[usec]", "the header has no column t_avg"),
    ],
)
def test_a_table_without_one_of_its_columns_is_refused(recorded, name, column, said):
    lines = recorded(f"imb/{name}").splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if column in line)
    end = lines[start].index(column) + len(column)
    begin = len(lines[start][:end].removesuffix(column).rstrip())
    text = "".join(
        f"{line[:begin]}{line[end:].rstrip()}\n" if n >= start and len(line) > end else line
        for n, line in enumerate(lines)
    )
    with pytest.raises(ParseError, match=re.escape(said)):
        imb_output.parse(text)


def test_a_table_of_imb_mt_with_the_columns_of_imb_p2p_is_refused(recorded):
    lines = recorded("imb/IMB-MT.openmpi.txt").splitlines()
    title = next(n for n, line in enumerate(lines) if "Benchmarking BcastMT" in line)
    start = next(n for n, line in enumerate(lines) if n > title and "#bytes" in line)
    header = f"{'#bytes':>13} #repetitions{'t[usec]':>13}   Mbytes/sec      Msg/sec"
    row = f"{64:13}{20:13}{0.24:13.2f}{266.81:13.2f}{4168838:13}"
    with pytest.raises(ParseError, match="IMB-MT prints the average time beside each rate"):
        imb_output.parse("\n".join([*lines[:start], header, row, ""]))


def test_what_is_of_another_job_is_told_with_its_line(recorded):
    text = recorded(f"imb/{PINGPONG}")
    number = next(n for n, line in enumerate(text.splitlines(), 1) if line.startswith("# Date"))
    later = tuple(each + timedelta(days=1) for each in JOB)
    (told,) = contradictions(text, later)
    line = text.splitlines()[number - 1]
    said = "PingPong: time: 2026-11-20 22:08:13 instead of 2026-11-21 22:08:12 to"
    assert told.startswith(f"stdout:{number}: {said}")
    assert told.endswith(f"{line!r}")
    # How it was called stands in several lines.
    (other,) = contradictions(text, asked=["IMB-MPI1"])
    assert other.startswith("stdout: ")


def test_every_recorded_output_is_of_a_job_that_asked_for_it(recorded):
    told = 0
    for path in sorted((DATA / "imb").iterdir()):
        try:
            output = imb_output.parse(path.read_text())
        except ParseError:
            continue  # of a program that did not understand its arguments
        words = output.called
        usual = 20 if output.family == "mt" else 1000
        count = int(words[words.index("-iter") + 1]) if "-iter" in words else usual
        began = (output.date or BEGAN).replace(tzinfo=timezone.utc)
        assert [*output.of_another_job(words, count, (began, began))] == [], path.name
        rows = [row for table in output.tables for row in table.rows]
        told += output.date is not None
        if "repetitions" in rows[0].values:
            (*_, last) = output.of_another_job(words, count - 1, (began, began))
            assert last.what.startswith("repetitions"), path.name
    assert told == 36


@pytest.mark.parametrize(
    ("zone", "early", "late"),
    [
        # The job's own zone, UTC in it, and clocks that are five minutes apart.
        (0, 0, 60),
        (9, -300, 360),
        (-9.5, -300, 360),
    ],
)
def test_a_time_is_that_of_the_job_by_its_own_clock(recorded, zone, early, late):
    text, offset = recorded(f"imb/{PINGPONG}"), timezone(timedelta(hours=zone))
    for shift, is_within in ((early, True), (late, True), (-301, False), (362, False)):
        for hours in {0, zone}:  # told in UTC, or in the zone
            told = JOB[0] + timedelta(seconds=shift, hours=hours)
            dated = text.replace("Fri Nov 20 22:08:13 2026", f"{told:%a %b %d %T %Y}")
            job = tuple(each.astimezone(offset) for each in JOB)
            assert (contradictions(dated, job) == []) == is_within, (shift, hours)


def test_a_time_that_is_none_and_a_line_that_is_missing_are_refused(recorded):
    text = recorded(f"imb/{PINGPONG}")
    with pytest.raises(ParseError, match="that is no time as IMB prints it"):
        imb_output.parse(text.replace("Nov 20", "Nov 31"))
    with pytest.raises(ParseError, match="no line '# Date', by which the output is of this job"):
        contradictions(text.replace("# Date", "# Data"))
    (told,) = contradictions(text.replace("# Calling sequence was:", "#"), asked=["PingPong"])
    assert told == "stdout: PingPong: arguments:  instead of PingPong"


def test_arguments_in_several_lines_are_read(recorded):
    """Up to 2018 so."""
    text = recorded(f"imb/{PINGPONG}")
    wrapped = text.replace("IMB-MPI1 PingPong -npmin 2 ", "IMB-MPI1 PingPong -npmin\n#         2")
    assert imb_output.parse(wrapped).called == ["PingPong", "-npmin", "2"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # More than asked for, and more than all sizes move.
        ([(8, 1001, 1.0)], 1000),
        ([(2**22, 11, 1.0)], 10),
        # 10 s are the limit; the first try may have been ten times slower.
        ([(8, 1, 0.3)], 1000),
        ([(8, 99, 0.3)], 1000),
        ([(8, 100, 0.3)], None),
        ([(2**22, 1, 5e6)], None),
        ([(2**20, 1, 1e6)], None),
        ([(2**20, 3, 1e5)], 40),
        # No size is repeated more often than a smaller one.
        ([(8, 200, 0.3), (16, 200, 0.3), (32, 19, 0.3)], 200),
        ([(8, 200, 0.3), (16, 200, 0.3), (32, 20, 0.3)], None),
    ],
)
def test_fewer_repetitions_are_what_the_time_limit_leaves(recorded, rows, expected):
    head, _, end = recorded(f"imb/{PINGPONG}").partition("            0         1000")
    tail = end[end.index("\n\n\n# All") :]
    lines = (f"{s:13d} {n:12d} {t:12.2f} {s / t:12.2f}" for s, n, t in rows)
    told = contradictions(head + "\n".join(lines) + tail)
    size, ran, _ = rows[-1]
    what = f"PingPong: repetitions of {size} bytes: {ran} instead of {expected}: "
    assert len(told) == (expected is not None)
    assert all(what in each for each in told)


def test_uniband_takes_as_long_as_its_messages(recorded):
    head, _, end = recorded(f"imb/{UNIBAND}").partition("            0         1000")
    tail = end[end.index("\n\n\n# All") :]
    # 64 messages of two processes.
    for ran, rate, fails in ((1, 10, False), (1, 10000, True)):
        row = f"{2**20:13d} {ran:12d} {rate * 2**20 / 1e6:12.2f} {rate:12d}"
        assert len(contradictions(head + row + tail)) == fails
