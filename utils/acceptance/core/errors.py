"""Faults: what a person has to read, and what a parser refuses."""


class Fault(Exception):
    """Something that its reader can fix: what, where (file, line, node, port), what to do.

    The base of every exception that the command `acceptance` shows as one line. `where` and
    `number` (a line, counted from 1; 0: none) stay data: nobody reads them back out of the message.
    """

    def __init__(self, message: str, *, where: str = "", number: int = 0) -> None:
        self.message, self.where, self.number = message, where, number
        place = f"{where}:{number}" if number else where
        super().__init__(f"{place}: {message}" if place else message)


class ParseError(Fault, ValueError):
    """An output that cannot be judged: what is wrong, in which benchmark, on which line.

    `source` names the file for the reader, `number` counts lines from 1 (0: the whole output).
    """

    def __init__(
        self, source: str, message: str, *, benchmark: str = "", number: int = 0, line: str = ""
    ) -> None:
        self.source, self.benchmark, self.line = source, benchmark, line
        what = f"{benchmark}: {message}" if benchmark else message
        what += f": {line.strip()!r}" if line.strip() else ""
        super().__init__(what, where=source, number=number)
