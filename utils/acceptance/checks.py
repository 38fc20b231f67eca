"""The folder `checks/` of the clone: checks of a site elsewhere derive from its base classes.

    from acceptance.checks.placed import PlacedCheck

ReFrame gives the files that it loads names of its own. This name is the same whatever the working
directory is, and whatever else is called `checks`.
"""

from acceptance.core.paths import ROOT

#: Where Python finds the modules of a package; this is what makes one of this module.
__path__ = [str(ROOT / "checks")]
