"""What a program said last before it failed, without what MPI and the launcher add to it.

Sources: what Open MPI 4.1, MPICH 4.0 with UCX 1.13, Intel MPI 2021 and Slurm 22.05 print when a
program calls MPI_Abort, exits with a status, or is ended by a signal.
"""

import re
from collections.abc import Iterable, Iterator

#: A line without words. Open MPI puts its help between two of dashes.
_FRAME = re.compile(r"\W*\Z")
_DASHES = "-" * 60
#: How the help begins that Open MPI prints below what a program said.
_HELP = re.compile(r"MPI_ABORT was invoked|Primary job +terminated|\S+ (detected|noticed) that ")
#: Lines that say that a job is ended, or where a program crashed, and not why.
_ADDED = re.compile(
    r"Abort\(-?\d+\) on node \d+ .*: application called MPI_Abort\b"
    r"|\[\S+:\d+\] (\[ *\d+\]|\*\*\* (Process received|End of error|reported by|on communicator"
    r"|MPI_ERRORS_ARE_FATAL|  ))"
    r"|\[\S+:\d+\] ((Signal code|Failing at address):|\S+ ORTE_ERROR_LOG:)"
    r"|==== backtrace| *\d+ +\S+\(.*\) +\[0x"
    r"|(srun|slurmstepd): "
)
#: What says by which signal, or by whom, a process was ended.
_ENDED = re.compile(
    r"exited on signal \d+|\] (Signal: |Caught signal \d+)"
    r"|srun: error: \S+: tasks? [^:]+: (?!Exited with exit code)"
    # A step without a reason is cancelled because one of its tasks failed.
    r"|slurmstepd: error: (?!\*\*\* STEP \S+ ON \S+ CANCELLED AT \S+ \*\*\*)"
)


def last_words(text: str) -> str:
    """Return the last line that the program itself wrote to its standard error.

    If MPI or the launcher says by which signal, or by whom, a process was ended, the first and the
    last of that follow. What they say stands alone where the program said nothing; "" where nobody
    did.
    """
    lines = [line.rstrip() for line in text.splitlines() if not _FRAME.match(line)]
    ended = [line for line in lines if _ENDED.search(line)]
    own = [
        line
        for line in _without_help(text.splitlines())
        if not _ADDED.match(line) and line not in ended
    ]
    words = [*own[-1:], *ended[:1], *ended[-1:]] or lines[-1:]
    return "; ".join(dict.fromkeys(line.strip() for line in words))


def _without_help(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines with words that are outside of Open MPI's help."""
    before, within = "", False
    for line in lines:
        dashes = line.startswith(_DASHES)
        within = not dashes and (within or (before.startswith(_DASHES) and bool(_HELP.match(line))))
        if not within and not _FRAME.match(line):
            yield line
        before = line
