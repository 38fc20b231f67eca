"""`rfm/rows.py`: whatever bit of a database a disk turns over, nothing else is read silently."""

import random

import pytest

from acceptance.rfm import ResultsFault, checksums, database, lost
from tests import made

FLIPS = 150


@pytest.fixture
def path(tmp_path):
    """Three sessions with checksums."""
    path = tmp_path / "results.db"
    made.nights(path, 3, cases=2).connection.close()
    protect(path)
    return path


def protect(path):
    stored = database.stored_sessions(path, database.ids(path))
    checksums.append(path, checksums.STORED, [(each.uuid, each.sum) for each in stored])


def read(path):
    """Return all that is read of a database, and whether anything is wrong with it."""
    faults = []
    try:
        found = (
            list(database.blobs(path, faults=faults)),
            list(database.sessions(path, faults)),
            list(database.sessions_of_check(path, "OsuMpi", made.FIRST + 10 * made.NIGHT)),
            database.ids(path),
        )
        return found, bool(faults) or bool(lost.lost_sessions(path))
    except ResultsFault:
        return None, True


def test_a_bit_changes_nothing_or_is_told(path):
    whole, wrong = read(path)
    assert (len(whole[0]), len(whole[1]), wrong) == (3, 3, False)
    data, chance = path.read_bytes(), random.Random(1)
    told = 0
    for _ in range(FLIPS):
        place, bit = chance.randrange(len(data)), chance.randrange(8)
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        found, wrong = read(path)
        assert wrong or found == whole, (place, bit)
        told += wrong
    assert told > FLIPS / 4


def test_text_that_is_none_is_a_fault_of_its_session_only(path):
    data = path.read_bytes()
    at = data.index(b'"cmdline"') + 3
    path.write_bytes(data[:at] + b"\xff" + data[at + 1 :])
    faults = []
    assert len(list(database.sessions(path, faults))) == 2
    assert "is not what was stored" in str(faults[0])
    checksums.path_of(path).unlink()
    faults = []
    assert len(list(database.sessions(path, faults))) == 2
    assert "is malformed" in str(faults[0])
