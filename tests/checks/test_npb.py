"""`checks/npb.py` through real ReFrame: recorded outputs of NPB, and the cases that there are."""

import csv
import itertools
import math
import re

import pytest

from acceptance.suites import npb
from tests.conftest import Site, only_case, only_problem, recorded_text
from tests.places import REFERENCE
from tests.together import Together

SMOKE = '"nodes": 1, "cores": 2, "mode": "smoke"'


def change(path, *replacements):
    """Replace text that has to be in a file."""
    text = path.read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def replay(site, output, program, extras=SMOKE):
    """Make a site whose program prints this output."""
    script = site.replay(output, program, "npb")
    change(site.folder / "site.py", ('"nodes": 2, "cores": 2', extras))
    return script


def as_kandadai2009(site):
    """Give the replay the names under which Table 7 is kept."""
    change(
        site.folder / "site.py",
        ('"replay"', '"kandadai2009"'),
        ('"name": "default"', '"name": "ib-ddr"'),
    )


def edited(text, **values):
    """Change values of the final block, by the first word of their labels."""
    for word, value in values.items():
        text, count = re.subn(rf"(?m)^( {word}\b[^=\n:]*=) +.*$", rf"\1 {value:>24}", text)
        assert count == 1
    return text


def with_rate(text, processes, seconds, rate):
    """Change the time and, consistently, both rates."""
    text = edited(text, Time=f"{seconds:.2f}")
    text, count = re.subn(r"( Mop/s total     =).*", rf"\1 {rate:24.2f}", text)
    assert count == 1
    return re.sub(r"( Mop/s/process   =).*", rf"\1 {rate / processes:24.2f}", text)


def words(case, *options, placement="intra-node", path="shared"):
    """Return the words by which ReFrame runs a case, or those of several: `(a|b)`."""
    name = f"%program={case}%placement={placement}%mapping=block%path={path}"
    return "-c", "checks/npb.py", "-r", "-n", name, *options


def run(site, case, *options, placement="intra-node", path="shared", **environment):
    """Run a case; return ReFrame's result and the gate's."""
    asked = words(re.escape(case), *options, placement=placement, path=path)
    done = site.reframe(*asked, **environment)
    return done, site.gate()


CG = "3.3_cg.S.2.mpich.txt"

#: With the usual options cg, and other programs, of class S; two of class W, and the graph of DT.
CG_S = Together(*words(r"cg\.S\.2"))
CLASS_S = Together(*words(r"(bt\.S\.1|(ep|is)\.S\.2)"))
CLASS_W = Together(*words(r"(cg|lu)\.W\.2", "-S", "classes=W"))
TRAFFIC_BH = Together(*words(r"dt-bh\.S\.5"))


def replay_file(site, name, program):
    """Replay a recorded output of NPB as that of a program; return its script."""
    return replay(site, recorded_text(f"npb/{name}"), program)


def judged(case):
    return {metric.name: metric.reference for metric in case.metrics if metric.judged_by}


#: Recorded output -> its run, version, and what it says; the time of class S is no metric.
WHOLE = {
    "3.3_cg.S.2.mpich.txt": (CG_S, "3.3", {"mops_total": 315.0}),
    "3.4_bt.S.1.openmpi.txt": (CLASS_S, "3.4.2", {"mops_total": 3943.66}),
    "3.4_is.S.2.openmpi.txt": (CLASS_S, "3.4.2", {"mops_total": 653.53}),
    "3.4_lu.W.2.openmpi.txt": (
        CLASS_W,
        "3.4.2",
        {"time": 9.75, "mops_total": 1851.86},
    ),
}


for _name, (_together, *_) in WHOLE.items():
    _release, _program, _class, _np, _ = re.split(r"[_.](?!\d_)", _name, maxsplit=4)
    _suffix = _np if _release == "3.3" else "x"
    _case = f"={_program}.{_class}.{_np} "
    _together.add(_name, replay_file, _name, f"{_program}.{_class}.{_suffix}", case=_case)


