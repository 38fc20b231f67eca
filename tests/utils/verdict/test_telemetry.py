"""What a verdict is for OpenTelemetry and Bencher, beside what these formats state."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from acceptance.core.errors import Fault
from acceptance.core.kinds import CRITICAL, INFO, MAJOR, MINOR
from acceptance.ledger import Metric
from acceptance.verdict import Verdict, bencher, telemetry
from acceptance.verdict.telemetry import _SEVERITIES
from tests.utils.verdict.test_rules import case, session


def test_severities_are_those_of_the_data_model_of_logs():
    """Of each range of four numbers the first one has the plain name, the second one a 2."""
    first = {"INFO": 9, "WARN": 13, "ERROR": 17}
    numbers = {f"{name}{more or ''}": at + max(more - 1, 0) for name, at in first.items()
               for more in (0, 2, 3, 4)}  # fmt: skip
    assert {*_SEVERITIES} == {INFO, MINOR, MAJOR, CRITICAL}
    for number, name in _SEVERITIES.values():
        assert numbers[name] == number
    in_order = [_SEVERITIES[each][0] for each in (INFO, MINOR, MAJOR, CRITICAL)]
    assert in_order == sorted({*in_order})


def test_texts_are_sent_without_codes_and_numbers_as_they_are():
    values = ["plain", "\x1b[31mred", 2.5, True, ["\x07", 3]]
    assert telemetry._plain(values) == ["plain", "\\x1b[31mred", 2.5, True, ["\\x07", 3]]


@pytest.mark.parametrize("length", [57, 58])
def test_a_measure_with_a_longer_name_than_bencher_takes_is_left_out_and_told(length):
    name = "m" * length
    one = Metric(name, 2.0, "MB/s", 2.5, -0.5, None, "baseline x", True)
    own = replace(case(0), metrics=(one,))
    found, left_out = bencher(Verdict(), [session(0, own)])
    measure = f"{name} (MB/s)"
    if len(measure) > 64:
        assert (found, left_out) == ({}, [measure])
    else:
        assert left_out == []
        (measures,) = found.values()
        assert measures == {measure: {"value": 2.0, "lower_value": 1.25}}


class Exporter:
    """Takes all batches but those that are `bad`, as the exporters of OTLP do."""

    _endpoint = "https://user:secret@host:4318/v1/logs?token=x"

    def __init__(self, bad=()):
        self.bad, self.sent, self.ended = bad, [], False

    def export(self, batch):
        self.sent.append(batch)
        return SimpleNamespace(name="FAILURE" if batch in self.bad else "SUCCESS")

    def shutdown(self):
        self.ended = True


def test_all_batches_are_sent_and_one_that_is_not_taken_is_told():
    exporter = Exporter()
    telemetry._send(exporter, ["a", "b", "c"], "findings")
    assert (exporter.sent, exporter.ended) == (["a", "b", "c"], True)
    exporter = Exporter(bad="b")
    with pytest.raises(Fault, match=r"^https://host:4318.*: did not take the findings") as caught:
        telemetry._send(exporter, ["a", "b", "c"], "findings")
    assert (exporter.sent, exporter.ended) == (["a", "b"], True)
    assert "secret" not in str(caught.value)
    assert "token" not in str(caught.value)
