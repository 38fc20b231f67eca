"""Documents and messages: what they link to, name and show is there, and the programs take it."""

import importlib
import math
import re
import shlex
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import yaml

from acceptance.cli.main import parse
from acceptance.core.paths import ROOT
from tests.utils.cli.test_main import parsers
from tests.utils.test_house import FLOORS

PAGES = sorted(path for folder in ("", "*/") for path in ROOT.glob(f"{folder}*.md"))
#: Each test with one page after the other.
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
#: A line of a block of code that begins with the command, up to a comment.
COMMAND = re.compile(r"^(?: {4})?acceptance ([a-z][^#\n]*)", re.MULTILINE)


def read(page):
    return page.read_text(encoding="utf-8")


def without_code(text):
    """Return a page without its blocks of code, inside of which nothing is a link or a heading."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page):
    """Return the anchors of a page: its headings, as a forge writes them."""
    titles = re.findall(r"^#+ (.+)$", without_code(read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each_page
def test_every_link_leads_to_a_file_and_a_heading(page):
    text = without_code(read(page))
    for link in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text):
        link = "".join(link)
        if not link.startswith("http"):
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@each_page
def test_the_command_takes_what_a_page_shows(page):
    for line in COMMAND.findall(read(page)):
        parse(shlex.split(line))


def test_the_first_page_is_read_in_five_minutes():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


#: Where a text names a command: behind a mark that prose has not, or at the beginning of a line.
#: What is between braces is put in, as `-C site.py`.
MENTION = re.compile(
    r"""(?:^[ ]{0,3}|[`"'(>;:&{|]\s*)acceptance(?:\{[^}]*\})?(?P<words>\ [a-z-]+[^`"';#<\n)|&]*)""",
    re.MULTILINE,
)


def mentions():
    """Yield the files that users meet, and the words of each command that is named in them."""
    command = ["git", "ls-files", "-z"]
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        if name.startswith("tests/") and not name.startswith("tests/drills/"):
            continue  # what tests call is tried
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        if name.endswith(".md"):  # a block of code
            text = re.sub(r"^ {4}", "", text, flags=re.MULTILINE)
        for found in MENTION.finditer(text):
            words = re.sub(r"\{[^}]*\}", " ", found["words"]).partition(", ")[0]
            yield name, words.split()


def test_each_command_that_is_named_anywhere_is_one_with_its_second_word_and_options():
    known = dict(parsers())
    named = set()
    for name, words in mentions():
        words = [word.rstrip(",.:") for word in words]
        if words[0] == "--help":
            continue
        command = tuple(words[:2]) if tuple(words[:2]) in known else tuple(words[:1])
        assert command in known, f"{name}: acceptance {' '.join(words)}"
        assert command != ("spack",), f"{name}: which of its words? {' '.join(words)}"
        named.add(command)
        for option in words[: [*words, "--"].index("--")]:
            if option.startswith("--"):
                taken = known[command]._option_string_actions
                assert option.partition("=")[0] in taken, (name, words)
    # Each is named somewhere: this passes for no lack of what it looks at.
    assert named >= known.keys() - {("spack",)}


#: The head of a table of constants names their module, and each row a constant or several.
_TABLE = re.compile(r"^\| `([\w/]+)\.py` \| value \|.*\n.*\n((?:\|.*\n)+)", re.MULTILINE)
METHOD = read(ROOT / "reference/METHOD.md")


def constants():
    """Yield module, name and value of each constant that the method states."""
    for module, rows in _TABLE.findall(METHOD):
        for row in rows.splitlines():
            names, values = row.split("|")[1:3]
            names = re.findall(r"`(\w+)`", names)
            values = eval(f"({values},)", {"math": math})
            assert len(names) == len(values), row
            for name, value in zip(names, values, strict=True):
                yield f"acceptance.{module.replace('/', '.')}", name, value


@pytest.mark.parametrize(("module", "name", "value"), list(constants()))
def test_the_method_states_the_constants_of_the_code(module, name, value):
    assert getattr(importlib.import_module(module), name) == pytest.approx(value, rel=1e-12)


def test_the_formulas_of_the_method_name_constants_of_its_tables():
    stated = {name for _, name, _ in constants()}
    assert len(stated) > 50
    formulas = "\n".join(re.findall(r"^ {4}(.*)$", METHOD, re.MULTILINE))
    used = set(re.findall(r"\b[A-Z]{3,}(?:_[A-Z]+)*\b", formulas)) - {"SMALLEST_OF_NODE"}
    assert used
    assert used <= stated


def test_each_source_of_the_method_is_listed_and_used():
    text, _, listed = METHOD.partition("## Sources")
    listed = set(re.findall(r"^\| \[(.+?)\] \|", listed, re.MULTILINE))
    cited = {" ".join(found) for found in re.findall(r"\b([A-Z]\w+) \[?(\d{4})\]", text)}
    assert cited | {"fatoohi2006"} == listed


def test_the_floors_that_are_written_are_those_that_are_kept():
    rows = re.findall(r"^\| (\d+) \| `(\w+)/` \|", read(ROOT / "utils/README.md"), re.MULTILINE)
    assert {package: int(floor) for floor, package in rows} == FLOORS


def test_the_hooks_of_a_commit_do_what_make_check_does():
    hooks = yaml.safe_load(read(ROOT / ".pre-commit-config.yaml"))["repos"][0]["hooks"]
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", read(ROOT / "Makefile"), re.MULTILINE)[1]
    wanted = [line.strip().replace("$(VENV)", ".venv") for line in recipe.splitlines()]
    assert [hook["entry"] for hook in hooks] == wanted
    assert {hook["language"] for hook in hooks} == {"system"}


def test_the_citation_is_one_of_its_format():
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", ROOT / "CITATION.cff"]
    schema = ["--builtin-schema", "vendor.citation-file-format", "--force-filetype", "yaml"]
    done = subprocess.run([*command, *schema], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    stated = yaml.safe_load(read(ROOT / "CITATION.cff"))
    project = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{stated["version"]}"' in project
    assert f'license = "{stated["license"]}"' in project


def test_the_picture_is_read_by_everybody():
    picture = ElementTree.parse(ROOT / "utils/data-flow.svg")
    text = read(ROOT / "utils/data-flow.svg")
    assert "prefers-color-scheme: dark" in text
    of = "{http://www.w3.org/2000/svg}"
    assert all(picture.findtext(f"{of}{name}") for name in ("title", "desc"))
    boxes = [
        {name: float(box.get(name)) for name in ("x", "y", "width", "height")}
        for box in picture.iter(f"{of}rect")
        if box.get("x")
    ]
    for line in picture.iter(f"{of}text"):
        # The widest of the usual fonts takes less for a letter.
        wide = len(line.text) * (8.6 if line.get("class") == "name" else 6.4)
        x, y = float(line.get("x")), float(line.get("y"))
        assert any(
            box["x"] < x
            and x + wide <= box["x"] + box["width"]
            and box["y"] < y < box["y"] + box["height"]
            for box in boxes
        ), line.text