@pytest.mark.parametrize("name", WHOLE)
def test_a_recorded_output_is_measured_completely(part, name):
    together, version, expected = WHOLE[name]
    site, done = part(together, name)
    status, verdict = site.gate()
    assert (done.status, status) == (0, 0), done.output
    case, values = only_case(site)
    units = {"time": "s", "mops_total": "Mop/s"}
    assert values == {metric: (value, units[metric]) for metric, value in expected.items()}
    assert case.declared == {metric: units[metric] for metric in expected}
    short = case.provenance.pop("timing", "long")
    assert case.provenance.pop("date").startswith("not told: ")
    assert case.provenance == {"suite": f"NPB {version}", "placement": "not verified"}
    assert ("shorter than 1 s, not judged" in short) == (together is not CLASS_W)
    assert (verdict["recorded"], verdict["judged"]) == (len(expected), {})


def test_loopback_is_a_case_of_its_own(site, recorded):
    replay(site, recorded("npb/3.4_cg.S.2.openmpi.txt"), "cg.S.x")
    site.launch_replay()
    done, (status, _) = run(site, "cg.S.2", "-S", "all_ways=yes", path="loopback")
    assert (done.status, status) == (0, 0), done.output
    case, _ = only_case(site)
    assert case.metrics
    assert case.provenance["placement"] == "not verified"
    script = next((site.var / "output").rglob("rfm_job.sh")).read_text()
    assert "OMPI_MCA_btl=self,tcp" in script


@pytest.mark.parametrize(
    ("extras", "placement", "mapping", "path"),
    [
        (SMOKE, "intra-node", "block", "loopback"),
        ('"nodes": 2, "cores": 2, "mode": "acceptance"', "inter-node", "cyclic", "shared"),
    ],
)
def test_what_a_launcher_cannot_be_asked_for_is_not_measured(
    site, recorded, extras, placement, mapping, path
):
    """Else what went through shared memory would be stored as having gone through the network."""
    replay(site, recorded("npb/3.4_cg.S.2.openmpi.txt"), "cg.S.x", extras)
    name = rf"%program=cg\.\w\.[24]%placement={placement}%mapping={mapping}%path={path}"
    site.reframe("-c", "checks/npb.py", "-r", "-n", name, "-S", "all_ways=yes")
    status, verdict = site.gate()
    assert status == 1
    assert verdict["problems"][0]["kind"] == "case-failed"
    assert "npb.cg: no launch options are known for local" in verdict["problems"][0]["text"]


