"""Whether what runs leave is found afterwards, from what ReFrame makes of its configuration."""

import os
from pathlib import Path

import pytest

from acceptance.core.errors import Fault
from acceptance.core.paths import FRAGMENT, ROOT, Workspace
from acceptance.rfm import configuration, recording, reframe_environment
from acceptance.rfm.in_force import unrecorded, workspace
from tests import places

SITE = places.workspace(Path("/site/var"), config_files=(Path("/site/site.py"),))
LOG = recording.log(SITE)
STORAGE = recording.storage(SITE)
STREAM = {**LOG, "type": "stream", "name": "stdout"}
NAME = f"name our fragment as the last file: -C {FRAGMENT}"


@pytest.fixture(autouse=True)
def _own_variables(monkeypatch):
    """Let no variable name a configuration, or say where results go."""
    for name in [name for name in os.environ if name.startswith("RFM_")]:
        monkeypatch.delenv(name)


def test_reframe_has_the_folders_of_the_command_wherever_it_starts(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    given = {"ACCEPTANCE_VAR": "var", "ACCEPTANCE_REFERENCE": "ours", "ACCEPTANCE_SYSTEMS": "more"}
    told = reframe_environment(Workspace.of(given))
    assert {name: told[name] for name in given} == {
        name: str(Path.cwd() / folder) for name, folder in given.items()
    }


def answer(**changes):
    """Return what ReFrame says of a configuration with the fragment, but for some changes."""
    return {"storage": STORAGE, "log": [STREAM, LOG], "level": "undefined", **changes}


def test_what_the_fragment_adds_is_found(monkeypatch):
    assert unrecorded(answer(), SITE) == ("", "")
    monkeypatch.setenv("RFM_ENABLE_RESULTS_STORAGE", "y")
    assert unrecorded(answer(), SITE) == ("", "")


OFF = {**STORAGE, "enable": False}
VARIABLE = {"RFM_SQLITE_DB_FILE": "/tmp/other.db"}


@pytest.mark.parametrize(
    ("changes", "env", "remedy"),
    [
        ({"storage": OFF}, {}, NAME),
        ({"storage": {**STORAGE, "backend": "postgres"}}, {}, NAME),
        ({"storage": {**STORAGE, "sqlite_db_file": "/site/own.db"}}, {}, NAME),
        ({"storage": OFF}, {"RFM_ENABLE_RESULTS_STORAGE": "n"}, "unset RFM_ENABLE_RESULTS_STORAGE"),
        ({"storage": OFF, "log": []}, VARIABLE, f"unset RFM_SQLITE_DB_FILE; {NAME}"),
        ({"log": []}, {}, NAME),
        ({"log": [STREAM]}, {}, NAME),
        ({"log": [{**LOG, "name": "/site/reframe.log"}]}, {}, NAME),
        ({"log": [{**LOG, "format": "%(message)s"}]}, {}, NAME),
        ({"log": [{**LOG, "level": "warning"}]}, {}, NAME),
        ({"log": [{**LOG, "append": False}]}, {}, NAME),
        ({"level": "error"}, {}, "let the level of its `logging` be info instead of error"),
    ],
)
def test_what_is_not_found_is_said_with_its_remedy(changes, env, remedy, monkeypatch):
    fault = "/site/site.py: keeps no log and results in /site/var"
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert unrecorded(answer(**changes), SITE) == (fault, remedy)


def test_nothing_is_read_of_a_workspace_whose_runs_are_not_found():
    site = places.workspace(Path("/var"), unrecorded="site.py: no log", remedy="do so")
    for read in (lambda: site.logs, lambda: site.results, site.require_records):
        with pytest.raises(Fault, match=r"^site.py: no log, so that no run is found; do so$"):
            read()


def test_the_clone_with_systems_of_a_site_needs_no_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("acceptance.rfm.in_force._ask", None)
    site = tmp_path / "site.py"
    site.write_text("site_configuration = {'systems': [], 'environments': []}")
    own = str(ROOT / "config/settings.py")
    assert workspace([own, str(site)]).config_files == (Path(own), site)
    assert workspace([str(site)], places=False).config_files == (site,)
    assert workspace().config_files == (Path(own),)
    for files in (own, f"{own}:{site}"):
        monkeypatch.setenv("RFM_CONFIG_FILES", files)
        assert workspace().unrecorded == ""


def test_a_command_executes_each_file_once(tmp_path):
    """The site's own file is looked into for where results go, and then for its systems."""
    told = tmp_path / "told"
    path = tmp_path / "site.py"
    path.write_text(f"open({str(told)!r}, 'a').write('.')\nsite_configuration = {{}}\n")
    here = workspace([str(ROOT / "config/settings.py"), str(path)])
    assert configuration.load(here.config_files) == configuration.load(here.config_files)
    assert told.read_text() == "."
