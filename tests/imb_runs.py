"""Recorded outputs of IMB with several benchmarks, each made the output of a run of its own."""

import re
from collections.abc import Iterator

_BEGIN = re.compile(r"^(?:#-+\n)?# Benchmarking (\S+)", re.MULTILINE)
_END = re.compile(r"\n+# All processes entering MPI_Finalize")


def runs(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and output of each benchmark, with all of its tables."""
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
