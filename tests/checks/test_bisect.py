"""`acceptance bisect` of what a real Spack builds: which package's version brings the loss.

The recipes are made, so that nothing is fetched or compiled: two libraries of two versions, one of
which slows the program down, and the other one needs that version.
"""

import textwrap

import pytest

from tests import stored
from tests.builds import needs_spack

pytestmark = needs_spack

#: What Spack 1.2 takes of a repository before it chooses anything: a compiler with its libraries.
RECIPES = {
    "gcc": """
        tags = ["compiler"]
        version("12.2.0")
        provides("c", "cxx", "fortran")
        compiler_languages = ["c"]
        cc = cxx = fortran = "/usr/bin/gcc"
        verbose_flags, implicit_rpath_libs = "-v", []
    """,
    "glibc": 'tags = ["runtime"]\nversion("2.36")\nprovides("libc")',
    "gcc-runtime": 'tags = ["runtime"]\nversion("12.2.0")',
    "compiler-wrapper": 'tags = ["runtime"]\nversion("1.0")',
    "openmpi": 'version("4.1")\nprovides("mpi")',
    # Of what our own repository derives recipes from.
    **dict.fromkeys(
        ("hpcc", "npb", "intel-mpi-benchmarks"),
        'has_code, valid_names = True, ("cg",)\nversion("1.0")',
    ),
    **dict.fromkeys(("lib-one", "lib-two"), 'version("2.0")\nversion("1.0")'),
    "osu-micro-benchmarks": """
        version("7.4")
        depends_on("mpi")
        depends_on("lib-one")
        depends_on("lib-two")

        def install(self, spec, prefix):
            if spec.satisfies("^lib-one@2 ^lib-two@1"):
                raise InstallError("lib-one 2.0 needs lib-two 2.0")
            us = 15 if spec.satisfies("^lib-two@2") else 10
            program = Path(prefix) / "libexec/osu_latency"
            program.parent.mkdir(parents=True)
            program.write_text(f"#!/bin/sh\\necho took {us}.$((RANDOM % 10)) us\\n")
            program.chmod(0o755)
    """,
}
RECIPE = """\
from pathlib import Path

from spack.package import InstallError, Package, depends_on, provides, version


class {name}(Package):
    \"\"\"Made.\"\"\"

    has_code = False
    {body}
"""
NOTHING = """
def install(self, spec, prefix):
    (Path(prefix) / "version").write_text(str(spec.version))
"""
CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn

from acceptance.checks.build import SuiteBuild


class MadeBuild(SuiteBuild):
    suite = "osu"

    def programs(self):
        return [("osu_latency",)]


@rfm.simple_test
class Slowed(rfm.RunOnlyRegressionTest):
    valid_systems = valid_prog_environs = ["*"]
    build = fixture(MadeBuild, scope="environment")

    @run_before("run")
    def find(self):
        self.executable = str(self.build.find("osu_latency"))

    @sanity_function
    def ended(self):
        return sn.assert_found("^took", self.stdout)

    @performance_function("us")
    def duration(self):
        return sn.extractsingle(r"^took (\\S+) us", self.stdout, 1, float)
"""
SYSTEM = """
import os

SYSTEM = {
    "name": "made", "hostnames": [".*"], "prefix": os.environ["ACCEPTANCE_VAR"], "partitions": [{
        "name": "one", "scheduler": "local", "launcher": "local", "max_jobs": 1,
        "environs": ["built"],
    }],
}
ENVIRONMENTS = [{
    "name": "built", "features": ["spack", "mpi", "osu"],
    "extras": {"spack": {"mpi": "openmpi"}, "mpi": "openmpi"},
}]
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def made(site):
    """A site with a system whose programs Spack builds of made recipes; its check."""
    repository = site.folder / "spack_repo/builtin"
    write(repository / "repo.yaml", "repo: {namespace: builtin, api: v2.2}\n")
    write(repository / "build_systems/__init__.py", "")
    write(repository / "build_systems/generic.py", "from spack.package import Package\n")
    for name, text in RECIPES.items():
        body = textwrap.dedent(text).strip()
        body = textwrap.indent(body if "def install" in body else f"{body}\n{NOTHING}", " " * 4)
        recipe = RECIPE.format(
            name="".join(map(str.capitalize, name.split("-"))), body=body.strip()
        )
        write(repository / "packages" / name.replace("-", "_") / "package.py", recipe)
    system = site.folder / "systems"
    write(system / "config/systems/made.py", SYSTEM)
    check = site.folder / "slowed.py"
    check.write_text(CHECK)
    # Of all recipes these are the only ones.
    more = {"ACCEPTANCE_SYSTEMS": system, "SPACK_PACKAGES": site.folder}
    site.environment |= {name: str(path) for name, path in more.items()}
    return check


def run(site, check, version):
    """Run the check with the packages as the site has them on a day; return the session."""
    compiler = "{spec: gcc@12.2.0, prefix: /usr, extra_attributes: {compilers: {c: /usr/bin/gcc}}}"
    text = f"""
        repos: {{builtin: {site.folder}/spack_repo/builtin}}
        packages:
          gcc: {{buildable: false, externals: [{compiler}]}}
          openmpi: {{}}
          lib-one: {{require: "@{version}"}}
          lib-two: {{require: "@{version}"}}
    """
    write(site.folder / "systems/spack-envs/systems/made/packages.yaml", textwrap.dedent(text))
    done = site.reframe("-c", check, "-r", "--system=made")
    assert done.status == 0, done.output
    return stored.ids(site.database)[-1]


def test_of_two_sessions_the_version_that_brings_the_loss_is_found(site, made):
    old, new = (run(site, made, version) for version in ("1.0", "2.0"))
    command = ("bisect", old[:8], new[:8], "-n", "Slowed", "-c", made, "--system", "made")
    planned = site.acceptance(*command, "--plan")
    assert planned.status == 0, planned.errors
    assert "            packages lib-two (@=1.0 -> @=2.0)\n" in planned.output
    done = site.acceptance(*command, "--format", "json")
    assert done.status == 0, done.errors
    result = done.data["result"]
    assert result["causes"] == [[["packages lib-two"]]]
    assert {one["name"]: (one["good"], one["bad"]) for one in result["changes"]} == {
        f"packages lib-{name}": ("@=1.0", "@=2.0") for name in ("one", "two")
    }
    (failed,) = (one for one in result["evaluations"] if one["why"])
    assert failed["changes"] == ["packages lib-one"]
    assert "lib-one 2.0 needs lib-two 2.0" in failed["why"]
    assert result["sentence"].endswith(
        "whether the others have a loss of their own, nobody can tell"
    )
