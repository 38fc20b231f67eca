"""Builds of suites by a real Spack: what they take, and what they left."""

import hashlib
import json
from pathlib import Path

import pytest

from acceptance.machine import Spack, externals
from tests import stored as results
from tests.conftest import MIRROR
from tests.places import HERE

SHA_OF_OSU = "1edd0c2efa61"
SHA_OF_HPCC = "0a6fef7ab9f3"
#: Version of NPB -> how its checksum starts.
SHA_OF_NPB = {"3.3.1": "4a8ea679b1df", "3.4.1": "f3a43467da6e"}


def archive(start):
    """Return the file of the source mirror whose name, a checksum, starts like this."""
    found = list(MIRROR.glob(f"_source-cache/archive/{start[:2]}/{start}*"))
    return found[0] if found else None


def by_hand(start, build):
    """Return what a user adds who has another copy of the sources than upstream's."""
    upstream = hashlib.sha256(archive(start).read_bytes()).hexdigest().startswith(start)
    return [] if upstream else ["-S", f"{build}.install_options=--no-checksum"]


needs_spack = pytest.mark.skipif(
    Spack.find(HERE) is None,
    reason="no Spack: set SPACK_ROOT, put spack on PATH, run `make spack`, or clone to ~/spack",
)
needs_mirror = pytest.mark.skipif(
    not MIRROR.is_dir(),
    reason="no sources: set SPACK_MIRROR to a source mirror, or make one in ~/spack-mirror",
)
needs_mpi = pytest.mark.skipif(
    not externals.mpi_names(),
    reason="no MPI of Debian: install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev",
)
#: What every build of Spack takes.
NEEDED = [needs_spack, needs_mirror, needs_mpi]


def run(site, check, environment, *options):
    """Run a check in one environment; return ReFrame's result and the last session's cases."""
    done = site.reframe("-c", f"checks/{check}.py", "-r", "-p", environment, *options)
    return done, results.session(site.database).cases


def trees(site):
    """Return the installed trees; Spack writes into a tree before it is one, so its word counts."""
    (index,) = site.var.glob("spack/opt/**/.spack-db/index.json")
    records = json.loads(index.read_text())["database"]["installs"].values()
    return sorted(Path(record["path"]) for record in records if record["installed"])
