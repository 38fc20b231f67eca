"""`checks/hpcc.py` through real ReFrame: real runs, recorded outputs, whole and mutilated."""

import re
import sys

import pytest

from acceptance import references
from acceptance.suites import hpcc
from tests import stored as results
from tests.conftest import only_case, only_problem, recorded_text
from tests.needs import requires
from tests.places import REFERENCE
from tests.recorded import REPLAYED
from tests.together import Together

N500 = "hpcc/hpccoutf_n500.openmpi.txt"
BLOCK = ("-S", "Hpcc.block=80")
needs_hpcc = requires("hpcc", "mpirun.openmpi", "mpicc.openmpi")


def replay(
    site, output, *, extras='"memory": 2**34, "cache": 2**25, "mode": "smoke"', nodes=1, then=""
):
    """Make a site of two cores whose HPCC writes this output, None: none, and then runs a line."""
    script = site.replay(output or "", "hpcc", "hpcc")
    write = f"{REPLAYED} {site.folder}/output.txt >> hpccoutf.txt" if output is not None else "true"
    script.write_text(f"#!/bin/sh\n{write}\n{then}\n")
    path = site.folder / "site.py"
    path.write_text(
        path.read_text().replace(
            '"nodes": 2, "cores": 2', f'"nodes": {nodes}, "cores": {2 // nodes}, {extras}'
        )
    )


def words(*options, placement="intra-node"):
    """Return the words by which ReFrame runs the case of two processes."""
    name = f"Hpcc.*%np=2.*%placement={placement}"
    return "-c", "checks/hpcc.py", "-r", "-n", name, *options


def run(site, *options, placement="intra-node", **environment):
    done = site.reframe(*words(*options, placement=placement), **environment)
    return done, site.gate()


#: What is run as usual, with the problem that HPCC has without an input file, and in a mode.
USUAL = Together(*words())
NO_INPUT = Together(*words("-S", "Hpcc.order=3520", *BLOCK, placement=".*-node"))
IN_MODE = {
    mode: Together(*words(f"--mode={mode}", placement=".*-node"))
    for mode in ("nightly", "acceptance")
}
USUAL.add("whole", replay, recorded_text(N500))


def test_a_recorded_output_is_measured_completely(part, recorded):
    site, done = part(USUAL, "whole")
    status, verdict = site.gate()
    assert (done.status, status) == (0, 0), done.output
    case, values = only_case(site)
    assert values.keys() == case.declared.keys()
    assert len(values) == len(hpcc.METRICS) + len(hpcc.RATIOS)
    # 500^2 / 2 / 3 doubles are in the cache of 32 MiB: they are no measurement of the memory.
    assert "EP-STREAM-Copy-in-cache" in values
    assert "EP-STREAM-Copy-in-cache/G-HPL" in values
    assert not {"EP-STREAM-Copy", "EP-STREAM-Copy/G-HPL", "Single-STREAM-Triad"} & values.keys()
    assert case.provenance["suite"] == "HPCC 1.5.0"
    assert case.provenance["order"] == "500"
    assert verdict["recorded"] == len(values)
    (kept,) = site.var.glob("output/*/replay/default/recorded/Hpcc*/hpccinf.txt")
    assert kept.read_text() == hpcc.input_file(500, 80, 1, 2)
    untimed = re.compile("^Current time .*", re.MULTILINE)
    written = (kept.parent / "hpccoutf.txt").read_text()
    assert untimed.sub("", written) == untimed.sub("", recorded(N500))
    assert case.provenance["date"].startswith("within ")


def of_another_day(site):
    replay(site, recorded_text(N500))
    script = site.folder / "bin/hpcc"
    script.write_text(f"#!/bin/sh\ncat {site.folder}/output.txt > hpccoutf.txt\n")


USUAL.add("another day", of_another_day)


def test_an_output_of_another_day_fails_the_case(part):
    site, done = part(USUAL, "another day")
    status, verdict = site.gate()
    assert (done.status, status) == (1, 1)
    told = only_problem(verdict)
    assert re.search(r"hpccoutf.txt:9: time: [-\d]+ [:\d]+ instead of .*'Current time", told)
    (case,) = results.session(site.database).cases
    assert [(each.kind, each.what) for each in case.findings] == [("of-another-job", "time")]


