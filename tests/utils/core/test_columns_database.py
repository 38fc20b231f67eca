"""DuckDB is opened in one way: what would take all of the machine, or print, or fetch, is off."""

import subprocess
import sys

import pytest

from acceptance.core import columns_database
from tests.places import ROOT

#: As an interactive terminal would show it.
SLOW = (
    "import duckdb, sys; from acceptance.core import columns_database; "
    "c = columns_database.connect(memory='200MB'); "
    "print(c.execute(\"SELECT current_setting('enable_progress_bar')\").fetchone()[0])"
)


def test_nothing_is_drawn_on_the_standard_output():
    done = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("in_file", [True, False])
def test_memory_and_processors_are_bounded_and_nothing_is_fetched(tmp_path, in_file):
    path = tmp_path / "a.duckdb" if in_file else None
    with columns_database.connect(path, memory="200MB") as connection:
        settings = dict(
            connection.execute(
                "SELECT name, value FROM duckdb_settings() WHERE name IN ('threads', "
                "'memory_limit', 'autoinstall_known_extensions', 'autoload_known_extensions')"
            ).fetchall()
        )
    assert settings == {
        "threads": "2",
        "memory_limit": "190.7 MiB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }


def test_only_one_module_opens_it():
    calls = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "utils").rglob("*.py")
        if "duckdb.connect(" in path.read_text()
    ]
    assert calls == ["utils/acceptance/core/columns_database.py"]
