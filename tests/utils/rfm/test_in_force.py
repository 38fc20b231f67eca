"""What a configuration says of the places of results, from what ReFrame makes of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from acceptance.core.errors import Fault
from acceptance.core.paths import LOG_FORMAT, ROOT, Workspace
from acceptance.rfm.in_force import storage_of, workspace

FILE = {
    "type": "file",
    "name": "/site/log/reframe.log",
    "level": "info",
    "format": LOG_FORMAT,
    "datefmt": "%FT%T.%f",
    "timestamp": False,
    "append": True,
}
FILELOG = {"type": "filelog", "basedir": "./perflogs"}
ANSWER = {
    "files": ["/site/site.py"],
    "system": "mine",
    "enable": True,
    "backend": "sqlite",
    "database": "/site/results.db",
    "level": "undefined",
    "log": [FILE],
    "perflog": [FILELOG],
    "prefix": "/scratch",
}
STORAGE_LINE = (
    "add to site_configuration: 'storage': "
    "[{'enable': True, 'backend': 'sqlite', 'sqlite_db_file': '/site/results.db'}],"
)


def storage(**changes):
    return storage_of({**ANSWER, **changes}, [Path("/site/site.py")])


def log(*handlers, **changes):
    return storage(log=[{**FILE, **handler} for handler in handlers], **changes).logs


def test_places_are_those_of_the_configuration():
    found = storage()
    assert (found.database, found.perflogs) == (Path("/site/results.db"), Path("/scratch/perflogs"))
    assert (found.logs.folder, found.logs.pattern) == (Path("/site/log"), "reframe.log")
    assert (found.fault, found.logs.fault, found.logs.note) == ("", "", "")
    assert storage(perflog=[{"type": "syslog"}]).perflogs is None
    assert log({"timestamp": True}).pattern == "reframe_*.log"


@pytest.mark.parametrize(
    ("changes", "fault", "remedy"),
    [
        ({"enable": False}, "results storage is off", STORAGE_LINE),
        ({"backend": "postgres"}, "results are stored by postgres", STORAGE_LINE),
    ],
)
def test_results_that_cannot_be_read_are_said_with_the_line_to_paste(changes, fault, remedy):
    found = storage(**changes)
    assert fault in found.fault
    assert found.remedy == remedy
    with pytest.raises(Fault, match=f"site.py: {fault}.*; add to site_configuration"):
        _ = workspace_of(found).results


def workspace_of(found):
    return Workspace(ROOT, Path("/var"), ROOT / "reference", (ROOT,), storage=found)


def test_perflogs_from_before_results_were_stored_miss_no_database():
    site = workspace_of(storage())
    assert (site.perflogs, site.witnesses) == (Path("/scratch/perflogs"), None)
    own = replace(site, config_files=(ROOT / "config/settings.py",))
    assert own.witnesses == own.perflogs


def test_a_storage_that_a_variable_switches_off_needs_no_line(monkeypatch):
    monkeypatch.setenv("RFM_ENABLE_RESULTS_STORAGE", "n")
    assert storage(enable=False).remedy == "unset it"


@pytest.mark.parametrize(
    ("handlers", "fault"),
    [
        ([], "ReFrame writes no log to a file"),
        ([{"name": ""}], "the log has no name"),
        ([{"level": "warning"}], "level 'warning' leaves out what was selected"),
        ([{"format": "%(message)s"}], r"its format lacks %\(asctime\)s, %\(levelname\)s"),
        ([{"datefmt": "%T"}], "its datefmt does not say year"),
    ],
)
def test_a_log_that_cannot_be_read_is_said_with_the_line_to_paste(handlers, fault):
    found = log(*handlers)
    handler = found.remedy.partition("logging")[2]
    assert "'append': True" in handler
    assert LOG_FORMAT in handler
    with pytest.raises(Fault, match=f"site.py: .*{fault}.*; add to site_configuration"):
        found.files()


def test_the_level_of_all_handlers_counts():
    assert "level 'error'" in log({}, level="error").fault


@pytest.mark.parametrize(
    ("handler", "note"),
    [
        ({"format": LOG_FORMAT.replace("%(process)d|", "")}, "no %(process)d in its format"),
        ({"append": False}, "without append each ReFrame empties it"),
    ],
)
def test_what_a_log_does_not_tell_is_said(handler, note):
    found = log(handler)
    assert note in found.note
    assert found.remedy.startswith("add to site_configuration, `handlers` of `logging`: {")
    assert found.files() == []


def test_of_several_logs_the_best_is_read():
    found = log({"name": "", "level": "debug"}, {"append": False}, {"name": "/site/best.log"})
    assert found.pattern == "best.log"


def test_with_neither_log_nor_storage_both_lines_are_said():
    logs = workspace_of(storage(enable=False, log=[])).logs
    with pytest.raises(Fault, match=r"storage is off; .*no log.*'storage': .*'logging': "):
        logs.files()


def test_the_clone_with_systems_of_a_site_needs_no_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("acceptance.rfm.in_force._ask", None)
    site = tmp_path / "site.py"
    site.write_text("site_configuration = {'systems': [], 'environments': []}")
    own = str(ROOT / "config/settings.py")
    for env in ({}, {"RFM_CONFIG_FILES": own}, {"RFM_CONFIG_FILES": f"{own}:{site}"}):
        assert workspace(env=env).storage is None
    assert workspace([own, str(site)], env={}).config_files == (Path(own), site)
    assert workspace([str(site)], places=False, env={}).config_files == (site,)
