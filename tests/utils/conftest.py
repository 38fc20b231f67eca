"""Endpoints of alerts on loopback."""

import pytest

from tests import endpoints


@pytest.fixture
def http():
    with endpoints.http() as endpoint:
        yield endpoint


@pytest.fixture
def mail():
    with endpoints.mail() as endpoint:
        yield endpoint
