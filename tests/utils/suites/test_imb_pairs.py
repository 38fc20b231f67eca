"""`suites/imb.py` on outputs of IMB that measured all pairs at once."""

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites.imb import parse, parse_pairs

OF_FOUR, OF_FIVE = (f"imb/IMB-MPI1_PingPong_multi1_np{n}.impi.txt" for n in (4, 5))
OF_TWO = "imb/IMB-MPI1_PingPong_multi1_np2.impi.txt"
OF_THREE = "imb/IMB-MPI1_PingPong_multi1_np3.openmpi.txt"
MAPPED = "imb/IMB-MPI1_PingPong_multi1_map2x2.impi.txt"
SIZES = [8, 4194304]
SWEEP = [0, *(2**n for n in range(7))]

#: Output -> ranks, message sizes, pairs, version.
WHOLE = {
    OF_TWO: (2, SIZES, 1, "2021.11"),
    OF_THREE: (3, SIZES, 1, "2021.7"),
    OF_FOUR: (4, SWEEP, 2, "2021.11"),
    OF_FIVE: (5, SIZES, 2, "2021.11"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_output_has_a_table_of_each_pair(recorded, name):
    ranks, sizes, pairs, version = WHOLE[name]
    text = recorded(name)
    output = parse_pairs(text, ranks, sizes)
    assert (output.version, len(output.tables)) == (version, pairs)
    lines = text.splitlines()
    for number, table in enumerate(output.tables):
        assert (table.benchmark, table.processes) == ("PingPong", 2)
        assert [row.size for row in table.rows] == sizes
        for row in table.rows:
            group, size, _, time, _ = lines[row.number - 1].split()
            assert (int(group), int(size), float(time)) == (number, row.size, row.values["t"])


def test_a_bandwidth_that_is_printed_as_zero_is_computed(recorded):
    text = recorded(OF_TWO)
    (row,) = [line for line in text.splitlines() if line.split()[1:2] == ["8"]]
    slow = "            0            8         1000      2000.00         0.00"
    (table,) = parse_pairs(text.replace(row, slow), 2, SIZES).tables
    assert table.rows[0].values["mbytes"] == pytest.approx(8 / 2000)


@pytest.mark.parametrize(
    ("name", "ranks", "sizes", "message"),
    [
        (MAPPED, 4, SIZES, "a group of other ranks, whose times IMB mixes up: '# Group  0:     0"),
        (OF_FOUR, 6, SWEEP, "measured 2 pairs with 0 ranks left, asked for 3 with 0"),
        (OF_FIVE, 4, SIZES, "measured 2 pairs with 1 ranks left, asked for 2 with 0"),
        (OF_FIVE, 5, [8, 4096, 4194304], "message sizes [8, 4194304] instead of [8, 4096"),
        ("imb/IMB-MPI1_PingPong.impi.txt", 2, SIZES, "the header has no column Group"),
        ("imb/IMB-MPI1_Barrier.impi.txt", 2, SIZES, "a benchmark that was not asked for"),
        ("imb/IMB-MPI1_PingPong_Sendrecv_Allreduce.openmpi.txt", 2, SIZES, "no column Group"),
    ],
)
def test_another_run_than_was_asked_for_is_refused(recorded, name, ranks, sizes, message):
    with pytest.raises(ParseError) as refused:
        parse_pairs(recorded(name), ranks, sizes, "out")
    assert message in str(refused.value)
    assert str(refused.value).startswith("out:")


def lines_of(text):
    return text.splitlines(keepends=True)


def test_any_lost_line_of_the_tables_is_noticed(recorded):
    whole = lines_of(recorded(OF_FIVE))
    begin = next(number for number, line in enumerate(whole) if "Benchmarking" in line)
    for number, line in enumerate(whole):
        # Of what comes before the tables only the version counts.
        if number < begin or not line.strip(" #\n-") or "# Group" in line:
            continue
        with pytest.raises(ParseError):
            parse_pairs("".join(whole[:number] + whole[number + 1 :]), 5, SIZES)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("            1            8", "            0            8", "a row of group 0"),
        ("            1      4194304", "            2      4194304", "a row of group 2"),
        ("            1      4194304", "            1      5194304", "bandwidth 351.51 is not"),
        ("groups of 2 proc", "groups of 4 proc", "groups of 4 processes instead of 2"),
        ("Group  1:     2    3", "Group  1:     3    2", "a group of other ranks"),
        ("# All processes", "# Benchmarking Multi-PingPong \n# All processes", "not asked for"),
        ("# All processes", "   Group #bytes #repetitions t[usec] Mbytes/sec\n#", "second header"),
    ],
)
def test_a_line_that_is_not_consistent_is_refused(recorded, old, new, message):
    text = recorded(OF_FIVE)
    assert old in text
    with pytest.raises(ParseError, match=message):
        parse_pairs(text.replace(old, new, 1), 5, SIZES)


def test_of_many_groups_imb_names_some_only():
    title = (
        "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n# Benchmarking Multi-PingPong \n"
        "# ( 1025 groups of 2 processes each running simultaneous ) \n"
        "# Group  511:  1022 1023\n#  . \n#  . \n# Group  513:  1026 1027\n"
        "        Group       #bytes #repetitions      t[usec]   Mbytes/sec\n"
    )
    values = "            8         1000         4.00         2.00\n"
    rows = "".join(f"{group:13}{values}" for group in range(1025))
    end = "# All processes entering MPI_Finalize\n"
    assert len(parse_pairs(title + rows + end, 2050, [8]).tables) == 1025


def test_the_parser_of_single_tables_refuses_groups(recorded):
    with pytest.raises(ParseError, match="Group"):
        parse(recorded(OF_FOUR))
