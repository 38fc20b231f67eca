"""What ReFrame stored in a database, read as the product reads it; nothing is kept beside it."""

from pathlib import Path

from acceptance import ledger
from acceptance.ledger import last_first, reading
from acceptance.regressions import history


def opened(path):
    """Return the ledger of a results database."""
    return ledger.of_file(Path(path))


def session(path, uuid=None):
    """Return a session, the last one by default."""
    return opened(path).session(uuid)


def sessions(path):
    """Return all sessions, that which ended last first."""
    return opened(path).sessions()


def runs(path):
    """Return of each session the runs of its cases, of that which ended last first."""
    past = opened(path)
    return reading.runs(past, last_first(past.entries), lambda *_: True)


def ids(path):
    """Return the UUIDs of all sessions, in the order of storing."""
    return opened(path).ids()


def load(path, *args, **keywords):
    """Return the history of a results database."""
    return history.load(opened(path), *args, **keywords)
