"""`acceptance bisect`: what explains a loss; run by ReFrame, killed, and with made runs."""

import json
import re
import signal
import subprocess
import time
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from acceptance.campaigns.changes import find
from acceptance.core.errors import Fault
from tests import made_bisect
from tests.made_bisect import bisection, side
from tests.places import PATIENCE, ROOT

NAMES = ("V0", "V1", "V2")
SLOWED_BY_V1 = '[ "$V1" = 2 ] && us=$((us * 3 / 2))'


def ends(count):
    """Return two sides that differ in so many variables, 1 and 2."""
    return (
        side(name, [[f"V{number}", value] for number in range(count)])
        for name, value in (("fast", "1"), ("slow", "2"))
    )


def slowed(*names, by=1.5):
    """Return a level: 1000 us, more where all of these variables are 2."""
    return lambda variables: 1000 * (by if all(variables[name] == "2" for name in names) else 1)


def test_a_single_variable_explains_the_loss():
    made, lines = bisection(*ends(16), slowed("V11"))
    result = made.run()
    assert (result.word, result.causes) == ("bad", [[["variable V11"]]])
    assert re.fullmatch(
        r"the loss of (4[89]|5[012]) % of duration is explained by variable V11 \(1 -> 2\): "
        r"alone a loss of [45]\d\.\d %; without it -?[012]\.\d %",
        result.sentence,
    )
    assert len(result.evaluations) <= 4 + 2
    assert len(lines) == 1 + len(result.evaluations)
    assert result.loss == pytest.approx(0.5, abs=0.02)


def test_two_variables_that_it_takes_together():
    result = bisection(*ends(8), slowed("V2", "V6"))[0].run()
    assert sorted(result.causes[0]) == [["variable V2"], ["variable V6"]]
    assert ", together: alone a loss of" in result.sentence


def test_two_variables_that_each_bring_the_loss():
    one, two = slowed("V2"), slowed("V6")
    result = bisection(*ends(8), lambda variables: max(one(variables), two(variables)))[0].run()
    assert sorted(result.causes) == [[["variable V2"]], [["variable V6"]]]
    assert "; and also by " in result.sentence


def test_less_of_a_bandwidth_is_a_loss_and_more_of_it_is_none():
    def level(variables):
        return 10 if variables["V1"] == "2" else 20

    fast, slow = ends(4)
    result = bisection(fast, slow, level, metric="bandwidth", unit="MB/s")[0].run()
    assert (result.causes, round(result.loss, 1)) == ([[["variable V1"]]], 0.5)
    result = bisection(slow, fast, level, metric="bandwidth", unit="MB/s")[0].run()
    assert (result.word, result.evaluations) == ("good", [])


def test_ends_that_do_not_differ_are_told_and_nothing_is_searched():
    made, lines = bisection(*ends(8), lambda _: 1000.0)
    result = made.run()
    assert (result.word, result.evaluations, lines) == ("good", [], [])
    assert result.sentence.startswith(
        "no loss between the two: of 1 metric none is worse in BAD by 5 % or more; the closest is "
    )


def test_noise_that_hides_the_difference_of_the_ends_is_no_answer():
    made, _ = bisection(*ends(8), slowed("V1", by=1.04), spread=0.3)
    result = made.run()
    assert (result.word, result.runs) == ("cannot tell", 10)
    assert result.sentence.startswith("cannot tell at this cost whether there is a loss")


def test_what_does_not_run_is_skipped_and_told():
    def level(variables):
        if variables["V3"] == "2" and variables["V6"] == "1":
            return "V3 needs V6"
        return slowed("V5")(variables)

    made, lines = bisection(*ends(8), level)
    result = made.run()
    assert result.causes == [[["variable V5"]]]
    skipped = [each for each in result.evaluations if each.why]
    assert {each.why for each in skipped} == {"V3 needs V6"}
    assert {each.word for each in skipped} == {"cannot tell"}
    assert any("cannot tell, 0 runs, V3 needs V6: with" in line for line in lines)


def test_an_end_that_does_not_run_is_a_fault():
    made, _ = bisection(*ends(2), lambda variables: "no such program")
    with pytest.raises(Fault, match="GOOD cannot be measured: no such program"):
        made.run()


def test_what_nobody_can_set_is_what_is_left():
    def told(text, firmware):
        provenance = {"firmware": firmware, "modules": "ucx/1.15"}
        return side(text, [["V0", text]], stored=True, provenance=provenance)

    # The loss came with the firmware, which both ends have by now.
    good, bad = told("1", "20.1"), told("2", "20.3")
    result = bisection(good, bad, lambda _: 1000.0)[0].run()
    assert result.word == "good"
    assert result.sentence.startswith("no loss between the two: ")
    assert result.sentence.endswith(
        "; what nobody can set is the same for both ends now: firmware (20.1 -> 20.3)"
    )


