"""`checks/osu.py` through real ReFrame: recorded outputs of OMB, whole and mutilated."""

import re

import pytest

from acceptance.suites import osu
from tests.conftest import DATA, only_case, only_problem, recorded_text
from tests.recorded import runs
from tests.together import Together

LATENCY = "osu/osu_latency.openmpi.txt"
VERIFY = "-c -i 10 -x 1 -u 0"


def with_validation(output):
    """Add the column that `-c` adds."""
    output = re.sub(r"^(# Size .*)$", r"\1          Validation", output, flags=re.MULTILINE)
    return re.sub(r"^(\d.*)$", r"\1                Pass", output, flags=re.MULTILINE)


def replay(site, output, program="osu_latency", verified=None):
    """Make a site whose program prints this output, and `verified` when it is asked to verify."""
    script = site.replay(output, program, "osu")
    data = (verified or with_validation(output)).encode(errors="surrogateescape")
    (site.folder / "verified.txt").write_bytes(data)
    script.write_text(
        f'#!/bin/sh\ncd {site.folder}; echo "$*" >> arguments.txt\n'
        'case "$*" in *-c*) cat verified.txt;; *) cat output.txt;; esac\n'
    )
    return script


def of_mpich(program):
    return dict(runs("osu", (DATA / "osu/every.mpich.txt").read_text()))[program]


def configure(site, *replacements):
    """Change the configuration of a site that replays."""
    path = site.folder / "site.py"
    text = path.read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def words(benchmark, *options, placement="intra-node", buffers="same"):
    """Return the words by which ReFrame runs a case of a program, or of several: `(a|b)`."""
    name = f"%benchmark={benchmark}%.*%placement={placement}%buffers={buffers}"
    return "-c", "checks/osu.py", "-r", "-n", name, *options


def run(site, benchmark="latency", *options, placement="intra-node", buffers="same"):
    """Run a case of a program; return ReFrame's result and the gate's."""
    done = site.reframe(*words(benchmark, *options, placement=placement, buffers=buffers))
    return done, site.gate()


#: What is run as usual, with few sizes, between nodes, and in the mode that has all programs.
USUAL = Together(*words("(latency|hello)"))
FEW_SIZES = Together(*words("(mbw_mr|allreduce|barrier|get_bw|init)", "-S", "sizes=1:64"))
BETWEEN = Together(*words("(bw|latency)", placement="inter-node"))
OF_A_MODE = ("--mode=acceptance", "-S", "sizes=4:64")
IN_ACCEPTANCE = Together(*words("latency(_mt)?", *OF_A_MODE, buffers="same$"))


def arguments(site):
    return (site.folder / "arguments.txt").read_text().splitlines()


def line_of(text, start):
    return next(line for line in text.splitlines() if line.split()[:1] == [start])


def install_all(site, recorded, but=()):
    """Make a site of four nodes with three cores that has all programs, but some."""
    script = replay(site, recorded(LATENCY))
    configure(site, ('"cores": 2', '"cores": 3'), ('"nodes": 2', '"nodes": 4'))
    for name in {*osu.BENCHMARKS}.difference(("latency", *but)):
        script.with_name(f"osu_{name}").symlink_to(script)


def listed(site, *options):
    """Return benchmark, processes, placement and buffers of each case that there is.

    Of a one-sided program that is told how to synchronize the last one says so as well.
    """
    output = site.reframe("-c", "checks/osu.py", "-l", *options).output
    pattern = r"%benchmark=(\S+) %np=(\d+) %placement=(\S+) %buffers=(\S+(?: %\S+)?)"
    return {(name, int(np), *rest) for name, np, *rest in re.findall(pattern, output)}


USUAL.add("whole", replay, recorded_text(LATENCY), case="=latency ")


