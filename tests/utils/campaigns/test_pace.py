"""How long the rest of a campaign takes, by the last one of its kind."""

from datetime import datetime, timedelta, timezone

from acceptance.campaigns import runner, state
from acceptance.campaigns.state import DONE, NOT_PROVIDED, Attempt, State, Step

START = datetime(2026, 11, 1, 22, tzinfo=timezone.utc)


def campaign(folder, number, minutes):
    """Make a campaign whose steps took so many minutes each; None: it did not end."""
    begin = START + timedelta(days=number)
    steps = []
    for name, took in minutes.items():
        attempt = Attempt("run", state.stamp(begin))
        one = Step(name, [], [], attempts=[attempt])
        if took is not None:
            attempt.ended, one.state = state.stamp(begin + timedelta(minutes=took)), DONE
        steps.append(one)
    made = State(
        f"nightly-{begin:%Y-%m-%dT%H%M%S}", "nightly", {}, state.stamp(begin), steps,
        campaigns=folder,
    )  # fmt: skip
    made.folder.mkdir(parents=True)
    made.save()
    return made


def test_without_another_campaign_nothing_is_known(tmp_path):
    new = campaign(tmp_path, 9, {"links": None, "osu": None})
    assert "step 1 of 2; " in runner.told(new, new.steps[0])
    assert "rest unknown: none of 2 steps came to an end here" in runner.told(new, new.steps[0])


def test_each_step_took_as_long_as_when_it_last_came_to_its_end(tmp_path):
    campaign(tmp_path, 1, {"links": 50, "osu": 9, "imb": 6})
    campaign(tmp_path, 2, {"links": 5, "osu": None, "imb": 7})
    new = campaign(tmp_path, 3, {"links": 4, "osu": None, "imb": None, "npb": None, "hpcc": None})
    new.steps[-1].state = NOT_PROVIDED
    told = runner.told(new, new.steps[1])
    assert told.startswith("step 2 of 4; ")
    assert "about 16 min left, by the last time without npb, which never came to an end" in told
    assert told.endswith("this step took 9 min then")


def test_what_another_selection_took_is_no_estimate(tmp_path):
    before = campaign(tmp_path, 1, {"links": 5, "imb": 60})
    before.steps[1].arguments = ["-r", "-S", "pinned=ten=node1,node2"]
    before.save()
    new = campaign(tmp_path, 3, {"links": None, "imb": None})
    new.steps[1].arguments = ["-r", "-S", "pinned=ten=node3,node4"]
    assert "about 65 min left" in runner.told(new, new.steps[0])
    new.steps[1].arguments += ["-n", "Barrier"]
    told = runner.told(new, new.steps[0])
    assert "about 5 min left, by the last time without imb, which never came to an end" in told
    new.asked = {"nodes": {"ten": ["node1"]}}
    assert "rest unknown" in runner.told(new, new.steps[0])
