"""Rows of tables, aligned as a program prints them."""

import re


def like(real: str, row: str) -> str:
    """Return a row whose fields end where those of a real row do; OMB's size begins the line."""
    ends = [match.end() for match in re.finditer(r"\S+", real)]
    fields = row.split()
    if len(fields) != len(ends):
        return row
    line = "" if real.startswith(" ") else fields.pop(0)
    for field, end in zip(fields, ends[-len(fields) :], strict=True):
        line += field.rjust(end - len(line))
    return line
