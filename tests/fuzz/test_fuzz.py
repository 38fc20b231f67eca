"""Fuzzing itself: it leads inputs through readers, and tells what they raise and do not declare."""

import subprocess
import sys

import pytest

from tests import fuzz
from tests.foreign import READERS
from tests.places import ROOT

needs_atheris = pytest.mark.skipif(bool(fuzz.WHY_NOT), reason=fuzz.WHY_NOT or "it is here")
#: Readers of one package, of which few modules are instrumented.
SOME = ("core.words.read_metric",)


@needs_atheris
def test_readers_take_inputs_without_a_fault(tmp_path):
    (outcome,) = fuzz.fuzz(SOME, 20, tmp_path, runs=300, seed=1)
    assert outcome.faults == []
    assert outcome.inputs >= 300
    learnt = len([*(tmp_path / SOME[0] / "corpus").iterdir()])
    assert learnt > len([*READERS[SOME[0]].examples()])


def test_a_fault_is_told_with_its_shortest_input(tmp_path):
    """Of a reader that is broken on purpose, in a process of its own."""
    script = f"""
import sys
sys.argv = ["child", {str(tmp_path)!r}, "1", "1", "1", "core.words.read_metric"]
import contextlib, importlib.machinery, types
from pathlib import Path
atheris = sys.modules["atheris"] = types.ModuleType("atheris")
atheris.__spec__ = importlib.machinery.ModuleSpec("atheris", None)
atheris.instrument_imports = lambda **_: contextlib.nullcontext()
from tests.fuzz import child
shortest, folder = {{}}, Path({str(tmp_path)!r})
for data in (b"long", b"ab", b"abc"):
    child._tell(shortest, folder, data, KeyError(data))
"""
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=120)
    (tmp_path / "log.txt").write_text("stat::number_of_executed_units: 3\n")
    outcome = fuzz._outcome("core.words.read_metric", tmp_path)
    assert outcome.inputs == 3
    assert [(fault["error"], fault["input"]) for fault in outcome.faults] == [
        ("KeyError: b'ab'", "ab")
    ]


def test_what_ended_a_process_is_a_fault(tmp_path):
    (tmp_path / "log.txt").write_text("==1== libFuzzer: timeout\n")
    (tmp_path / "timeout-1a").write_bytes(b"a[0-9")
    (fault,) = fuzz._outcome("r", tmp_path).faults
    assert (fault["error"], fault["input"]) == ("timeout-1a", "b'a[0-9'")
    (tmp_path / "timeout-1a").unlink()
    (fault,) = fuzz._outcome("r", tmp_path).faults
    assert fault["error"] == "its process was ended"


def test_without_atheris_it_says_how_to_get_it(capsys, monkeypatch):
    from tests.fuzz import __main__ as program

    monkeypatch.setattr(program, "WHY_NOT", "no atheris")
    monkeypatch.setattr(sys, "argv", ["tests.fuzz"])
    assert program.main() == 2
    assert capsys.readouterr().err == "no atheris\n"
