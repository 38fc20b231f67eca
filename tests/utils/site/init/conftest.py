"""A machine without modules and MPIs, and a Slurm that answers what was recorded."""

import runpy
import shutil

import pytest

from acceptance.cli import main as cli
from acceptance.machine import Spack, externals, mpis
from tests.utils.site.init.slurms import Slurm


@pytest.fixture(autouse=True)
def _machine(tmp_path, monkeypatch):
    """Take a machine without modules, Spack and MPIs, but for what a test adds."""
    for name in ("LMOD_CMD", "MODULES_CMD", "MODULESHOME", "LOADEDMODULES", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Spack, "find", lambda workspace: None)
    monkeypatch.setattr(externals, "mpi_names", list)
    monkeypatch.setattr(externals, "externals", lambda prefixes: {"gcc": {"buildable": False}})
    monkeypatch.setenv("ACCEPTANCE_VAR", str(tmp_path / "var"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    # Debian's MPIs are in /usr/bin; a test that needs one puts it into a folder of its own.
    which = shutil.which
    monkeypatch.setattr(
        mpis.shutil, "which", lambda n, **k: None if which(n, **k) == f"/usr/bin/{n}" and
        n.startswith("mpi") else which(n, **k)
    )  # fmt: skip


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Give the machine a Slurm with nodes of two kinds: HDR InfiniBand, and Ethernet."""
    made = Slurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", f"{made.bin}:/usr/bin:/bin")
    sysfs = made.node("cn001")
    sysfs.adapter(speed="16.0 GT/s PCIe", width=16, most="16.0 GT/s PCIe", wide=16)
    sysfs.port(rate="200 Gb/sec (4X HDR)")
    sysfs.interface("eth0", speed=1000)
    sysfs = made.node("cn003")
    sysfs.interface("eth0", speed=1000, address="0000:01:00.0")
    sysfs.interface("eth2", speed=25000, address="0000:02:00.0")
    return made


@pytest.fixture
def own_systems(tmp_path, monkeypatch):
    """The folder that systems are written into."""
    root = tmp_path / "site"
    monkeypatch.setenv("ACCEPTANCE_SYSTEMS", str(root))
    return root


@pytest.fixture
def made(own_systems, capsys):
    """Run the command; return SYSTEM, ENVIRONMENTS, the text of the file, and what was printed."""

    def run(*arguments, name="mine"):
        status = cli.main(["init-site", name, *arguments])
        said = capsys.readouterr()
        assert status == 0, said.err
        path = own_systems / f"config/systems/{name}.py"
        names = runpy.run_path(str(path))
        return names["SYSTEM"], names["ENVIRONMENTS"], path.read_text(), said.out

    return run


@pytest.fixture
def fault(own_systems, capsys):
    """Run the command; return what it says when it cannot."""

    def run(*arguments):
        status = cli.main(["init-site", *arguments])
        said = capsys.readouterr()
        assert status == 2, said.out
        assert not list(own_systems.rglob("*.*"))
        return said.err

    return run
