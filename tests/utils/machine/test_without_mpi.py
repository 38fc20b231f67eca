"""What a node does without MPI, measured on this one, and how long processes waited there."""

import os
import subprocess
import time

import pytest

from acceptance.fabric import inside
from acceptance.machine import WAITED, WITHOUT_MPI, usable_cores, without_mpi

#: A python3 that leaves a line in the file `calls` instead of measuring.
COUNTING = "#!/bin/sh\necho called >> {}\necho '{{\"made\": 1}}'\n"


def measured(folder, *python, path=None):
    env = {**os.environ, **({"PATH": path} if path else {})}
    command = ["/bin/sh", WITHOUT_MPI, folder, *python]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_a_node_says_what_it_copies_and_how_long_messages_take(tmp_path):
    run = measured(tmp_path / "kept")
    assert run.stderr == ""
    found = inside.read(run.stdout)
    assert (found.node, found.cores) == (os.uname().nodename, usable_cores())
    for copies in (found.alone, found.together):
        assert [*copies] == [2**n for n in (16, 18, 20, 22, 24)]
        assert all(0 < low <= median <= high for low, median, high in copies.values())
    assert 0 < found.copy <= found.most()
    if found.cores > 1:
        assert all(0 < low <= median <= high for low, median, high in (found.core, found.tcp))
    assert found.shm is None or 0 <= found.shm[1] <= found.shm[0]
    assert abs(time.time() - found.time) < 600


def counting(folder):
    """Return a PATH on which python3 only counts, and the file with the count."""
    folder.mkdir()
    calls = folder / "calls"
    python = folder / "python3"
    python.write_text(COUNTING.format(calls))
    python.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}", calls


def test_a_node_is_measured_once_in_ten_minutes(tmp_path):
    path, calls = counting(tmp_path / "bin")
    kept = tmp_path / "kept"
    assert {measured(kept, path=path).stdout for _ in range(3)} == {'{"made": 1}\n'}
    assert calls.read_text() == "called\n"
    (file,) = kept.iterdir()
    old = time.time() - 700
    os.utime(file, (old, old))
    measured(kept, path=path)
    assert calls.read_text() == "called\n" * 2


def test_a_measurement_that_fails_tells_nothing_older(tmp_path):
    path, _ = counting(tmp_path / "bin")
    kept = tmp_path / "kept"
    measured(kept, path=path)
    (file,) = kept.iterdir()
    old = time.time() - 700
    os.utime(file, (old, old))
    (tmp_path / "bin/python3").write_text("#!/bin/sh\necho no memory >&2\nexit 1\n")
    failed = measured(kept, path=path)
    assert (failed.stdout, failed.stderr) == ("", "no memory\n")
    assert failed.returncode != 0
    assert [*kept.iterdir()] == [file]


def test_a_core_that_others_had_in_all_turns_is_told(monkeypatch):
    """It began when its turns were over."""
    for name in ("BEGIN", "FORK"):
        monkeypatch.setattr(without_mpi, name, -10)
    with pytest.raises(OSError, match="too busy: no core got to copy 65536 bytes"):
        without_mpi.copied(sorted(os.sched_getaffinity(0))[:1])


def test_a_process_whose_partner_has_died_ends(monkeypatch):
    monkeypatch.setattr(without_mpi, "LIMIT", 1)
    cpu = min(os.sched_getaffinity(0))
    with pytest.raises(OSError, match="a process of the measurement failed"):
        without_mpi.trips(lambda _: time.sleep(600), lambda: os._exit(1), [cpu, cpu])


@pytest.mark.skipif(usable_cores() < 2, reason="it takes two CPUs")
def test_other_cpus_are_measured_anew_however_many_they_are(tmp_path):
    path, calls = counting(tmp_path / "bin")
    cpus = os.sched_getaffinity(0)
    try:
        for cpu in sorted(cpus)[:2]:
            os.sched_setaffinity(0, {cpu})
            measured(tmp_path / "kept", path=path)
    finally:
        os.sched_setaffinity(0, cpus)
    assert calls.read_text() == "called\n" * 2


def test_reframes_own_python_measures_where_there_is_no_other(tmp_path):
    _, calls = counting(tmp_path / "bin")
    (tmp_path / "bin/python3").rename(tmp_path / "bin/mine")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("hostname", "grep", "cksum", "find", "mkdir", "mv", "rm", "cat"):
        found = next(each for each in ("/usr/bin", "/bin") if os.path.exists(f"{each}/{name}"))
        (tools / name).symlink_to(f"{found}/{name}")
    run = measured(tmp_path / "kept", tmp_path / "bin/mine", path=str(tools))
    assert run.stdout == '{"made": 1}\n'
    assert calls.read_text() == "called\n"
    failed = measured(tmp_path / "other", path=str(tools))
    assert failed.stdout == ""
    assert failed.returncode != 0
    assert failed.stderr


def test_how_long_processes_waited_is_told(tmp_path):
    command = ["/bin/sh", WAITED]
    first, last = (subprocess.check_output(command, text=True) for _ in range(2))
    found = inside.waited(first, last)
    # A kernel may tell nothing; what it tells does not go back.
    assert found is None or (found[0] >= 0 and found[1] >= 0)
    assert "cpu  " in first
