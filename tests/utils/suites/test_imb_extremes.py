"""Tables of IMB as its formulas print them where processes are far apart, or hardly take a time.

What is printed follows from the times of the processes, as upstream's IMB_output.c, MT_benchmark.h,
imb_p2p_*.c and halo_benchmark.h compute it; so no such table may be refused.
"""

import random

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import imb_output

SIZES = (1, 64, 4096, 2**20)
END = "\n# All processes entering MPI_Finalize\n"


def times(chance, count):
    """Return times in us: of all nearly one, or of some up to 10,000 times that of the others."""
    least = 10 ** chance.uniform(-1.5, 5)
    late = chance.choice([0, 0, 1, count - 1])
    return [
        least * (1 + chance.random() * 1e-3) * (10 ** chance.uniform(0, 4) if n < late else 1)
        for n in range(count)
    ]


def table(part, title, columns, rows, width=13):
    """Return an output with one table."""
    lines = ["".join(f"{cell:>{width}}" for cell in row) for row in (columns.split(), *rows)]
    head = f"#    Intel(R) MPI Benchmarks 2021.11, {part} part\n\n# Benchmarking {title}\n"
    return head + "\n".join(lines) + "\n" + ("" if part == "MT" else END)


def two(value):
    return f"{value:.2f}"


def overlap(chance, part, name):
    """Return a table of one that computes beside: what is printed follows from three times."""
    rows = []
    for size in SIZES:
        pure, computing, both = times(chance, 3)
        share = min(pure, computing) if part == "MPI-IO" else max(pure, computing)
        hidden = 100 * max(0.0, min(1.0, (pure + computing - both) / share))
        rows.append([size, 10, *map(two, (both, pure, computing, hidden))])
    columns = "#bytes #repetitions t_ovrl[usec] t_pure[usec] t_CPU[usec] overlap[%]"
    return table(part, f"{name} \n# #processes = 8", columns, rows)


def p2p(chance, name, processes=8):
    """Return a table of IMB-P2P: each process counts messages, which are two times as many."""
    rows = []
    for size in SIZES:
        each, repetitions = times(chance, processes), 20
        counted = repetitions * processes // (1 if name != "PingPong" else 2)
        latency, longest = sum(each) * repetitions / counted, max(each) * repetitions
        latency /= 2 if name == "PingPong" else 1
        rate = counted / longest * 1e6
        rows.append([size, repetitions, two(latency), two(rate * size / 1e6), f"{rate:.0f}"])
    columns = "#bytes #repetitions t[usec] Mbytes/sec Msg/sec"
    return table("IMB-P2P", f"{name}\n# #processes = {processes}", columns, rows)


def threads_of(chance, name, threads, processes=4):
    """Return a table of IMB-MT, in which the sizes are those of all threads of a process."""
    rows = []
    count = threads * processes
    for size in SIZES:
        each = times(chance, count)
        average, longest = sum(each) / count, max(each)
        if name == "UniBandMT":
            bandwidth, rate = size * count // 2 / longest, int(count // 2 / average * 1e6)
            values = [two(average), two(bandwidth), rate]
        else:
            values = [*map(two, (min(each), longest, average, 4 * size * threads / longest))]
        rows.append([size * threads, 100, *values])
    columns = "#bytes #repetitions " + (
        "t_avg[usec] Mbytes/sec Msg/sec" if name == "UniBandMT"
        else "t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec"
    )  # fmt: skip
    title = f"{name}\n# #processes = {processes} (threads: {threads})"
    return table("MT", title, columns, rows, 14)


def halo(chance):
    lines = ["", "# Benchmarking simple_halo (processes: 8; threads: 1; dimensions: 3)"]
    # In the order of their sizes: see `check_order`.
    averages = sorted(sum(times(chance, 8)) / 8 for _ in SIZES)
    for size, average in zip(SIZES, averages, strict=True):
        lines.append(f"{size}(x12)(bytes) {average:g}(usec) {12 * size / average:g}(Mb/s)")
    return "\n".join(lines) + "\n"


MADE = {
    "nbc.Ibcast": lambda chance: overlap(chance, "MPI-NBC", "Ibcast"),
    "mpi4.Bcast_persist": lambda chance: overlap(chance, "MPI-4", "Bcast_persist"),
    "p2p.PingPong": lambda chance: p2p(chance, "PingPong"),
    "p2p.Corandom": lambda chance: p2p(chance, "Corandom"),
    "mt.ExchangeMT": lambda chance: threads_of(chance, "ExchangeMT", 1),
    "mt.ExchangeMT, threads": lambda chance: threads_of(chance, "ExchangeMT", 8),
    "mt.UniBandMT": lambda chance: threads_of(chance, "UniBandMT", 1),
    "mt.UniBandMT, threads": lambda chance: threads_of(chance, "UniBandMT", 8),
    "halo.simple_halo": halo,
}


@pytest.mark.parametrize("name", MADE)
def test_what_follows_from_any_times_is_read(name):
    chance = random.Random(name)
    for _ in range(300):
        text = MADE[name](chance)
        (found,) = imb_output.parse(text).tables
        assert len(found.rows) == len(SIZES), text


def test_a_time_and_a_bandwidth_beside_a_message_rate_are_told_apart():
    """A size that is far below its neighbours may have their time as its bandwidth."""
    rows = [[1, 20, "55.78", "0.02", 17928], [2, 20, "1.99", "64.33", 32165000]]
    rows += [[4, 20, "90.00", "0.04", 11111]]
    columns = "#bytes #repetitions t[usec] Mbytes/sec Msg/sec"
    text = table("IMB-P2P", "Corandom\n# #processes = 64", columns, rows)
    assert len(imb_output.parse(text).tables[0].rows) == 3
    with pytest.raises(ParseError, match=r"the bandwidth 1\.99 is not that of its line"):
        imb_output.parse(text.replace("         1.99        64.33", "        64.33         1.99"))


def of_threads(bandwidth, rate):
    """Return a row of 2 processes of 4 threads, of which one thread of each is late."""
    columns = "#bytes #repetitions t_avg[usec] Mbytes/sec Msg/sec"
    row = [256, 100, "25.00", bandwidth, rate]
    return table("MT", "UniBandMT\n# #processes = 2 (threads: 4)", columns, [row], 14)


def test_a_bandwidth_of_threads_counts_the_bytes_of_one():
    assert imb_output.parse(of_threads("2.56", 160000)).tables[0].rows
    # All at once: the bytes of one thread of each message.
    assert imb_output.parse(of_threads("10.24", 160000)).tables[0].rows
    for bandwidth in ("10.30", "40.96", "1.20"):
        with pytest.raises(ParseError, match="is not that of its line"):
            imb_output.parse(of_threads(bandwidth, 160000))


@pytest.mark.parametrize("rate", [-(2**31), 2**31 - 1])
def test_more_messages_than_an_int_holds_are_those_of_their_time(rate):
    """IMB-MT casts the rate to an int, which is one of these then."""
    columns = "#bytes #repetitions t_avg[usec] Mbytes/sec Msg/sec"
    row = [1, 100, "1.60", "5000.00", rate]
    many = table("MT", "UniBandMT\n# #processes = 16384 (threads: 1)", columns, [row], 14)
    (found,) = imb_output.parse(many).tables[0].rows
    assert found.values["messages"] == pytest.approx(8192 / 1.6e-6)
    with pytest.raises(ParseError, match="inf messages a second of 81 pairs are not one in"):
        imb_output.parse(many.replace("16384", "163"))
