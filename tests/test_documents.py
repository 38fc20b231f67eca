"""Documents and messages: what they link to, name and show is there, and the programs take it."""

import importlib
import importlib.util
import math
import re
import shlex
import subprocess
import sys
import textwrap
from xml.etree import ElementTree

import pytest
import yaml

from acceptance.cli.main import parse
from acceptance.core.paths import ROOT
from tests.conftest import BIN
from tests.utils.cli.test_main import parsers
from tests.utils.test_house import FLOORS, PACKAGE

PAGES = sorted(path for folder in ("", "*/") for path in ROOT.glob(f"{folder}*.md"))
#: Each test with one page after the other.
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
#: A line of a block of code that begins with the command, up to a comment.
COMMAND = re.compile(r"^acceptance ([a-z][^#\n]*)", re.MULTILINE)
#: What a paragraph may have: lines, and characters of a line.
LINES, WIDTH = 6, 100


def read(page):
    return page.read_text(encoding="utf-8")


def without_code(text):
    """Return a page without its blocks of code, inside of which nothing is a link or a heading."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page):
    """Return the anchors of a page: its headings, as a forge writes them."""
    titles = re.findall(r"^#+ (.+)$", without_code(read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def blocks(page):
    """Return the blocks of code of a page."""
    text = read(page)
    found = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [*found, *re.findall(r"^ {4}(\S.*)$", without_code(text), re.MULTILINE)]


def shown(page):
    """Return what a page shows as code: its blocks, and what is between marks in its text."""
    return [*blocks(page), *re.findall(r"`([^`\n]+)`", without_code(read(page)))]


def paragraphs(text):
    """Yield the paragraphs of a page, and the items of its lists; no code, table or heading."""
    for block in re.split(r"\n\s*\n", without_code(text)):
        for item in re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", block):
            if not item.startswith(("    ", "|", "#")):
                yield " ".join(item.split())


@each_page
def test_no_paragraph_is_longer_than_six_lines(page):
    wrapped = {text: len(textwrap.wrap(text, WIDTH)) for text in paragraphs(read(page))}
    assert wrapped
    assert not {text: lines for text, lines in wrapped.items() if lines > LINES}


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
    for line in COMMAND.findall("\n".join(blocks(page))):
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
        if name.endswith(".md"):  # in a sentence "acceptance" is a word
            text = "\n".join(shown(ROOT / name))
        else:
            text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
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
    """Yield module, name (or an item of it) and value of each constant that the method states."""
    for module, rows in _TABLE.findall(METHOD):
        for row in rows.splitlines():
            names, values = row.split("|")[1:3]
            names = re.findall(r"`([^`]+)`", names)
            values = eval(f"({values},)", {"math": math})
            assert len(names) == len(values), row
            for name, value in zip(names, values, strict=True):
                yield f"acceptance.{module.replace('/', '.')}", name, value


@pytest.mark.parametrize(("module", "name", "value"), list(constants()))
def test_the_method_states_the_constants_of_the_code(module, name, value):
    there = eval(name, vars(importlib.import_module(module)))
    assert there == pytest.approx(value, rel=1e-12)


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


#: A file that a page names: with a folder before it, or of a kind that only we have.
_FILE = re.compile(r"(?:[\w.-]+/)+[\w.-]+\.(?:py|sh|csv|yaml|yml|toml|md|j2|json|js|svg|bib|cff)")
#: What the examples make, and what runs leave.
_MADE = (
    "mycluster", "halo", "site-checks/", "netgauge", "var/", "rules.d", "nodes/", "NAME", "here.py",
    "systems/found",
)  # fmt: skip


@each_page
def test_every_file_that_a_page_names_is_there(page):
    places = (ROOT, page.parent, PACKAGE, PACKAGE / "report", ROOT / "config")
    for text in shown(page):
        for name in _FILE.findall(text):
            if not any(made in text for made in _MADE) and not re.search(r"[<*]", text):
                assert any((place / name).exists() for place in places), name


@each_page
def test_every_module_and_target_that_a_page_names_is_there(page):
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    taken = set(re.findall(r"\b([A-Z]{4,})\b", read(ROOT / "Makefile"))) | {"REFRAME"}
    for text in shown(page):
        for words in re.findall(r"^make ((?:[^#\n])+)", text, re.MULTILINE):
            for word in shlex.split(words):
                name, is_variable, _ = word.partition("=")
                if word.startswith("-C"):
                    break  # another Makefile
                known = name in taken or name.startswith("ACCEPTANCE_") if is_variable else False
                assert known or name in targets, words
        for module in re.findall(r"python -m (tests[\w.]*)", text):
            assert importlib.util.find_spec(module), module


#: A name, and the file that a page says it is in.
_NAME_IN = re.compile(r"`([A-Za-z_]\w*)`\s+(?:in|of)\s+`((?:[\w.-]+/)+[\w.-]+\.py)`")


def test_every_name_that_a_page_says_is_in_a_file_is_there():
    found = [each for page in PAGES for each in _NAME_IN.findall(read(page))]
    for name, file in found:
        places = (ROOT / file, PACKAGE / file)
        text = next(read(place) for place in places if place.exists())
        assert re.search(rf"\b{name}\b", text), f"{name} in {file}"
    assert len(found) > 5


@each_page
def test_every_variable_that_a_page_names_is_read_somewhere(page):
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("utils", "config", "checks", "tests")
        for path in (ROOT / folder).rglob("*.py")
    ) + read(ROOT / "env.sh")
    for name in set(re.findall(r"\b(?:ACCEPTANCE|SPACK)_[A-Z_]+\b", read(page))):
        assert re.search(rf"\b{name}\b", code), name


@pytest.fixture(scope="module")
def options_of_reframe():
    """What `reframe --help` lists."""
    done = subprocess.run([BIN / "reframe", "--help"], capture_output=True, text=True, check=True)
    return set(re.findall(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", done.stdout))


#: A call of ReFrame, up to a comment.
_REFRAME = re.compile(r"^(?:\S+=\S+ )?reframe ([^#\n]*)", re.MULTILINE)


@each_page
def test_reframe_takes_what_a_page_shows(page, options_of_reframe):
    for text in shown(page):
        for line in _REFRAME.findall(text):
            words = shlex.split(line)
            for word, value in zip(words, [*words[1:], ""], strict=True):
                if word.startswith("-"):
                    assert word.partition("=")[0] in options_of_reframe, line
                if word == "-c" and value.startswith("checks"):
                    assert (ROOT / value).exists(), line
                if word == "-S" and "." in value.partition("=")[0]:
                    check, _, variable = value.partition("=")[0].partition(".")
                    sources = "\n".join(map(read, (ROOT / "checks").glob("*.py")))
                    assert f"class {check}(" in sources, line
                    assert re.search(rf"\b{variable} = (?:variable|parameter)", sources), line


def test_each_page_that_a_message_or_a_comment_names_is_there():
    named = set()
    for folder in ("utils/acceptance", "checks", "config"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".j2", ".js", ".sh"):
                for name, anchor in re.findall(r"\b([\w-]+/\w+\.md)(?:#([\w-]+))?", read(path)):
                    assert (ROOT / name).exists(), (path, name)
                    assert not anchor or anchor in anchors(ROOT / name), (path, anchor)
                    named.add(name)
    assert {"config/site.md", "config/fabric.md", "reference/README.md"} <= named


def test_every_module_and_folder_of_the_package_page_is_there():
    text = read(ROOT / "utils/README.md")
    named = set(re.findall(r"`((?:\w[\w-]*/)+|(?:[\w-]+/)*\w+\.py)`", text))
    named -= {"data/history/", "cli/NAME.py"}
    places = ROOT, PACKAGE, PACKAGE / "relations", PACKAGE / "cli"
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert not [name for name in missing if not name.startswith("var/")]
    assert len(named) > 50


def test_each_task_of_the_first_page_is_a_command_and_a_page():
    table = read(ROOT / "README.md").partition("## Six tasks")[2].partition("\n\n`")[0]
    rows = [row for row in table.splitlines() if re.match(r"\| [a-z]+ (?!want)", row)]
    assert len(rows) == 6
    for row in rows:
        command, page = row.split("|")[2:4]
        assert re.findall(r"\]\((\S+)\)", page), row
        commands = re.findall(r"`acceptance ([^`]+)`", command)
        assert commands, row
        for line in commands:
            parse(shlex.split(line))


def test_the_references_that_pages_show_are_there(site):
    lines = {line.strip() for page in PAGES for line in COMMAND.findall("\n".join(blocks(page)))}
    lines = {line for line in lines if line.startswith("references") and "mycluster" not in line}
    assert len(lines) >= 3
    for line in sorted(lines):
        done = site.acceptance(*shlex.split(line))
        assert (done.status, bool(done.output)) == (0, True), (line, done.errors)
