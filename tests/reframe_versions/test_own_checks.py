"""A site's own checks beside ours under the oldest ReFrame: as in plain ReFrame, there too."""

import re

import pytest

from tests.checks.test_foreign import ADDED, OURS, OWN, WAYS, Beside
from tests.conftest import Result
from tests.places import ROOT
from tests.reframe_versions.conftest import OLDEST


class Installed:
    """A folder of an environment, in which the release of ReFrame is started that is there."""

    def __init__(self, environment, name):
        self.environment = environment.variables
        self.shell, self.tree = environment.shell, environment.tree
        self.folder = environment.folder / name
        self.folder.mkdir()
        self.var = environment.folder / ".reframe/reports/acceptance"
        self.database = self.var / "results.db"

    def reframe(self, *words):
        words = [str(word).replace(f"{ROOT}/checks", f"{self.tree}/checks") for word in words]
        done = self.shell(f"cd {self.folder} && reframe " + " ".join(f"'{word}'" for word in words))
        texts = (text.replace(str(self.tree), str(ROOT)) for text in (done.output, done.errors))
        return Result(done.status, *texts)


def own(environment):
    """Return checks of a site that this release can load: those before 4.9 know no `xfail`."""
    known = environment.shell("python -c 'from reframe.core.builtins import xfail'").status == 0
    expected = r"@rfm\.simple_test\nclass OwnExpected.*?\n\n\n"
    return OWN if known else re.sub(expected, "", OWN, flags=re.S)


@pytest.fixture(scope="module")
def matrix(environment):
    """Each way to start ReFrame, without ours and with our checks: itself, and its answers."""
    mine = environment(OLDEST)
    found = []
    for name, more in (("plain", ()), ("beside", (("-c", OURS),))):
        site = Installed(mine, name)
        side = Beside(site, *more)
        (site.folder / "own.py").write_text(own(mine))
        found.append((side, {way: side.start(*words) for way, words in WAYS.items()}))
    return found


@pytest.mark.parametrize("way", WAYS)
def test_a_sites_own_checks_end_as_in_plain_reframe(matrix, way):
    (_, plain), (_, ours) = matrix
    (status, lines), (our_status, our_lines) = plain[way], ours[way]
    assert our_status == status == (way in ("run", "restore-session", "abort"))
    kept = [line for line in our_lines if not ADDED.match(line)]
    assert len(kept) < len(our_lines), "ours are in the path"
    assert sorted(kept) == sorted(lines)


def test_they_are_stored_and_reported_as_in_plain_reframe(matrix):
    (plain, _), (ours, _) = matrix
    asked = f" -c {ours.site.tree}/checks/imb.py"
    (sessions, cases), kept = plain.sessions(), ours.sessions()
    assert ([text.replace(asked, "") for text in kept[0]], kept[1]) == (sessions, cases)
    assert ours.results(0)["OwnNone"] == ["fail", "fail"]
    assert ours.results(0)["OwnNumber"] == ["pass"]
    for name in ("junit.xml", "ci.yml"):
        assert ours.text(name).replace(asked, "") == plain.text(name)
