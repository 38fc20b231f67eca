"""`acceptance sessions prune`: ReFrame itself deletes, and every command reads on as before."""

import json
import re

import pytest

from acceptance.rfm import checksums, lost, rows
from acceptance.rfm.archive import files
from tests.conftest import Site
from tests.utils.claims.made import NEW, OLD, copy_of_references, result, write
from tests.utils.rfm import test_archive

READERS = (
    ("history", "--format", "json"),
    ("sessions", "--format", "json"),
    ("claims", "guidelines", "--format", "json"),
    ("baseline", "--nights", "7"),
    ("claims", "--system", "mine", "--format", "json"),
    ("gate", "--session", "00000001", "--format", "json"),
)


def answers(site):
    """Return what the readers say, but for when they were asked."""
    said = (site.acceptance(*words) for words in READERS)
    return [(each.status, re.sub(r'"given": ".*"', "", each.output), each.errors) for each in said]


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    """A site that was pruned once: what its commands said before, and what the prune said."""
    site = Site(tmp_path_factory.mktemp("pruned"))
    site.var.mkdir()
    # A result of before is compared with one of now.
    folder = copy_of_references(site.folder)
    write(folder, {"value": "5"})
    site.environment["ACCEPTANCE_REFERENCE"] = str(folder)
    results = {0: [result(OLD, 10.0)[1]], test_archive.COUNT - 1: [result(NEW, 8.0)[1]]}
    test_archive.fill(site.database, more=results)
    before = answers(site)
    dry = site.acceptance("sessions", "prune", "--keep", "400d", "--dry-run")
    assert not files.folder(site.database).exists()
    return site, before, dry, site.acceptance("sessions", "prune", "--keep", "400d")


def test_reframe_has_deleted_what_was_moved_and_nobody_notices(pruned):
    site, before, dry, done = pruned
    assert (dry.status, "5 sessions would be moved, of 2" in dry.output) == (0, True)
    assert (done.status, done.errors) == (0, "")
    backup, archive, moved = done.output.splitlines()
    assert backup.startswith(f"backup {files.folder(site.database)}/results.db-2")
    assert str(files.files(site.database)[0]) in archive
    assert "5 sessions moved" in moved
    assert "the database holds 3, the archive 5" in moved
    assert len(rows.held(site.database)) == 3
    log = "".join(path.read_text() for path in (site.var / "log").glob("*.log"))
    assert log.count("deleted successfully") == 5
    after = answers(site)
    assert after == before
    (claim,) = json.loads(after[4][1])["claims"]
    assert claim["state"] == "holds"


def test_an_archive_that_is_lost_is_no_deletion_of_reframe(site, pruned):
    site.take_over(pruned[0])
    (file,) = files.files(site.database)
    file.unlink()
    missed = lost.lost_sessions(site.database)
    assert len(missed) == 5
    doctor = site.acceptance("doctor", "--format", "json").data
    assert {row["state"] for row in doctor if row["what"] == "sessions"} == {"BROKEN"}
    uuid = rows.held(site.database)[-1].uuid
    kinds = {p["kind"] for p in site.gate("--session", uuid)[1]["problems"]}
    assert "sessions-gone" in kinds
    assert checksums.read(site.database).kind(missed[0]) == checksums.ARCHIVED


def test_what_is_put_back_is_in_the_database_and_counts_once(site, pruned):
    site.take_over(pruned[0])
    done = site.acceptance("sessions", "prune", "--restore", "00000001", "00000002")
    assert (done.status, done.output.split(" put")[0]) == (0, "2 sessions")
    assert len(rows.held(site.database)) == 5
    assert answers(site)[:4] == pruned[1][:4]
    done = site.acceptance("sessions", "prune", "--restore", "0000")
    assert (done.status, "holds 5 sessions that begin with 0000" in done.errors) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--keep", "400"), "'400' has no unit (d, w, y); write 400d"),
        (("--keep", "30d"), "detection looks back 240 nights, a baseline takes 14; at least 240d"),
        (("--keep", "soon"), "write 400d"),
        (("--keep", "400d"), "results.db: no such file"),
        ((), "one of the arguments --keep --restore is required"),
    ],
)
def test_what_cannot_be_is_refused(site, words, says):
    done = site.acceptance("sessions", "prune", *words)
    assert (done.status, says in done.errors) == (2, True)
    assert not files.folder(site.database).exists()


def test_nothing_old_is_said(site):
    site.var.mkdir()
    test_archive.fill(site.database, old=0, count=1)
    done = site.acceptance("sessions", "prune", "--keep", "2y")
    assert (done.status, "no session is older than 730 days" in done.output) == (0, True)
