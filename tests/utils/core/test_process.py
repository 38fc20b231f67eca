"""How programs end, as data."""

import sys

import pytest

from acceptance.core import machine


def test_a_program_that_ends_well_has_no_fault():
    done = machine.run(["sh", "-c", "cat; echo note >&2"], 60, text="in\n")
    assert (done.out, done.err, done.status, done.fault) == ("in\n", "note\n", 0, "")


def test_a_fault_is_the_first_line_or_the_status():
    assert machine.run(["sh", "-c", "echo; echo why >&2; exit 3"], 60).fault == "why"
    silent = machine.run(["sh", "-c", "exit 3"], 60)
    assert (silent.status, silent.fault) == (3, "sh ends with status 3")


def test_what_does_not_start_is_not_late():
    done = machine.run(["/nowhere/program"], 60)
    assert (done.status, done.late) == (None, False)
    assert done.fault == "/nowhere/program cannot be run: No such file or directory"


def test_what_does_not_end_is_late():
    done = machine.run([sys.executable, "-c", "import time; time.sleep(60)"], 0.2)
    assert (done.status, done.late) == (None, True)
    assert done.fault.endswith(" did not end within 0.2 s")


def test_a_file_of_python_is_run_anew_each_time_and_compiled_where_it_has_changed(tmp_path):
    path, other = tmp_path / "one.py", tmp_path / "other.py"
    other.write_text("NAMES = []\n")
    path.write_text(
        "from acceptance.core.machine import names_in\nfrom pathlib import Path\n"
        f"NAMES = names_in(Path({str(other)!r}))['NAMES']\nNAMES.append(__file__)\n"
    )
    first, second = machine.names_in(path), machine.names_in(path)
    assert first["NAMES"] == second["NAMES"] == [str(path)]
    assert first["NAMES"] is not second["NAMES"]
    assert machine.code_of(path) is machine.code_of(path)
    other.write_text("NAMES = [0]\n")
    assert machine.names_in(path)["NAMES"] == [0, str(path)]
    assert "<run_path>" not in sys.modules


def test_what_a_file_of_python_raises_is_told_with_its_line(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text("\n\nnobody\n")
    with pytest.raises(NameError) as told:
        machine.names_in(path)
    assert (told.traceback[-1].path, told.traceback[-1].lineno) == (path, 2)
    assert "<run_path>" not in sys.modules
