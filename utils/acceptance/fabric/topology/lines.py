"""The lines of an output, none of which may be half."""

from collections.abc import Iterator

from acceptance.core.errors import ParseError


def lines_of(text: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not empty; ParseError for an output that is cut.

    Only a line feed ends a line: a name may hold whatever else Python takes for an end.
    """
    lines = text.split("\n")
    if lines[-1]:
        raise ParseError(
            source, "the output ends in the middle of a line", number=len(lines), line=lines[-1]
        )
    yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip())
