"""The check files of a search path: which there are, and why one may give no case."""

import ast
from pathlib import Path

from acceptance.rfm import configuration as site
from acceptance.rfm import run_log
from acceptance.suites import DERIVED, SUITES


def check_files(search_path: list[Path], *, recursive: bool) -> list[Path]:
    """Return the Python files of a search path that define a test (`@simple_test`).

    A file that is no valid Python counts as one: it cannot be told.
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
    return any(
        "simple_test" in ast.unparse(decorator)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
    )


def why_no_case(check: str, run: run_log.LoggedRun) -> str | None:
    """Say why a check file (its stem) needs to give no case: nothing provides its suite.

    None where something does, or where nobody can tell.
    """
    suite = DERIVED.get(check, check)
    if suite not in SUITES:
        return None
    try:
        configuration = site.load(run.config_files)
        system = configuration.system(run.system)
    except site.SiteFault:
        return None
    providers = configuration.providers(suite, system)
    if not providers:
        title, how = SUITES[suite].title, SUITES[suite].how_to_get
        return f"nothing provides {title} here; get it with: {how}"
    if check in DERIVED and all(provider.alone for provider in providers):
        return (
            "on a single node it wants an MPI that takes the network's loopback, and "
            f"{', '.join(provider.environment for provider in providers)} cannot (no-loopback)"
        )
    return None
