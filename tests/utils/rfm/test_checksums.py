"""`rfm/checksums.py`: the file of the checksums itself."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from acceptance.rfm import checksums
from acceptance.rfm.checksums import DELETED, FORGOTTEN, STORED, TRUSTED


@pytest.fixture
def database(tmp_path):
    return tmp_path / "results.db"


def test_several_verdicts_at_once_write_a_session_once(database):
    def write(number):
        checksums.append(database, STORED, [(f"s{each}", f"sum{each}") for each in range(number)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, [5, 3, 8, 8]))
    sums = checksums.read(database)
    assert (len(sums.entries), sums.faults) == (8, [])
    assert len(checksums.path_of(database).read_text().splitlines()) == 8


def test_a_damaged_line_counts_nothing_and_is_told(database):
    checksums.append(database, STORED, [("one", "aaaa"), ("two", "bbbb")])
    path = checksums.path_of(database)
    path.write_text(path.read_text().replace("aaaa", "aaab"))
    sums = checksums.read(database)
    assert list(sums.entries) == ["two"]
    assert sums.faults == [f"{path}:1: a damaged line, which counts nothing; remove it"]


def test_the_first_sum_of_a_session_counts_and_another_is_told(database):
    checksums.append(database, STORED, [("one", "aaaa")])
    other = checksums.Entry(STORED, "one", "bbbb", "2026-01-01T00:00:00").line
    path = checksums.path_of(database)
    path.write_text(2 * path.read_text() + other)
    sums = checksums.read(database)
    assert sums.entries["one"].sum == "aaaa"
    assert [fault.partition("session ")[2] for fault in sums.faults] == [
        "one once more; remove it",
        "one with another checksum, which does not count; remove it",
    ]


def test_what_a_person_decides_later_counts(database):
    checksums.append(database, STORED, [("one", "aaaa")])
    for kind, sum_ in ((FORGOTTEN, "aaaa"), (TRUSTED, "bbbb"), (TRUSTED, "cccc"), (DELETED, "-")):
        checksums.append(database, kind, [("one", sum_)])
        entry = checksums.read(database).entries["one"]
        assert (entry.kind, entry.sum) == (kind, sum_)


def test_a_line_that_was_cut_off_takes_no_other_with_it(database):
    checksums.append(database, STORED, [("one", "aaaa"), ("two", "bbbb")])
    path = checksums.path_of(database)
    path.write_bytes(path.read_bytes()[:-9])
    checksums.append(database, STORED, [("two", "bbbb"), ("three", "cccc")])
    sums = checksums.read(database)
    assert list(sums.entries) == ["one", "two", "three"]
    assert len(sums.faults) == 1
