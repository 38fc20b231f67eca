"""Other programs: run to their end within a time, with what they printed or why they failed."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Done:
    """How a program ended: what it printed, its exit status, and why it failed, in a line.

    `status` is None where it did not start, or did not end in time (`late`). `fault` is empty where
    it ended with 0; it has the first line that the program printed, if it printed any.
    """

    out: str = ""
    err: str = ""
    status: int | None = None
    fault: str = ""
    late: bool = False


def run(
    command: Sequence[str],
    timeout: float,
    *,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    text: str = "",
) -> Done:
    """Run a program with `text` on its standard input, for at most `timeout` s; raises nothing.

    Bytes that are no text are replaced.
    """
    try:
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            env=env,
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        return Done(fault=f"{command[0]} did not end within {timeout:g} s", late=True)
    except OSError as err:
        return Done(fault=f"{command[0]} cannot be run: {err.strerror or err}")
    if done.returncode == 0:
        return Done(done.stdout, done.stderr, 0)
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    fault = lines[0] if lines else f"{command[0]} ends with status {done.returncode}"
    return Done(done.stdout, done.stderr, done.returncode, fault)
