"""The communication patterns of this project: sources that lie beside this repository."""

from pathlib import Path

from spack.package import depends_on, license, variant, version, which
from spack_repo.builtin.build_systems.generic import Package

SOURCES = Path(__file__).resolve().parents[6] / "checks/src/patterns"


class InterconnectPatterns(Package):
    """Communication patterns of MPI: dense ones, effective bandwidth, distances, all pairs."""

    # Nothing is fetched.
    has_code = False

    license("BSD-3-Clause")
    version("1.0")
    # Each state of the sources is a tree of its own.
    variant("sources", default="unknown", values=str, description="checksum of the sources")
    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")

    def install(self, spec, prefix):
        which("make", required=True)(
            "-C", str(SOURCES), f"MPICC={spec['mpi'].mpicc}", f"BUILD={prefix.bin}"
        )
        for path in Path(prefix.bin).glob("*.o"):
            path.unlink()
