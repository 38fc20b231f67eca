"""A healthy fabric of 16 nodes, simulated once for the tests of a worker."""

import itertools

import pytest

from acceptance.fabric import outputs
from tests.ibsim import Fabric, fat_tree


@pytest.fixture
def look(tmp_path):
    """Return what reads a simulated fabric, each time into a folder of its own."""
    numbers = itertools.count()

    def look(fabric, *options):
        folder = tmp_path / f"reading{next(numbers)}"
        done = fabric.run("sh", outputs.SCRIPT, folder, *options)
        assert (done.returncode, done.stderr) == (0, "")
        return outputs.read(folder)

    return look


@pytest.fixture(scope="session")
def tree():
    return fat_tree()


@pytest.fixture(scope="session")
def fabric(tree):
    with Fabric(tree.net) as fabric:
        yield fabric
