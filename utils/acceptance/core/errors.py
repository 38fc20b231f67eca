"""Faults: what a person has to read, and what a parser refuses."""

from pathlib import Path

from acceptance.core.text import clipped, read_bounded

#: Characters of what others wrote (a line of an output, say) that a message quotes at most.
QUOTED = 500
#: Characters of a failure's message that are stored and read at most: ReFrame stores each one twice
#: and loses a session of more than 1 GB as a whole. 200 metrics that failed take 30,000.
MESSAGE = 32_000


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
        message = clipped(message, 4 * QUOTED)  # it may quote a word of the line
        what = f"{benchmark}: {message}" if benchmark else message
        what += f": {clipped(line.strip(), QUOTED)!r}" if line.strip() else ""
        super().__init__(what, where=source, number=number)


def read_whole(path: Path, limit: int) -> str:
    """Return the text of a file of at most `limit` bytes.

    Raises ParseError for a longer one, of which a part could look complete, and OSError.
    """
    text, cut = read_bounded(path, limit)
    if cut:
        raise ParseError(path.name, f"{cut}: too long to be read; see there what wrote it")
    return text
