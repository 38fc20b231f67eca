"""How the project is tested: the figures of commands that take long, and the page made of them.

Such a command ends with `record`, which keeps its figures in `tests/tested/NAME.json` with their
date and commit. `python -m tests.tested` writes them into the table of `tests/README.md`.
"""

import datetime
import json
from pathlib import Path

from acceptance.core import machine
from tests.places import ROOT

HERE = Path(__file__).parent
PAGE = ROOT / "tests/README.md"
#: What stands around the table in the page.
START, END = "<!-- figures -->", "<!-- end of figures -->"


def record(name: str, command: str, figures: dict[str, str]) -> None:
    """Keep the figures of a command: what was counted -> how many, with units, as text."""
    kept = {
        "command": command,
        "date": f"{datetime.date.today()}",
        "commit": machine.commit(ROOT),
        "figures": figures,
    }
    path = HERE / f"{name}.json"
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def table() -> str:
    """Return the table of all figures that were kept."""
    lines = ["| command | date | what | figure |", "|---|---|---|---|"]
    for path in sorted(HERE.glob("*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        said = [f"`{kept['command']}`", kept["date"]]
        for what, figure in kept["figures"].items():
            lines.append("| " + " | ".join([*said, what, figure]) + " |")
            said = ["", ""]
    return "\n".join(lines)


def written(page: str) -> str:
    """Return the page with the table of today between its marks."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{table()}\n\n{END}{after}"
