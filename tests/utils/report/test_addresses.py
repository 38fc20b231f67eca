"""Addresses: of any name a legal one, and never one of two."""

import re

import pytest

from acceptance.report import addresses

HOSTILE = [
    "../../etc/passwd", "<script>alert(1)</script>", "a/b", "a b", "", ".", "..", "con", "A", "a",
    "ä", "x" * 300, "x" * 299, "a\nb", "%2e%2e", "a#b", "a?b", "-", "--", "a--b", "javascript:x",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_is_legal(name):
    made = addresses.legal(name)
    assert re.fullmatch(r"[a-z0-9_][a-z0-9_.-]*", made)
    assert ".." not in made
    assert len(made) < 100


def test_no_two_names_share_one():
    assert len({addresses.legal(name) for name in HOSTILE}) == len(HOSTILE)


def test_no_name_is_the_one_that_was_made_of_another():
    for name in HOSTILE:
        made = addresses.legal(name)
        assert name == made or addresses.legal(made) != made


def test_two_partitions_never_share_a_page():
    pages = {
        addresses.of_partition("curves", system, partition)
        for system, partition in (("a-b", "c"), ("a", "b-c"), ("a~b", "c"), ("a", "b~c"))
    }
    assert len(pages) == 4


@pytest.mark.parametrize(
    ("to", "page", "written"),
    [
        ("index.html", "sessions/a.html", "../index.html"),
        ("sessions/a.html#case-3", "index.html", "sessions/a.html#case-3"),
        ("sessions/a.html#case-3", "sessions/a.html", "#case-3"),
        ("sessions/b.html", "sessions/a.html", "b.html"),
        ("index.html", "index.html", "index.html"),
    ],
)
def test_an_address_is_written_as_a_page_sees_it(to, page, written):
    assert addresses.relative(to, page) == written
