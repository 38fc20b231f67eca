"""The worked examples of config/site.md and spack-envs/README.md, word for word."""

import json
import re
import shlex

import pytest
import yaml

from tests import fake_spack
from tests.places import ROOT

#: A line that begins with the path of a file, and the block with its text.
FILE = re.compile(
    r"^`(\S+/\S+\.(?:py|yaml))`[^\n]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section(path, title):
    """Return the text of a section of a README, up to the next one."""
    return (ROOT / path).read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]


SYSTEM = section("config/site.md", "A system, step by step")
SUITE = section("spack-envs/README.md", "A suite, step by step")


def commands(text):
    (block,) = COMMANDS.findall(text)
    return [shlex.split(line, comments=True) for line in block.splitlines()]


def run(site, program, *arguments):
    return {"acceptance": site.acceptance, "reframe": site.reframe}[program](*arguments)


@pytest.fixture
def example(site):
    """Write the files of both examples into a site's own folder of systems."""
    folder = site.folder / "systems"
    root, _ = fake_spack.make(site.folder)
    files = FILE.findall(SYSTEM) + FILE.findall(SUITE)
    assert [path for path, _ in files] == [
        "config/systems/mycluster.py",
        "spack-envs/systems/mycluster/packages.yaml",
        "spack-envs/suites/netgauge.yaml",
    ]
    for path, text in files:
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text)
    site.environment |= {"ACCEPTANCE_SYSTEMS": str(folder), "SPACK_ROOT": str(root)}
    return site


def test_a_system_is_two_files(example):
    doctor, limits, environment, listing = [run(example, *words) for words in commands(SYSTEM)]
    assert re.search(r"^system +ok +mycluster: ", doctor.output, re.MULTILINE), doctor.output
    assert "OSU Micro-Benchmarks" in doctor.output
    assert "spack-openmpi on mycluster:batch: built by Spack" in doctor.output
    assert limits.status == 0, limits.errors
    assert "infiniband HDR 4x" in limits.output
    composed = yaml.safe_load(environment.output)["spack"]
    assert composed["specs"] == ["osu-micro-benchmarks@7.4 ^openmpi"]
    assert composed["packages"]["openmpi"]["externals"][0]["prefix"] == "/opt/openmpi/4.1.6"
    assert listing.status == 0, listing.output + listing.errors
    for check in ("OsuBenchmark", "ImbMpi1", "Npb", "Hpcc", "LinkCheck"):
        assert check in listing.output, check


def test_a_suite_is_one_file_for_spack(example):
    (words,) = commands(SUITE)
    composed = yaml.safe_load(run(example, *words).output)["spack"]
    assert composed["specs"] == ["netgauge@2.4.6 ^openmpi"]
    shown = example.reframe("--system=mycluster", "--show-config=environments/@spack-openmpi")
    features = json.loads(shown.output)["features"]
    assert features[:2] == ["spack", "mpi"]
    assert "netgauge" in features
