"""Recorded outputs of several benchmarks in one file, each made the output of a run of its own."""

import re
from collections.abc import Iterator

#: The command that prints a recorded output as a program would that runs now with the arguments of
#: this script: its file is to follow.
_NOW = "$(LC_ALL=C date '+%a %b %e %T %Y')"
REPLAYED = (
    f'LC_ALL=C sed -e "s|^# Date  .*|# Date                  : {_NOW}|" '
    f'-e "s|^# [^ ]*IMB-[^ ]* .*|# $0 $*|" '
    f'-e "s|^Current time (.*|Current time ($(date +%s)) is {_NOW}|"'
)
_MARK = re.compile(r"^==> (\w+) <==\n", re.MULTILINE)
_BEGIN = re.compile(r"^(?:#-+\n)?# Benchmarking (\S+)", re.MULTILINE)
_END = re.compile(r"\n+# All processes entering MPI_Finalize")


def runs(suite: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield name and output of each benchmark; a file of one output has no name."""
    return {"osu": _osu, "imb": _imb}.get(suite, _whole)(text)


def mark(program: str) -> str:
    """Return the line that stands before the output of a program of OMB."""
    return f"==> {program} <==\n"


def _whole(text: str) -> Iterator[tuple[str, str]]:
    yield "", text


def _osu(text: str) -> Iterator[tuple[str, str]]:
    before, *parts = _MARK.split(text)
    if not parts:
        yield "", before
    yield from zip(parts[::2], parts[1::2], strict=True)


def _imb(text: str) -> Iterator[tuple[str, str]]:
    """Yield each benchmark with all of its tables, between the head and the end of the file."""
    begins = [*_BEGIN.finditer(text)]
    if not begins:
        yield "", text
        return
    end = _END.search(text)
    ends = [match.start() for match in begins[1:]] + [end.start() if end else len(text)]
    tables: dict[str, str] = {}
    for match, stop in zip(begins, ends, strict=True):
        name = match[1]
        tables[name] = tables.get(name, "") + text[match.start() : stop]
    head = text[: begins[0].start()]
    for name, own in tables.items():
        yield name, head + own + (text[end.start() :] if end else "")
