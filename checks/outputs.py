"""What is read, shown and stored of outputs: as much as any legal one has, and no more."""

import time
from datetime import datetime, timedelta
from pathlib import Path

import reframe as rfm

from acceptance.core.errors import MESSAGE, QUOTED, read_whole
from acceptance.core.text import clipped, printable, read_bounded
from acceptance.machine import last_words
from acceptance.rfm import run_log

#: Bytes that are read of an output: at least, for each process, and at most. IMB with all its sizes
#: writes less than 1 MB; what a process writes is less than 2 KiB, what a node says of its links
#: less than 32 KiB.
LEAST, OF_PROCESS, MOST = 16 * 2**20, 32 * 2**10, 256 * 2**20
#: Bytes of the end of a standard error that is longer: how a job ended stands there.
END = 64 * 2**10
#: Bytes of the end of an output from which its last lines are shown.
TAIL = 64 * 2**10
#: What a job says of its clock before its program begins, and how.
CLOCK_OUT = "clock.out"
TELL_CLOCK = f"date '+%s %z' > {CLOCK_OUT}"


class Outputs(rfm.RegressionTestPlugin):
    """What a check reads of its job's outputs."""

    def output(self):
        """Return the text that the program printed."""
        return self.read_file(self.stdout.evaluate())

    def errors(self):
        """Return the text of the standard error; empty where the job did not come to have one."""
        name = self.stderr.evaluate()
        return self.read_file(name) if Path(self.stagedir, name).exists() else ""

    def read_file(self, name):
        """Return the text of a file that the job wrote; ParseError for one that is too long."""
        return read_whole(Path(self.stagedir, name), self.most_bytes())

    def job_time(self):
        """Return when the job began and had ended, by the clock of the node that ran its script.

        ValueError where that did not tell it. It had ended before now; what the scheduler says of
        its end may be that of an earlier try on a node that failed.
        """
        path = Path(self.stagedir, CLOCK_OUT)
        words = self.read_file(CLOCK_OUT).split() if path.exists() else []
        try:
            seconds, zone = words
            begin = datetime.fromtimestamp(int(seconds), datetime.strptime(zone, "%z").tzinfo)
        except ValueError:
            raise ValueError(f"{CLOCK_OUT}: no time of the job: {' '.join(words)!r}") from None
        lasted = time.time() - self.job.submit_time
        return begin, begin + timedelta(seconds=lasted)

    def most_bytes(self):
        """Return how many bytes are read of an output."""
        return min(LEAST + OF_PROCESS * (self.num_tasks or 1), MOST)

    def said(self):
        """Return the standard error as `errors` does, beginning and end of one that is too long."""
        path = Path(self.stagedir, self.stderr.evaluate())
        return read_bounded(path, self.most_bytes(), END)[0] if path.exists() else ""

    def last_words(self):
        """Return what the program itself wrote last to its standard error, and how it was ended."""
        lines = [line for line in self.said().splitlines() if not self.is_ours(line)]
        words = last_words("\n".join(lines))
        return clipped(words, QUOTED) if words else f"{self.stderr.evaluate()} is empty"

    def is_ours(self, line):
        """Tell whether a line of the standard error is of what runs around the program."""
        return False


def bound_message(to_text):
    """Show at most so much of a message, and no codes that a terminal would obey."""

    def bounded_text(error):
        return clipped(printable(to_text(error)), MESSAGE)

    return bounded_text


def set_off(line):
    """Return a line as it is, or indented where it would read as one of ReFrame's own log."""
    return f"  {line}" if run_log.LINE.match(line) else line


def bound_tail(_):
    """Show the last lines of an output, and no line of it as one of ReFrame's own log."""

    def last_lines(filename, num_lines=10):
        path = Path(filename)
        if not path.exists():  # its case failed before its job
            return ["(there is no such file)\n"]
        size, (text, _) = path.stat().st_size, read_bounded(path, 0, TAIL)
        lines = [clipped(printable(line), QUOTED) for line in text.splitlines()[1:]]
        cut = [f"(cut: of {size} B these are in the last {TAIL})"] if size > TAIL else []
        return [f"{set_off(line)}\n" for line in (*cut, *lines[-num_lines:])]

    return last_lines
