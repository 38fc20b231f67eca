"""How large the package is: `python -m tests.size [FOLDER]`, a line a package, and the sum.

A code line has a token that is no comment, docstring or import. A public name is that of a class or
function at the top level of a module, without a `_` in front.
"""

import ast
import io
import sys
import tokenize
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from tests.places import ROOT

_IMPORTS = (ast.Import, ast.ImportFrom)
_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_DOCUMENTED = (ast.Module, *_NAMED)
_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
            tokenize.ENDMARKER)  # fmt: skip


@dataclass
class Size:
    files: int = 0
    lines: int = 0
    classes: int = 0
    names: int = 0

    def __add__(self, other):
        return Size(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def size_of(text):
    """Return the size of the text of one file."""
    tree = ast.parse(text)
    left_out = set()
    for node in ast.walk(tree):
        if isinstance(node, _IMPORTS):
            left_out |= set(range(node.lineno, node.end_lineno + 1))
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            left_out |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    used = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            used |= set(range(token.start[0], token.end[0] + 1))
    return Size(
        files=1,
        lines=len(used - left_out),
        classes=sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
        names=sum(isinstance(node, _NAMED) and node.name[:1] != "_" for node in tree.body),
    )


def sizes(folder):
    """Return the size of each package in a folder; of its own files as `.`."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        package = path.relative_to(folder).parts[0] if path.parent != folder else "."
        found[package] = found.get(package, Size()) + size_of(path.read_text(encoding="utf-8"))
    return found


def main(folder):
    found = sizes(folder)
    found["all"] = sum(found.values(), Size())
    print(f"{'':16}" + "".join(f"{field.name:>9}" for field in fields(Size)))
    for package, size in sorted(found.items(), key=lambda each: -each[1].lines):
        print(f"{package:16}" + "".join(f"{number:9}" for number in astuple(size)))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "utils/acceptance")
