"""ReFrame in a process of its own, forked from one that has loaded it: half of a start is imports.

A fork has modules as they are imported, ReFrame's and what checks and configuration import of ours,
`reference/`, and the patterns that ReFrame makes of its own configuration; of ours only compiled
files, and no check. Environment, folder, arguments and outputs are those of the order.
"""

import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

REFRAME = Path(sys.executable).with_name("reframe")
PRELOADED = (
    *("acceptance.ledger", "acceptance.nodes", "acceptance.references", "acceptance.rfm"),
    *("acceptance.simulation", "jsonschema", "numpy", "pybtex.database.input.bibtex", "sqlite3"),
    "_strptime",  # of `time`
)
#: How the code of a Python begins that a test starts, and that is to start no other program: it
#: is the same whatever is installed.
ALONE = """
import sys

def refuse(event, arguments):
    if event in ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system"):
        raise RuntimeError(f"it is to start no program: {arguments}")

sys.addaudithook(refuse)
"""
#: Bytes that an order, with an environment, may have.
_MOST = 2**20
#: Its outputs, what it inherits, and where its status is told.
_MOST_FDS = 8
#: What it begins with; where a command is called in this process, that has another one meanwhile.
_ENVIRONMENT = dict(os.environ)
_server = None


class Reframe:
    """A ReFrame that runs: of `subprocess.Popen` what is asked of it.

    It has files for its outputs, and holds `inherited` ones open.
    """

    def __init__(self, argv, environment, folder, outputs, inherited=(), *, own_session=False):
        sys.audit("subprocess.Popen", argv[0], argv, folder, environment)
        os.umask(umask := os.umask(0))
        order = {
            "umask": umask,
            "cores": [*os.sched_getaffinity(0)],
            "argv": argv,
            "environment": environment,
            "folder": str(folder),
            "own_session": own_session,
        }
        here, there = os.pipe()
        self._told = open(here)  # noqa: SIM115
        fds = [there, *(file.fileno() for file in outputs), *inherited]
        socket.send_fds(_connection(), [json.dumps(order).encode()], fds)
        os.close(there)
        self.pid = int(self._told.readline())
        self._status = None

    def wait(self, timeout=None):
        """Return its exit status, None if it runs on for so many seconds."""
        if self._status is None and select.select([self._told], [], [], timeout)[0]:
            with self._told:
                self._status = int(self._told.readline())
        return self._status

    def poll(self):
        return self.wait(0)

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def reframe(arguments, environment, folder, timeout):
    """Run ReFrame; return its exit status, what it printed, and its errors.

    Raises subprocess.TimeoutExpired, and kills it, after so many seconds.
    """
    argv = [str(REFRAME), *arguments]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        running = Reframe(argv, environment, folder, [output, errors])
        status = running.wait(timeout)
        if status is None:
            running.kill()
            raise subprocess.TimeoutExpired(argv, timeout)
        output.seek(0)
        errors.seek(0)
        return status, output.read(), errors.read()


class Programs:
    """Takes the place of the module `subprocess`: ReFrame is forked, and any other program started.

    It does what our callers ask for, not all that they could.
    """

    def __getattr__(self, name):
        return getattr(subprocess, name)

    def Popen(self, command, **options):
        if command[0] != str(REFRAME):
            return subprocess.Popen(command, **options)
        outputs = [options["stdout"]] * 2
        inherited = options["pass_fds"]
        return Reframe(
            command, options["env"], options["cwd"], outputs, inherited, own_session=True
        )

    def run(self, command, **options):
        if command[0] != str(REFRAME):
            return subprocess.run(command, **options)
        environment = os.environ if options["env"] is None else options["env"]
        folder = options["cwd"] or os.getcwd()
        done = reframe(command[1:], dict(environment), folder, options["timeout"])
        return subprocess.CompletedProcess(command, *done)


def _connection():
    """Return the connection to the process that forks; it ends when this process does."""
    global _server
    if _server is None:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
        command = [sys.executable, __file__, str(its.fileno())]
        with its:
            process = subprocess.Popen(
                command, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, env=_ENVIRONMENT
            )
        _server = ours, process
    return _server[0]


def _next(server):
    """Wait for an order, and return in the process that is to carry it out; SystemExit at the end.

    That has a parent of its own, which tells its number and its exit status.
    """
    while True:
        data, fds, *_ = socket.recv_fds(server, _MOST, _MOST_FDS)
        if not data:
            sys.exit()
        if not os.fork():
            break
        for fd in fds:
            os.close(fd)
        while _ended():
            pass
    server.close()
    told, output, errors, *inherited = fds
    if child := os.fork():
        os.write(told, f"{child}\n".encode())
        # Their locks end with who holds them.
        for fd in (output, errors, *inherited):
            os.close(fd)
        os.write(told, f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n".encode())
        os._exit(0)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for fd in (told, output, errors):
        os.close(fd)
    order = json.loads(data)
    if order["own_session"]:
        os.setsid()
    return order


def _ended():
    """Take the status of a process that has ended; None if none has."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return None


def _warm(config, backends):
    """Have ReFrame make what it makes of any configuration, of the one that it brings along.

    These are patterns, mostly, schedulers and launchers.
    """
    configuration = config.load_config("<builtin>")
    configuration.validate()
    configuration.select_subconfig("generic")
    configuration.get("no such option")
    backends.getscheduler("local")
    backends.getlauncher("local")


if __name__ == "__main__":
    sys.path[0] = str(REFRAME.parent)
    from reframe.core import backends, config
    from reframe.frontend.cli import main

    for name in PRELOADED:
        importlib.import_module(name)
    _warm(config, backends)
    root = Path(__file__).parents[1]
    sys.modules["acceptance.references"].load(root / "reference")
    for path in (root / "config").rglob("*.py"):
        sys.modules["acceptance.core.machine"].code_of(path)
    order = _next(socket.socket(fileno=int(sys.argv[1])))
    # A configuration that is written twice in a second with the same length would be taken from its
    # bytecode, which knows it by these two.
    sys.dont_write_bytecode = True
    os.umask(order["umask"])
    os.sched_setaffinity(0, order["cores"])
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = order["argv"]
    sys.exit(main())
