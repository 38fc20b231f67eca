"""The matrix of versions: what it says of a row that fails, was not run, or cannot be tried."""

import json
import re

import pytest

from tests import matrix
from tests.places import ROOT


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of rows that is not the one of this clone, and figures that are not kept."""
    monkeypatch.setattr(matrix, "FOLDER", tmp_path)
    kept = {}
    monkeypatch.setattr(
        matrix.tested, "record", lambda _name, _command, figures: kept.update(figures)
    )
    return kept


def untried(*_):
    raise matrix.Untried("no such thing here")


def test_rows_are_told_by_how_they_ended_and_the_others_as_not_run(folder, monkeypatch, capsys):
    good = matrix.Outcome("Python 3.99", passed=12, skipped=1)
    bad = matrix.Outcome("ReFrame 4.99", passed=3, failed=2, text="tests.a::one, tests.a::two")
    rows = {"good": lambda _: good, "bad": lambda _: bad, "none": untried, "late": untried}
    monkeypatch.setattr(matrix, "ROWS", rows)
    assert matrix.main(["good", "none"]) == 0
    assert matrix.main(["bad"]) == 1
    assert folder == {
        "good": "Python 3.99; 12 passed, 1 skipped",
        "bad": "ReFrame 4.99; 3 passed, 2 failed; tests.a::one, tests.a::two",
        "none": "no such thing here",
        "late": "not run",
    }
    printed = capsys.readouterr().out
    assert re.search(r"^good +12 +0 +1 +Python 3\.99$", printed, re.MULTILINE)
    assert re.search(r"^none +0 +0 +0 +no such thing here$", printed, re.MULTILINE)


def test_a_row_of_another_commit_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(matrix, "ROWS", {"one": lambda _: matrix.Outcome("A", passed=1)})
    matrix.outcome("one")
    path = tmp_path / "one.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "commit": "older"}))
    assert matrix.figure("one") == "A; 1 passed; at older"


def test_a_row_that_is_none_is_refused(capsys):
    with pytest.raises(SystemExit):
        matrix.main(["pyhton-3.10"])
    assert "no row pyhton-3.10; there are python-3.10, " in capsys.readouterr().err


def test_the_tests_of_a_row_are_counted_and_those_that_failed_named(tmp_path):
    file = tmp_path / "test_made.py"
    file.write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert False\n"
        "def test_skipped(): pytest.skip('why')\n"
    )
    options = (f"--rootdir={tmp_path}", f"--confcutdir={tmp_path}", "-c", "/dev/null")
    found = matrix.tests(matrix.sys.executable, "made", "these", *options, str(file))
    assert found == matrix.Outcome("these", 1, 1, 1, "test_made::test_bad")
    absent = matrix.tests(matrix.sys.executable, "made", "these", *options, f"{file}.not")
    assert absent.failed


def test_a_python_that_is_not_here_is_told(monkeypatch):
    monkeypatch.setattr(matrix, "uv", untried)
    with pytest.raises(matrix.Untried, match=r"not here: no python3\.99, and uv can get none"):
        matrix.interpreter("3.99")


def test_what_uv_says_is_told_without_an_address(monkeypatch):
    said = "warning: slow\n  x Failed to fetch: `https://index.example/numpy/`\nhint: none\n"
    failed = matrix.subprocess.CompletedProcess((), 1, said)
    monkeypatch.setattr(matrix, "run", lambda *_, **__: failed)
    with pytest.raises(matrix.Untried) as refused:
        matrix.uv("pip", "install", "numpy")
    assert str(refused.value) == "x Failed to fetch: the index"


def test_pins_are_those_of_the_lock_file_but_for_what_is_left_free():
    lines = matrix.pins("requirements.lock").splitlines()
    names = {re.split("==", line)[0] for line in lines}
    assert {"numpy", "duckdb"} <= names
    assert "reframe-hpc" not in names
    assert not [line for line in lines if "--hash" in line or line.endswith("\\")]


def test_the_classifiers_are_the_pythons_of_the_matrix_that_are_tried():
    """A Python that is on the list for the day when it is here is not claimed."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    claimed = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert claimed == [name for name in matrix.PYTHONS if name in claimed]
    assert claimed[0] == re.search(r'requires-python = ">=(.+)"', project)[1]


def test_the_tests_of_a_row_are_there():
    for name in (*matrix.TESTS, matrix.FORMS, matrix.LIVE[0]):
        file, _, test = name.partition("::")
        assert (ROOT / file).exists(), name
        assert not test or f"def {test}(" in (ROOT / file).read_text(), name
    for lock in matrix.LOCKS:
        assert (ROOT / f"{lock}.lock").exists()
