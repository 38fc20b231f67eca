"""Processes that are killed at their k-th write of a file of state: an exception that none catches.

A kill between two system calls leaves what the calls before it have made. So it does here: the
call that is killed has done nothing, and nobody cleans up after it.
"""

import os
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from acceptance.core import state_files


class Killed(BaseException):
    """The process ends here."""


class _Counted:
    """Calls that are killed once so many were made; after it none does anything."""

    def __init__(self, after):
        self.left, self.dead = after, False

    def __call__(self, call):
        def counted(*arguments, **named):
            if self.dead or self.left == 0:
                self.dead = True
                raise Killed
            self.left -= 1
            return call(*arguments, **named)

        return counted


def _nothing(*_):
    """Let the disk have nothing: a process is killed here, not the machine."""


@contextmanager
def killed_at(number):
    """Kill what is within at its `number`-th call that changes a file (None: let it end).

    Yields what tells whether it was killed.
    """
    killed = _Counted(-1 if number is None else number)
    with (
        mock.patch.object(os, "fsync", killed(_nothing)),
        mock.patch.object(Path, "replace", killed(Path.replace)),
        mock.patch.object(Path, "unlink", killed(Path.unlink)),
        mock.patch.object(state_files, "sync_folder", killed(_nothing)),
    ):
        try:
            yield killed
        except Killed:
            killed.dead = True
