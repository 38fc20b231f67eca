"""Endpoints of alerts on loopback."""

import pytest

from acceptance.alerts import apprise_process, targets
from tests import endpoints


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
        return apprise_process.deliver(target.url, subject, body)

    monkeypatch.setattr(targets, "send", send)
