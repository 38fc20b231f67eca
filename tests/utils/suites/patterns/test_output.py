"""`suites/patterns/output.py` on recorded outputs of `patterns`, whole and mutilated."""

import re

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites.patterns.output import parse
from tests.places import ROOT

DATA = ROOT / "tests/data/patterns"
PAIRS = "simple-pairwise_np5.openmpi.txt"
AAPC = "aapc_np2.mpich.txt"
BEFF = "b-eff_np2.impi.txt"
DISTANCE = "distance_np3.openmpi.txt"


def read(name):
    return (DATA / name).read_text()


#: File -> pattern, ranks, and rows of each table.
WHOLE = {
    PAIRS: ("simple-pairwise", 5, {"phases": 8}),
    AAPC: ("aapc", 2, {"phases": 7}),
    BEFF: ("b-eff", 2, {"rates": 441, "summary": 1}),
    DISTANCE: ("distance", 3, {"distance": 28}),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_output(name):
    pattern, ranks, rows = WHOLE[name]
    output = parse(read(name), name, pattern=pattern, ranks=ranks)
    assert {table.name: len(table.rows) for table in output.tables.values()} == rows
    assert output.header["pattern"] == pattern
    assert output.header["ranks"] == str(ranks)


def test_values_have_columns_and_units():
    table = parse(read(PAIRS)).tables["phases"]
    line = re.search(r"^65536 2 .*", read(PAIRS), re.MULTILINE)[0].split()
    (row,) = (row for row in table.rows if (row["size"], row["phase"]) == (65536, 2))
    assert [*row.values()] == [float(word) for word in line]
    assert [*row] == [*table.units]
    assert (table.units["size"], table.units["loop"], table.units["mean"]) == ("B", "us", "MB/s")


def test_what_stands_before_and_after_is_not_of_the_program():
    text = "placement rank=0\n8 1\n# nobody\n" + read(PAIRS) + "bye\n# bye"
    assert parse(text).tables == parse(read(PAIRS)).tables


def edited(old, new, name=PAIRS):
    text = read(name)
    assert re.search(old, text, re.MULTILINE)
    return re.sub(old, new, text, count=1, flags=re.MULTILINE)


FAULTS = {
    "empty": ("", "the output is empty"),
    "another program": ("hello\n", "no output of patterns"),
    "no end": (edited("# end\n", ""), "ends without `# end`"),
    "cut in a row": (read(PAIRS)[:-30], "ends in the middle of a line"),
    "cut at a line": (read(PAIRS)[: read(PAIRS).rindex("65536 4")], "ends without `# end`"),
    "two outputs": (read(PAIRS) * 2, "a second output begins"),
    "another version": (edited("# version: .*", "# version: 2.0"), "an output of version 2.0"),
    "another pattern": (read(AAPC), "ran the pattern aapc instead of simple-pairwise"),
    "other ranks": (edited("# ranks: 5", "# ranks: 4"), "ran with 4 ranks instead of 5"),
    "no ranks": (edited("# ranks: 5\n", ""), "the header has no ranks"),
    "key twice": (edited("(# seed: 1\n)", r"\1\1"), "seed stands twice in the header"),
    "late header": (edited("# end", "# seed: 1\n# end"), "a line of the header within the tables"),
    "strange header": (edited("# seed: 1", "# seed 1"), "no line of a header"),
    "no table": (edited("(?s)# table.*(?=# end)", ""), "the output has no table"),
    "unknown table": (edited("# table: phases", "# table: phase"), "an unknown table phase"),
    "no columns": (edited("# columns: .*\n", ""), "a row without a table"),
    "column twice": (edited(r"max\[", "mean["), "a column stands twice"),
    "no unit": (edited(r"max\[MB/s\]", "max"), "'max' is no column with its unit"),
    "key column lost": (edited(r"phase\[1\]", "phrase[1]"), "the header has no column phase"),
    "no rows": (edited("(?s)\n8 1.*(?=\n# end)", ""), "the table phases has no rows"),
    "row twice": (edited("(8 2 .*\n)", r"\1\1"), "a second row of the same size 8, phase 2"),
    "row lost": (edited("8 2 .*\n", ""), "no row of size 8, phase 2"),
    "not a number": (edited(r"^8 1 \S+", "8 1 nan"), "nan is no finite number"),
    "negative": (edited(r"^8 1 \S+", "8 1 -1"), "-1 is negative"),
    "no number": (edited(r"^8 1 \S+", "8 1 ?"), "'?' is no number"),
    "zero in front": (edited(r"^8 1 \S+", "8 1 01"), "'01' is no number as patterns prints it"),
    "field lost": (edited(r"^8 1 \S+", "8 1"), "11 fields where the header has 12"),
    "short loop": (edited(r"^(8 1 \S+ \S+ \S+ \S+) \S+", r"\1 999.9"), "999.9 us, under 1 ms"),
    "too fast": (edited(r"^8 1 1.0000 2 1 \d", "8 1 1.0000 2 1 "), "is not that of its line"),
    "mean too low": (
        edited(r"^(8 1 1.0000 2 1 \S+ \S+ \S+) \S+", r"\1 0.1"),
        "the mean is below the smallest",
    ),
    "mean too high": (
        edited(r"^(8 1 1.0000 2 1 \S+ \S+ \S+) \S+", r"\1 9999"),
        "the mean is above the largest",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refused(name):
    text, words = FAULTS[name]
    with pytest.raises(ParseError) as refused:
        parse(text, "out.txt", pattern="simple-pairwise", ranks=5)
    assert words in str(refused.value)
    assert str(refused.value).startswith("out.txt:" if text else "out.txt")


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        (DISTANCE, r"^(1024 2 \S+ \S+ \S+) .*", r"\1 3", "bandwidth 3 is not that of its line"),
        (DISTANCE, r"^1024 2 .*\n", "", "no row of size 1024, distance 2"),
        (BEFF, r"^(0 1 0 \S+ \S+) \S+", r"\1 99999", "rate 99999 is not that of its line"),
        (BEFF, r"^5 64 1 .*\n", "", "no row of pattern 5, size 64, method 1"),
        (BEFF, r"^# table: summary", "# table: rates", "the table rates stands twice"),
    ],
)
def test_a_fault_in_another_table_is_refused(name, old, new, words):
    with pytest.raises(ParseError, match=re.escape(words)):
        parse(edited(old, new, name), name)
