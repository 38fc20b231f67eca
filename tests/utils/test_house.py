"""The house: which package may import which, who prints, and how long a file is."""

import ast

import pytest

from tests.places import ROOT
from tests.size import Size, size_of

PACKAGE = ROOT / "utils/acceptance"
#: Package -> its floor. An import goes to a lower floor, or stays inside its package.
FLOORS = {
    "core": 0,
    "detection": 1,
    "suites": 1,
    "machine": 2,
    "alerts": 3,
    "fabric": 3,
    "references": 3,
    "ledger": 4,
    "rfm": 3,
    "nodes": 4,
    "regressions": 5,
    "relations": 6,
    "simulation": 4,
    "site": 5,
    "verdict": 7,
    "campaigns": 8,
    "report": 9,
    "cli": 10,
}
#: Outside of the package: what each folder may import of it.
OUTSIDE = {
    "checks": {
        "core",
        "fabric",
        "nodes",
        "references",
        "ledger",
        "machine",
        "rfm",
        "simulation",
        "suites",
    },
    "config": {"core", "machine", "rfm", "simulation"},
}
LINES = 600


def sources(folder):
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def imports(path):
    """Yield line, package and name of what a file imports of `acceptance`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "acceptance":
            assert not node.level, f"{path}:{node.lineno}: write the whole name"
            words = node.module.split(".")
            for alias in node.names:
                yield node.lineno, [*words, alias.name][1], alias.name, words
        elif isinstance(node, ast.Import):
            for alias in node.names:
                words = alias.name.split(".")
                if words[0] == "acceptance":
                    yield node.lineno, (words[1:] or [""])[0], "", words


def public(package):
    """Return the names that a package, or a package in it, exports: what it imports or defines."""
    init = PACKAGE.joinpath(*package) / "__init__.py"
    tree = ast.parse(init.read_text()) if init.exists() else ast.Module([], [])
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module.startswith("acceptance.")
        for alias in node.names
    }
    defined = {
        name
        for node in tree.body
        for name in (
            [ast.unparse(target) for target in node.targets]
            if isinstance(node, ast.Assign)
            else [getattr(node, "name", "")]
        )
    }
    return {name for name in imported | defined if name[:1] not in ("", "_")}


def is_public(words, name):
    """Tell whether others may import a name of `acceptance.<words>`."""
    module = PACKAGE.joinpath(*words, f"{name}.py")
    if words[0] == "core" or (words[0] == "suites" and (len(words) > 1 or module.exists())):
        return True  # tools of everybody; what a suite's check asks of its own module
    return name in public(words) or any(
        word in public(words[:number]) for number, word in enumerate(words) if number
    )


def test_each_package_has_a_floor():
    there = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] != "_"}
    assert there == FLOORS.keys()


@pytest.mark.parametrize("package", FLOORS)
def test_imports_only_go_down(package):
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {package} (floor {FLOORS[package]}) imports {other} "
        f"(floor {FLOORS[other]})"
        for path in sources(PACKAGE / package)
        for line, other, _, _ in imports(path)
        if other != package and FLOORS[other] >= FLOORS[package]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", OUTSIDE)
def test_checks_and_config_import_what_they_stand_on(folder):
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {folder} imports {other}"
        for path in sources(ROOT / folder)
        for line, other, _, _ in imports(path)
        if other not in OUTSIDE[folder]
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_in_the_package_imports_reframe_or_checks():
    for path in sources(PACKAGE):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] not in ("reframe", "checks", "config"), path


@pytest.mark.parametrize("package", [name for name in FLOORS if name != "cli"])
def test_only_the_command_line_prints_and_parses_options(package):
    wrong = []
    for path in sources(PACKAGE / package):
        for node in ast.walk(ast.parse(path.read_text())):
            prints = isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "input")
            stream = isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "sys.stdout", "sys.stderr", "sys.argv",
            )  # fmt: skip
            parses = isinstance(node, ast.Import) and "argparse" in [a.name for a in node.names]
            if prints or stream or parses:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", FLOORS)
def test_a_package_says_its_contract_and_what_others_may_import(package):
    tree = ast.parse((PACKAGE / package / "__init__.py").read_text())
    contract = ast.get_docstring(tree)
    assert contract
    assert contract.splitlines()[0].endswith(".")


@pytest.mark.parametrize("folder", ["utils/acceptance", *OUTSIDE])
def test_other_packages_are_asked_for_their_public_names(folder):
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name} is no public name of {'.'.join(words[1:])}"
        for path in sources(ROOT / folder)
        for line, other, name, words in imports(path)
        if not path.is_relative_to(PACKAGE / other)
        and not is_public((words[1:] or [name]), name)
        and words[1:]
    ]
    assert not wrong, "\n".join(wrong)


def test_no_file_is_longer_than_a_room():
    folders = [PACKAGE, ROOT / "checks", ROOT / "config"]
    long = {
        str(path.relative_to(ROOT)): lines
        for folder in folders
        for path in sources(folder)
        if (lines := len(path.read_text().splitlines())) > LINES
    }
    assert not long


def test_every_folder_of_the_package_is_installed():
    #: What no module is in: pages are filled from these, or copied.
    data = ("__pycache__", "templates", "static")
    assert all((path / "__init__.py").exists() for path in PACKAGE.rglob("*") if path.is_dir()
               and path.name not in data)  # fmt: skip


def test_the_size_counts_code_classes_and_public_names():
    text = '''"""A module."""

import os
from a import (
    b,
)

LIMIT = 3  # a constant is no name that counts
#: A comment.
TEXT = """
two lines
"""


class Shown:
    """A class."""

    value: int = 1

    def call(self):
        """Documented."""
        return [
            1,
        ]


def _hidden():
    pass
'''
    assert size_of(text) == Size(files=1, lines=1 + 3 + 2 + 1 + 3 + 2, classes=1, names=1)
