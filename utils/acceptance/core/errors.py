"""Parsers of the suites' outputs: text in, typed values out; they open no file.

All or nothing: whatever a parser does not understand is a `ParseError` that names the line.
"""


class ParseError(ValueError):
    """An output that cannot be judged: what is wrong, in which benchmark, on which line.

    `source` names the file for the reader, `number` counts lines from 1 (0: the whole output).
    """

    def __init__(
        self, source: str, message: str, *, benchmark: str = "", number: int = 0, line: str = ""
    ) -> None:
        self.source, self.benchmark, self.number, self.line = source, benchmark, number, line
        where = f"{source}:{number}" if number else source
        what = f"{benchmark}: {message}" if benchmark else message
        super().__init__(f"{where}: {what}" + (f": {line.strip()!r}" if line.strip() else ""))
