"""What Slurm says of a job that did not end by itself.

Sources: what `slurmstepd` of Slurm 22.05 writes to a job's standard error
(`src/slurmd/slurmstepd/req.c`), the job states of sacct(1), and `scontrol show job`.

What a program said last before it failed is told without what MPI and the launcher add to it.
Sources: what Open MPI 4.1, MPICH 4.0 with UCX 1.13, Intel MPI 2021 and Slurm 22.05 print when a
program calls MPI_Abort, exits with a status, or is ended by a signal.
"""

import re
from collections.abc import Iterable, Iterator

from acceptance.core import machine
from acceptance.core.findings import Finding
from acceptance.machine.slurm_nodes import PATIENCE

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
_SAYS_END = re.compile(
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
    ended = [line for line in lines if _SAYS_END.search(line)]
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


#: ReFrame's schedulers that submit to Slurm.
SLURM = ("slurm", "squeue")
#: State -> what it means; jobs in any other state have ended by themselves, or have not ended.
STATES = {
    "BOOT_FAIL": "its nodes did not boot",
    "CANCELLED": "somebody cancelled it",
    "DEADLINE": "it missed its deadline",
    "NODE_FAIL": "one of its nodes failed",
    "OUT_OF_MEMORY": "it used more memory than it may",
    "PREEMPTED": "another job took its nodes",
    "TIMEOUT": "it reached its time limit",
}
#: What ReFrame's scheduler `slurm` wants, and what to do where it is not there.
NO_ACCOUNTING = (
    "Slurm keeps no accounts of its jobs here (sacct does not answer), and ReFrame's scheduler "
    "`slurm` asks nothing else: write 'scheduler': 'squeue' into the partition, or set up slurmdbd "
    "(AccountingStorageType in slurm.conf)"
)

_ENDED = re.compile(
    r"\*\*\* (?P<what>JOB|STEP) (?P<id>\S+) ON (?P<node>\S+) (?P<how>[^*]+?) \*\*\*"
)
_TIME = re.compile(r" AT \d{4}-\d\d-\d\dT[\d:]+")


def cut_short(errors: str, state: str = "") -> Finding | None:
    """Return why Slurm ended a job before its program did; None where it did not.

    `errors` is the job's standard error, `state` what the scheduler says (`CANCELLED by 0`,
    `TIMEOUT`). Slurm's exit status of such a job may well be 0. Kinds: time-limit, job-ended.
    """
    # A step alone is also ended when one of its ranks has crashed, which then says more itself.
    said = [*_ENDED.finditer(errors)]
    jobs = [match for match in said if match["what"] == "JOB"]
    first = next(iter([*jobs, *(match for match in said if " DUE TO " in match["how"])]), None)
    if first is None:
        word = re.sub("[^A-Z_].*", "", state or "")
        kind = _kind(word)
        text = kind and f"the job did not end by itself: {STATES[word]} ({state})"
        return Finding(kind, text) if kind else None
    how, kind = _TIME.sub("", first["how"]), "job-ended"
    if "DUE TO TIME LIMIT" in how:
        how, kind = f"{how} (a check's limit: -S time_limit=30m)", "time-limit"
    text = f"the {first['what'].lower()} {first['id']} on {first['node']} was {how}"
    return Finding(kind, text)


def ask(job: str) -> Finding:
    """Ask Slurm about a job; some time later it forgets it.

    Kinds are those of `cut_short`; empty where the state says nothing of the end.
    """
    done = machine.run(["scontrol", "show", "job", "--oneliner", job], PATIENCE)
    if done.fault:
        return Finding("", f"Slurm cannot be asked about job {job}: {done.fault}")
    fields = dict(re.findall(r"(\w+)=(?!None\s|\(null\)\s)(\S+)", done.out + " "))
    state = fields.get("JobState", "no state")
    reason = f" ({fields['Reason']})" if "Reason" in fields else ""
    nodes = f" on {fields['NodeList']}" if "NodeList" in fields else ""
    return Finding(_kind(state), f"of job {job} Slurm says: {state}{reason}{nodes}")


def _kind(state: str) -> str:
    """Return the kind of a job's end; empty where the job ended by itself, or has not ended."""
    return "" if state not in STATES else "time-limit" if state == "TIMEOUT" else "job-ended"


def controller_fault() -> str:
    """Return why Slurm's controller does not answer; empty where it does."""
    return machine.run(["sinfo", "--noheader", "--format=%P"], PATIENCE).fault


def accounting_fault() -> str:
    """Return why sacct does not list jobs here; empty where it does."""
    command = ["sacct", "--noheader", "--allocations", "--format=jobid", "--starttime=now"]
    return machine.run(command, PATIENCE).fault


def lacks_accounting(message: str) -> bool:
    """Tell whether ReFrame stopped its run because sacct did not answer."""
    return "command 'sacct" in message
