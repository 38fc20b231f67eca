"""A site's own checks beside ours: in each way to start ReFrame they end as in plain ReFrame."""

import json
import re
import sqlite3
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import ForceExitError, LoggingError

from acceptance.core.paths import FRAGMENT
from checks import reframe_patches
from tests.conftest import Site
from tests.places import ROOT

#: One check of each kind that a site may have; each runs `echo`, and passes unless it says so.
OWN = """
import reframe as rfm
import reframe.utility.sanity as sn


class Own(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["rate: 5.0"]
    value = variable(object, value=None)

    @sanity_function
    def sane(self):
        return sn.assert_found("rate", self.stdout)


class OwnMeasuring(Own):
    @performance_function("MB/s")
    def rate(self):
        return self.value


@rfm.simple_test
class OwnNumber(OwnMeasuring):
    value = 5.0


@rfm.simple_test
class OwnNone(OwnMeasuring):
    value = None


@rfm.simple_test
class OwnText(OwnMeasuring):
    value = "fast"


@rfm.simple_test
class OwnNaN(OwnMeasuring):
    value = float("nan")


class Odd(float):
    # A number that only ReFrame's own way to show it can show.

    def __format__(self, form):
        return str(float(self)) if not form else fail(form)


@rfm.simple_test
class OwnOdd(OwnMeasuring):
    value = Odd(5.0)


@rfm.simple_test
class OwnOddToo(OwnOdd):
    reference = {"*": {"rate": (50.0, -0.1, None, "MB/s")}}


@rfm.simple_test
class OwnRaising(OwnMeasuring):
    @performance_function("MB/s")
    def rate(self):
        raise ValueError("no rate found")


@rfm.simple_test
class OwnOffReference(OwnMeasuring):
    value = 5.0
    reference = {"*": {"rate": (50.0, -0.1, None, "MB/s")}}


@rfm.simple_test
class OwnFunctional(Own):
    pass


@rfm.simple_test
class OwnSkipped(Own):
    @run_after("setup")
    def give_up(self):
        self.skip("not here")


@rfm.simple_test
class OwnExpected(OwnMeasuring):
    value = 5.0
    reference = {"*": {"rate": xfail("known", (50.0, -0.1, None, "MB/s"))}}


@rfm.simple_test
class OwnInsane(Own):
    @sanity_function
    def sane(self):
        return sn.assert_found("nothing of this", self.stdout)


@rfm.simple_test
class Stopping(Own):
    @run_before("run")
    def stop(self):
        raise KeyboardInterrupt
"""

CONFIGURATION = """
site_configuration = {{
    "systems": [{{
        "name": "mysite", "hostnames": [".*"], "prefix": {folder!r},
        "partitions": [{{
            "name": "login", "scheduler": "local", "launcher": "local", "environs": ["gnu"],
        }}],
    }}],
    "environments": [{{"name": "gnu"}}],
    "general": [{{"report_file": {folder!r} + "/report.json"}}],
    "storage": [{{"enable": True, "sqlite_db_file": {folder!r} + "/results.db"}}],
    "logging": [{{
        "handlers": [{{
            "type": "file", "name": {folder!r} + "/site.log", "level": "info", "append": True,
            "format": "site: %(message)s",
        }}],
        "handlers_perflog": [{{
            "type": "filelog", "basedir": {folder!r} + "/perflogs", "prefix": "site",
            "format": "%(check_name)s|%(check_result)s|%(check_perfvalues)s",
            "format_perfvars": "%(check_perf_value)s %(check_perf_unit)s|",
        }}],
    }}],
}}
"""
RUN = ("-r", "-n", "Own", "--max-retries=1", "--report-junit={folder}/junit.xml")
SERIAL = "--exec-policy=serial"
#: The columns of the matrix, in their order: a way to start ReFrame -> the words after `-c`. The
#: first run is that without a retry.
WAYS = {
    "run": RUN,
    "restore-session": (
        "-r",
        "-n",
        "OwnNone",
        "--failed",
        "--restore-session={folder}/report.json",
    ),
    "abort": ("-r", SERIAL, "-n", "OwnNumber|OwnNone|Stopping"),
    "dry-run": ("--dry-run", "-n", "Own"),
    "list": ("-l", "-n", "Own"),
    "ci-generate": ("--ci-generate={folder}/ci.yml", "-n", "Own"),
}
#: A check file of ours, which brings all that we change in ReFrame.
OURS = str(ROOT / "checks/imb.py")
#: How the warning of a failure of ours begins.
WARNING = (
    "WARNING: checks/reframe_patches.py: its patch of reframe.frontend.executors.policies:"
    "_print_perf failed, so that ReFrame goes on without it; no check is at fault, please report "
    "it: NameError: name 'fail' is not defined"
)
#: Lines of ReFrame's output that are ours.
ADDED = re.compile(
    r"==> \d+\.\d s(, rate (5|nan) MB/s)?$"
    r"|\[-{10}\] \d+ cases and builds; rest unknown: none of the \d+ left ran here of late$"
    r"|\[-{10}\] \d+ cases and builds; about \d+ s left"
    r"|\[-{10}\] \d+ of \d+ done in \d+ s; "
    r"|no case of imb.py on mysite:login; acceptance doctor says why$"
    rf"|{WARNING}"
)
#: What differs from run to run -> what takes its place; so does where ours come in.
NEUTRAL = {
    rf" -c {OURS}|{OURS}:": "",
    rf""", ['"]{FRAGMENT}['"]| -C {FRAGMENT}""": "",
    r""", ['"]FOLDER/var/log/reframe_[-\d]+\.log['"]""": "",
    "FOLDER/var/results.db": "FOLDER/results.db",
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "UUID",
    r"(Started|Finished) on .*": r"\1",
    r"/tmp/rfm-\w+\.log": "LOG",
    r"\(id=\d+\)": "(id)",
    r"\( *\d+/( *\d+)\)": r"(n/\1)",
    r' time(stamp)?="[^"]+"': "",
}
#: Keys of a stored session that hold times, or numbers of processes.
TIMES = re.compile(r"time_(?!limit)|job_submit|job_completion|jobid|build_jobid")