@pytest.fixture
def with_references(tmp_path):
    """A copy of `reference/` where the rate of cg, class S, is far above any that is measured."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in REFERENCE.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    with (copy / "kandadai2009.csv").open("a") as file:
        file.write("Table 99,kandadai2009,ib-ddr,npb.cg,mops_total,np=2;class=S,=,9e6,Mop/s,9e6,\n")
    return {"ACCEPTANCE_REFERENCE": str(copy)}


@pytest.mark.parametrize(("seconds", "rate", "judges"), [(0.99, 67.32, False), (1.0, 66.66, True)])
def test_a_run_is_judged_from_a_second_on(site, recorded, with_references, seconds, rate, judges):
    text = with_rate(recorded("npb/3.4_cg.S.2.openmpi.txt"), 2, seconds, rate)
    replay(site, text, "cg.S.x")
    as_kandadai2009(site)
    done, (status, verdict) = run(site, "cg.S.2", **with_references)
    assert (done.status, status) == (int(judges), int(judges)), done.output
    case, values = only_case(site)
    assert values["mops_total"] == (rate, "Mop/s")
    if judges:
        assert judged(case) == {"mops_total": 9e6}
        assert "mops_total" in verdict["problems"][0]["text"]
        assert "timing" not in case.provenance
    else:
        assert judged(case) == {}
        assert case.provenance["timing"] == "0.99 s: shorter than 1 s, not judged"


CLASS_W.add("short", replay_file, "3.4_cg.W.2.openmpi.txt", "cg.W.x", case="=cg.W.2 ")


def test_a_time_that_is_short_is_recorded(part):
    """Class W has a time; this one took half a second."""
    site, done = part(CLASS_W, "short")
    status, _ = site.gate()
    assert (done.status, status) == (0, 0), done.output
    case, values = only_case(site)
    assert values["time"] == (0.52, "s")
    assert case.provenance["timing"] == "0.52 s: shorter than 1 s, not judged"


def ft_of_class_c(recorded, np, seconds, rate):
    """Make of a recorded run one of class C."""
    text = with_rate(recorded("npb/3.3_ft.S.2.mpich.txt"), np, seconds, rate)
    return edited(text, Class="C", Size="512x 512x 512", Iterations=20, Total=np, Compiled=np)


def test_table_7_judges_the_network_it_was_measured_on(site, recorded):
    extras = '"nodes": 16, "cores": 8, "mode": "acceptance"'
    replay(site, ft_of_class_c(recorded, 128, 8.5, 46642.0), "ft.C.128", extras)
    as_kandadai2009(site)
    done, (status, verdict) = run(site, "ft.C.128", placement="inter-node")
    assert (done.status, status) == (0, 0), done.output
    case, _ = only_case(site)
    assert judged(case) == {"time": 8.36, "mops_total": 47423}
    assert {metric.judged_by for metric in case.metrics if metric.judged_by} == {
        "published kandadai2009, Table 7"
    }
    assert verdict["judged"] == {"published kandadai2009": 2}
    assert verdict["recorded"] == 0


@pytest.mark.parametrize(("mapping", "path"), [("cyclic", "shared"), ("block", "loopback")])
def test_table_7_does_not_judge_what_the_paper_did_not_run(site, recorded, mapping, path):
    extras = '"nodes": 16, "cores": 8, "mode": "acceptance"'
    replay(site, ft_of_class_c(recorded, 128, 85.0, 4663.4), "ft.C.128", extras)
    as_kandadai2009(site)
    site.launch_replay()
    name = rf"%program=ft\.C\.128%placement=inter-node%mapping={mapping}%path={path}"
    done = site.reframe("-c", "checks/npb.py", "-r", "-n", name)
    status, verdict = site.gate()
    assert (done.status, status) == (0, 0), done.output
    ranks = {"block": "slot", "cyclic": "node"}[mapping]
    told = (site.folder / "launched.txt").read_text()
    assert f"--map-by ppr:8:node --rank-by {ranks} --bind-to core" in told
    assert judged(only_case(site)[0]) == {}
    assert verdict["recorded"] == 2


def test_table_7_fails_a_slower_network(site, recorded):
    extras = '"nodes": 4, "cores": 8, "mode": "acceptance"'
    replay(site, ft_of_class_c(recorded, 32, 40.0, 9909.0), "ft.C.32", extras)
    as_kandadai2009(site)
    done, (status, verdict) = run(site, "ft.C.32", placement="inter-node")
    assert (done.status, status) == (1, 1)
    message = verdict["problems"][0]["text"]
    assert "time" in message
    assert "mops_total" in message
    assert judged(only_case(site)[0]) == {"time": 27.66, "mops_total": 14330}


UNVERIFIED = edited(recorded_text(f"npb/{CG}"), Verification="UNSUCCESSFUL")
CG_S.add("unverified", replay, UNVERIFIED, "cg.S.2")


def test_a_mutilated_output_fails_the_case_with_file_and_line(part):
    """One for all: what else is refused is in `tests/utils/suites/test_npb.py`."""
    text = UNVERIFIED
    site, done = part(CG_S, "unverified")
    status, verdict = site.gate()
    assert (done.status, status) == (1, 1)
    (number,) = [n for n, line in enumerate(text.splitlines(), 1) if " Verification  " in line]
    message = only_problem(verdict)
    assert f"rfm_job.out:{number}: cg: the results are wrong or not verified" in message
    assert verdict["recorded"] == 0
    assert only_case(site)[1] == {}


#: Output -> program, case, and what is said about it.
REFUSED = {
    "3.3_wrong_cg.S.1_on_2.mpich.txt": (
        "cg.S.2",
        r"rfm_job\.out:11: cg: the program stopped: .*compiled number of procs \( 1 \)",
    ),
    "3.4_inactive_cg.S.3.openmpi.txt": (
        "cg.S.x",
        r"rfm_job\.out:\d+: cg: Total processes is 3 instead of 2",
    ),
    "3.4_cg.S.2.openmpi.txt": ("ep.S.x", r"rfm_job\.out:\d+: ep: this is cg instead of ep"),
}


for _name, (_program, _) in REFUSED.items():
    _together = CG_S if _program.startswith("cg") else CLASS_S
    _together.add(_name, replay_file, _name, _program, case=f"={_program[:4]}.2 ")


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_program_prints_for_other_runs_is_refused(part, name):
    program, words = REFUSED[name]
    site, done = part(CG_S if program.startswith("cg") else CLASS_S, name)
    status, verdict = site.gate()
    assert (done.status, status) == (1, 1)
    assert re.search(words, only_problem(verdict))


def with_a_byte(site):
    replay_file(site, CG, "cg.S.2")
    path = site.folder / "output.txt"
    before, label, after = path.read_bytes().partition(b" Operation type")
    path.write_bytes(before + b" \xff\xfe\n" + label + after)


CG_S.add("a byte", with_a_byte)


def test_a_byte_that_is_no_text_is_refused_with_its_line(part):
    site, _ = part(CG_S, "a byte")
    status, verdict = site.gate()
    assert status == 1
    garbled = (site.folder / "output.txt").read_bytes()
    number = garbled.split(b"\n").index(b" \xff\xfe") + 1
    assert f"rfm_job.out:{number}: a byte that is no UTF-8" in only_problem(verdict)


def test_a_time_limit_of_the_user_is_kept(site, recorded):
    script = replay(site, recorded(f"npb/{CG}"), "cg.S.2")
    script.write_text("#!/bin/sh\nsleep 600\n")
    _, (status, verdict) = run(site, "cg.S.2", "-S", "Npb.time_limit=1s")
    assert status == 1
    assert "> 1.0s" in only_problem(verdict)


@pytest.mark.parametrize("option", ["Npb.classes=W", "Npb.mode=nightly", "NpbBuild.classes=W"])
def test_a_choice_for_the_check_alone_is_refused(site, recorded, option):
    """The build would be of other classes, and its programs be missing."""
    script = replay(site, recorded(f"npb/{CG}"), "cg.S.2")
    for program, problem_class in itertools.product(npb.NAMES, "SWB"):
        np = 1 if program in npb.SQUARE else 2
        link = script.with_name(f"{program}.{problem_class}.{np}")
        if not link.exists():
            link.symlink_to(script)
    unused = '"name": "unused", "features": ["spack"], "target_systems": ["replay"]'
    change(
        site.folder / "site.py",
        ('"environs": ["recorded"]', '"environs": ["recorded", "unused"]'),
        ('"environments": [{', f'"environments": [{{{unused}}}, {{'),
    )
    case = "cg.S.2" if option.startswith("NpbBuild") else "cg.[BW].2"
    name = f"%program={case}%placement=intra-node%mapping=block%path=shared"
    site.reframe("-c", "checks/npb.py", "-r", "-n", name, "-S", option)
    _, verdict = site.gate()
    messages = [problem["text"] for problem in verdict["problems"]]
    assert any("its build is of another mode or of other classes" in text for text in messages)


def that_aborts(site):
    script = replay_file(site, CG, "cg.S.2")
    script.write_text(script.read_text() + "echo abort >&2\nexit 3\n")


CG_S.add("aborts", that_aborts)


def test_a_program_that_ends_with_a_status_fails_the_case(part):
    site, _ = part(CG_S, "aborts")
    status, verdict = site.gate()
    assert status == 1
    assert "exited with status 3: abort" in only_problem(verdict)


def in_a_folder(site, program):
    script = replay_file(site, "3.4_cg.S.2.openmpi.txt", program)
    folder = script.parent / "NPB/bin"
    folder.mkdir(parents=True)
    script.rename(folder / script.name)


FOUND = ("cg.S.2", "cg.S.x")
for _program in FOUND:
    CG_S.add(f"found {_program}", in_a_folder, _program)


@pytest.mark.parametrize("program", FOUND)
def test_a_program_is_found_in_a_folder_below_by_the_name_of_its_release(part, program):
    site, done = part(CG_S, f"found {program}")
    status, _ = site.gate()
    assert (done.status, status) == (0, 0), done.output


def that_is_no_help(site, program):
    script = replay_file(site, CG, program)
    script.chmod(0o755 if program != "cg.S.x" else 0o644)


NO_HELP = ("cg.S.4", "cg.W.x", "cg.S.x")
for _program in NO_HELP:
    CG_S.add(f"no help {_program}", that_is_no_help, _program)


@pytest.mark.parametrize("program", NO_HELP)
def test_a_program_that_is_missing_is_named_as_both_releases_name_it(part, program):
    """Those for another number, and another class, are no help; nor is one that cannot run."""
    site, _ = part(CG_S, f"no help {program}")
    status, verdict = site.gate()
    assert status == 1
    message = only_problem(verdict)
    assert f"{site.folder}/bin/cg.S.2 or cg.S.x: missing or not executable" in message
    assert "the environment recorded promises the suite npb" in message


#: What DT of class S says on its standard error of the graph BH.
SUM = " DT_BH.S L2 Norm = 30892725.000000"


WRONG_SUM, NO_SUM = SUM.replace("3089", "3098"), "no verification"


def that_says(site, said):
    extras = '"nodes": 1, "cores": 8, "mode": "acceptance"'
    output = recorded_text("npb/3.4.3_dt-bh.S.5.openmpi.txt")
    script = replay(site, output, "dt.S.x", extras)
    script.write_text(f'{script.read_text()}echo "{said}" >&2\n[ "$*" = BH ]\n')


for _said in (SUM, WRONG_SUM, NO_SUM):
    TRAFFIC_BH.add(_said, that_says, _said)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (SUM, ""),
        (WRONG_SUM, "the sum of what arrived is 30982725.000000 instead of 3089"),
        (WRONG_SUM, "so it is, too, where GCC compiled dt.c without -fwrapv"),
        (NO_SUM, "DT_BH.S: the sum of what arrived is not there"),
    ],
)
def test_dt_runs_its_graph_with_a_process_for_each_node(part, said, words):
    site, done = part(TRAFFIC_BH, said)
    status, verdict = site.gate()
    assert (done.status, status) == ((1, 1) if words else (0, 0)), done.output
    if words:
        assert words in only_problem(verdict)
        return
    case, values = only_case(site)
    assert case.benchmark == "npb.dt-bh"
    # Its time is 0.00 in most classes.
    assert values == {"mops_total": (42.34, "Mop/s")}
    assert case.provenance["suite"] == "NPB 3.4.3"
    assert "shorter than 1 s, not judged" in case.provenance["timing"]


# The cases that there are.


@pytest.mark.parametrize("option", [["-p", "rec"], ["-prec"], ["--prgenv=rec"], []])
def test_a_mode_leaves_the_choice_of_environments_alone(site, recorded, option):
    replay(site, recorded(f"npb/{CG}"), "cg.S.2")
    other = '"name": "other", "features": ["npb"], "target_systems": ["replay"]'
    change(
        site.folder / "site.py",
        ('"environs": ["recorded"]', '"environs": ["recorded", "other"]'),
        ('"environments": [{', f'"environments": [{{{other}}}, {{'),
    )
    found = {case[5] for case in listed(site, "--mode=smoke", *option)}
    assert found == {"recorded", *(() if option else ("other",))}


def listed(site, *options):
    """Return program, placement, mapping, path, partition and environment of all cases."""
    return cases_of(site.reframe("-c", "checks/npb.py", "-lC", *options))


def cases_of(done):
    """Return what `listed` does of a listing."""
    assert done.status == 0, done.output
    found = re.findall(
        r"^- Npb %program=(\S+) %placement=(\S+) %mapping=(\S+) %path=(\S+) "
        r"/\w+ @\w+:(\S+)\+(\S+)$",
        done.output,
        flags=re.MULTILINE,
    )
    assert len(found) == len(set(found)) == done.output.count("- Npb ")
    return found


def programs(cases, partition=None):
    """Return benchmark, class and processes."""
    split = (case[0].split(".") for case in cases if partition in (None, case[4]))
    return {(name, problem_class, int(np)) for name, problem_class, np in split}


def ways(cases):
    return {case[1:4] for case in cases}


TRAFFIC = '"nodes": 1, "cores": 48, "mode": "acceptance"'
ALL_WAYS = ("-S", "all_ways=yes")
NIGHTLY, OF_SIZES = [(1, 2, "B", 2), (2, 9, "B", 16), (4, 8, "C", 32)], '"nodes": {}, "cores": {}'
MEMORIES = ("2**30", "2**31", "2**32")
TWO_NODES = '"nodes": 2, "cores": 2, "memory": 3 * 2**29, "mode": "acceptance"'
LITTLE = '"nodes": 1, "cores": 32, "memory": 2**33'

#: Options of a listing -> the sizes of the partitions that are listed with them, all at once.
SIZES = {
    (): (
        SMOKE, TRAFFIC, LITTLE, OF_SIZES.format(2, 4),
        *(OF_SIZES.format(nodes, cores) for nodes, cores, *_ in NIGHTLY),
    ),
    ALL_WAYS: (SMOKE, OF_SIZES.format(2, 4)),
    ("-S", "classes=W"): (SMOKE,),
    ("-S", "classes=S,W"): (SMOKE,),
    ("-S", "classes=A,C"): (SMOKE,),
    ("-S", "classes=S"): (TRAFFIC,),
    ("-S", "classes=C"): (TRAFFIC,),
    ("-S", "classes=B"): (TWO_NODES,),
    ("--mode=nightly",): (
        SMOKE, TRAFFIC, *(f'{SMOKE}, "memory": {memory}' for memory in MEMORIES),
    ),
    ("--mode=acceptance",): (SMOKE, f'{SMOKE}, "memory": 2**40'),
}  # fmt: skip


def of_size(site, extras):
    """Make a replay of some size, not of this machine's."""
    replay_file(site, CG, "cg.S.2")
    change(
        site.folder / "site.py",
        (SMOKE, extras),
        ('"scheduler": "local"', '"scheduler": "pbs"'),
    )


