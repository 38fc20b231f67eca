"""What the tests of several commands share: a database, and a command that reads it."""

import pytest

from acceptance.cli.main import main


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


@pytest.fixture
def command(path, capsys):
    """Run a command on the database; return status, output and errors."""

    def run(name, *arguments):
        status = main([name, "--db", str(path), *arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run
