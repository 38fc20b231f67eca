"""How programs end, as data."""

import sys

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
