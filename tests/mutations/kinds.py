"""Kinds of faults in a text: each a function of a random generator and the text.

It returns the changed text, or None where there is nothing to change.
"""

import random
import re
from collections.abc import Callable, Sequence

Mutation = Callable[[random.Random, str], str | None]

_TOKEN = re.compile(r"\S+")


def _pick(rng: random.Random, text: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    found = [*pattern.finditer(text)]
    return rng.choice(found) if found else None


def _replaced(pattern: str, change: Callable[[random.Random, str], str]) -> Mutation:
    """Return the mutation that changes one match of a pattern."""
    compiled = re.compile(pattern)

    def mutate(rng: random.Random, text: str) -> str | None:
        match = _pick(rng, text, compiled)
        return match and text[: match.start()] + change(rng, match[0]) + text[match.end() :]

    return mutate


def _of_lines(change: Callable[[random.Random, list[str]], None]) -> Mutation:
    """Return the mutation that changes the list of lines in its place."""

    def mutate(rng: random.Random, text: str) -> str | None:
        lines = text.splitlines(keepends=True)
        change(rng, lines)
        return "".join(lines)

    return mutate


def _lose_line(rng, lines):
    del lines[rng.randrange(len(lines))]


def _double_line(rng, lines):
    number = rng.randrange(len(lines))
    lines.insert(number, lines[number])


def _swap_lines(rng, lines):
    # As often with the next one as with any.
    one = rng.randrange(len(lines) - 1)
    other = rng.choice((one + 1, rng.randrange(len(lines))))
    lines[one], lines[other] = lines[other], lines[one]


def _swap_columns(rng, text):
    """Exchange two neighbouring words of a line, right aligned as they were."""
    match = _pick(rng, text, re.compile(r"\S+ +\S+"))
    if not match:
        return None
    one, other = match[0].split()
    return (
        text[: match.start()] + f"{other}{one:>{len(match[0]) - len(other)}}" + text[match.end() :]
    )


def _swap_values(rng, text):
    """Exchange two neighbouring values of a column, right aligned as they were."""
    lines = text.splitlines(keepends=True)
    number = rng.randrange(len(lines) - 1)
    rows = [[*_TOKEN.finditer(line)] for line in lines[number : number + 2]]
    if not rows[0] or len(rows[0]) != len(rows[1]):
        return None
    column = rng.randrange(len(rows[0]))
    one, other = (row[column] for row in rows)
    for offset, old, new in ((0, one, other[0]), (1, other, one[0])):
        line, space = lines[number + offset], max(0, len(new) - len(old[0]))
        before = line[: old.start()].removesuffix(" " * space)
        lines[number + offset] = before + new.rjust(len(old[0])) + line[old.end() :]
    return "".join(lines)


def _cut(rng, text):
    return text[: rng.randrange(len(text))]


def _flip(rng, character):
    return chr(ord(character) ^ 1 << rng.randrange(8))


def _move_point(rng, number):
    whole, _, part = number.partition(".")
    digits, at = whole + part, len(whole) + rng.choice((-1, 1))
    return f"{digits[:at]}.{digits[at:]}"


def _insert(words: Sequence[str]):
    return lambda rng, at: rng.choice(words) + at


#: Kind -> mutation.
KINDS: dict[str, Mutation] = {
    "lost digit": _replaced(r"\d", lambda rng, digit: ""),
    "changed digit": _replaced(r"\d", lambda rng, digit: rng.choice("0123456789")),
    "swapped digits": _replaced(r"\d\d", lambda rng, two: two[::-1]),
    "doubled digit": _replaced(r"\d", lambda rng, digit: 2 * digit),
    "lost point": _replaced(r"(?<=\d)\.(?=\d)", lambda rng, point: ""),
    "moved point": _replaced(r"\d+\.\d+", _move_point),
    "zero in front": _replaced(r"(?<![\d.])\d", lambda rng, digit: f"0{digit}"),
    "sign or exponent": _replaced(r"(?<=[ =\d])\d", _insert(("-", "+", "e", "e-", "E+"))),
    "lost character": _replaced(r"[\s\S]", lambda rng, character: ""),
    "added character": _replaced(r"[\s\S]", _insert("0159.,-+eExX# \t\n\r\0\xff")),
    "flipped bit": _replaced(r"[\s\S]", _flip),
    "flipped bit of a digit": _replaced(r"\d", _flip),
    "moved column": _replaced(r" +(?=\d)", lambda rng, gap: rng.choice((gap[1:], gap + " "))),
    "swapped columns": _swap_columns,
    "swapped values": _swap_values,
    "lost word": _replaced(r"\S+", lambda rng, word: ""),
    "lost line": _of_lines(_lose_line),
    "doubled line": _of_lines(_double_line),
    "swapped lines": _of_lines(_swap_lines),
    "cut file": _cut,
}
