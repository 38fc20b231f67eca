"""Programs of a suite below the folder that holds it."""

import os
from pathlib import Path


def find_program(folder: Path, *names: str) -> Path:
    """Return the executable of the first of these names, in a folder or anywhere below it.

    Suites sort their programs into folders that change with their versions (OSU), so only the name
    counts; several names are those of different versions (NPB). Raises FileNotFoundError when
    there is none, or none that can be executed.
    """
    for name in names:
        direct = folder / name
        candidates = [direct] if direct.is_file() else sorted(folder.rglob(name))
        for path in candidates:
            if path.is_file() and os.access(path, os.X_OK):
                return path
    raise FileNotFoundError(f"{folder / ' or '.join(names)}: missing or not executable")