LISTED = {options: Together("-c", "checks/npb.py", "-lC", *options) for options in SIZES}
for _options, _sizes in SIZES.items():
    for _extras in _sizes:
        LISTED[_options].add(_extras, of_size, _extras)


@pytest.fixture
def small(part):
    """List the cases of a replay of some size: `small(extras, options)`."""
    return lambda extras, *options: cases_of(part(LISTED[options], extras)[1])


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """List the cases of a paper's system in a mode, once each; it takes ReFrame ten seconds."""
    known = {}

    def cases(system, mode="acceptance"):
        if (system, mode) not in known:
            site = Site(tmp_path_factory.mktemp("npb"))
            known[system, mode] = listed(site, f"--system={system}", f"--mode={mode}")
        return known[system, mode]

    return cases


def test_smoke_runs_class_s_of_all_programs(small):
    usual = small(SMOKE)
    assert programs(usual) == {(name, "S", 1 if name in ("bt", "sp") else 2) for name in npb.NAMES}
    assert ways(usual) == {("intra-node", "block", "shared")}
    assert len(usual) == 8
    cases = small(SMOKE, *ALL_WAYS)
    assert programs(cases) == programs(usual)
    assert ways(cases) == {
        ("intra-node", "block", "shared"),
        ("intra-node", "block", "loopback"),
    }
    # One process has nobody to talk to, whichever way.
    assert {case[3] for case in cases if case[0].endswith(".1")} == {"shared"}
    assert len(cases) == 2 * 6 + 2


