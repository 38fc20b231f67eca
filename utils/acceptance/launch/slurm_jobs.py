"""What Slurm says of a job that did not end by itself.

Sources: what `slurmstepd` of Slurm 22.05 writes to a job's standard error
(`src/slurmd/slurmstepd/req.c`), the job states of sacct(1), and `scontrol show job`.
"""

import re
import subprocess

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
#: Seconds that a controller has to answer; by itself scontrol would wait longer.
PATIENCE = 30
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


def cut_short(errors: str, state: str = "") -> str:
    """Return why Slurm ended a job before its program did; empty where it did not.

    `errors` is the job's standard error, `state` what the scheduler says (`CANCELLED by 0`,
    `TIMEOUT`). Slurm's exit status of such a job may well be 0.
    """
    # A step alone is also ended when one of its ranks has crashed, which then says more itself.
    said = [
        found
        for found in _ENDED.finditer(errors)
        if found["what"] == "JOB" or " DUE TO " in found["how"]
    ]
    said.sort(key=lambda found: found["what"] != "JOB")
    known = re.match("[A-Z_]+", state or "")
    why = STATES.get(known[0], "") if known else ""
    if not said:
        return f"the job did not end by itself: {why} ({state})" if why else ""
    first = said[0]
    how = _TIME.sub("", first["how"])
    if "DUE TO TIME LIMIT" in how:
        how += " (a check's limit: -S time_limit=30m)"
    return f"the {first['what'].lower()} {first['id']} on {first['node']} was {how}"


def _run(*command: str) -> tuple[str, str]:
    """Run one of Slurm's commands; return what it printed, or why it failed, in a line."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as err:
        return "", str(err)
    if done.returncode == 0:
        return done.stdout, ""
    said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return "", said[0] if said else f"{command[0]} ends with status {done.returncode}"


def ask(job: str) -> str:
    """Ask Slurm about a job, and say in a line what it answers; some time later it forgets it."""
    text, fault = _run("scontrol", "show", "job", "--oneliner", job)
    if fault:
        return f"Slurm cannot be asked about job {job}: {fault}"
    return f"of job {job} Slurm says: {answer(text)}"


def answer(text: str) -> str:
    """Return state, reason and nodes from what `scontrol show job` prints."""
    fields = dict(re.findall(r"(\w+)=(\S*)", text))
    words = [fields.get("JobState", "no state")]
    if fields.get("Reason", "None") != "None":
        words.append(f"({fields['Reason']})")
    if fields.get("NodeList", "(null)") not in ("", "(null)"):
        words.append(f"on {fields['NodeList']}")
    return " ".join(words)


def controller_fault() -> str:
    """Return why Slurm's controller does not answer; empty where it does."""
    return _run("sinfo", "--noheader", "--format=%P")[1]


def accounting_fault() -> str:
    """Return why sacct does not tell of jobs here; empty where it does."""
    return _run("sacct", "--noheader", "--allocations", "--format=jobid", "--starttime=now")[1]


def lacks_accounting(message: str) -> bool:
    """Tell whether ReFrame stopped its run because sacct did not answer."""
    return "command 'sacct" in message
