"""Faults in our own code, drawn at random, and whether a test sees each: `make mutants`.

The faults are those of cosmic-ray's operators: another comparison or sign, a number more or less, a
condition turned round, a loop that does nothing. First a place is drawn, each of a room with the
same chance, then one of the faults that it can have: most operators have eleven, and would weigh as
much. Faults in what programs print, not in code, are drawn by `tests.mutations`.
"""

import ast
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

PACKAGE = "utils/acceptance"
#: Rooms whose code decides what is told of a cluster.
ROOMS = ("suites", "references", "fabric", "verdict", "detection", "nodes", "ledger")
#: Between values of which Python keeps one copy, identity and equality are the same.
_SAME = ("_Eq_Is", "_NotEq_IsNot", "_Is_Eq", "_IsNot_NotEq")
#: Operators that are many -> the nodes of a tree that they look at.
_LOOKS_AT = {"ReplaceBinaryOperator": "operator", "ReplaceComparisonOperator": "comparison"}
#: What only keeps a result that would be computed again.
_KEPT = ("cache", "cached_property", "lru_cache")
#: What forbids something that nobody does, or that only a person sees in a debugger.
_GUARDS = ("frozen", "kw_only", "repr", "slots")
#: A constant of a module that is made of numbers, and of other ones.
_CONSTANT = re.compile(
    r"_?[A-Z][A-Z0-9_, ]* = (?:[\d\s.,*/()\[\]+-]|\de|[A-Z_]|np\.array|math\.\w+)+"
)


@dataclass(frozen=True)
class Mutant:
    """A file of the clone with one fault. `where` is its function, `lines` is what can run it."""

    path: str
    where: str
    lines: range
    old: str
    new: str
    code: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.path}:{self.lines[-1]} {self.where}: {self.old} -> {self.new}"


def draw(root: Path, room: str, count: int, seed: int) -> list[Mutant]:
    """Return so many mutants of a room, all of other places; the same ones for the same seed."""
    rng = random.Random(f"{room} {seed}")
    folder = root / PACKAGE / room
    found = [
        (path, place, faults)
        for path in sorted(folder.rglob("*.py"))
        for place, faults in sorted(_places(path).items())
    ]
    rng.shuffle(found)
    drawn = []
    for path, place, faults in found:
        if len(drawn) == count:
            break
        text = path.read_text(encoding="utf-8")
        name, occurrence = rng.choice(faults)
        try:
            code = mutate_code(text, get_operator(name)(), occurrence)
        except AttributeError:  # an exception of another module, which has no name of its own
            continue
        if _is_valid(code):
            where, first = _statement(text, place[0])
            lines = range(first, place[0] + 1)
            relative = str(path.relative_to(root))
            drawn.append(Mutant(relative, where, lines, *_changed(text, code, place[0]), code))
    return drawn


def _places(path: Path) -> dict[tuple[int, int, int, int], list[tuple[str, int]]]:
    """Return places of a file (lines from 1, columns) -> the faults that each can have."""
    nodes = [*ast_nodes(get_ast(path.read_text(encoding="utf-8")))]
    of_kind = {
        start: [node for node in nodes if node.type == kind] for start, kind in _LOOKS_AT.items()
    }
    places, drawable = defaultdict(list), {}
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments() or name.endswith(_SAME):
            continue
        looked_at = of_kind.get(name.partition("/")[2].partition("_")[0], nodes)
        for occurrence, (node, start, end) in enumerate(_positions(operator(), looked_at)):
            if node not in drawable:
                drawable[node] = not any(_says_nothing(*pair) for pair in _upwards(node))
            if drawable[node]:
                places[(*start, *end)].append((name, occurrence))
    return places


def _positions(operator, nodes) -> Iterator[tuple]:
    for node in nodes:
        for start, end in operator.mutation_positions(node):
            yield node, start, end


def _upwards(node) -> Iterator[tuple]:
    """Yield a node and its parent, then the parent and its own, up to the file."""
    yield node, node
    while node.parent is not None:
        yield node, node.parent
        node = node.parent


def _says_nothing(node, parent) -> bool:
    """Tell whether nothing that is below `node` in `parent` can be seen from outside.

    These are annotations, imports, what only a checker of types or a program of its own runs,
    f-strings (the wording of messages), decorators that keep results, guards of dataclasses, and
    the marks of parameters. Nor are constants drawn that are made of numbers alone, as limits are
    that were chosen or tuned: a test of one would repeat it.
    """
    match parent.type:
        case "annassign" | "tfpdef":
            return node is parent.children[1 if parent.type == "annassign" else 2]
        case "funcdef":
            return node is parent.annotation
        case "parameters" | "param":
            return node.type == "operator"
        case "fstring" | "import_from" | "import_name":
            return True
        case "if_stmt":
            return parent.children[1].get_code().split()[0] in ("TYPE_CHECKING", "__name__")
        case "expr_stmt":
            of_module = parent.parent.parent is parent.get_root_node()
            return of_module and bool(_CONSTANT.fullmatch(parent.get_code(include_prefix=False)))
        case "decorator":
            words = parent.get_code().strip().lstrip("@").partition("(")[0]
            return words.split(".")[-1] in _KEPT
        case "argument":
            return parent.children[0].get_code().strip() in _GUARDS
    return False


def _changed(text: str, code: str, line: int) -> tuple[str, str]:
    """Return the first line that is another in the mutant, and what it is there."""
    olds, news = text.splitlines(), code.splitlines()
    if len(olds) != len(news):  # a decorator less, or a condition of several lines
        return olds[line - 1].strip(), "removed"
    return next((a.strip(), b.strip()) for a, b in zip(olds, news, strict=True) if a != b)


def _is_valid(code: str) -> bool:
    try:
        return bool(ast.parse(code))
    except SyntaxError:
        return False


def _statement(text: str, line: int) -> tuple[str, int]:
    """Return the function of a line, and the first line of its innermost statement."""
    names, first = [], line
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            first = node.lineno
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.append(node.name)
    return ".".join(names) or "module", first
