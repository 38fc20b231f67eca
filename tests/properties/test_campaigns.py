"""Campaigns that are killed at any write, or beside their ReFrame: nothing is lost, nothing again.

A step whose ReFrame came to its end is not repeated; one whose end nobody saw is never taken for
one that measured.
"""

import contextlib
import shutil
import tempfile
from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from acceptance.campaigns import runner
from acceptance.campaigns import state as campaign
from acceptance.campaigns.state import DONE
from tests.alerted import NOW
from tests.places import workspace
from tests.properties import examples
from tests.properties.killed import Killed, killed_at

STEPS = ("one", "two", "three")
ASKED = {"system": "made"}
#: What becomes of a ReFrame: it ends, dies, or its campaign is killed before or after it has ended.
ENDS, DIES, KILLED_BEFORE, KILLED_AFTER = "ends", "dies", "killed before", "killed after"
LOG = """\
2026-11-21T22:00:00.1+0000|{0}|info|[ReFrame Setup]
2026-11-21T22:00:00.2+0000|{0}|info|  command:    'reframe -r --session-extras run={1}'
"""
ENDED = """\
2026-11-21T22:00:00.3+0000|{0}|info|Ran 2/2 test case(s) from 2 check(s) (0 failure(s), 0 skipped)
2026-11-21T22:00:00.4+0000|{0}|info|Current session stored with UUID: of-{1}
"""


class Campaigning(RuleBasedStateMachine):
    """Nights that are begun and gone on with; ReFrame is what writes its log."""

    def __init__(self):
        super().__init__()
        self.var = Path(tempfile.mkdtemp(prefix="acceptance-campaigns-"))
        self.workspace, self.now = workspace(self.var), NOW
        self.workspace.logs.mkdir(parents=True)
        self.campaigns = self.var / "campaigns"
        self.fates, self.process = [], 0
        #: Of each run its step, and what became of it; of each step of a campaign its runs.
        self.ran, self.of_step = {}, defaultdict(list)

    def teardown(self):
        self.night(kill=None, fates=[])
        (state,) = (each for each in self.states() if each.id == self.newest)
        assert state.ended
        assert [step.state for step in state.steps] == [DONE] * len(STEPS)
        shutil.rmtree(self.var)

    def states(self):
        return [campaign.load(path) for path in self.campaigns.glob("*/state.json")]

    def reframe(self, command, variables):
        """Run in place of ReFrame: its log is what counts of it."""
        (label,) = (word.removeprefix("run=") for word in command if word.startswith("run="))
        fate = self.fates.pop() if self.fates else ENDS
        self.process += 1
        self.ran[label] = fate
        step = next(name for name in STEPS if f".{name}." in label)
        self.of_step[label.partition(f".{step}.")[0], step].append(fate)
        text = LOG + (ENDED if fate in (ENDS, KILLED_AFTER) else "")
        with (self.workspace.logs / "reframe_1.log").open("a") as log:
            log.write(text.format(self.process, label))
        if fate in (KILLED_BEFORE, KILLED_AFTER):
            raise Killed
        return 0 if fate == ENDS else -9

    @rule(
        kill=st.none() | st.integers(0, 25),
        fates=st.lists(st.sampled_from([ENDS, DIES, KILLED_BEFORE, KILLED_AFTER]), max_size=3),
    )
    def night(self, kill, fates):
        """Go on with the night, or begin one; it may be killed."""
        self.now += timedelta(minutes=10)
        self.fates = [*fates]
        with contextlib.ExitStack() as stack:
            stack.enter_context(killed_at(kill))
            for name, value in {
                "end_left_by": lambda run: [], "reframe_program": lambda: "reframe",
                "reframe_environment": lambda *_, **__: {}, "concluded": lambda *_: [],
            }.items():  # fmt: skip
                stack.enter_context(mock.patch.object(runner, name, value))
            stack.enter_context(
                mock.patch.object(runner.Runner, "_reframe", lambda _, *words: self.reframe(*words))
            )
            state = campaign.unfinished(self.campaigns, "nightly", ASKED, self.now)
            if state is None:
                steps = [campaign.Step(name, (f"{name}.py",), ("-r",)) for name in STEPS]
                state = campaign.begin(self.campaigns, "nightly", ASKED, steps, self.now)
                state.save()
            self.newest = state.id
            runner.Runner(state, -1, self.workspace, None).run()
            state.ended, state.status = campaign.stamp(self.now), 0
            state.save()

    @invariant()
    def each_run_of_reframe_is_an_attempt_that_is_stored(self):
        steps = [step for state in self.states() for step in state.steps]
        known = {run.run for step in steps for run in step.attempts}
        assert self.ran.keys() <= known

    @invariant()
    def what_came_to_its_end_is_not_repeated(self):
        for fates in self.of_step.values():
            assert not {ENDS, KILLED_AFTER} & {*fates[:-1]}, fates

    @invariant()
    def what_nobody_saw_end_is_not_taken_for_measured(self):
        for state in self.states():
            for step in state.steps:
                for run in step.attempts:
                    if run.session:
                        assert run.session == f"of-{run.run}"
                        assert self.ran[run.run] in (ENDS, KILLED_AFTER)
                if step.state == DONE:
                    assert self.ran[step.attempts[-1].run] != KILLED_BEFORE

    @invariant()
    def only_the_newest_night_goes_on(self):
        assert sum(not state.ended for state in self.states()) <= 1


TestCampaigning = Campaigning.TestCase
TestCampaigning.settings = examples(12, steps=8, share=0.2)
