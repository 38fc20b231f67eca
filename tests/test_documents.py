"""Documents and messages: what they link to, name and show is there, and the programs take it."""

import re
import shlex
import subprocess

import pytest

from acceptance.cli.main import parse
from acceptance.core.paths import ROOT
from tests.utils.cli.test_main import parsers

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
