"""Which other runs had jobs on this machine: by files that anybody may have written."""

import os
import subprocess
import time

import pytest

from acceptance.core import process_id
from acceptance.launch.machine_use import Journal, MachineUseFault

JOB = 4242
#: A job of another run, by its first process: there, not there, another process of that number.
HERE = f"+ {os.getpid()} {process_id.ticks(os.getpid())}"
KILLED, OTHER = f"+ {2**22 + 1} 7", f"+ {os.getpid()} 7"


@pytest.fixture
def journal(tmp_path):
    return Journal("a run of me", tmp_path)


def other_run(journal, *lines, name="1-2-3"):
    path = journal.folder / f"acceptance-jobs-{process_id.boot()[:8]}-{name}"
    path.write_text("".join(f"{line}\n" for line in ("a run of you\x1b[31m", *lines)))
    return path


@pytest.mark.parametrize(
    ("lines", "noticed"),
    [
        ([f"{HERE} 1"], True),
        ([f"{KILLED} 1"], False),
        ([f"{OTHER} 1"], False),
        ([f"{KILLED} 1", f"- {2**22 + 1} {{during}}"], True),
        ([f"{KILLED} 1", f"- {2**22 + 1} 2"], False),
        ([f"{KILLED} {{during}}", f"- {2**22 + 1} {{later}}"], True),
        ([f"{KILLED} {{later}}", f"- {2**22 + 1} {{later}}"], False),
        (["+", "- 1 2", "half a li"], False),
        (["+ nobody 1 x"], False),
        ([], False),
    ],
)
def test_a_job_of_another_run_is_noticed_if_it_was_there_meanwhile(journal, lines, noticed):
    journal.begin(JOB)
    time.sleep(0.02)
    during = time.monotonic()
    later = during + 100
    other_run(journal, *(line.format(during=during, later=later) for line in lines))
    journal.end(JOB)
    # A terminal obeys nothing of what another user has written.
    assert journal.others(JOB) == (["a run of you\\x1b[31m"] if noticed else [])
    assert journal.others(1) == [], "a job of Slurm"


def test_the_other_run_reads_what_this_one_has_written(journal):
    with subprocess.Popen(["sleep", "60"]) as job:
        journal.begin(job.pid)
        written = journal.path.read_text().splitlines()
        assert written[0] == "a run of me"
        other = Journal("a run of you", journal.folder)
        other.times[JOB] = [time.monotonic(), time.monotonic() + 1]
        journal.path.rename(journal.path.with_name(journal.path.name + "0"))
        assert other.others(JOB) == ["a run of me"]
        job.kill()
    assert other.others(JOB) == []


def test_what_is_no_file_of_a_run_is_left_alone(journal):
    path = other_run(journal, f"{HERE} 1")
    path.with_name(path.name + "4").symlink_to(path)
    os.mkfifo(path.with_name(path.name + "5"))
    long = "".join(f"- {number} 2\n" for number in range(50_000))
    path.write_text(f"{'you' * 1000}\n{long}{HERE} 1\n")
    journal.begin(JOB)
    (who,) = journal.others(JOB)
    assert len(who) == 300


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(MachineUseFault, match="at the same time is not noticed"):
        Journal("a run", tmp_path / "nowhere").begin(JOB)
