"""DuckDB is opened in one way: what would take all of the machine, or print, or fetch, is off."""

import subprocess
import sys

from acceptance.ledger import files
from tests.places import ROOT
from tests.started import ALONE

#: As an interactive terminal would show it.
SLOW = (
    "import duckdb, sys; from acceptance.ledger import files; c = files.database(); "
    "print(c.execute(\"SELECT current_setting('enable_progress_bar')\").fetchone()[0])"
)


def test_nothing_is_drawn_on_the_standard_output():
    command = [sys.executable, "-c", ALONE + SLOW]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_memory_and_processors_are_bounded_and_nothing_is_fetched():
    with files.database().cursor() as connection:
        settings = dict(
            connection.execute(
                "SELECT name, value FROM duckdb_settings() WHERE name IN ('threads', "
                "'memory_limit', 'autoinstall_known_extensions', 'autoload_known_extensions')"
            ).fetchall()
        )
    assert settings == {
        "threads": "2",
        "memory_limit": "488.2 MiB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }


def test_only_one_module_opens_it():
    calls = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "utils").rglob("*.py")
        if "duckdb.connect(" in path.read_text()
    ]
    assert calls == ["utils/acceptance/ledger/files.py"]