@pytest.mark.parametrize(
    ("classes", "expected"), [("W", {"W"}), ("S,W", {"S", "W"}), ("A,C", {"A", "C"})]
)
def test_classes_are_chosen_by_an_option(small, classes, expected):
    cases = small(SMOKE, "-S", f"classes={classes}")
    for name in npb.NAMES:
        assert {found[1] for found in programs(cases) if found[0] == name} == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # Two trees have a class for 43 processes, the shuffle one for 32.
        ((), {("dt-bh", "B", 43), ("dt-wh", "B", 43), ("dt-sh", "W", 32)}),
        (("-S", "classes=S"), {("dt-bh", "S", 5), ("dt-wh", "S", 5), ("dt-sh", "S", 12)}),
        (("-S", "classes=C"), set()),
        (("--mode=nightly",), set()),
    ],
)
def test_acceptance_runs_dt_with_the_most_processes_that_its_graphs_take(small, options, expected):
    cases = [case for case in small(TRAFFIC, *options) if case[0].startswith("dt")]
    assert programs(cases) == expected
    # 43 processes stand in one way only, on a node.
    assert {case[1:3] for case in cases} <= {("intra-node", "block")}


def test_dt_of_the_old_release_is_not_run(site):
    of_size(site, TRAFFIC)
    old = ('"extras": {"suites"', '"extras": {"versions": {"npb": "3.3.1"}, "suites"')
    change(site.folder / "site.py", old)
    cases = listed(site)
    assert cases
    assert not [case for case in cases if case[0].startswith("dt")]


