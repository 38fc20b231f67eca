"""MPIs that are found; names and versions as they tell them, and lists of modules."""

from pathlib import Path

import pytest

from acceptance.machine import externals, mpis, plugin


def test_modules_as_red_hat_names_them_are_several_mpis(tmp_path):
    command = tmp_path / "lmod"
    names = "mpi/mpich-x86_64", "mpi/openmpi-x86_64", "openmpi/4.0.5", "openmpi/4.1.4"
    command.write_text("#!/bin/sh\n" + "".join(f"echo {name} >&2\n" for name in names))
    command.chmod(0o755)
    system = mpis.Modules(str(command), "lmod", "Lmod")
    assert mpis.candidates(system) == [*names[:2], names[3]]


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


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("Open MPI v4.1.4\n\nhttps://www.open-mpi.org/community/help/\n", ("openmpi", "4.1.4")),
        ("mpirun (Open MPI) 4.1.6\n\nReport bugs to ...\n", ("openmpi", "4.1.6")),
        ("MPICH Version:    \t4.0.2\nMPICH Release date:\tThu Apr  7\n", ("mpich", "4.0.2")),
        ("MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022 ch3:mrail\n", ("mvapich2", "2.3.7")),
        ("MVAPICH 3.0 Fri Feb 16 2024\n", ("mvapich2", "3.0")),
        (
            "Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307 (id: d82b3071db)\n",
            ("intel-mpi", "2021.9"),
        ),
        # Hydra tells its own version, whosever it is.
        ("HYDRA build details:\n    Version:    4.0.2\n", None),
        ("", None),
    ],
)
def test_name_and_version(text, identity):
    assert externals.identity_of(text) == identity


def test_modules_of_lmod_and_of_environment_modules(recorded):
    names = ["gcc/12", "mpi/mvapich2-x86_64", "mpich/4.0.2", "openmpi/4.0.5", "openmpi/4.1.4"]
    assert mpis.modules(recorded("modules/lmod.txt")) == [(name, False) for name in names]
    assert mpis.modules(recorded("modules/tcl.txt")) == [
        (name, name == "openmpi/4.0.5") for name in names
    ]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("openmpi/4.1.4", "openmpi"),
        ("OpenMPI/4.1.6-GCC-13.2.0", "openmpi"),
        ("openmpi4/4.1.6", "openmpi"),
        ("mpi/openmpi-x86_64", "openmpi"),
        ("mpi/mvapich2-x86_64", "mvapich2"),
        ("mpich/4.0.2", "mpich"),
        ("impi/2021.9.0-intel-compilers-2023.1.0", "intel-mpi"),
        ("intel-oneapi-mpi/2021.9", "intel-mpi"),
        ("mpi/2021.9", "intel-mpi"),
        ("gcc/12", None),
        ("mpifileutils/0.11", None),
        ("py-mpi4py/3.1", None),
        ("openmpinator/1", None),
    ],
)
def test_mpi_of_a_module(module, name):
    assert mpis.mpi_of(module) == name


@pytest.mark.parametrize(
    ("before", "after", "brought"),
    [
        ("/usr/bin:/bin", "/opt/imb:/usr/bin:/bin", False),
        ("/usr/bin:/bin", "/usr/bin:/bin:/opt/imb", False),
        ("/usr/bin:/bin", "/usr/bin:/bin", False),
        ("/bin:/usr/bin:/bin", "/opt/imb:/bin:/usr/bin", False),
        ("/bin:/usr/bin", "/usr/bin:/bin", True),
        ("/bin", "/usr/bin:/bin", True),
    ],
)
def test_what_modules_bring_is_told_from_what_was_on_path(monkeypatch, before, after, brought):
    monkeypatch.setenv("PATH", before)
    monkeypatch.setenv("LOADEDMODULES", "gcc/12")
    ready = mpis.Prepared({"PATH": after}, ("impi/2021",))
    assert ready.brings(Path("/usr/bin/hpcc")) is brought
    # What an earlier module has put there, and what it has not, look alike.
    assert mpis.Prepared({"PATH": after}, ("gcc/12",)).brings(Path("/usr/bin/hpcc"))


#: Ends of modules as EasyBuild 5.4.1 writes them, in both languages.
ENDS = {
    "lua": 'setenv("EBROOTIMB", root)\nsetenv("EBVERSIONIMB", "2021.7")\n\n'
    "-- Built with EasyBuild version 5.4.1\n",
    "tcl": 'setenv\tEBROOTIMB\t\t"$root"\nsetenv\tEBVERSIONIMB\t\t"2021.7"\n\n'
    "# Built with EasyBuild version 5.4.1\n",
    "other": "setenv EBROOTIMB $root\n",
}


@pytest.mark.parametrize("end", ENDS)
def test_who_built_what_a_module_of_easybuild_brings(tmp_path, end):
    other, module = tmp_path / "other.lua", tmp_path / "2021.7"
    other.write_text('setenv("EBROOTGCC", root)\n-- Built with EasyBuild version 4.9.4\n')
    module.write_text(ENDS[end])
    variables = {
        "EBROOT": "", "EBROOTGCC": "/apps/GCC", "EBROOTIMB": "/apps/IMB", "EBVERSIONIMB": "2021.7",
        "_LMFILES_": f"{other}:{module}",
    }  # fmt: skip
    by = "EasyBuild" if end == "other" else "EasyBuild 5.4.1"
    program = Path("/apps/IMB/bin/IMB-MPI1")
    assert mpis.Prepared(variables).easybuild(program) == ("2021.7", by)
    assert mpis.Prepared(variables).easybuild(Path("/apps/IMB-2/IMB-MPI1")) == ("", "")
    of_eessi = {"EESSI_VERSION": "2023.06", "EESSI_SOFTWARE_SUBDIR": "x86_64/amd/zen3"}
    told = mpis.Prepared({**variables, **of_eessi}).easybuild(program)
    assert told == ("2021.7", f"{by}, EESSI 2023.06 x86_64/amd/zen3")
