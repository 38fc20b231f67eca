"""The check of the whole fabric through real ReFrame, with the real programs on a simulated one."""

import re
import shutil
from dataclasses import replace

import pytest

from acceptance.campaigns import protocol
from acceptance.core.paths import Workspace
from acceptance.fabric import kinds, seen, stored
from acceptance.verdict.cases import of_case
from tests import ibsim
from tests import stored as results
from tests.conftest import Site
from tests.places import ROOT
from tests.utils.fabric import faults as those

FACTS = {"technology": "infiniband", "rate": "HDR", "lanes": 4, "view": "here"}
CHECK = ("-c", "checks/fabric.py", "-r", "--distribute=all", "-n", "FabricView")
ALL = those.faults(those.small())


def add_system(site, fabric, facts=FACTS):
    """Make a system of this machine whose fabric is simulated."""
    names = ("LD_PRELOAD", "IBSIM_SOCKNAME", "PATH") if fabric else ()
    variables = [[name, fabric.environment[name]] for name in names]
    site.add_system(f"""
        site_configuration = {{
            "systems": [{{
                "name": "made", "hostnames": [".*"], "prefix": {str(site.var)!r},
                "partitions": [{{
                    "name": "hdr", "scheduler": "local", "launcher": "local",
                    "environs": ["looking"], "max_jobs": 1,
                    "extras": {{"nodes": 1, "cores": 1, "fabric": {facts!r}}},
                }}],
            }}],
            "environments": [{{
                "name": "looking", "target_systems": ["made"], "env_vars": {variables!r},
            }}],
        }}
    """)
    reference = site.folder / "reference"
    if not reference.exists():
        shutil.copytree(ROOT / "reference", reference)
    site.environment["ACCEPTANCE_REFERENCE"] = str(reference)


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """A healthy night, one with three faults, and one on which one of them is gone.

    Of each the run, the verdict and the case.
    """
    site, told = Site(tmp_path_factory.mktemp("site")), []
    for names in ((), ("width", "lost", "rising"), ("lost",)):
        tree, console = those.spoilt(those.small, [ALL[name] for name in names])
        with ibsim.Fabric(tree.net) as fabric:
            fabric.console(*console)
            add_system(site, fabric)
            done = site.reframe(*CHECK)
        verdict = site.acceptance("gate", "--send", "--format", "json").data
        (case,) = results.session(site.database).cases
        told.append((done, verdict, case))
        if not names:
            accepted = site.acceptance("fabric", "accept", "--reason", "all is well")
            assert accepted.status == 0, accepted.errors
    return site, told


def test_a_healthy_fabric_passes_and_says_what_there_is(nights):
    _, ((done, verdict, case), *_) = nights
    assert (done.status, verdict["problems"], verdict["alerts"]) == (0, [], []), done.output
    assert {m.name: m.value for m in case.metrics} == {"switches": 8, "hosts": 16, "links": 32}
    told = verdict["fabric"]["made:hdr"]
    assert told.startswith("8 switches, 16 hosts, 32 links; no deviation; nothing accepted yet; ")
    assert "oversubscription 1:1; bisection 1,600 Gb/s" in told
    assert [seen.kind for seen in case.findings] == [kinds.NOT_JUDGED] * 2
    assert "%.nid" not in case.name  # it is one case with --distribute, too


def test_each_fault_is_an_alert_of_its_own_that_ends_when_it_is_gone(nights):
    _, (_, (done, verdict, case), (_, later, _)) = nights
    assert done.status == 1
    seen = sorted((each.kind, each.device) for each in case.findings if each.fails)
    faults = [ALL[name] for name in ("width", "lost", "rising")]
    assert seen == [(f"fabric-{kind}", place) for kind, place in those.expected(faults)]
    alerts = {alert["finding"]["device"]: alert["id"] for alert in verdict["alerts"]}
    assert sorted(alerts) == sorted(fault.place for fault in faults)
    assert [alert["id"] for alert in later["alerts"]] == [alerts[ALL["lost"].place]]
    ended = " ".join(note for note in later["notes"] if note.startswith("ended: "))
    assert ALL["width"].place in ended
    assert ALL["rising"].place in ended


def test_what_stays_is_said_with_since_when_and_reset_counters_are_noticed(nights):
    _, (_, _, (_, later, case)) = nights
    (lost,) = (each for each in case.findings if each.kind == kinds.LOST)
    assert "(since 20" in lost.text
    assert any("count anew since the last reading" in note for note in later["notes"])


