"""MPIs among modules, and how srun starts them."""

import pytest

from acceptance.software import modules, plugin


def test_modules_as_red_hat_names_them_are_several_mpis(tmp_path):
    command = tmp_path / "lmod"
    names = "mpi/mpich-x86_64", "mpi/openmpi-x86_64", "openmpi/4.0.5", "openmpi/4.1.4"
    command.write_text("#!/bin/sh\n" + "".join(f"echo {name} >&2\n" for name in names))
    command.chmod(0o755)
    system = modules.Modules(str(command), "lmod", "Lmod")
    assert modules.candidates(system) == [*names[:2], names[3]]


@pytest.mark.parametrize(
    ("mpi", "plugins", "start"),
    [
        ("openmpi", ("pmi2", "pmix", "pmix_v4"), "pmix"),
        ("openmpi", ("pmix_v3", "pmix_v4"), "pmix_v4"),
        ("openmpi", ("pmi2",), "pmi2"),
        ("mpich", ("pmix", "pmi2"), "pmi2"),
        ("intel-mpi", ("cray_shasta",), ""),
        ("mvapich2", (), ""),
    ],
)
def test_how_srun_starts_an_mpi(mpi, plugins, start):
    assert plugin(mpi, plugins) == start