USUAL.add("few", replay, recorded_text(N500), extras='"cache": 2**14, "mode": "smoke"')


def test_stream_with_few_elements_is_in_the_cache_whatever_that_has(part):
    site, done = part(USUAL, "few")
    assert done.status == 0
    _, values = only_case(site)
    # 83 333 elements in two processes are below STREAM's million.
    assert "EP-STREAM-Copy-in-cache" in values
    assert "EP-STREAM-Copy" not in values


#: Cache and nodes -> what is in the cache: 3520^2 / 2 / 3 doubles are 16.5 MB in each of two
#: processes.
CACHES = [
    # Both run on the node whose caches these are.
    (4 * 10**6, 1, set()),
    (8 * 10**6, 1, {"Single"}),
    (9 * 10**6, 1, {"EP", "Single"}),
    # Each has a node of its own.
    (4 * 10**6, 2, set()),
    (8 * 10**6, 2, {"EP", "Single"}),
]


def without_input(site, extras, nodes=1):
    """Replay what HPCC runs without an input file, here as what was asked for."""
    output = recorded_text("hpcc/hpccoutf_no_input.openmpi.txt")
    replay(site, output, extras=f'{extras}, "mode": "smoke"', nodes=nodes)


for _cache, _nodes, _ in CACHES:
    NO_INPUT.add((_cache, _nodes), without_input, f'"cache": {_cache}', _nodes)


@pytest.mark.parametrize(("cache", "nodes", "in_cache"), CACHES)
def test_stream_beyond_the_caches_of_a_node_is_the_memory(part, cache, nodes, in_cache):
    site, done = part(NO_INPUT, (cache, nodes))
    assert done.status == 0, done.output
    case, values = only_case(site)
    assert (case.keys["order"], case.keys["block"]) == ("3520", "80"), "192 is the usual one"
    for kind in ("EP", "Single"):
        names = {name for name in values if name.startswith(f"{kind}-STREAM-Triad")}
        assert names == {f"{kind}-STREAM-Triad" + "-in-cache" * (kind in in_cache)}
    assert ("EP-STREAM-Copy/G-HPL" in values) is ("EP" not in in_cache)


BANDWIDTHS = [
    (10**6, ""),
    # 16.5 MB arrays of both processes, Copy at 26.9 GB/s of each.
    (1000, "STREAM-"),
    (None, "not compared: the partition states no memory_bandwidth"),
]
for _bandwidth, _ in BANDWIDTHS:
    _stated = f'"memory_bandwidth": {_bandwidth}, ' if _bandwidth else ""
    NO_INPUT.add(_bandwidth, without_input, f'{_stated}"cache": 4000000')


@pytest.mark.parametrize(("memory_bandwidth", "words"), BANDWIDTHS)
def test_stream_that_no_memory_can_do_fails(part, memory_bandwidth, words):
    site, done = part(NO_INPUT, memory_bandwidth)
    status, verdict = site.gate()
    case, _ = only_case(site)
    assert (status, done.status) == ((1, 1) if memory_bandwidth == 1000 else (0, 0)), done.output
    if status:
        message = only_problem(verdict)
        assert "implausible: EP-STREAM" in message
        assert "these bytes were not moved" in message
    else:
        assert case.provenance.get("memory", "") == words


def test_each_run_starts_without_the_output_of_another(site, recorded):
    replay(site, recorded(N500))
    for _ in range(2):
        done, (status, _) = run(site, "--keep-stage-files")
        assert (done.status, status) == (0, 0), done.output


MUTILATED = [
    (lambda text: None, "hpcc wrote no hpccoutf.txt"),
    (lambda text: text.replace("HPL_N=500", "HPL_N=1000"), "HPL_N"),
    (lambda text: text.replace("CommWorldProcs=2", "CommWorldProcs=4"), "CommWorldProcs"),
]
for _mutilate, _message in MUTILATED:
    USUAL.add(_message, replay, _mutilate(recorded_text(N500)))


