"""`core/text.py`: words for people."""

import pytest

from acceptance.core import text


@pytest.mark.parametrize(
    ("names", "most", "said"),
    [
        ([], 2, ""),
        (["a", "b"], 2, "a, b"),
        (["a", "b", "c", "d", "e"], 2, "a, b, ... (3 more)"),
    ],
)
def test_a_long_list_says_how_many_it_leaves_out(names, most, said):
    assert text.shortened(names, most) == said


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 B"), (1000, "1000 B"), (4096, "4 KiB"), (2**22, "4 MiB"), (2**31, "2 GiB")],
)
def test_sizes_are_written_as_people_write_them(size, said):
    assert text.bytes_text(size) == said


def test_a_name_that_reframe_takes_has_no_other_signs():
    assert text.legal_name("a.b c_d-é") == "a-b-c_d--"


def test_a_line_has_no_breaks_and_no_codes_of_terminals():
    assert text.one_line("a\n\x1b[31mb\t c") == "a [31mb c"
