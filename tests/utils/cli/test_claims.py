"""The command `acceptance claims`."""

import pytest

from acceptance.relations import claims
from acceptance.relations.claims import FAILS, HOLDS, NOT_MEASURED, ClaimResult
from acceptance.relations.pairs import Series
from tests.made import Database
from tests.utils.relations.made import NEW, OLD, copy_of_references, result, write
from tests.utils.relations.made_world import NOW

SITE = """
    site_configuration = {
        "systems": [{
            "name": "mine", "hostnames": [".*"],
            "partitions": [{"name": "new", "environs": []}, {"name": "old", "environs": []}],
        }],
        "environments": [],
    }
"""


@pytest.fixture
def folder(tmp_path):
    return copy_of_references(tmp_path)


def run(site, folder, *arguments):
    return site.acceptance(
        "claims", "--db", site.folder / "made.db", *arguments, ACCEPTANCE_REFERENCE=str(folder)
    )


@pytest.fixture
def at_site(site, folder):
    """A site with a claim that must hold, and one that need not."""
    site.add_system(SITE)
    path = write(folder, {}, {"value": "50", "expected": "", "printed": "50"})

    def with_results(*cases):
        database = site.folder / "made.db"
        database.unlink(missing_ok=True)
        Database(database).add([case for _, case in cases], start=NOW, uuid="u0")
        return path

    return with_results


def test_the_command_exits_by_the_claims_that_must_hold(site, folder, at_site):
    at_site(result(NEW, 7.5), result(OLD, 10.0))
    done = run(site, folder, "--system", "mine", "--format", "json")
    assert done.status == 0, done.errors
    assert done.data["counts"] == {HOLDS: 1, FAILS: 1, NOT_MEASURED: 0}
    assert done.data["failed_expected"] == 0
    kept, broken = done.data["claims"]
    assert (kept["state"], kept["ours"]) == (HOLDS, {"value": 25.0, "unit": "%"})
    assert kept["claimed"]["relation"] == ">="
    assert kept["claimed"]["value"] == [20.0]
    assert (kept["left"]["value"], kept["left"]["partition"]) == (7.5, "mine:new")
    assert (kept["left"]["session"], kept["left"]["metric"]) == ("u0", "time_8")
    assert (broken["state"], broken["expected"]) == (FAILS, False)

    path = at_site(result(NEW, 9.0), result(OLD, 10.0))
    done = run(site, folder, "--system", "mine")
    assert done.status == 1
    lines = done.output.splitlines()
    assert lines[2].split()[:2] == ["FAILS", "mine,"]
    assert lines[3].startswith("fails ")
    assert not any(line.startswith("cut to") for line in lines)  # nothing is, where no terminal is
    failed = run(site, folder, "--system", "mine", "--format", "json").data["claims"][0]
    sides = [(failed[side]["partition"], failed[side]["value"]) for side in ("left", "right")]
    assert sides == [("mine:new", 9.0), ("mine:old", 10.0)]
    assert (failed["ours"]["value"], failed["held"], failed["compared"]) == (
        pytest.approx(10.0),
        0,
        1,
    )
    assert lines[-2] == "2 claims: 0 hold, 2 fail, 0 not measured"
    assert lines[-1] == f"FAILS, expected to hold: {path}:2"


def test_what_is_not_measured_is_counted_and_listed_on_request(site, folder, at_site):
    path = at_site(result(NEW, 7.5))
    done = run(site, folder, "--system", "mine")
    assert done.status == 0
    assert done.output.splitlines() == [
        "2 claims: 0 hold, 0 fail, 2 not measured",
        "not measured: 2 no result (--all lists them)",
        # Of the two only this one is expected.
        f"NOT MEASURED, expected to hold: {path}:2: right: no result of mine:old imb.Alltoall time",
    ]
    done = run(site, folder, "--system", "mine", "--all")
    table = done.output.partition("2 claims: ")[0]
    assert table.count("not measured") == 2
    listed = run(site, folder, "--system", "mine", "--all", "--format", "json").data["claims"]
    assert [claim["detail"] for claim in listed] == [
        "right: no result of mine:old imb.Alltoall time"
    ] * 2


