"""Fixtures of the tests of references."""

import pytest

from tests.utils.references.made import make


@pytest.fixture
def folder(tmp_path):
    """A smallest folder like `reference/` that is valid."""
    return make(tmp_path)
