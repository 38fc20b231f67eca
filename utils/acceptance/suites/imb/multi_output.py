"""Output of `IMB-MPI1 PingPong -npmin 2 -multi 1`: all pairs of the ranks at once.

The form, of four ranks; of two or three there is one pair, and the title is that of PingPong::

    # Benchmarking Multi-PingPong
    # ( 2 groups of 2 processes each running simultaneous )
    # Group  0:     0    1
    #
    # Group  1:     2    3
    #
            Group       #bytes #repetitions      t[usec]   Mbytes/sec

                0            8         1000         2.94         2.72
                1            8         1000         2.94         2.72

                0      4194304           20      1481.46      2831.19
                1      4194304           20      1490.02      2814.93

Of more than 1024 groups IMB names only the first and the last 512. The repetitions of a row are
those of the first group. Pairs chosen with `-map` are refused: IMB up to 2021.11 prints for group k
the longer one of the times of ranks 2k and 2k+1, whichever groups these are in, so that a row is of
two pairs (its function IMB_calculate_times; tried with one node of four throttled).

Source of the form: the source of IMB 2021.7, and outputs of 2021.7 and 2021.11.
"""

import re

from acceptance.suites.imb.output import Output, Reader, Table

BENCHMARK = "PingPong"

_TITLES = (BENCHMARK, f"Multi-{BENCHMARK}")
_GROUPS = re.compile(r"# \( (?P<groups>\d+) groups of (?P<size>\d+) processes each ")
_GROUP = re.compile(r"# Group\s+(?P<group>\d+):(?P<ranks>[\s\d]+)\Z")
_IDLE = re.compile(r"# \( (?P<idle>\d+) additional process(es)? waiting")


def parse_pairs(text: str, ranks: int, sizes: list[int], source: str = "stdout") -> Output:
    """Read the output of a run on so many ranks with these message sizes (bytes, growing).

    Table k is that of the ranks 2k and 2k+1; the last one of an odd number of ranks has none.
    Raises ParseError, with the line, for anything but a complete output of just this.
    """
    return _PairsReader(text, source, ranks, sizes).read()


class _PairsReader(Reader):
    def __init__(self, text: str, source: str, ranks: int, sizes: list[int]) -> None:
        super().__init__(text, source)
        self.pairs, self.idle, self.sizes = ranks // 2, ranks % 2, sizes
        self.groups, self.told_idle = 1, 0
        self.title = 0
        #: The group of the next row.
        self.next = 0

    def read(self) -> Output:
        output = super().read()
        self.stand(self.title)
        if self.groups != self.pairs or self.told_idle != self.idle:
            raise self.error(
                f"measured {self.groups} pairs with {self.told_idle} ranks left, asked for "
                f"{self.pairs} with {self.idle}"
            )
        for table in output.tables:
            if (sizes := [row.size for row in table.rows]) != self.sizes:
                raise self.error(f"message sizes {sizes} instead of {self.sizes}")
        return output

    def read_line(self, line: str, stripped: str) -> None:
        tables = len(self.tables)
        super().read_line(line, stripped)
        # A title makes a table; the header makes one of each pair instead of it.
        if len(self.tables) == tables + 1 and not self.tables[-1].columns:
            if self.benchmark not in _TITLES or tables:
                raise self.error("a benchmark that was not asked for")
            self.title, self.benchmark = self.number, BENCHMARK

    def read_in_table(self, table: Table, stripped: str) -> None:
        if match := _GROUPS.match(stripped):
            self.groups = int(match["groups"])
            table.processes = int(match["size"])
        elif match := _GROUP.match(stripped):
            group = int(match["group"])
            if match["ranks"].split() != [str(2 * group), str(2 * group + 1)]:
                raise self.error("a group of other ranks, whose times IMB mixes up")
        elif match := _IDLE.match(stripped):
            self.told_idle = int(match["idle"])
        elif stripped.startswith("Group"):
            self.read_header(table, stripped.removeprefix("Group"))
            if table.processes != 2:
                raise self.error(f"groups of {table.processes} processes instead of 2")
            self.tables = [
                Table(BENCHMARK, self.number, 2, columns=table.columns) for _ in range(self.groups)
            ]
        elif stripped.startswith("#bytes"):
            raise self.error("the header has no column Group")
        elif table.columns and stripped[:1].isdigit():
            self.read_pair(stripped.split())
        else:
            super().read_in_table(table, stripped)

    def read_pair(self, tokens: list[str]) -> None:
        group = self.integer(tokens[0])
        if group != self.next:
            raise self.error(f"a row of group {group}, where that of group {self.next} belongs")
        self.next = (group + 1) % len(self.tables)
        table = self.tables[group]
        table.rows.append(self.read_row(table, tokens[1:]))