@pytest.mark.parametrize(("mutilate", "message"), MUTILATED)
def test_a_run_that_is_not_the_one_asked_for_fails(part, mutilate, message):
    """What else is refused is in `tests/utils/suites/test_hpcc.py`."""
    site, done = part(USUAL, message)
    status, verdict = site.gate()
    assert (done.status, status) == (1, 1)
    assert message in only_problem(verdict)


WRONG = 'echo "[3]: ERROR: expected 7, found 0" >&2'
USUAL.add("wrong data", replay, recorded_text(N500), then=WRONG)


def test_wrong_data_that_a_rank_tells_on_standard_error_fails(part):
    site, _ = part(USUAL, "wrong data")
    status, verdict = site.gate()
    assert status == 1
    assert ":1: [3]: ERROR: expected 7, found 0" in only_problem(verdict)


def test_a_partition_that_does_not_say_its_memory_is_told_how(site, recorded):
    replay(site, recorded(N500), extras='"cache": 2**25')
    path = site.folder / "site.py"
    path.write_text(path.read_text().replace('"scheduler": "local"', '"scheduler": "pbs"'))
    listed = site.run(
        *(sys.executable, "-m", "tests.reference_coverage.in_reframe", "replay", "hpcc")
    ).data
    faults = {mode: case.get("fault", "") for case in listed for mode in case["modes"]}
    assert 'write "memory", in bytes, into its extras' in faults["nightly"]


for _together in IN_MODE.values():
    for _nodes in (1, 2):
        _extras = '"memory": 2**30, "cache": 2**25'
        _together.add(_nodes, replay, recorded_text(N500), extras=_extras, nodes=_nodes)


