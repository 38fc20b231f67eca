"""`suites/duration.py`: how long cases take by formula, against sums by hand."""

import pytest

from acceptance.suites import duration, imb, npb, osu, patterns

#: A us, and a byte in a ns.
WAY = 1e-6, 1e9
ALL = [2**n for n in range(23)]


def test_a_message_and_the_steps_of_an_operation():
    rows = imb.BENCHMARKS
    assert duration.once(rows["PingPong"], 1000, 2, WAY) == pytest.approx(2e-6)
    # Three steps of eight, and twice the vector; or the parts of the seven others.
    assert duration.once(rows["Allreduce"], 1000, 8, WAY) == pytest.approx(3e-6 + 2e-6)
    assert duration.once(rows["Allgather"], 1000, 8, WAY) == pytest.approx(3e-6 + 7e-6)
    assert duration.once(rows["Alltoall"], 1000, 8, WAY) == pytest.approx(7e-6 + 7e-6)
    assert duration.once(rows["Barrier"], None, 8, WAY) == pytest.approx(3e-6)


def test_processes_share_the_memory_of_their_node():
    assert duration.inside(2) == duration.INSIDE
    assert duration.inside(48)[1] == pytest.approx(duration.NODE / 48)


def test_imb_tries_warms_up_and_measures_but_no_size_longer_than_its_limit():
    # A try, and a tenth more than what is measured: 1,000 times, and 10 times of 4 MiB.
    small, large = 1000 * 1.008e-6, 10 * (1e-6 + 2**22 / 1e9)
    assert duration.of_imb("PingPong", 2, 1000, [8, 2**22], WAY) == pytest.approx(
        2.1 * (small + large)
    )
    slow = 1e-6, 1e3
    assert duration.of_imb("PingPong", 2, 1000, [2**22], slow) == 1 + 1.1 * imb.SECONDS
    windows = duration.of_imb("Uniband", 2, 100, [8], WAY)
    assert windows == pytest.approx(2.1 * 100 * osu.WINDOW * 1.008e-6)
    # One operation at a time is done 100 times, and a write is forced to the disk.
    both = duration.of_imb("rma.Unidir_put", 2, 1000, [8], WAY)
    assert both == pytest.approx(2.1 * 1100 * 1.008e-6)
    assert duration.of_imb("io.S_Write_Indv", 2, 100, [8], WAY) > 1.0


def test_omb_repeats_small_messages_more_often():
    row = osu.BENCHMARKS["latency"]
    small, large = 2 * 10_100 * (1e-6 + 8192 / 1e9), 2 * 1010 * (1e-6 + 16384 / 1e9)
    assert duration.of_osu(row, 2, 0, [8192, 16384], WAY) == pytest.approx(small + large)
    assert duration.of_osu(row, 2, 100, [8192], WAY) == pytest.approx(small * 110 / 10_100)
    window = duration.of_osu(osu.BENCHMARKS["bw"], 2, 0, [2**20], WAY)
    assert window == pytest.approx(22 * osu.WINDOW * (1e-6 + 2**20 / 1e9))
    alone = duration.of_osu(osu.BENCHMARKS["allreduce"], 4, 0, [8], WAY)
    beside = duration.of_osu(osu.BENCHMARKS["iallreduce"], 4, 0, [8], WAY)
    assert beside == pytest.approx(3 * alone)
    assert duration.of_osu(osu.BENCHMARKS["init"], 2, 0, [None], WAY) == 0


@pytest.mark.parametrize("processes", [2, 8, 1024])
def test_each_benchmark_takes_a_time_that_grows_with_its_messages(processes):
    for suite, rows in ((imb, imb.BENCHMARKS), (osu, osu.BENCHMARKS)):
        for name, row in rows.items():
            if not row.sized or not row.runs_with(processes):
                continue
            of = duration.of_imb if suite is imb else duration.of_osu
            given = (name if suite is imb else row, processes, 100)
            few, many = (of(*given, sizes, WAY) for sizes in (ALL[:10], ALL))
            assert 0 < few < many, name


def test_hpcc_and_npb_take_what_their_operations_say():
    assert duration.of_hpcc(2000, 2) == pytest.approx(duration.of_hpcc(2000, 1) / 2)
    assert duration.of_hpcc(4000, 2) > 4 * duration.of_hpcc(2000, 2)
    for name in npb.BENCHMARKS:
        small, large = (duration.of_npb(name, each, 4) for each in "SB")
        assert 0 < small < large
    # 2^30 numbers, which the program counts as so many operations, at 60 million a second.
    assert duration.of_npb("ep", "B", 1) == pytest.approx(npb.millions("ep", "B") / 60)


def test_a_pattern_takes_its_loops():
    row = patterns.BENCHMARKS["aapc"]
    phases = len(patterns.phases(row, 16)) * len(row.sizes)
    assert duration.of_pattern(row, 16, "nightly", simulated=False) == phases * 4 * 5 / 1000
    assert duration.of_pattern(row, 16, "smoke", simulated=False) == phases * 4 * 2 / 1000
    assert duration.of_pattern(row, 16, "smoke", simulated=True) == pytest.approx(phases * 16 / 50)
    beff = patterns.BENCHMARKS["b_eff"]
    assert duration.of_pattern(beff, 16, "smoke", simulated=False) == 63 * 7 * 2 / 1000
    assert duration.of_pattern(beff, 16, "nightly", simulated=False) == 63 * 36 * 4 * 5 / 1000
