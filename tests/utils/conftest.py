"""Endpoints of alerts on loopback."""

import pytest

from tests import endpoints
from utils.alerting import deliver, targets


@pytest.fixture
def http():
    with endpoints.http() as endpoint:
        yield endpoint


@pytest.fixture
def mail():
    with endpoints.mail() as endpoint:
        yield endpoint


@pytest.fixture
def in_process(monkeypatch):
    """Send from this process: apprise and the endpoints are real, the start of Python is saved."""

    def send(target, subject, body):
        return deliver.deliver(target.url, subject, body)

    monkeypatch.setattr(targets, "send", send)
