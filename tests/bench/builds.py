"""Seconds of Spack that a check pays: one build for all checks, against one for each of them.

Run by `make bench` where there is a Spack; asserts nothing, since the machines are shared. The
suite is installed before the clock starts, so that only Spack's own overhead is left.
"""

import tempfile
from pathlib import Path

from acceptance.core.paths import ROOT
from acceptance.core.text import table
from acceptance.machine import Spack, externals
from tests.bench.harness import Bench
from tests.conftest import MIRROR
from tests.places import HERE

CHECKS = 20

HEAD = """
    import reframe as rfm
    from checks.build import SuiteBuild

    class Once(SuiteBuild):
        suite = "imb"

    class Trivial(rfm.RunOnlyRegressionTest):
        valid_systems = ["*"]
        valid_prog_environs = ["+spack"]
        executable = "true"
        sourcesdir = None

        @sanity_function
        def sane(self):
            return True
"""

BARE = """
    @rfm.simple_test
    class Bare(Trivial):
        number = parameter(range({checks}))
"""

SHARED = """
    @rfm.simple_test
    class Shared(Trivial):
        number = parameter(range({checks}))
        build = fixture(Once, scope="environment")
"""

EACH = """
    import shutil
    from pathlib import Path
    from acceptance.core.paths import Workspace
    from acceptance.machine import spack

    @rfm.simple_test
    class Each(rfm.RegressionTest):
        number = parameter(range({checks}))
        valid_systems = ["*"]
        valid_prog_environs = ["+spack"]
        build_system = "Spack"
        executable = "true"

        @run_after("setup")
        def compose(self):
            found = Spack.find(Workspace.of())
            mpi = self.current_environ.extras["spack"]["mpi"]
            source = environment_for("imb", "local", mpi, found)
            folder = Path(self.stagedir).parent / f"source-{{self.number}}"
            shutil.copytree(source, folder, dirs_exist_ok=True)
            if not {locked}:
                (folder / "spack.lock").unlink(missing_ok=True)
            self.sourcesdir = str(folder)
            self.build_system.environment = "."
            self.env_vars = {{**found.environment(), "PATH": f"{{found.root}}/bin:$PATH"}}

        @sanity_function
        def sane(self):
            return True
"""


def wall(bench: Bench, name: str, body: str, **values: object) -> float:
    """Return the wall time (s) of a run of checks written for this."""
    path = bench.write(f"{name}.py", HEAD + body.format(**values))
    environ = {"PYTHONPATH": str(ROOT)}
    return bench.reframe("-c", path, "-r", "-p", f"spack-{externals.mpi_names()[0]}", **environ)[0]


def compare(bench: Bench, what: str, body: str, checks: int, **values: object) -> list[object]:
    """Return a row: the wall time (s) a check of a run with builds, less that of one without."""
    bare = wall(bench, "bare", BARE, checks=checks)
    built = wall(bench, "built", body, checks=checks, **values)
    return [what, checks, f"{(built - bare) / checks:.2f}"]


def why_not() -> str:
    """Return why this machine cannot run the bench; empty if it can."""
    if Spack.find(HERE) is None:
        return "no Spack: make spack, or set SPACK_ROOT"
    if not externals.mpi_names():
        return "no MPI of Debian: install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev"
    return "" if MIRROR.is_dir() else "no sources: set SPACK_MIRROR to a mirror with those of IMB"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), bare=False)
        bench.environment |= {"SPACK_MIRROR": str(MIRROR), "ACCEPTANCE_BUILD": "imb"}
        wall(bench, "first", SHARED, checks=1)
        rows = [
            compare(bench, "one build for all (ours)", SHARED, CHECKS),
            compare(bench, "a locked environment each", EACH, CHECKS, locked=True),
            compare(bench, "an environment each, not locked", EACH, 2, locked=False),
        ]
    print(table(("what a check pays of Spack", "checks", "s a check"), rows))


if __name__ == "__main__":
    main()
