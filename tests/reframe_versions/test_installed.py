"""What a site does with an installed copy, with each release of ReFrame: list, run, judge.

The oldest supported release, the one of the lock file, and a source tree of the next one where it
is named; `REFRAME="4.9.3 4.10.0"` names more.
"""

import importlib.metadata
import json
import re
import runpy
import zipfile

import pytest
import reframe

from acceptance.core import machine
from tests.conftest import needs_wheels
from tests.places import ROOT
from tests.reframe_versions.conftest import MORE, NEXT, OLDEST, PINNED

CHECKS = '-c "$(acceptance doctor --where checks)"'


RELEASES = [*dict.fromkeys([OLDEST, PINNED, *MORE, NEXT])]


@pytest.fixture(scope="module", params=RELEASES, ids=lambda name: name or "next")
def transcript(request, environment):
    """The first minutes of a site: command -> what it answers."""
    if request.param is None:
        pytest.skip("no source tree of the next ReFrame is named: REFRAME=/path/to/reframe")
    mine = environment(request.param)
    before = mine.contents()
    said = {
        "list": mine.shell(f"reframe {CHECKS} -l"),
        "run": mine.shell(f"reframe -c {mine.tree}/checks -r -n PingPong -S ImbMpi1.msglog=0:4"),
        "gate": mine.shell("acceptance gate --format json"),
        "history": mine.shell("acceptance history --format json"),
    }
    python = f"{mine.venv}/bin/python"
    version = mine.shell(f"{python} -c 'import reframe; print(reframe.VERSION)'").output.strip()
    assert "/" in request.param or version == request.param
    return version, mine, said, before


@needs_wheels
def test_a_site_lists_runs_and_judges_with_its_own_reframe(transcript):
    version, mine, said, before = transcript
    for done in said.values():
        assert done.status == 0, done.output + done.errors
    listed = said["list"].output + said["list"].errors
    assert re.search(r"version: +(\S+)", listed)[1] == version
    assert "reframe_patches.py" not in listed, "each patch fits"
    assert int(re.search(r"Found (\d+) check", listed)[1]) > 10
    assert "Ran 1/1 test case(s)" in said["run"].output
    verdict = said["gate"].data
    assert (verdict["verdict"], verdict["problems"]) == ("pass", [])
    assert len(said["history"].data) == 11
    assert mine.contents() == before, "nothing is written into an installed copy"
    var = mine.folder / ".reframe/reports/acceptance"
    assert (var / "results.db").is_file()
    # However slow the machine is: the log begins after the process.
    mark = json.loads((var / "runs/1.json").read_text())
    (log,) = var.glob("log/*.log")
    logged = re.findall(r"^(\S+?)\|.*\[ReFrame Setup\]", log.read_text(), re.M)
    assert mark["began"][:19] <= logged[-1]
    assert "[ReFrame Setup]" in (mine.folder / "reframe.log").read_text(), "the log of the site"


def test_an_installed_copy_stands_alone(environment):
    mine = environment(PINNED)
    assert mine.shell("acceptance doctor --where checks").output == f"{mine.tree}/checks\n"
    assert re.search(r"\(commit [0-9a-f]{40}", mine.shell("acceptance --version").output)
    # No path leads back to the clone.
    for path in (*mine.packages.glob("acceptance/**/*.py"), *mine.packages.glob("*.pth")):
        assert str(ROOT) not in path.read_text()
    reference, settings = (
        mine.shell(f"acceptance doctor --where {name}").output.strip()
        for name in ("reference", "settings")
    )
    assert (reference, settings) == (f"{mine.tree}/reference", f"{mine.tree}/config/settings.py")
    limits = mine.shell(f"RFM_CONFIG_FILES={settings} acceptance references limits --format json")
    assert "koop2008:sdr" in limits.output, limits
    remedies = mine.shell("acceptance doctor -C site.py --format json").output
    assert "acceptance spack get" in remedies
    assert "make " not in remedies, "there is no Makefile"


def test_a_new_site_is_written_beside_an_installed_copy_not_into_it(environment):
    mine = environment(PINNED)
    before = mine.contents()
    done = mine.shell("acceptance init-site here --local")
    assert done.status == 2
    assert "nothing is written into an installed copy; name a folder" in done.errors
    done = mine.shell("ACCEPTANCE_SYSTEMS=systems acceptance init-site here --local")
    assert (mine.folder / "systems/config/systems/here.py").is_file(), done
    assert f"export RFM_CONFIG_FILES={mine.tree}/config/settings.py" in done.output
    assert mine.contents() == before


def test_the_clone_is_its_own_copy(site, tmp_path):
    assert site.acceptance("doctor", "--where", "checks").output == f"{ROOT}/checks\n"


def test_the_wheel_has_what_stands_beside_the_package(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("checks", "config", "reference", "spack-envs"):
        for path in (ROOT / folder).glob("**/*"):
            kinds = (".py", ".csv", ".yaml", ".c", ".h")
            ours = path.suffix in kinds or path.name == "Makefile"
            if ours and "__pycache__" not in path.parts:
                assert f"acceptance/_tree/{path.relative_to(ROOT)}" in names
    assert not [name for name in names if name.endswith(".pyc") or "/var/" in name]


def test_a_reframe_that_is_too_old_is_refused_before_any_case(monkeypatch):
    monkeypatch.setattr(reframe, "VERSION", "4.7.4")
    with pytest.raises(SystemExit) as refused:
        runpy.run_path(str(ROOT / "checks/__init__.py"), init_globals={"__path__": ["checks"]})
    assert str(refused.value) == "checks: " + machine.unsupported_reframe("4.7.4")


def test_the_page_for_sites_names_the_range():
    oldest, first = machine.supported_reframe()
    page = (ROOT / "config/reframe.md").read_text()
    assert f"It takes ReFrame {oldest} and newer, before {first}" in page


def test_the_range_of_releases_comes_from_the_requirements(monkeypatch):
    needs = ["numpy>=2", 'reframe-hpc<4.11,>=4.8; python_version > "3"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: needs)
    assert machine.supported_reframe() == ("4.8", "4.11")
    for version in ("4.8.0", "4.10.99", "4.10.4-dev.1"):
        assert machine.unsupported_reframe(version) == ""
    assert machine.unsupported_reframe("4.7.4") == (
        "ReFrame 4.7.4 is not supported: it must be at least 4.8, and before 4.11"
    )
    assert machine.unsupported_reframe("4.11.0-dev.0")
    assert not machine.unsupported_reframe("5.0", too_old=True)