def test_a_curve_and_a_quotient_are_shown_and_what_they_lack(site, folder, at_site):
    empty = {"value": "", "unit": "", "expected": "yes"}
    cases = [result(NEW, 10.0 * int(np), np=np) for np in ("2", "4", "8")]
    at_site(*cases, result(OLD, 10.0, np="2"), result(OLD, 80.0, np="8"))
    curve = {**empty, "left": "mine:new;np=2..8", "right": "", "relation": "grows"}
    growth = {**empty, "left": "mine:new;np=8 / mine:new;np=2", "relation": "best",
              "right": "mine:old;np=8 / mine:old;np=2"}  # fmt: skip
    path = write(folder, curve, {**curve, "left": "mine:new;np=2..16"}, growth)
    done = run(site, folder, "--system", "mine", "--format", "json")
    grown, short, faster = done.data["claims"]
    assert (grown["state"], grown["claimed"]["right"], grown["ours"]["value"]) == (HOLDS, "", 100)
    assert [(point["keys"]["np"], point["value"]) for point in grown["points"]] == [
        ("2", 20.0), ("4", 40.0), ("8", 80.0),
    ]  # fmt: skip
    assert (short["state"], short["reason"]) == (NOT_MEASURED, "too few points")
    assert (faster["state"], faster["ours"]["value"]) == (HOLDS, 100)
    assert [point["value"] for point in faster["points"]] == [80.0, 20.0, 80.0, 10.0]
    done = run(site, folder, "--system", "mine", "--all")
    assert done.status == 0, done.errors
    assert done.output.splitlines()[-1] == (
        f"NOT MEASURED, expected to hold: {path}:3: left: mine:new imb.Alltoall time np=2..16: "
        "measured at np 2, 4, 8; at least 3 points and the stated ends are needed"
    )


def test_a_system_without_claims_passes_and_an_unknown_one_does_not(site, folder, at_site):
    at_site(result(NEW, 7.5))
    assert run(site, folder, "--system", "local").output == (
        "0 claims: 0 hold, 0 fail, 0 not measured\n"
    )
    done = run(site, folder, "--system", "mien")
    assert done.status == 2
    assert "no system 'mien'; there are " in done.errors
    assert done.errors.endswith("; did you mean mine?\n")


def test_an_unknown_partition_is_a_fault_with_its_place_and_the_known_ones(site, folder, at_site):
    at_site(result(NEW, 7.5))
    path = write(folder, {}, {"right": "mine:odl"})
    done = run(site, folder)
    assert done.status == 2
    assert f"{path}:3: there is no partition 'mine:odl'; there are " in done.errors
    assert "did you mean mine:old" in done.errors


def test_a_partition_that_is_in_the_results_only_is_known(site, folder, at_site):
    at_site(result(NEW, 7.5), result("mine:gone", 10.0))
    write(folder, {"right": "mine:gone"})
    done = run(site, folder, "--system", "mine", "--format", "json")
    assert done.status == 0, done.errors
    assert done.data["counts"][HOLDS] == 1


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder, database: database.unlink(), "made.db: no such file"),
        (
            lambda folder, database: (folder / "tolerances.yaml").write_text("claims: 5\n"),
            "tolerances.yaml: claims: Expected `object`, got `int`",
        ),
    ],
    ids=["no database", "tolerances"],
)
def test_what_cannot_be_read_exits_with_2(site, folder, at_site, damage, words):
    at_site(result(NEW, 7.5))
    damage(folder, site.folder / "made.db")
    done = run(site, folder)
    assert done.status == 2
    assert words in done.errors


def test_a_configuration_that_cannot_be_read_exits_with_2(site, folder, at_site):
    at_site(result(NEW, 7.5))
    site.add_system("site_configuration = {}; raise RuntimeError('half edited')")
    done = run(site, folder)
    assert done.status == 2
    assert "half edited" in done.errors


def test_what_both_sides_share_is_said_once_and_a_size_never():
    keys = {"np": "2", "placement": "inter-node", "message_size": "8"}
    other = {**keys, "placement": "intra-node"}
    left = Series("mine:new", "gnu", "osu.bw", "bandwidth", keys, "MB/s", "bandwidth").add(0, "", 1)
    right = Series("mine:new", "gnu", "osu.bibw", "bandwidth", other, "MB/s", "bandwidth")
    both = ClaimResult(None, HOLDS, left, right.add(0, "", 1))
    assert claims.what(both) == "osu.bw / osu.bibw bandwidth np=2"
    assert (
        claims.what(ClaimResult(None, HOLDS, left, left))
        == "osu.bw bandwidth np=2;placement=inter-node"
    )
