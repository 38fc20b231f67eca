"""What a program shows on a terminal."""

import os
import pty

from tests.places import ROOT


def on_terminal(words, environment):
    """Run a program in the clone on a terminal of its own; return its exit status and output."""
    number, descriptor = pty.fork()
    if number == 0:
        os.chdir(ROOT)
        os.execvpe(words[0], words, environment)
    shown = b""
    try:
        while part := os.read(descriptor, 4096):
            shown += part
    except OSError:  # the end of a terminal
        pass
    os.close(descriptor)
    status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    return status, shown.decode().replace("\r\n", "\n")
