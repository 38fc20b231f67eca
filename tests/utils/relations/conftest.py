"""Fixtures of the tests of claims."""

import pytest

from acceptance import references
from acceptance.relations import claims
from tests import stored as results
from tests.made import Database
from tests.utils.relations.made import copy_of_references, write
from tests.utils.relations.made_world import DAY, NOW


@pytest.fixture
def folder(tmp_path):
    """A copy of the project's references, for claims of a site."""
    return copy_of_references(tmp_path)


@pytest.fixture
def judge(folder, tmp_path):
    """Evaluate a claim of a site: what differs from `ROW`, and results."""

    def evaluate(change, *cases, **options):
        write(folder, change)
        found = references.load(folder)
        path = tmp_path / "made.db"
        path.unlink(missing_ok=True)
        database = Database(path)
        days = sorted({day for day, _ in cases})
        for day in days:
            database.add(
                [case for when, case in cases if when == day], start=NOW + DAY * day, uuid=f"u{day}"
            )
        own = [claim for claim in found.claims if claim.source == "site"]
        (outcome,) = claims.evaluate(own, results.runs(path), found.tolerances, **options)
        return outcome

    return evaluate
