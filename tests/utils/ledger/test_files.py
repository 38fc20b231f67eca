"""DuckDB is opened in one way: what would take all of the machine, or print, or fetch, is off."""

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize(
    ("places", "sizes", "groups"),
    [
        # Two are worth it, one is not; files that do not follow each other stay apart.
        ([(1, 1), (2, 2)], (5, 5), [[1, 2]]),
        ([(1, 4)], (5,), []),
        ([(1, 1), (3, 3), (4, 6)], (5, 5, 5), [[3, 4]]),
        # None becomes larger than what is large.
        ([(1, 1), (2, 2), (3, 3), (4, 4)], (60, 30, 20, 80), [[1, 2], [3, 4]]),
        ([(1, 1), (2, 2)], (60, 41), []),
    ],
)
def test_files_are_merged_that_follow_each_other_and_stay_small(
    tmp_path, monkeypatch, places, sizes, groups
):
    monkeypatch.setattr(files, "LARGE", 100)
    found = []
    for (first, last), size in zip(places, sizes, strict=True):
        path = tmp_path / f"{first}.parquet"
        path.write_bytes(b"x" * size)
        found.append(files.File(first, last, "", path))
    assert [[each.first for each in group] for group in files._groups(found)] == groups