def test_a_recorded_output_is_measured_completely(part):
    site, done = part(USUAL, "whole")
    status, verdict = site.gate()
    assert (done.status, status) == (0, 0), done.output
    case, values = only_case(site)
    assert values["latency_1"] == (0.18, "us")
    assert values["latency_4194304"] == (1298.85, "us")
    assert list(values) == [f"latency_{2**n}" for n in range(23)]
    assert values.keys() == case.declared.keys()
    assert (verdict["recorded"], verdict["judged"]) == (23, {})
    assert case.provenance.pop("date").startswith("not told: ")
    assert case.provenance == {"suite": "OSU 7.4", "placement": "not verified"}
    assert arguments(site) == [f"-m 1:4194304 {VERIFY}", "-m 1:4194304"]


#: Starts two ranks, each on a core of its own, of which the first one prints.
MPIEXEC = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do
    shift 2
done
PMI_RANK=1 MPI_LOCALRANKID=1 STATUS={folder}/status.1 "$@" > {folder}/none || exit
PMI_RANK=0 MPI_LOCALRANKID=0 STATUS={folder}/status.0 "$@"
"""


def placed(site):
    """Make a site whose ranks say where they stand."""
    folder = site.folder
    replay(site, recorded_text(LATENCY))
    for rank in (0, 1):
        (folder / f"status.{rank}").write_text(f"Cpus_allowed_list:\t{rank}\n")
    launcher = folder / "bin/mpiexec"
    launcher.write_text(MPIEXEC.replace("{folder}", str(folder)))
    launcher.chmod(0o755)
    path = f'"env_vars": [["PATH", "{launcher.parent}:$PATH"]]'
    configure(
        site,
        ('"launcher": "local"', '"launcher": "mpiexec"'),
        ('"verify_placement": False', '"verify_placement": True'),
        ('"extras": {"suites"', f'{path}, "extras": {{"mpi": "mpich", "suites"'),
    )


USUAL.add("placed", placed, case="=latency ")


def test_what_the_node_said_is_kept_beside_the_verified_data(part):
    site, done = part(USUAL, "placed")
    assert done.status == 0, done.output
    kept = {path.name for path in (site.var / "output").rglob("*") if path.is_file()}
    assert {"validation.out", "without_mpi.json"} <= kept
    assert {path.rpartition(".")[2] for path in kept} >= {"before", "after"}


#: Program -> recorded output, sizes, arguments of each run, and some of the metrics.
RUNS = {
    "bw": (
        "osu_bw.openmpi.txt",
        "1:4194304",
        [f"-m 1:4194304 {VERIFY}", "-m 1:4194304"],
        {"bandwidth_1024": (12734.86, "MB/s"), "bandwidth_peak": (19318.42, "MB/s")},
    ),
    "mbw_mr": (
        "osu_mbw_mr.openmpi.v7.2.txt",
        "1:64",
        [f"-m 1:64 {VERIFY}", "-m 1:64"],
        {"message_rate_1": (11048769.96, "1/s"), "bandwidth_64": (464.24, "MB/s")},
    ),
    "alltoall": (
        "osu_alltoall.openmpi.txt",
        "1:1048576",
        [f"-m 1:1048576 {VERIFY}", "-m 1:1048576"],
        {"time_1": (0.16, "us"), "time_1048576": (314.04, "us")},
    ),
    "allreduce": (
        "osu_allreduce.openmpi.v6.2.txt",
        "1:64",
        [f"-m 4:64 {VERIFY} -T mpi_float", "-m 4:64"],
        {"time_4": (1.32, "us"), "time_64": (0.49, "us")},
    ),
    "barrier": ("osu_barrier.openmpi.txt", "1:64", [""], {"time": (0.28, "us")}),
    "get_bw": (
        "osu_get_bw.mpich.txt",
        "1:64",
        ["-m 1:64"],
        {"bandwidth_1": (4.30, "MB/s"), "bandwidth_64": (279.33, "MB/s")},
    ),
    "init": ("osu_init.mpich.txt", "1:64", [""], {"time": (79000.0, "us")}),
}


for _benchmark, (_name, _sizes, *_) in RUNS.items():
    if _sizes == "1:64":
        _program = f"osu_{_benchmark}"
        _text, _case = recorded_text(f"osu/{_name}"), f"={_benchmark} "
        FEW_SIZES.add(_benchmark, replay, _text, _program, case=_case)


@pytest.mark.parametrize("benchmark", RUNS)
def test_each_kind_of_program_is_asked_and_measured(site, part, benchmark):
    name, sizes, asked, some = RUNS[benchmark]
    if sizes == "1:64":
        site, done = part(FEW_SIZES, benchmark)
        status, _ = site.gate()
    else:
        replay(site, recorded_text(f"osu/{name}"), f"osu_{benchmark}")
        done, (status, _) = run(site, benchmark, "-S", f"sizes={sizes}")
    assert (done.status, status) == (0, 0), done.output
    case, values = only_case(site)
    assert {metric: values[metric] for metric in some} == some
    assert values.keys() == case.declared.keys()
    assert arguments(site) == asked


def replay_run(site, program, version="7.4", change=("", "")):
    """Make a site whose program prints what it did with MPICH, and has a version in its file."""
    text = of_mpich(program).replace(*change) if change[0] else of_mpich(program)
    script = replay(site, text, f"osu_{program}")
    if program != "latency":  # which every version has
        script.with_name("osu_latency").symlink_to(script)
    script.write_text(f"{script.read_text()}# OSU MPI Test v{version}\n")
    return script


def measured(site, program, *options):
    """Run a case with the message sizes of all recorded programs; return its values."""
    done = site.reframe(*words(program, *OF_A_MODE, *options, buffers="same$"))
    return values_of(site, done)


def values_of(site, done):
    """Return the case of a run, and its values, all of those that it declares."""
    status, _ = site.gate()
    assert (done.status, status) == (0, 0), done.output
    case, values = only_case(site)
    assert values.keys() == case.declared.keys()
    return case, values


KOOP2008 = (('"replay"', '"koop2008"'), ('"name": "default"', '"name": "qdr-pcie2"'))


def values_between_nodes(site, program):
    """Run a program of koop2008 by its recorded output; return metric -> value."""
    replay_run(site, program)
    configure(site, *KOOP2008)
    name = f"%benchmark={program}%np=2%placement=inter-node%buffers=same"
    options = ("-S", "sizes=4:64", "-S", "validate=no")
    done = site.reframe("-c", "checks/osu.py", "-r", "-n", name, *options)
    assert done.status == 0, done.output
    return only_case(site)[1]


def test_percentiles_are_metrics_of_their_own_that_no_number_of_a_mean_judges(site):
    values = values_between_nodes(site, "latency")
    assert arguments(site) == ["-m 4:64 -z50,90,99"]
    sizes = (4, 8, 16, 32, 64)
    stems = ("latency", "latency_p50", "latency_p90", "latency_p99")
    assert {*values} == {f"{stem}_{size}" for stem in stems for size in sizes}
    assert all(values[f"latency_p50_{s}"] <= values[f"latency_p99_{s}"] for s in sizes)
    assert not [name for name in judged(site) if "_p" in name]


def test_the_slow_tail_of_a_bandwidth_is_below_its_mean_and_no_limit_judges_it(site):
    values = values_between_nodes(site, "bw")
    assert arguments(site) == ["-m 4:64 -z10,50"]
    assert all(values[f"bandwidth_p10_{s}"] <= values[f"bandwidth_p50_{s}"] for s in (4, 64))
    assert not judged(site)


VERSIONS = [
    ("7.5.2", [f"-m 4:64 {VERIFY}", "-m 4:64 -z50,90,99"]),
    ("7.3", [f"-m 4:64 {VERIFY}", "-m 4:64"]),
    ("7.0", ["-m 4:64"]),
    ("5.9", ["-m 4:64"]),
]


def of_version(site, version, asked):
    lines = of_mpich("latency").splitlines()
    table = [line[:28] if line.startswith(("# Size", *"0123456789")) else line for line in lines]
    plain = "\n".join([*table, ""])
    script = replay_run(site, "latency", version)
    if "-z" not in asked[-1]:
        (site.folder / "output.txt").write_text(plain)
    (site.folder / "verified.txt").write_text(with_validation(plain))
    assert f"v{version}" in script.read_text()


for _version, _asked in VERSIONS:
    IN_ACCEPTANCE.add(_version, of_version, _version, _asked, case="=latency ")


@pytest.mark.parametrize(("version", "asked"), VERSIONS)
def test_a_version_is_asked_for_what_it_knows(part, version, asked):
    site, done = part(IN_ACCEPTANCE, version)
    values_of(site, done)
    assert arguments(site) == asked


def test_few_repetitions_have_no_percentiles(site, recorded):
    script = replay(site, recorded("osu/osu_latency_m8.openmpi.txt"))
    script.write_text(script.read_text() + "# OSU MPI Latency Test v7.4\n")
    options = ["-S", "sizes=8:8", "-S", "validate=no", "-S", "iterations=100"]
    done, (status, _) = run(site, "latency", *options)
    assert (done.status, status) == (0, 0), done.output
    assert arguments(site) == ["-m 8:8 -i 100 -x 10"]


def test_of_a_non_blocking_collective_the_overlap_is_a_metric(site):
    replay_run(site, "iallreduce")
    _, values = measured(site, "iallreduce", "-S", "validate=no")
    text = of_mpich("iallreduce").splitlines()
    _, overall, _, pure, overlap, p50, _, p99 = line_of("\n".join(text), "64").split()
    assert values["time_64"] == (float(pure), "us")
    assert values["overall_64"] == (float(overall), "us")
    assert values["overlap_64"] == (max(float(overlap), 1.0), "%")
    assert values["overall_p50_64"] == (float(p50), "us")
    assert values["overall_p99_64"] == (float(p99), "us")


def test_an_operation_without_message_sizes_has_metrics_without(site):
    replay_run(site, "fop_latency", change=("MPI_Win_allocate", "MPI_Win_create"))
    _, values = measured(site, "fop_latency", "-S", "window=create")
    assert {*values} == {"latency", "latency_p50", "latency_p90", "latency_p99"}
    case, _ = only_case(site)
    assert arguments(site) == ["-w create -z50,90,99"]
    assert case.keys["window"] == "create"
    done, _ = run(site, "fop_latency", "-S", "window=dynamic")
    assert "no line '# Window creation: MPI_Win_create_dynamic', which was asked for" in done.output


def test_a_percentile_that_was_asked_for_and_is_not_printed_fails_the_case(site):
    replay_run(site, "fop_latency")
    text = of_mpich("fop_latency")
    cut = [line[:-18] if line.startswith(("# Size", "1 ")) else line for line in text.splitlines()]
    (site.folder / "output.txt").write_text("\n".join(cut) + "\n")
    done, (status, verdict) = run(site, "fop_latency")
    assert (done.status, status) == (1, 1)
    assert "no column for p99, which was asked for" in only_problem(verdict)


def test_a_sweep_that_the_memory_cuts_has_no_peak(site, recorded):
    replay(site, re.sub(r"\n4194304 .*", "", recorded("osu/osu_bw.openmpi.txt")), "osu_bw")
    # A node has room for 64 messages of 2 MiB in each of two buffers of two processes.
    configure(site, ('"cores": 2', f'"cores": 2, "memory": {2**30}'))
    done, (status, _) = run(site, "bw", "-S", "validate=no", buffers="different")
    assert (done.status, status) == (0, 0), done.output
    case, values = only_case(site)
    assert "bandwidth_2097152" in values
    assert "bandwidth_peak" not in values
    assert case.provenance["sizes"].startswith("bw on 2 ranks: up to 2 MiB, since 4 MiB wants")


def test_a_synchronization_is_a_case_and_a_key_of_its_own(site):
    told = ("MPI_Win_flush\n", "MPI_Win_fence\n")
    replay_run(site, "put_bw", change=told)
    name = "%benchmark=put_bw%np=2%placement=intra-node%buffers=same%synchronization=fence"
    options = ("--mode=acceptance", "-S", "sizes=4:64", "-n", name)
    done = site.reframe("-c", "checks/osu.py", "-r", *options)
    assert done.status == 0, done.output
    case, _ = only_case(site)
    assert case.keys["synchronization"] == "fence"
    assert arguments(site) == ["-m 4:64 -s fence -z10,50"]
    (site.folder / "output.txt").write_text(of_mpich("put_bw"))
    done = site.reframe("-c", "checks/osu.py", "-r", *options)
    assert "no line '# Synchronization: MPI_Win_fence', which was asked for" in done.output


def without_last_words(site):
    script = replay_run(site, "latency_mt")
    script.write_text(script.read_text() + "exit 1\n")


IN_ACCEPTANCE.add("latency_mt", without_last_words, case="=latency_mt ")


def test_what_ends_without_its_last_words_has_said_all(part):
    site, done = part(IN_ACCEPTANCE, "latency_mt")
    _, values = values_of(site, done)
    assert len(values) == 5 * 4


def hello(site, then):
    script = replay(site, recorded_text("osu/osu_hello.mpich.txt"), "osu_hello")
    script.write_text(script.read_text() + then)


USUAL.add("slow hello", hello, "sleep 0.5\n", case="=hello ")
USUAL.add("no hello", hello, "exit 3\n", case="=hello ")


def test_the_launch_of_hello_is_timed(part):
    site, done = part(USUAL, "slow hello")
    status, _ = site.gate()
    assert (done.status, status) == (0, 0), done.output
    (value, unit) = only_case(site)[1]["time"]
    assert 0.5 < value < 5
    assert unit == "s"


def test_a_launch_of_hello_that_fails_is_no_launch(part):
    site, _ = part(USUAL, "no hello")
    status, verdict = site.gate()
    assert status == 1
    assert "exited with status 3" in only_problem(verdict)


def test_options_set_iterations_and_leave_out_the_verification(site, recorded):
    replay(site, recorded("osu/osu_latency_m8.openmpi.txt"))
    options = ["-S", "sizes=8:8", "-S", "iterations=50", "-S", "validate=no"]
    done, (status, _) = run(site, "latency", *options)
    assert (done.status, status) == (0, 0), done.output
    assert arguments(site) == ["-m 8:8 -i 50 -x 5"]


def test_in_the_mode_smoke_repetitions_are_few_and_its_results_of_their_own(site, recorded):
    replay(site, recorded("osu/osu_latency_m8.openmpi.txt"))
    options = ["-S", "sizes=8:8", "-S", "validate=no", "--mode=smoke"]
    done, (status, _) = run(site, "latency", *options)
    assert (done.status, status) == (0, 0), done.output
    assert arguments(site) == ["-m 8:8 -i 100 -x 10"]
    assert only_case(site)[0].keys["repetitions"] == "100"


def test_different_buffers_are_asked_for_and_a_case_of_their_own(site, recorded):
    replay(site, recorded("osu/osu_mbw_mr.openmpi.v7.2.txt"), "osu_mbw_mr")
    done, (status, _) = run(site, "mbw_mr", "-S", "sizes=1:64", buffers="different")
    assert (done.status, status) == (0, 0), done.output
    assert arguments(site) == ["-m 1:64 -b multiple"]
    different = {name for name, *_, buffers in listed(site) if buffers == "different"}
    assert different == {"bw", "bibw", "mbw_mr"}


def mutilated(site):
    text = recorded_text(LATENCY)
    row = line_of(text, "1024")
    mutilated = text.replace(row, row.replace(row.split()[1], "0.00"))
    replay(site, mutilated, verified=with_validation(text))


USUAL.add("mutilated", mutilated, case="=latency ")


def test_a_mutilated_line_fails_the_case_and_is_named(part):
    """One for all: what else is refused is in `tests/utils/suites/test_osu.py`."""
    site, done = part(USUAL, "mutilated")
    status, verdict = site.gate()
    assert (done.status, status) == (1, 1)
    message = only_problem(verdict)
    assert "rfm_job.out:" in message
    assert "latency: " in message
    assert "latency is zero" in message
    assert verdict["recorded"] == 0


LAST = "4194304"  # a table has no closing line


def without_last(site):
    text = recorded_text(LATENCY)
    cut = text.replace(line_of(text, LAST) + "\n", "")
    replay(site, cut, verified=with_validation(text))


USUAL.add("without last", without_last, case="=latency ")


def test_a_missing_message_size_fails_the_case(part):
    site, _ = part(USUAL, "without last")
    status, verdict = site.gate()
    assert status == 1
    assert f"metrics missing: latency_{LAST}; not asked for: none" in only_problem(verdict)


def test_a_message_size_that_was_not_asked_for_fails_the_case(site, recorded):
    replay(site, recorded(LATENCY))
    _, (status, verdict) = run(site, "latency", "-S", "sizes=1:2097152", "-S", "validate=no")
    assert status == 1
    assert "not asked for: latency_4194304" in only_problem(verdict)


def test_the_output_of_another_program_fails_the_case(site, recorded):
    replay(site, recorded("osu/osu_multi_lat.openmpi.txt"))
    _, (status, verdict) = run(site, "latency", "-S", "validate=no")
    assert status == 1
    assert "the output is that of multi_lat, which was not asked for" in only_problem(verdict)


def test_other_pairs_than_asked_for_fail_the_case(site, recorded):
    replay(site, recorded("osu/osu_mbw_mr_np4.openmpi.txt"), "osu_mbw_mr")
    _, (status, verdict) = run(site, "mbw_mr", "-S", "sizes=1:4096", "-S", "validate=no")
    assert status == 1
    assert "ran with 4 processes instead of 2" in only_problem(verdict)


VERIFICATIONS = {
    "wrong data": (
        lambda text: text.replace("Pass\n2048 ", "Fail\n2048 "),
        "validation.out:15: latency: the data that arrived is not the data that was sent: '1024",
    ),
    "no verification": (
        lambda text: re.sub(" +(Validation|Pass)", "", text),
        "verified the message sizes [] instead of [1, 2, 4,",
    ),
    "a byte that is no text": (
        lambda text: text.replace("Pass\n2048 ", "Pass\udcff\n2048 "),
        "validation.out:15: a byte that is no UTF-8: '1024",
    ),
    "one size less": (
        lambda text: text.replace(line_of(text, "1024") + "\n", ""),
        "verified the message sizes [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2048,",
    ),
}


for _name, (_mutilate, _) in VERIFICATIONS.items():
    _text = recorded_text(LATENCY)
    _verified = _mutilate(with_validation(_text))
    USUAL.add(_name, replay, _text, verified=_verified, case="=latency ")


@pytest.mark.parametrize("name", VERIFICATIONS)
def test_data_that_are_not_verified_fail_the_case(part, name):
    _, words = VERIFICATIONS[name]
    site, done = part(USUAL, name)
    status, verdict = site.gate()
    assert (done.status, status) == (1, 1)
    assert words in only_problem(verdict)


def test_a_program_that_hangs_is_ended_by_the_time_limit(site, recorded):
    script = replay(site, recorded(LATENCY), "osu_mbw_mr")
    script.write_text("#!/bin/sh\nsleep 300\n")
    done, (status, verdict) = run(site, "mbw_mr", "-S", "time_limit=3s")
    assert (done.status, status) == (1, 1)
    assert "time" in only_problem(verdict)


def with_another_program(site):
    script = replay(site, recorded_text(LATENCY))
    script.rename(script.with_name("osu_bw"))


USUAL.add("another program", with_another_program, case="=latency ")


def test_a_missing_program_fails_the_case_with_its_path(part):
    """Another one is there: an installation may lack some."""
    site, _ = part(USUAL, "another program")
    status, verdict = site.gate()
    assert status == 1
    assert f"{site.folder}/bin/osu_latency: missing or not executable" in only_problem(verdict)


def in_folders(site):
    script = replay(site, recorded_text(LATENCY))
    folder = script.parent / "libexec/osu-micro-benchmarks/mpi/pt2pt"
    folder.mkdir(parents=True)
    script.rename(folder / script.name)


USUAL.add("in folders", in_folders, case="=latency ")


def test_a_program_is_found_in_the_folders_of_its_version(part):
    site, done = part(USUAL, "in folders")
    status, _ = site.gate()
    assert (done.status, status) == (0, 0), done.output


@pytest.mark.parametrize(("sizes", "benchmark"), [("0:8", "latency"), ("1:2", "reduce")])
def test_malformed_sizes_are_refused(site, recorded, sizes, benchmark):
    replay(site, recorded(LATENCY), f"osu_{benchmark}")
    _, (status, verdict) = run(site, benchmark, "-S", f"sizes={sizes}")
    assert status == 1
    words = {
        "latency": "it must be low:high, powers of two, for example 1:4194304",
        "reduce": "no message of reduce fits into 1:2 bytes",
    }
    assert words[benchmark] in only_problem(verdict)


def judged(site):
    case, _ = only_case(site)
    return {
        metric.name: (metric.reference, metric.judged_by)
        for metric in case.metrics
        if metric.reference is not None
    }


def of_koop2008(site, benchmark, change=("", "")):
    text = recorded_text(f"osu/osu_{benchmark}.openmpi.txt")
    replay(site, text.replace(*change) if change[0] else text, f"osu_{benchmark}")
    configure(site, *KOOP2008)


for _benchmark in ("bw", "latency"):
    BETWEEN.add(_benchmark, of_koop2008, _benchmark, case=f"={_benchmark} ")


@pytest.mark.parametrize(
    ("benchmark", "metric", "value"),
    [("bw", "bandwidth_peak", 2575), ("latency", "latency_1", 1.06)],
)
def test_a_published_value_judges_the_partition_it_was_published_for(
    part, benchmark, metric, value
):
    site, done = part(BETWEEN, benchmark)
    status, verdict = site.gate()
    assert (done.status, status) == (0, 0), done.output
    assert judged(site) == {metric: (value, "published koop2008, Section 5.1")}
    assert verdict["judged"] == {"published koop2008": 1}


SLOWER = line_of(recorded_text(LATENCY), "1")
SLOWER = SLOWER, SLOWER.replace("0.18", "2.12")
BETWEEN.add("slower", of_koop2008, "latency", SLOWER, case="=latency ")


def test_a_published_value_fails_a_slower_partition(part):
    site, _ = part(BETWEEN, "slower")
    status, verdict = site.gate()
    assert status == 1
    assert "latency_1" in only_problem(verdict)


def test_pairs_stand_on_two_nodes_and_match_what_was_published(site, recorded):
    output = recorded("osu/osu_mbw_mr_np4.openmpi.txt").replace("pairs: 2", "pairs: 4")
    replay(site, output, "osu_mbw_mr")
    configure(site, *KOOP2008, ('"cores": 2', '"cores": 4'), ('"nodes": 2', '"nodes": 4'))
    name = "%benchmark=mbw_mr%np=8%placement=inter-node%buffers=same"
    done = site.reframe("-c", "checks/osu.py", "-r", "-n", name, "-S", "sizes=1:4096")
    assert done.status == 0, done.output
    assert judged(site) == {"bandwidth_2048": (2103, "published koop2008, Section 5.1")}


def test_no_case_has_more_ranks_than_cores_or_processes_that_it_cannot_use(site, recorded):
    install_all(site, recorded)
    cases = listed(site, "--mode=acceptance")
    counts = {}
    for name, np, placement, _ in cases:
        counts.setdefault((name, placement), set()).add(np)
    assert counts["latency", "intra-node"] == counts["latency", "inter-node"] == {2}
    assert counts["put_bw", "inter-node"] == {2}
    assert counts["mbw_mr", "intra-node"] == {2}
    assert counts["mbw_mr", "inter-node"] == {2, 4}
    assert counts["alltoall", "intra-node"] == {2}
    assert counts["alltoall", "inter-node"] == {2, 4, 8, 12}
    assert counts["neighbor_alltoall", "inter-node"] == {4, 8, 12}
    assert {where for where in counts if where[0] == "bw_fan_in"} == {("bw_fan_in", "inter-node")}
    assert counts["bw_fan_in", "inter-node"] == {4}, "one process a node"
    assert {name for name, *_ in cases} == set(osu.BENCHMARKS)
    ways = {way for name, *_, way in cases if name == "put_bw"}
    told = {"flush_local", "lock", "lock_all", "pscw", "fence"}
    assert ways == {"same", *(f"same %synchronization={word}" for word in told)}


def test_each_mode_takes_its_programs(site, recorded):
    install_all(site, recorded)
    for mode in ("smoke", "nightly"):
        cases = listed(site, f"--mode={mode}")
        for processes in (2, 4):
            assert {name for name, count, *_ in cases if count == processes} == {
                name for name, row in osu.BENCHMARKS.items()
                if row.is_in(mode, processes) and row.runs_with(processes)
            }  # fmt: skip
        assert {buffers for *_, buffers in cases} == {"same", "different"}


def test_what_an_installation_lacks_is_told_once_and_is_no_case(site, recorded):
    install_all(site, recorded, but=("iallreduce", "bw_fan_in", "bcast_persistent"))
    told = (
        "osu.py with recorded: no {}osu_iallreduce (5.5){}: "
        f"{site.folder}/bin/osu_{{}}: missing or not executable"
    )
    nightly = told.format("osu_bw_fan_in (7.4), ", "", "bw_fan_in")
    output = site.reframe("-c", "checks/osu.py", "-c", "checks/balance.py", "-l").output
    assert output.count(f"left out: {nightly}\n") == 1
    assert "benchmark=iallreduce" not in output
    assert "benchmark=fop_latency" in output
    output = site.reframe("-c", "checks/osu.py", "-l", "--mode=acceptance").output
    assert ", osu_bcast_persistent (7.3 with MPI 4): " in output
    _, (_, verdict) = run(site, "latency", "-S", "validate=no")
    assert verdict["notes"].count(f"ReFrame: {nightly}") == 1


def test_nodes_of_one_core_have_no_loopback_and_no_warning(site, recorded):
    replay(site, recorded(LATENCY))
    configure(site, ('"cores": 2', '"cores": 1'))
    done = site.reframe("-c", "checks/osu.py", "-l")
    assert "OsuBenchmark %benchmark=latency" in done.output
    assert "OsuLoopback" not in done.output + done.errors


def test_where_no_two_processes_stand_there_is_no_case_and_reframe_drops_no_check(site, recorded):
    replay(site, recorded(LATENCY))
    configure(site, ('"cores": 2', '"cores": 1'), ('"nodes": 2', '"nodes": 1'))
    done = site.reframe("-c", "checks/osu.py", "-l")
    assert "Found 0 check(s)" in done.output
    assert "the following parameters are undefined" not in done.output + done.errors
