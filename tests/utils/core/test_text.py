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


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.12345, "0.123"), (99.96, "100"), (999.4, "999"), (999.7, "1000"), (-5000, "-5000")],
)
def test_no_value_of_a_line_has_an_exponent_for_being_large(value, said):
    assert text.number_text(value) == said


def test_a_name_that_reframe_takes_has_no_other_signs():
    assert text.legal_name("a.b c_d-é") == "a-b-c_d--"


def test_a_line_has_no_breaks_and_no_codes_of_terminals():
    assert text.one_line("a\n\x1b[31mb\t c") == "a [31mb c"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("over\rwritten", "over\\rwritten"),
        ("\u202efdp.exe\x9b", "\\u202efdp.exe\\x9b"),
        ("\udc80 \ufffe", "\\udc80 \\ufffe"),
        ("é µs\n\tcolumn", "é µs\n\tcolumn"),
    ],
)
def test_what_a_terminal_obeys_is_shown_as_its_code(given, said):
    assert text.printable(given) == said


@pytest.mark.parametrize(
    ("content", "end", "read", "note"),
    [
        (b"ab\r\nc\n", 0, "ab\nc\n", ""),
        (b"12345678", 0, "12345678", ""),
        (b"123456789", 0, "12345678", "cut at 8 B of 9 B"),
        (b"123456789", 4, "12345678\n9", "cut at 8 B of 9 B"),
        (b"1234567890abcdef", 4, "12345678\ncdef", "cut at 8 B of 16 B"),
        (b"\xff\n", 0, "\ufffd\n", ""),
    ],
)
def test_a_file_is_read_to_a_bound_and_says_where_it_was_cut(tmp_path, content, end, read, note):
    path = tmp_path / "out"
    path.write_bytes(content)
    assert text.read_bounded(path, 8, end) == (read, note)


def test_a_text_that_was_cut_says_so():
    assert text.clipped("abcd", 4) == "abcd"
    assert text.clipped("abcdefgh", 4) == "abcd... (cut at 4 of 8 characters)"