def neutral(text, folder):
    """Return a text without what differs from run to run."""
    text = text.replace(str(folder), "FOLDER")
    for pattern, word in NEUTRAL.items():
        text = re.sub(pattern, word, text)
    return text


def timeless(value):
    """Return stored data without times; the order in which cases ended is none of a result."""
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if not TIMES.match(key)}
    if isinstance(value, list):
        return [timeless(each) for each in value]
    return value


@dataclass
class Beside:
    """A site's own checks beside `more` check files: what each way to start ReFrame left."""

    site: Site
    more: tuple = ()
    fragment: str = ""

    def __post_init__(self):
        folder = self.site.folder
        (folder / "site.py").write_text(CONFIGURATION.format(folder=str(folder)))
        (folder / "own.py").write_text(OWN)
        self.site.environment["RFM_CONFIG_FILES"] = f"{folder / 'site.py'}{self.fragment}"

    def start(self, *words):
        """Start ReFrame; return its exit status and the lines that it printed."""
        words = [word.format(folder=self.site.folder) for word in words]
        done = self.site.reframe(*self.more, "-c", self.site.folder / "own.py", *words)
        return done.status, neutral(done.output + done.errors, self.site.folder).splitlines()

    def sessions(self):
        """Return what the results database holds, and the number of its cases, as text."""
        kept = self.site.database if self.fragment else self.site.folder / "results.db"
        with sqlite3.connect(kept) as database:
            cases = database.execute("SELECT count(*) FROM testcases").fetchall()
            blobs = database.execute("SELECT json_blob FROM sessions ORDER BY rowid").fetchall()
        texts = (neutral(blob, self.site.folder) for (blob,) in blobs)
        return [json.dumps(timeless(json.loads(text)), indent=1) for text in texts], cases

    def results(self, number):
        """Return what became of each case of a session: name -> its results, one a run."""
        found = {}
        for run in json.loads(self.sessions()[0][number])["runs"]:
            for case in run["testcases"]:
                found.setdefault(case["name"], []).append(case["result"])
        return found

    def text(self, name):
        """Return a file that ReFrame wrote."""
        return neutral((self.site.folder / name).read_text(), self.site.folder)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """Each way to start ReFrame, without ours, with our checks, and with our fragment, too.

    For each of the three sides: itself, and its answers.
    """
    found = []
    for more in ((), (("-c", OURS),), (("-c", OURS), f":{FRAGMENT}")):
        side = Beside(Site(tmp_path_factory.mktemp("own")), *more)
        found.append((side, {way: side.start(*words) for way, words in WAYS.items()}))
    return found


@pytest.mark.parametrize("beside", [1, 2], ids=["checks", "fragment"])
@pytest.mark.parametrize("way", WAYS)
def test_a_sites_own_checks_end_as_in_plain_reframe(matrix, way, beside):
    (_, plain), (_, ours) = matrix[0], matrix[beside]
    (status, lines), (our_status, our_lines) = plain[way], ours[way]
    assert our_status == status == (way in ("run", "restore-session", "abort"))
    kept = [line for line in our_lines if not ADDED.match(line)]
    assert len(kept) < len(our_lines), "ours are in the path"
    # Cases that run side by side end in any order.
    assert sorted(kept) == sorted(lines)


