"""References in ReFrame's own form: ReFrame takes what is written, and ours judge what is read."""

import subprocess

import pytest
import yaml

from acceptance.references import load, tables
from acceptance.suites import class_of, of_class
from tests.conftest import BIN
from tests.utils.references.made import VALUES, add, edit, make, refused

#: A site's file, with an entry of a benchmark and one of a check of its own.
FILE = """\
imb_PingPong:
  $index: [$partition, $environ, num_tasks, placement]
  theirs:batch:
    gnu:
      2:
        inter-node:
          latency_8: [1.5, null, 0.1, us]
          bandwidth_peak: [9000, -0.05, null, MB/s]
        '.*':
          latency_8: [0.5, null, 0.2, us]
OwnCheck:
  'theirs:batch':
    rate: [5, -0.1, 0.2, 'MB/s']
"""
PLACE = "theirs", "batch"
#: A plain check, outside of any clone: what it measures, with which placement and tasks.
CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class imb_PingPong(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    reference = {"$ref": "refs.yaml"}
    require_reference = True
    given = parameter([
        (1.6, "inter-node", 2), (1.7, "inter-node", 2), (0.6, "intra-node", 2),
        (1.6, "inter-node", 4),
    ])

    @run_after("init")
    def take(self):
        self.value, self.placement, self.num_tasks = self.given

    @sanity_function
    def ran(self):
        return sn.assert_found("", self.stdout)

    @performance_function("us")
    def latency_8(self):
        return self.value
"""


@pytest.fixture
def theirs(folder):
    (folder / "sites/theirs.yaml").write_text(FILE)
    return folder


def test_a_sites_file_judges_ours_and_its_own_checks_with_its_bounds(theirs):
    library = load(theirs)
    keys = {"np": "2", "nodes": "2", "environment": "gnu", "message_size": "8"}

    def found(benchmark, metric, unit, **more):
        return library.look_up(*PLACE, benchmark, metric, {**keys, **more}, unit)

    between = found("imb.PingPong", "latency", "us", placement="inter-node")
    within = found("imb.PingPong", "latency", "us", placement="intra-node")
    assert (between.value, library.thresholds(between)) == (1.5, (None, 0.1))
    assert (within.value, library.thresholds(within)) == (0.5, (None, 0.2))
    assert between.citation == (
        "baseline theirs, imb_PingPong theirs:batch gnu 2 inter-node latency_8"
    )
    assert (between.path.name, between.line) == ("theirs.yaml", 7)
    assert found("imb.PingPong", "latency", "us", placement="inter-node", np="4") is None
    del keys["message_size"]
    own = found("OwnCheck", "rate", "MB/s")
    assert (own.value, own.line, library.thresholds(own)) == (5.0, 13, (-0.1, 0.2))


def test_what_makes_a_quantity_another_one_is_stated_or_left_out(theirs):
    """A level may say nothing of it, `''`, and what it says is of the reference."""
    edit(theirs / "sites/theirs.yaml", "num_tasks, placement]", "num_tasks, window]")
    edit(theirs / "sites/theirs.yaml", "        inter-node:", "        create:")
    edit(theirs / "sites/theirs.yaml", "        '.*':", "        '':")
    rows = {row.line: row.parameters for row in load(theirs).baselines if row.line in (7, 10)}
    both = {"np": "2", "environment": "gnu", "message_size": "8"}
    assert rows == {7: {**both, "window": "create"}, 10: both}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("[5, -0.1, 0.2, 'MB/s']", "[5, null, null, 'MB/s']", 13, "nothing can miss it"),
        ("[5, -0.1, 0.2, 'MB/s']", "[5, -1, null, 'MB/s']", 13, "a lower bound above -1"),
        ("[5, -0.1, 0.2, 'MB/s']", "[5, -0.1, 0.2]", 13, "[value, lower, upper, unit]"),
        ("[5, -0.1, 0.2, 'MB/s']", "[0, -0.1, 0.2, 'MB/s']", 13, "a number above 0"),
        ("[5, -0.1, 0.2, 'MB/s']", "[5, 0.1, 0.2, 'MB/s']", 13, "fractions from -1 to 0 and"),
        ("[5, -0.1, 0.2, 'MB/s']", "[5, -0.1, .nan, 'MB/s']", 13, "within is (-0.1, nan)"),
        ("[5, -0.1, 0.2, 'MB/s']", "[5, -0.1, 0.2, [MB/s]]", 13, "unknown unit"),
        ("[5, -0.1, 0.2, 'MB/s']", "!!python/tuple [5]", 13, "cannot be read"),
        ("    rate: [5, -0.1, 0.2, 'MB/s']", "    {}", 13, "has no entry"),
        ("num_tasks, place", "num_tasks, np, place", 2, "two levels for np"),
        ("num_tasks, place", "[np], place", 2, "unknown attribute in the $index"),
        ("[5, -0.1, 0.2, 'MB/s']", "[5, -0.1, 0.2, furlongs]", 13, "unknown unit 'furlongs'"),
        ("[5, -0.1, 0.2, 'MB/s']", "5", 13, "[value, lower, upper, unit]"),
        ("[5, -0.1, 0.2, 'MB/s']", "['$xfail', bug, [5, -0.1, 0.2, MB/s]]", 13, "alerts ack --exp"),
        ("      2:", "      '2':", 5, "num_tasks is a number: '2' as a text matches nothing"),
        ("num_tasks, place", "tasks, place", 2, "unknown attribute in the $index of imb_PingPong"),
        ("$partition, $env", "$env", 2, "it is of no system"),
        ("imb_PingPong:", "imb_PingPog:", 2, "unknown attribute in the $index of imb_PingPog"),
        ("theirs:batch:", "mine:batch:", 7, "write the partition as theirs:PARTITION"),
        ("        inter-node:", "        next-door:", 7, "next-door"),
        ("          bandwidth_peak", "          latency_8", 8, "stands twice"),
        ("[1.5, null, 0.1, us]", "[1.5, null", 8, "cannot be read"),
        (FILE, "", 0, "has no entry"),
    ],
)  # fmt: skip
def test_what_reframe_would_drop_in_silence_is_refused_with_its_line(theirs, old, new, line, words):
    edit(theirs / "sites/theirs.yaml", old, new)
    refused(theirs, "sites/theirs.yaml", line, words)


def test_a_reference_stands_once_in_whichever_file(theirs):
    row = "run,theirs,batch,OwnCheck,rate,,=,6,MB/s,6,"
    (theirs / "sites/theirs.csv").write_text(f"{VALUES}\n{row}\n")
    refused(theirs, "sites/theirs.yaml", 13, "theirs.csv:2 has '=' for the same quantity, too")


def test_each_benchmark_has_a_class_of_its_name():
    assert (class_of("osu.mbw_mr"), of_class("osu_mbw_mr")) == ("osu_mbw_mr", "osu.mbw_mr")
    assert of_class("OwnCheck") == "OwnCheck"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A site's folder with its check, and references of system `generic` as they are written."""
    folder = make(tmp_path_factory.mktemp("references"))
    row = "run,generic,default,imb.PingPong,latency,np=2;message_size=8{},=,{},us,{},"
    (folder / "sites/generic.csv").write_text(f"{VALUES}\n")
    add(
        folder,
        row.format(";placement=inter-node", "1.5", "1.5"),
        row.format("", "0.5", "0.5"),
        "run,generic,default,imb.PingPong,bandwidth_peak,np=2,>=,9000,MB/s,9000,",
        name="sites/generic.csv",
    )
    library = load(folder)
    text = tables.as_reframe(library, tables.select(library))
    site = tmp_path_factory.mktemp("site")
    (site / "refs.yaml").write_text(text)
    (site / "check.py").write_text(CHECK)
    return library, site, text


def test_each_number_is_written_with_its_bounds_and_its_origin(written):
    _, _, text = written
    data = yaml.safe_load(text)
    assert data["imb_PingPong"]["$index"] == ["$partition", "num_tasks", "placement"]
    assert data["imb_PingPong"]["generic:default"][2] == {
        "inter-node": {
            "latency_8": [1.5, -1, 0.1, "us"],
            "bandwidth_peak": [9000, -0.05, None, "MB/s"],
        },
        ".*": {
            "latency_8": [0.5, -1, 0.1, "us"],
            "bandwidth_peak": [9000, -0.05, None, "MB/s"],
        },
    }
    assert "# baseline generic, run (generic.csv:2)" in text
    assert "# published saini, Table 2 (saini.csv:2): is of no partition" in text


def test_what_was_written_is_read_as_the_same(written, folder):
    library, _, text = written
    (folder / "sites/generic.yaml").write_text(text)
    entries = yaml.safe_load(text)["imb_PingPong"]
    for system in [*entries]:  # a site's file is of its system alone
        if system not in ("$index", "generic:default"):
            del entries[system]
    (folder / "sites/generic.yaml").write_text(yaml.safe_dump({"imb_PingPong": entries}))
    again = load(folder)
    for placement in ("inter-node", "intra-node"):
        keys = {"np": "2", "placement": placement, "message_size": "8"}
        asked = ("generic", "default", "imb.PingPong", "latency", keys, "us")
        before, after = library.look_up(*asked), again.look_up(*asked)
        assert after.value == before.value
        assert again.thresholds(after) == library.thresholds(before)


def test_a_plain_check_elsewhere_passes_and_fails_by_them(written):
    _, site, _ = written
    done = subprocess.run(
        [BIN / "reframe", "--system=generic", "-c", "check.py", "-r"],
        cwd=site, capture_output=True, text=True, timeout=120,
        env={"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(site), "RFM_COLORIZE": "0"},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    words = "Ran 4/4 test case(s) from 4 check(s) (3 failure(s)"
    reasons = ("latency_8=1.7 us, expected 1.5", "latency_8=0.6 us, expected 0.5", "no reference")
    for each in (words, *reasons):
        assert each in done.stdout, done.stdout
