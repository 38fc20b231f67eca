"""A site's own configuration: what runs without any extras, and the line of what does not."""

import re

import pytest

from tests.conftest import Site

#: As a site has it that knows nothing of these checks.
CONFIGURATION = """
site_configuration = {{
    "systems": [{{
        "name": "mysite", "hostnames": [".*"], "prefix": {prefix!r},
        "partitions": [
            {{"name": "login", "scheduler": "local", "launcher": "mpirun", "environs": ["gnu"],
              "processor": {{"num_cpus": 2, "num_cpus_per_core": 1, "num_sockets": 1}}}},
            {{"name": "grid", "scheduler": "pbs", "launcher": "mpirun", "environs": ["gnu"]}},
            {{"name": "bare", "scheduler": "local", "launcher": "local", "environs": ["other"]}},
        ],
    }}],
    "environments": [{{"name": "gnu", "features": ["imb"]}}, {{"name": "other"}}],
    "storage": [{{"enable": True, "sqlite_db_file": {prefix!r} + "/results.db"}}],
}}
"""
LINE = re.compile(r"WARNING: (.*)")


@pytest.fixture(scope="module")
def mysite(tmp_path_factory):
    """A site with the file above before those of this project, whose log the gate reads."""
    site = Site(tmp_path_factory.mktemp("mysite"))
    site.add_system(CONFIGURATION.format(prefix=str(site.var)))
    return site


def test_cores_are_found_and_what_has_no_case_where_is_one_line(mysite):
    done = mysite.reframe("--system=mysite", "-c", "checks", "-l")
    assert "parameters are undefined" not in done.output + done.errors
    lines = LINE.findall(done.output + done.errors)
    assert "- ImbMpi1 %benchmark=PingPong %np=2 %placement=intra-node" in done.output
    # One line for all: what is promised makes it a warning.
    (line,) = [line for line in lines if line.startswith("no case of ")]
    parts, _, rest = line.removeprefix("no case of ").partition("; acceptance doctor")
    assert rest == " says why"
    where = {}
    for part in parts.split("; of "):
        names, _, partitions = part.partition(" on ")
        where |= dict.fromkeys(partitions.split(", "), names.split(", "))
    assert {*where} == {"mysite:login", "mysite:grid", "mysite:bare"}
    assert all("npb.py" in names for names in where.values())
    assert {"imb.py", "all_pairs.py"} <= {*where["mysite:grid"]} & {*where["mysite:bare"]}
    assert "imb.py" not in where["mysite:login"]
    # Several check files take this suite.
    promise = "mysite:login: the environment gnu names imb in its `features`, but not in its"
    assert sum(line.startswith(promise) for line in lines) == 1


@pytest.fixture(scope="module")
def ran(mysite):
    """The run of that site, and its verdict."""
    done = mysite.reframe("--system=mysite", "-c", "checks/imb.py", "-c", "checks/hpcc.py", "-r")
    return (done.status, *mysite.gate())


def test_a_promised_program_that_is_not_there_fails_once(ran):
    status, gate, verdict = ran
    assert (status, gate) == (1, 1)
    assert verdict["failed"] == 1
    assert verdict["not_run"] > 10
    (build,) = [p for p in verdict["problems"] if p["kind"] == "case-failed"]
    assert "gnu names imb in its `features`, but not in its `extras` where" in build["text"]
    assert [p["place"] for p in verdict["problems"] if p["kind"] == "left-out"] == [
        ["imb @mysite:login+gnu"]
    ]


def test_the_verdict_has_a_line_for_each_partition_without_case(ran):
    _, _, verdict = ran
    unprovided = [each for each in verdict["findings"] if each["kind"] == "not-provided"]
    places = {each["what"]: each["place"] for each in unprovided}
    assert places == {
        "hpcc.py": ["mysite", "hpcc.py"],
        "imb.py on mysite:bare": ["mysite:bare", "imb.py"],
    }
    (grid,) = [p for p in verdict["problems"] if p["kind"] == "check-without-case"]
    assert grid["place"][1] == "mysite:grid"
    assert 'write "nodes" and "cores" into the `extras`' in grid["text"]
    assert "nobody knows how many nodes and cores it has" in grid["text"]
    # As it says itself why not, or that it is not there.
    assert "nodes and cores it has: pbsnodes -a: " in grid["text"]
    (bare,) = [each for each in unprovided if each["place"][0] == "mysite:bare"]
    assert bare["text"] == "nothing provides Intel MPI Benchmarks here"
    assert not [note for note in verdict["notes"] if "no case of" in note], "said twice"


def test_the_doctor_says_the_same_and_fails(mysite):
    done = mysite.acceptance("doctor", "--system", "mysite", "--format", "json")
    promise = "on mysite:login: the environment gnu names imb in its `features`"
    (imb,) = [row for row in done.data if row["state"] == "BROKEN" and promise in row["found"]]
    assert done.status == 1
    assert "Spack" not in imb["found"]
