"""`config/security.md` lists all that the user of a night starts, writes and talks to."""

import ast
import re

from acceptance.core.paths import SECRETS
from tests.places import ROOT

PAGE = (ROOT / "config/security.md").read_text(encoding="utf-8")
FOLDERS = ("utils/acceptance", "checks", "config", "spack-envs")
#: The only modules that start programs by themselves: all others ask these.
STARTERS = {"utils/acceptance/core/machine.py", "utils/acceptance/rfm/process.py"}
#: What starts a program, or code of somebody, in Python.
_STARTS = re.compile(
    r"\bsubprocess\.(?!PIPE|DEVNULL|STDOUT|TimeoutExpired|Popen\[)\w+|\bPopen\("
    r"|\bos\.(?:system|popen|exec\w+|spawn\w+|posix_spawn\w*|startfile)\b|\bpty\.|\bshell=True"
)
#: Code that takes others to be safe: pickles, `yaml.load`, code from text.
_LOADS = re.compile(r"\b(?:pickle|marshal|shelve|dill)\b|yaml\.(?:load|unsafe_load)\(|\beval\(")


def sources():
    """Yield the name and the text of each module that users run."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def rows(title):
    """Return the rows of the table below a heading: the texts of their cells."""
    part = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    assert lines, title
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


#: What starts a program, in words of the code: its first argument is the command, or its word.
_RUN = ("machine.run", "run", "_run", "_answer", "_version")


def programs_in(text):
    """Return the programs that a module has others start: first words of commands, if stated."""
    found = []
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        nodes = [*ast.walk(function)]
        first = [each.args[0] for each in nodes if isinstance(each, ast.Call) and each.args
                 and ast.unparse(each.func) in _RUN]  # fmt: skip
        # A list may begin with one that has a name, `[*git, "clone"]`.
        starts = [each.elts[0] if isinstance(each, ast.List) and each.elts else each
                  for each in first]  # fmt: skip
        bare = [getattr(each, "value", each) for each in starts]
        named = {each.id for each in bare if isinstance(each, ast.Name)}
        starts += [
            each.value.elts[0] for each in nodes
            if isinstance(each, ast.Assign) and isinstance(each.value, ast.List) and each.value.elts
            and named & {ast.unparse(target) for target in each.targets}
        ]  # fmt: skip
        found += [each.value for each in starts if isinstance(each, ast.Constant)]
    return {name for name in found if isinstance(name, str)}


def test_two_modules_alone_start_programs_and_none_uses_a_shell_or_a_pickle():
    starting = {name for name, text in sources() if _STARTS.search(text)}
    assert starting == STARTERS
    for name, text in sources():
        assert not _LOADS.search(re.sub(r"[\"'#].*", "", text)), name
    for bad in ("subprocess.run(x)", "os.system(x)", "os.execvp(x)", "run(x, shell=True)"):
        assert _STARTS.search(bad)


def test_the_page_names_each_module_that_has_a_program_started():
    asking = {
        name for name, text in sources()
        if re.search(r"\bmachine\.run\(|ReframeProcess\(|core\.machine import .*\brun\b", text)
    } - STARTERS  # fmt: skip
    listed = {name for row in rows("Programs") for name in quoted(row[2])}
    assert asking - listed == set()
    for name in listed:
        assert (ROOT / name).exists(), name


def test_the_page_names_each_program_that_code_states():
    listed = {name for row in rows("Programs") for name in quoted(row[0])}
    stated = {program for _, text in sources() for program in programs_in(text)}
    assert {"scontrol", "srun", "git", "sh", "flux", "pbsnodes", "gcc"} <= stated
    assert stated - listed == set()


def test_the_page_names_each_script():
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.sh")]
    scripts = {str(path.relative_to(ROOT)) for path in paths}
    scripts.add("utils/bin/reframe")
    assert scripts == {name for row in rows("Scripts") for name in quoted(row[0])}


def test_the_page_names_each_place_of_var():
    listed = {name for row in rows("Files") for name in quoted(row[0])}
    places = set()
    for _, text in sources():
        places |= set(re.findall(r"\bvar / \"([\w.-]+)\"", text))
    assert {"alerts", "campaigns", "verdicts"} <= places
    assert {f"var/{name}" for name in places} - listed == set()


def test_the_page_names_each_address_and_secret():
    stated = " ".join(cell for row in rows("Addresses") for cell in row)
    for name, text in sources():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple | ast.Constant):
                for each in ast.walk(node.value):
                    value = getattr(each, "value", None)
                    if isinstance(value, str) and re.match(r"https?://[\w.-]+/?\Z", value):
                        assert value in stated, (name, value)
    for name in SECRETS:
        assert f"`{name}`" in PAGE, name
        assert name in (ROOT / "utils/bin/reframe").read_text(), name
