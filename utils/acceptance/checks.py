"""The folder `checks/` of the clone: checks of a site elsewhere derive from its base classes.

    from acceptance.checks.placed import PlacedCheck

ReFrame gives the files that it loads names of its own. This name is the same whatever the working
directory is, and whatever else is called `checks`.
"""

import runpy

from acceptance.core.paths import ROOT

#: Where Python finds the modules of a package; this is what makes one of this module.
__path__ = [str(ROOT / "checks")]

# As where ReFrame loads the checks themselves.
runpy.run_path(f"{__path__[0]}/__init__.py", {"__path__": __path__})
