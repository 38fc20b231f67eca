"""Alerts, their targets and acknowledgements, with a kill at any write: nothing is lost.

Each incident reaches each target, and so does its end; none twice, but where a kill fell between a
delivery and the note of it.
"""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from acceptance.alerts import acknowledgements, notify, targets
from acceptance.alerts.notify import State
from acceptance.alerts.targets import Target, Targets
from acceptance.core import state_files
from tests import alerted
from tests.properties import examples
from tests.properties.killed import killed_at

NAMES = ("a1", "b2", "c3")
TO = Targets((Target("ops", "json://ops"), Target("chat", "json://chat")), ())
KILL = st.none() | st.integers(0, 9)


def alert(name):
    return alerted.of(alerted.ALERT, name, text=f"what {name} says")


class Alerting(RuleBasedStateMachine):
    """What runs find, and what each target was told; a call may be killed at a write."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="acceptance-alerts-"))
        self.now, self.down, self.acked, self.last = alerted.NOW, set(), set(), None
        #: Incidents (id, when it opened) that were stored, and what each target was told of them:
        #: (target, incident, whether it ended, when an acknowledgement that lapsed was given). Of
        #: those that may be repeated nothing noted that they were delivered.
        self.incidents, self.told, self.repeated = set(), set(), set()

    def teardown(self):
        self.settle()
        shutil.rmtree(self.folder)

    def stored(self):
        return state_files.read(self.folder / "state.json", State) or State()

    def send(self, target, subject, body, *_):
        """Deliver a message in place of apprise, unless the target is down."""
        if target.name in self.down:
            return "is down"
        told = [each for each in self.stored().alerts if f"what {each.id} says" in body]
        self.last = target.name, [
            (target.name, (each.id, each.opened), bool(each.ended),
             each.lapsed.when if each.lapsed else None)
            for each in told
            if not each.acknowledged and target.name not in each.told
        ]  # fmt: skip
        assert len(told) == sum(f"what {name} says" in body for name in NAMES)
        for key in self.last[1]:
            assert key not in self.told or key in self.repeated, "told twice"
        self.told.update(self.last[1])
        self.repeated -= {*self.last[1]}
        return None

    def call(self, found, kill):
        """Let a run take note of what it has found."""
        self.now, self.last = self.now + timedelta(hours=1), None
        before = {each.id for each in self.stored().alerts if not each.ended}
        with killed_at(kill) as killed, mock.patch.object(targets, "send", self.send):
            notify.update([alert(name) for name in sorted(found)], self.now, self.folder, to=TO)
        alerts = self.stored().alerts
        self.incidents |= {(each.id, each.opened) for each in alerts}
        after = {each.id for each in alerts if not each.ended}
        assert after == found or (killed.dead and after == before)
        if killed.dead and self.last:
            target, keys = self.last
            noted = {(each.id, each.opened) for each in alerts if target in each.told}
            self.repeated |= {key for key in keys if key[1] not in noted}

    @rule(found=st.sets(st.sampled_from(NAMES)), kill=KILL)
    def run(self, found, kill):
        self.call(found, kill)

    @rule(names=st.sets(st.sampled_from(TO.names)))
    def targets_fail(self, names):
        self.down = names

    @rule(days=st.integers(1, 5))
    def time_passes(self, days):
        self.now += timedelta(days=days)

    @rule(name=st.sampled_from(NAMES), kill=KILL)
    def acknowledge(self, name, kill):
        until = str((self.now + timedelta(days=3)).date())
        with killed_at(kill) as killed:
            acknowledgements.add(name, "known", until, [alert(name)], self.now, self.folder)
        self.changed(self.acked | {name}, killed)

    @rule(name=st.sampled_from(NAMES), kill=KILL)
    def take_back(self, name, kill):
        if name in self.acked:
            with killed_at(kill) as killed:
                acknowledgements.remove(name, self.folder)
            self.changed(self.acked - {name}, killed)

    def changed(self, to, killed):
        """Require the acknowledgements of after a change, or those of before a killed one."""
        found = {ack.what for ack in acknowledgements.load(self.folder)}
        assert found == to or (killed.dead and found == self.acked)
        self.acked = found

    @invariant()
    def whatever_is_stored_can_be_read(self):
        assert not notify.listing(self.now, self.folder).notes
        assert not [*self.folder.glob("*.malformed*")]

    def settle(self):
        """Let two runs end that find what is open, with all targets up: then all are told."""
        for name in sorted(self.acked):
            acknowledgements.remove(name, self.folder)
        self.down = set()
        for _ in range(2):
            alerts = self.stored().alerts
            self.call({each.id for each in alerts if not each.ended}, None)
        assert self.last is None, "told again of nothing new"
        stored = {(each.id, each.opened) for each in self.stored().alerts}
        newest = {name: max(when for one, when in self.incidents if one == name)
                  for name, _ in self.incidents}  # fmt: skip
        told = {key[:3] for key in self.told - self.repeated}
        for target in TO.names:
            for incident in self.incidents:
                name, when = incident
                if incident in stored:
                    assert (target, incident, False) in told, f"{target} never heard of {name}"
                elif (target, incident, False) in told and when == newest[name]:
                    assert (target, incident, True) in told, f"{target} waits for {name}'s end"


TestAlerting = Alerting.TestCase
TestAlerting.settings = examples(12, steps=12, share=0.2)