def test_classes_of_a_sites_own_mode_are_listed(site):
    of_size(site, SMOKE)
    path = site.folder / "site.py"
    own = '"modes": [{"name": "weekly", "options": ["-S classes=W"]}], "environments": [{'
    path.write_text(path.read_text().replace('"environments": [{', own))
    assert {case[0].split(".")[1] for case in listed(site, "--mode=weekly")} == {"W"}


def test_what_a_mode_leaves_out_is_said_once(site, recorded):
    replay(site, recorded(f"npb/{CG}"), "cg.S.2")
    done = site.reframe("-c", "checks/npb.py", "-lC")
    line = "npb.py: mode smoke: 8 of 11 benchmarks; all: -S mode=acceptance"
    assert done.output.count(line) == 1


@pytest.mark.parametrize("classes", ["X", "w", "S, W", "SW"])
def test_a_class_that_there_is_not_is_refused(site, recorded, classes):
    replay(site, recorded(f"npb/{CG}"), "cg.S.2")
    done = site.reframe("-c", "checks/npb.py", "-lC", "-S", f"classes={classes}")
    assert "Concretized 0 test case(s)" in done.output
    word = classes.rpartition(",")[2]
    assert f"classes has {word!r}; it takes some of S,W,A" in done.output + done.errors


@pytest.mark.parametrize(("nodes", "cores", "problem_class", "np"), NIGHTLY)
def test_nightly_runs_the_class_that_suits_the_number_of_processes(
    small, nodes, cores, problem_class, np
):
    cases = small(OF_SIZES.format(nodes, cores))
    square = math.isqrt(nodes * cores) ** 2
    expected = {
        (name, problem_class, square if name in ("bt", "sp") else np)
        for name in npb.NAMES
        if name != "ep"
    }
    assert {case for case in programs(cases) if case[0] != "ep"} == expected
    assert {case[2:4] for case in cases} == {("block", "shared")}


