"""Results databases of all oddities that a history may have; and a history as plain data."""

import random

from tests.made import FIRST, NIGHT, SOFTWARE, one_night

#: Sessions of `grow`.
NIGHTS = 14


def grow(database, night, rng):
    """Store one more session of a database, odd in one way or another."""
    cases = [one_night(night, number, system="made" if number else "other") for number in range(4)]
    names = {"start": FIRST + NIGHT * night}
    metrics = cases[1].metrics
    if night == 2:
        metrics["latency_8"] = (rng.choice([0.0, -1.0, True, "fast", float("nan"), None]), "us")
    if night in (3, 4):  # in another unit, and back
        metrics["bandwidth_8"] = (metrics["bandwidth_8"][0] * 1000, "KB/s")
    if night == 5:  # failed once, and passed when it was repeated
        cases += [one_night(night, 2, run_index=1)]
        cases[2].result = "fail"
    if night == 6:
        cases[3].findings = ({"kind": "shared-machine", "text": "another run"},)
        cases[2].findings = ({"kind": "link", "text": "a port at SDR"},)
        cases[1].fixture = True
    if night == 7:  # repeats cases of the session before
        cases[0] = one_night(6, 0, system="other", completed=FIRST + 6 * NIGHT + 10)
    if night == 8:
        cases[1].keys = {**cases[1].keys, "order": "1000"}
        cases[2].provenance = {**SOFTWARE, "hash": "bbbbbbb", "simulated": "SimGrid 3.32"}
        cases[3].metrics["speed"] = (3.0, "widgets")
    if night == 9:  # nobody knew before which way is better
        cases[3].metrics["speed"] = (3.0, "widgets", 3.0, -0.1, None)
        names["start"] -= 5 * NIGHT
    if night == 10:
        names["uuid"], names["stored_as"] = "00000001-0000-4000-8000-000000000000", "twice"
    if night == 11:
        uuid = database.add(cases, **names)
        database.connection.execute(
            "UPDATE sessions SET json_blob = replace(json_blob, '\"partition\": ', '\"part\": ') "
            "WHERE uuid = ?", (uuid,)
        )  # fmt: skip
        database.connection.commit()
        return
    database.add(cases, **names)


def odd(database, seed=1, nights=NIGHTS):
    """Make a database of odd sessions."""
    rng = random.Random(seed)
    for night in range(nights):
        grow(database, night, rng)


def as_data(history):
    """Return all that a history holds."""
    samples = {}

    def shown(sample):
        known = (sample.session.uuid, sample.time, sample.software, sample.nodes, sample.findings)
        return samples.setdefault(id(sample), known)

    return {
        "sessions": [
            (one.number, one.uuid, one.start, one.end, one.command, sorted(one.partitions),
             one.aborted, sorted(one.unfit))
            for one in history.sessions
        ],
        "cases": [
            (case.key, case.suite, case.benchmark, case.plain,
             [(one.metric, one.unit, one.direction, list(one.values),
               [shown(sample) for sample in one.samples], one.impossible,
               one.last.uuid if one.last else None) for one in case.series])
            for case in history.cases
        ],
        "notes": history.notes,
        "faults": [str(fault) for fault in history.faults],
        "left_out": history.left_out,
    }  # fmt: skip