@pytest.mark.parametrize("beside", [1, 2], ids=["checks", "fragment"])
def test_they_are_stored_and_reported_as_in_plain_reframe(matrix, beside):
    (plain, _), (ours, _) = matrix[0], matrix[beside]
    assert ours.sessions() == plain.sessions()
    for name in ("junit.xml", "ci.yml"):
        assert ours.text(name) == plain.text(name)


@pytest.mark.parametrize("beside", [1, 2], ids=["checks", "fragment"])
def test_the_logs_of_the_site_are_written_as_in_plain_reframe(matrix, beside):
    (plain, _), (ours, _) = matrix[0], matrix[beside]
    for name in ("site.log", "perflogs/site/OwnNumber.log"):
        lines = [each.text(name).splitlines() for each in (plain, ours)]
        kept = [line for line in lines[1] if not ADDED.match(line.removeprefix("site: "))]
        assert sorted(kept) == sorted(lines[0])
        assert lines[0]
    logged = list(ours.site.var.glob("log/reframe_*.log"))
    assert len(logged) == (beside == 2), "beside ours"


def test_the_matrix_has_each_kind_of_result(matrix):
    for side, _ in matrix:
        failing = {"None", "Text", "NaN", "OddToo", "OffReference", "Insane"}
        expected = {f"Own{kind}": ["fail", "fail"] for kind in failing}
        passing = {"Number": "pass", "Odd": "pass", "Raising": "pass", "Functional": "pass"}
        others = {**passing, "Skipped": "skip", "Expected": "xfail"}
        expected |= {f"Own{kind}": [result] for kind, result in others.items()}
        assert side.results(0) == expected
        assert side.results(1) == {"OwnNone": ["fail"]}
        assert side.results(2) == {
            "OwnNumber": ["pass"],
            "OwnNone": ["fail"],
            "Stopping": ["abort"],
        }


def test_a_failure_of_ours_is_one_warning(matrix):
    _, (_, ours), _ = matrix
    for way in ("run", "restore-session"):
        told = [line for line in ours[way][1] if line.startswith(WARNING)]
        assert len(told) == (way == "run"), "once, of two cases and a retry"


class Own:
    """A function of ReFrame, which counts its calls, and fails where it is told to."""

    def __init__(self, fault=None):
        self.fault, self.calls = fault, 0

    def __call__(self):
        self.calls += 1
        if self.fault:
            raise self.fault
        return "answer"

    __name__ = __qualname__ = __doc__ = "own"


def before(original):
    raise IndexError("ours, before")


def after(original):
    original()
    raise IndexError("ours, after")


def swallowing(original):
    try:
        original()
    except ValueError:
        raise IndexError("ours, for it") from None


def on_purpose(original):
    raise LoggingError("of a line")


def stopped(original):
    raise ForceExitError("received signal 15")


@pytest.fixture
def warnings(monkeypatch):
    """The warnings of failures of ours."""
    told = []
    reframe_patches._warn_once.cache_clear()
    monkeypatch.setattr(reframe_patches, "getlogger", lambda: SimpleNamespace(warning=told.append))
    return told


def around(ours, own, **options):
    """Return what ReFrame calls in place of its own function."""
    patch = reframe_patches.Patch(
        "module:name", lambda original: lambda: ours(original), "", "", **options
    )
    return patch.around(own)


@pytest.mark.parametrize("ours", [before, after])
def test_where_ours_fails_reframes_own_answer_holds_and_is_asked_for_once(warnings, ours):
    own = Own()
    patched = around(ours, own)
    assert patched() == "answer"
    assert own.calls == 1
    assert patched() == "answer"
    assert len(warnings) == 1
    assert "IndexError: ours" in warnings[0]


@pytest.mark.parametrize("ours", [before, after, swallowing, lambda original: original()])
def test_what_reframe_raises_itself_stays_raised(warnings, ours):
    fault = ValueError("of ReFrame")
    with pytest.raises(ValueError, match="of ReFrame"):
        around(ours, Own(fault))()
    assert not [line for line in warnings if "of ReFrame" in line]


def test_what_ends_a_session_and_what_is_raised_on_purpose_is_let_through(warnings):
    with pytest.raises(ForceExitError):
        around(stopped, Own())()
    with pytest.raises(LoggingError):
        around(on_purpose, Own(), raises=(LoggingError,))()
    assert around(on_purpose, Own())() == "answer"
    assert len(warnings) == 1