def test_nightly_goes_all_ways_when_asked_to(small):
    extras = OF_SIZES.format(2, 4)
    usual = small(extras)
    every = small(extras, *ALL_WAYS)
    assert programs(usual) == programs(every)
    assert {case[2:4] for case in usual} == {("block", "shared")}
    assert {case[2:4] for case in every} == {
        *itertools.product(("block", "cyclic"), ("shared", "loopback"))
    }


def test_a_class_that_does_not_fit_into_the_memory_is_left_out(small):
    """Class B of ft takes 1.9 GB, of mg and is half a GB, and of the others less."""
    of_all = small(SMOKE, "--mode=nightly")
    small_memory = small(f'{SMOKE}, "memory": 2**30', "--mode=nightly")
    assert programs(of_all) - programs(small_memory) == {("ft", "B", 2)}
    assert programs(small(f'{SMOKE}, "memory": 2**31', "--mode=nightly")) == programs(small_memory)
    assert programs(small(f'{SMOKE}, "memory": 2**32', "--mode=nightly")) == programs(of_all)


def test_a_class_that_fits_into_two_nodes_is_not_run_on_one(small):
    cases = small(TWO_NODES, "-S", "classes=B")
    assert {case[:2] for case in cases if case[0].startswith("ft.")} == {
        ("ft.B.2", "inter-node"),
        ("ft.B.4", "inter-node"),
    }
    assert ("cg.B.2", "intra-node") in {case[:2] for case in cases}


def test_nightly_takes_the_smaller_class_where_the_larger_one_does_not_fit(small):
    """Class C of ft takes 7.5 GB."""
    cases = small(LITTLE)
    assert programs(cases) >= {("ft", "B", 16), ("cg", "C", 32)}


def test_the_largest_class_wants_to_know_the_memory(small):
    unknown = small(SMOKE, "--mode=acceptance")
    assert {case[1] for case in programs(unknown)} == {"C"}
    known = small(f'{SMOKE}, "memory": 2**40', "--mode=acceptance")
    assert {case[1] for case in programs(known)} == {"C", "D"}


def printed(system):
    """Return partition, benchmark, class and processes of all results of NPB of a paper."""
    found = set()
    with (REFERENCE / f"{system}.csv").open() as file:
        for row in csv.DictReader(file):
            suite, _, name = row["benchmark"].partition(".")
            if suite == "npb":
                keys = dict(pair.split("=") for pair in row["parameters"].split(";"))
                found.add((row["partition"], name, keys["class"], int(keys["np"])))
    return found


