"""The check files of a search path."""

import ast
from collections.abc import Iterable
from pathlib import Path


def check_files(search_path: Iterable[Path], *, recursive: bool) -> list[Path]:
    """Return the Python files of a search path that define a test (`@simple_test`).

    A file that is no valid Python counts as one: ReFrame will say what is wrong with it.
    """
    found: list[Path] = []
    for path in search_path:
        if path.is_dir():
            found += sorted(path.glob("**/*.py" if recursive else "*.py"))
        elif path.is_file():
            found.append(path)
    return [path for path in found if _defines_test(path)]


def _defines_test(path: Path) -> bool:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError):
        return True
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    decorators = (each for node in classes for each in node.decorator_list)
    return any("simple_test" in ast.unparse(each) for each in decorators)