def test_a_wanted_change_is_taken_over_with_its_reason(nights, tmp_path):
    site = Site(tmp_path)
    site.take_over(nights[0])
    asked = site.acceptance("fabric", "accept")
    assert (asked.status, "--reason" in asked.errors) == (2, True)
    done = site.acceptance("fabric", "accept", "--reason", "spine03 has a cable less")
    assert done.status == 0, done.errors
    assert "1 change" in done.output
    assert ALL["lost"].place in done.output
    path = stored.path_of(site.folder / "reference", "made")
    known = stored.read(path, stored.AcceptedFabric)
    assert [*known.accepted.values()] == ["all is well", "spine03 has a cable less"]
    assert len(known.fabric.topology.links) == 31
    again = site.acceptance("fabric", "accept", "--reason", "again")
    assert "nothing has changed" in again.output
    assert stored.read(path, stored.AcceptedFabric) == known


def test_an_acceptance_stores_the_first_fabric_and_keeps_an_accepted_one(nights, tmp_path):
    site = Site(tmp_path)
    site.take_over(nights[0])
    case = nights[1][-1][2]
    measured = {"system": "made", "partition": "hdr", "provenance": case.provenance}
    data = {"measured": [measured]}
    workspace = replace(Workspace.of(), var=site.var, reference=site.folder / "reference")
    path = stored.path_of(workspace.reference, "made")
    before = path.read_text()
    told = protocol.fabrics_of(data), workspace, "2026-11-22T19:00:00+00:00", "accept-1"
    (kept,) = seen.accept_first(*told, refused="")
    assert "stays as it was accepted" in kept
    assert path.read_text() == before
    path.unlink()
    (refused,) = seen.accept_first(*told, refused="rejected")
    assert "not stored as accepted: rejected" in refused
    assert not path.exists()
    (accepted,) = seen.accept_first(*told, refused="")
    assert accepted == f"fabric made is accepted: {path}"
    kept = stored.read(path, stored.AcceptedFabric).fabric
    assert stored.checksum(kept) == case.provenance["fabric_sha256"]


def test_each_fault_is_exported_with_its_link(nights, tmp_path):
    site = Site(tmp_path)
    site.take_over(nights[0])
    text = site.run("acceptance", "export", "prometheus").output
    place = ALL["lost"].place
    labels = f'kind="fabric-lost",partition="hdr",place="{place}",system="made"'
    assert re.search(r"acceptance_fabric_finding\{" + re.escape(labels) + r"\} 1.0", text), text


def test_the_files_of_a_reading_are_kept(nights):
    site, _ = nights
    (folder, *_) = sorted(site.var.glob("output/*/made/hdr/looking/FabricView*/view/1"))
    assert (folder / "iblinkinfo.out").stat().st_size > 0
    assert (folder / "dump_lfts.out.gz").stat().st_size > 0


def test_findings_name_the_link_in_their_ids(nights):
    _, (_, (_, _, case), _) = nights
    found = {each.kind: each for each in of_case(case)}
    assert found.keys() == {"fabric-width", "fabric-lost", "fabric-errors"}
    assert found["fabric-lost"].id == "FABRIC-LOST:" + ALL["lost"].place.replace(" ", "")


def test_a_fabric_that_nobody_can_see_fails_its_case_and_ends_no_alert(nights):
    site, told = nights
    add_system(site, None)  # a machine without adapters, where the programs are installed
    done = site.reframe(*CHECK)
    verdict = site.acceptance("gate", "--send", "--format", "json").data
    assert done.status == 1
    text = "the fabric was not looked at: ibnetdiscover: "
    assert text in verdict["fabric"]["made:hdr"]
    assert any(text in problem["text"] for problem in verdict["problems"])
    (case,) = results.session(site.database).cases
    assert [each.kind for each in case.findings] == [kinds.NOT_LOOKED]
    listed = site.acceptance("alerts", "--format", "json").output
    assert told[-1][1]["alerts"][0]["id"] in listed


def test_infiniband_whose_fabric_nobody_views_is_noted(site):
    add_system(site, None, {key: FACTS[key] for key in ("technology", "rate", "lanes")})
    done = site.reframe("-c", "checks/fabric.py", "-r")
    verdict = site.acceptance("gate", "--format", "json").data
    (case,) = results.session(site.database).cases
    assert (done.status, case.name.split()[0]) == (1, "LinkCheck")  # this machine has no adapter
    (told,) = (each for each in verdict["findings"] if each["kind"] == "fabric-not-looked")
    assert told["place"] == ["made:hdr"]
    assert "name nobody who may" in told["found"]
    assert "the fabric was not looked at: its facts" in site.acceptance("gate").output