def test_acceptance_runs_all_that_kandadai2009_prints(published):
    cases = published("kandadai2009")
    expected = printed("kandadai2009")
    assert {where for where, *_ in expected} == {"ib-ddr", "eth-10g", "eth-1g"}
    assert {np for _, name, _, np in expected if name in ("bt", "sp")} >= {25, 121}
    networks = {where for where, *_ in expected}
    assert expected <= {(where, *what) for where in networks for what in programs(cases, where)}
    # Each of them in the usual way, with each MPI, and between nodes where it needs several.
    usual = {
        (case[4], case[5], *case[0].split("."))
        for case in cases
        if case[1:4] == ("inter-node", "block", "shared")
    }
    mpis = {"ib-ddr": ("mvapich2", "openmpi"), "eth-10g": ("mpich",), "eth-1g": ("mpich",)}
    for where, name, problem_class, np in expected:
        for mpi in mpis[where]:
            assert (where, f"spack-{mpi}", name, problem_class, str(np)) in usual


def test_nightly_runs_the_largest_number_though_a_paper_has_it(published):
    cases = published("kandadai2009", "nightly")
    for where in ("ib-ddr", "eth-10g", "eth-1g"):
        assert programs(cases, where) == {
            (name, "C", 121 if name in ("bt", "sp") else 128) for name in npb.NAMES
        }
    assert {case[2:4] for case in cases} == {("block", "shared")}


def test_acceptance_runs_both_sides_of_what_koop2008_claims(published):
    cases = {
        (case[4], case[3], *case[0].split("."))
        for case in published("koop2008")
        if case[1:3] == ("inter-node", "block")
    }
    sides = set()
    with (REFERENCE / "claims.csv").open() as file:
        for row in csv.DictReader(file):
            if row["paper"] == "koop2008" and row["benchmark"].startswith("npb."):
                for side in (row["left"], row["right"]):
                    where, *own = side.split(";")
                    keys = dict(pair.split("=") for pair in (*row["parameters"].split(";"), *own))
                    assert (keys["np"], keys["nodes"], keys["class"]) == ("16", "2", "B")
                    name = row["benchmark"].removeprefix("npb.")
                    partition = where.removeprefix("koop2008:")
                    sides.add((partition, keys["intranode"], name, "B", "16"))
    assert {side[:2] for side in sides} >= {
        ("qdr-pcie2", "shared"), ("qdr-pcie2", "loopback"), ("sdr-pcie1", "shared")
    }  # fmt: skip
    assert sides <= cases


def test_acceptance_lays_out_ranks_both_ways_for_subramoni2009(published):
    cases = published("subramoni2009")
    both = [{case[0] for case in cases if case[2] == way} for way in ("block", "cyclic")]
    for name in npb.NAMES:
        assert {program for program in both[0] & both[1] if program.startswith(name)}
    compared = {
        (case[0].split(".")[0], case[2])
        for case in cases
        if case[1] == "inter-node" and case[3:5] == ("shared", "nh-qdr")
    }
    assert compared == {*itertools.product(npb.NAMES, ("block", "cyclic"))}


#: System -> nodes of its partitions; each node has eight cores.
NODES = {
    "kandadai2009": dict.fromkeys(("ib-ddr", "eth-10g", "eth-1g"), 16),
    "koop2008": dict.fromkeys(("sdr-pcie1", "ddr-pcie1", "ddr-pcie2", "qdr-pcie2"), 2),
    "subramoni2009": {"nh-qdr": 4, "nh-ddr": 4, "ht-qdr": 2, "ht-ddr": 2, "ct-ddr": 4},
}


@pytest.mark.parametrize("system", NODES)
def test_no_case_is_illegal_or_has_more_ranks_than_cores(published, system):
    cases = published(system)
    assert {case[4] for case in cases} == NODES[system].keys()
    for program, placement, mapping, path, partition, _ in cases:
        name, problem_class, np = program.split(".")
        np = int(np)
        nodes = 1 if placement == "intra-node" else min(NODES[system][partition], np)
        assert 2 <= np <= 8 * nodes
        # Beyond a node there has to be another one.
        assert nodes > 1 or placement == "intra-node"
        if name in ("bt", "sp"):
            assert math.isqrt(np) ** 2 == np
        elif name != "ep":
            assert np.bit_count() == 1
        # All papers used 3.x of their time, which 3.3 stands for.
        assert npb.legal(name, problem_class, np, "3.3")
        assert npb.is_linkable(name, problem_class, np, "3.3")
        if nodes == 1:
            assert mapping == "block"
        if path == "loopback":
            # Some two ranks have to share a node.
            assert any(np > most and np % most == 0 for most in range(1, nodes + 1)) or np > nodes
