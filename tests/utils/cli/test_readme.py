"""The READMEs: their links lead somewhere, and the command takes what they show."""

import re
import shlex

import pytest

from acceptance.cli.main import _parser
from acceptance.core.paths import ROOT

READMES = [ROOT / "README.md", *sorted(ROOT.glob("*/README.md"))]
#: A line of a block of code that begins with the command, up to a comment.
COMMAND = re.compile(r"^(?: {4})?acceptance ([a-z][^#\n]*)", re.MULTILINE)


def anchors(path):
    """Return the anchors of a page: its headings, as a forge writes them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", READMES, ids=lambda path: path.parent.name)
def test_every_link_leads_to_a_file_and_a_heading(path):
    for link in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        if not link.startswith("http"):
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("path", READMES, ids=lambda path: path.parent.name)
def test_the_command_takes_what_a_page_shows(path):
    for line in COMMAND.findall(path.read_text(encoding="utf-8")):
        _parser().parse_args(shlex.split(line))


def test_the_first_page_is_read_in_five_minutes():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