@pytest.mark.parametrize("mode", ["nightly", "acceptance"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_the_matrix_follows_memory_share_and_nodes(part, nodes, mode):
    site, _ = part(IN_MODE[mode], nodes)
    status, verdict = site.gate()
    # The recorded run is not of this order, which is seen.
    assert status == 1
    assert "HPL_N" in only_problem(verdict)
    (path,) = site.var.glob("stage/*/replay/default/recorded/Hpcc*/hpccinf.txt")
    order = int(path.read_text().splitlines()[5].split()[0])
    share = {"nightly": 0.05, "acceptance": 0.8}[mode]
    assert order % (8 * 192) == 0
    assert order**2 * 8 <= 2**30 * nodes * share < (order + 8 * 192) ** 2 * 8


ONE_THREAD = '[ "$OMP_NUM_THREADS" = 1 ] || exit 5'
USUAL.add("one thread", replay, recorded_text(N500), then=ONE_THREAD)


def test_the_blas_has_one_thread_where_nobody_can_tell_the_placement(part):
    site, _ = part(USUAL, "one thread")
    status, _ = site.gate()
    assert status == 0


def with_cores(site, cores):
    replay(site, recorded_text(N500), extras=f'"memory": {cores} * 2**29, "cache": 2**25')
    config = site.folder / "site.py"
    config.write_text(config.read_text().replace('"cores": 2,', f'"cores": {cores},'))


for _cores in (2, 64):
    IN_MODE["acceptance"].add(f"{_cores} cores", with_cores, _cores)


@pytest.mark.parametrize("cores", [2, 64])
def test_fewer_processes_than_cores_fill_their_part_of_the_memory(part, cores):
    """Two that filled a node of 64 cores would compute for days."""
    site, _ = part(IN_MODE["acceptance"], f"{cores} cores")
    (path,) = site.var.glob("stage/*/replay/default/recorded/Hpcc*/hpccinf.txt")
    order = int(path.read_text().splitlines()[5].split()[0])
    assert order**2 * 8 <= 2**30 * 0.8 < (order + 8 * 192) ** 2 * 8


def test_a_node_that_does_not_tell_its_caches_is_told_of_before_the_run(site, recorded, tmp_path):
    replay(site, recorded(N500), extras='"memory": 2**34, "mode": "smoke"')
    _, (status, verdict) = run(site, SYSFS=str(tmp_path))
    assert status == 1
    assert 'write "cache", the bytes of a node' in only_problem(verdict)
    assert not list(site.var.glob("stage/*/replay/default/recorded/Hpcc*/hpccoutf.txt"))


def without_caches(site, then):
    replay(site, recorded_text(N500), extras='"memory": 2**34, "mode": "smoke"')
    (site.folder / "bin/hpcc").write_text(f"#!/bin/sh\nrm cache.out\n{then}")


USUAL.add("failed without caches", without_caches, "echo no memory >&2\nexit 3\n")
USUAL.add("without caches", without_caches, "")


def test_a_job_that_failed_before_it_told_its_caches_says_so(part):
    site, _ = part(USUAL, "failed without caches")
    status, verdict = site.gate()
    assert status == 1
    assert "exited with status 3: no memory" in only_problem(verdict)
    site, _ = part(USUAL, "without caches")
    status, verdict = site.gate()
    assert "cache.out: what the node says of its caches is cut" in only_problem(verdict)
    assert " | " not in only_problem(verdict)


def test_a_time_limit_of_the_user_is_kept(site, recorded):
    replay(site, recorded(N500))
    script = site.folder / "bin/hpcc"
    script.write_text("#!/bin/sh\nsleep 600\n")
    _, (status, verdict) = run(site, "-S", "Hpcc.time_limit=1s")
    assert status == 1
    assert "> 1.0s" in only_problem(verdict)


@pytest.mark.parametrize(
    ("memory", "mode", "options"),
    [
        ("2**34", "smoke", ()),
        # The mode would fill the memory; an order by hand does not.
        ("2**34", "acceptance", ("-S", "Hpcc.order=500", *BLOCK)),
        # And where it does, the mode is no matter: 500^2 doubles are 2 MB of 3.
        ("3 * 10**6", "smoke", ("-S", "Hpcc.order=500", *BLOCK)),
    ],
)
def test_a_small_problem_is_not_held_against_a_published_one(
    site, recorded, tmp_path, memory, mode, options
):
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in REFERENCE.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    rows = "\n".join(
        f"Table 99,kandadai2009,ib-ddr,hpcc,{metric},np=2,=,{value},{unit},{value},"
        for metric, value, unit in [("G-HPL", 900, "Gflop/s"), ("RandomRing-latency", 0.2, "us")]
    )
    with (copy / "kandadai2009.csv").open("a") as file:
        file.write(rows + "\n")
    replay(site, recorded(N500), extras=f'"memory": {memory}, "cache": 2**25, "mode": "{mode}"')
    config = site.folder / "site.py"
    config.write_text(
        config.read_text()
        .replace('"replay"', '"kandadai2009"')
        .replace('"name": "default"', '"name": "ib-ddr"')
    )
    done, _ = run(site, "--system=kandadai2009", *options, ACCEPTANCE_REFERENCE=str(copy))
    case, _ = only_case(site)
    judged = {metric.name for metric in case.metrics if metric.judged_by}
    large = memory == "3 * 10**6"
    assert judged == {"RandomRing-latency", *(["G-HPL"] if large else [])}, done.output
    assert case.provenance["filled"] == ("0.67" if large else "0.00")


def run_with(site, *options, **environment):
    return site.reframe("-c", "checks/hpcc.py", "-r", *options, **environment)


def test_the_numbers_of_processes_that_papers_have_are_run():
    library = references.load(REFERENCE)
    stated = list(library.stated("kandadai2009", "ib-ddr", "hpcc"))
    assert {keys["np"] for keys in stated} == {"128"}
    assert {"np": "506"} in library.stated("saini2006", "altix-nl4", "hpcc")


@needs_hpcc
def test_debians_hpcc_runs_for_real(site):
    done = run_with(site, "-p", "debian-openmpi")
    assert done.status == 0, done.output
    status, verdict = site.gate()
    assert status == 0
    (case,) = results.session(site.database).cases
    assert verdict["recorded"] == len(hpcc.METRICS) + len(hpcc.RATIOS)
    assert case.provenance["order"] == "500"
    assert "placement" not in case.provenance
