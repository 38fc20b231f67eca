"""What is measured: ReFrame classes only, one file a suite."""

import sys

import reframe

from acceptance.core import machine

# ReFrame would take the first error in a file for one file less, and in the end run nothing.
if fault := machine.unsupported_reframe(reframe.VERSION, too_old=True):
    sys.exit(f"{__path__[0]}: {fault}")

# What it is called since 4.9.
if not hasattr(reframe, "RegressionTestPlugin"):
    reframe.RegressionTestPlugin = reframe.RegressionMixin