def test_sides_in_which_nothing_can_be_set_are_not_measured():
    one, two = (
        side("made", stored=True, provenance={"firmware": firmware}) for firmware in ("1", "2")
    )
    result = bisection(one, two, pytest.fail)[0].run()
    assert (result.word, result.runs) == ("cannot tell", 0)
    assert result.sentence == (
        "nothing that can be set differs, and nothing was measured; firmware (1 -> 2)"
    )


@pytest.mark.parametrize(
    ("pattern", "told"),
    [("Slowed%np=2", ""), ("^Slowed%np=4", "has no case ^Slowed%np=4"), ("(", "-n (: ")],
)
def test_a_session_has_the_cases_that_reframe_selects(pattern, told):
    case = replace(made_bisect.cases([1.0])[0], name="Slowed %np=2", environment="fast")
    session = SimpleNamespace(uuid="0123abcd", cases=[case])
    past = SimpleNamespace(full_id=lambda text: text, session=lambda uuid: session)
    system = {"name": "made", "partitions": [{"name": "one", "environs": ["fast"]}]}
    site = SimpleNamespace(system=lambda name: system, environments=[{"name": "fast"}])
    with pytest.raises(Fault, match=re.escape(told)) if told else nullcontext():
        found = find("0123", site, system, past, pattern)
        assert (found.where, found.environment, found.stored) == (
            "made:one",
            {"name": "fast"},
            True,
        )


@pytest.mark.parametrize("pair", [False, True])
def test_in_noise_a_search_is_seldom_wrong(pair):
    """At most 1 % of searches may be wrong; of 25 that three are is improbable (0.2 %)."""
    wrong = 0
    for seed in range(25):
        names = (f"V{seed % 16}", f"V{(seed * 7 + 3) % 16}")[: 1 + pair]
        result = bisection(*ends(16), slowed(*names, by=1.15), spread=0.02, seed=seed)[0].run()
        found = {name for cause in result.causes for unit in cause for name in unit}
        wrong += found != {f"variable {name}" for name in names} and result.word != "cannot tell"
    assert wrong < 3


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A bisection of ReFrame that was killed in its 8th run, and what ended it after that."""
    from tests.conftest import Site

    site = Site(tmp_path_factory.mktemp("bisect"))
    check = made_bisect.make(site, NAMES, SLOWED_BY_V1)
    command = ["bisect", "+fast", "+slow", "-n", "Slowed", "-c", str(check)]
    (site.folder / "hold").write_text("7")
    with subprocess.Popen(
        ["acceptance", *command], cwd=ROOT, env=site.variables(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        until = time.monotonic() + PATIENCE
        while len(ran(site)) < 8 and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 128 + signal.SIGTERM, errors
    before = len(ran(site))
    (site.folder / "hold").unlink()
    return site, command, before, site.acceptance(*command, "--format", "json")


def ran(site):
    path = site.folder / "ran"
    return path.read_text().split() if path.exists() else []


def test_a_program_slowed_by_a_variable_is_explained_though_the_search_was_killed(killed):
    site, _, before, done = killed
    assert done.status == 0, done.errors
    result = done.data["result"]
    assert result["causes"] == [[["variable V1"]]]
    assert [one["name"] for one in result["changes"]] == [f"variable {name}" for name in NAMES]
    assert f"goes on with {done.data['campaign']}" in done.errors
    assert "evaluation 1 of 9 at most: " in done.errors
    (folder,) = (site.var / "campaigns").glob("bisect-*")
    state = json.loads((folder / "state.json").read_text())
    assert (state["status"], state["summary"]) == (0, result["sentence"])
    # Of what was over before the kill nothing is repeated; the log has what ReFrame printed.
    runs = 2 * result["runs"] + sum(one["runs"] for one in result["evaluations"])
    assert before <= 8 < len(ran(site)) <= runs + 2
    assert "Ran 2/2 test case(s)" in (folder / "log.txt").read_text()


def test_its_runs_are_no_history_and_no_last_run_of_the_site(killed):
    site, *_ = killed
    assert not site.database.exists()
    assert not [*(site.var / "runs").glob("*")]


def test_the_plan_is_told_and_runs_nothing(killed):
    site, command, *_ = killed
    before = len(ran(site))
    done = site.acceptance(*command, "--plan")
    assert done.status == 0, done.errors
    assert "changes     3 that can be set\n            variable V0 (1 -> 2)\n" in done.output
    assert "about 4 sets of changes for a single cause, 9 at most" in " ".join(done.output.split())
    assert len(ran(site)) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["+fast", "+none"], "no environment none; there are made:one+fast, made:one+slow"),
        (["+fast", "0123abcd"], "no session is stored"),
        (["+fast", "+slow", "-n", "Nothing", "--plan"], "Nothing selects no case of fast, slow"),
    ],
)
def test_what_cannot_be_bisected_is_refused(killed, words, told):
    site, command, *_ = killed
    case = [] if "-n" in words else ["-n", "Slowed"]
    done = site.acceptance("bisect", *words, *case, *command[-2:])
    assert done.status == 2
    assert told in done.errors
