"""`regressions/causes.py`: nights before an incident and since, as curves of LogGP."""

import numpy as np
import pytest

from acceptance.regressions.judge import judge
from tests.made import Case, Database
from tests.stored import load

SIZES = tuple(8 << k for k in range(0, 16, 2))
NIGHTS, BAD = 40, 30


def case(night, draw, unit, what):
    """Return a case of a night: `what` is worse from a night on."""
    start, gap = (1.5, 5e-5)
    if night >= BAD:
        start, gap = {"rate": (start, 2 * gap), "delay": (start + 0.8, gap)}[what]
    metrics = {}
    for size in SIZES:
        us = (start + gap * size) * np.exp(0.01 * draw.standard_normal())
        value, stem = (us, "latency") if unit == "us" else (size / us, "bandwidth")
        metrics[f"{stem}_{size}"] = (value, unit)
    name = "latency" if unit == "us" else "bw"
    return Case(f"OsuMpi %benchmark={name}", metrics, benchmark=f"osu.{name}")


def text_of(folder, what, *units):
    database, draw = Database(folder / "results.db"), np.random.default_rng(11)
    for night in range(NIGHTS):
        database.add([case(night, draw, unit, what) for unit in units])
    (incident,) = judge(load(database.path)).incidents
    return incident.finding.text


def test_an_incident_ends_with_its_cause_and_the_ping_pong_tells_it(tmp_path):
    text = text_of(tmp_path, "rate", "us", "MB/s")
    assert "beside the nights before G 2.0" in text or "beside the nights before G 1.9" in text
    assert "L+2o the same: half of the lanes or half of the rate" in text


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("rate", "g the same: half of the lanes or half of the rate"),
        ("delay", "g 1.5"),
    ],
)
def test_a_bandwidth_alone_has_the_gap_between_messages(tmp_path, what, words):
    text = text_of(tmp_path, what, "MB/s")
    assert words in text
    assert "L+2o" not in text
