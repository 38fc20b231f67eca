"""What a wheel and an sdist say of the commit that they are built from: their file `COMMIT`.

It has one line: the commit, with `-dirty` where the tree differs from it, and when it was made, in
seconds since 1970. That is also the time of all files in the archives, so that everybody who builds
this commit gets the same bytes, from a clone or from its sdist. Source of the variable
SOURCE_DATE_EPOCH, which another time can be given with: reproducible-builds.org/specs.
"""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Its name in the root of an sdist, and in what a wheel has of the clone (pyproject.toml).
NAME = "COMMIT"
PLACES = {"sdist": NAME, "wheel": f"acceptance/_tree/{NAME}"}


def stamp(root: Path) -> str:
    """Return the line of a clone; raises OSError or CalledProcessError where git tells none.

    A file that git does not know counts, unless it ignores it: it would be in the archives, too.
    """

    def git(*words: str) -> str:
        command = ["git", *words]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    commit, seconds = git("log", "-1", "--format=%H %ct").split()
    return f"{commit}{'-dirty' if git('status', '--porcelain') else ''} {seconds}\n"


class Commit(BuildHookInterface):
    """Adds the file, and sets the time."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Do so for what is built; a clone that is installed as it stands has its own git."""
        if version == "editable":
            return
        root = Path(self.root)
        source = root / NAME  # of an sdist
        if (root / ".git").exists():
            self._made = tempfile.TemporaryDirectory()
            source = Path(self._made.name, NAME)
            try:
                source.write_text(stamp(root), encoding="utf-8")
            except (OSError, subprocess.CalledProcessError) as err:
                self.app.display_warning(f"it will not say its commit, because git failed: {err}")
                return
        if source.is_file():
            seconds = source.read_text(encoding="utf-8").split()[1]
            os.environ.setdefault("SOURCE_DATE_EPOCH", seconds)
            if source.parent != root or self.target_name != "sdist":
                build_data["force_include"][str(source)] = PLACES[self.target_name]
