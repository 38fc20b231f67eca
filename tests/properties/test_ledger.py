"""The ledger, with kills at any write of it: each session is there once, whatever happened.

Also where ReFrame's database loses what the ledger has taken in.
"""

import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from acceptance.ledger import ledger as ledgers
from tests.made import SIZES, Database, one_night
from tests.properties import examples
from tests.properties.killed import killed_at

KILL = st.none() | st.integers(0, 12)


class Keeping(RuleBasedStateMachine):
    """Sessions that are stored, taken in, left out, and deleted from the database."""

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="acceptance-kept-"))
        self.database, self.folder = Database(self.place / "results.db"), self.place / "ledger"
        #: UUID -> cases; those that are left out; those that the ledger surely has.
        self.stored, self.left_out, self.held = {}, set(), set()

    def teardown(self):
        self.open(None)
        self.database.connection.close()
        shutil.rmtree(self.place)

    @rule(cases=st.integers(1, 2))
    def store(self, cases):
        night = len(self.stored)
        uuid = self.database.add([one_night(night, number) for number in range(cases)])
        self.stored[uuid] = cases

    @rule(kill=KILL)
    def open(self, kill):
        """Take in what is new, as another process would each time."""
        ledgers._entries.cache_clear()
        with killed_at(kill) as killed:
            past = ledgers.Ledger(self.database.path, self.folder)
        if killed.dead:
            return
        assert (past.notes, past.faults, past.gone) == ([], [], [])
        assert sorted(past.ids()) == sorted(self.stored.keys() - self.left_out)
        rows = past.rows(
            "SELECT number, count(*), count(DISTINCT case_id) FROM samples GROUP BY number"
        )
        found = {number: (count, cases) for number, count, cases in rows}
        for entry in past.entries:
            cases = self.stored[entry.uuid]
            assert found[entry.number] == (2 * len(SIZES) * cases, cases)
        self.held = {*past.ids()}

    @precondition(lambda self: self.held - self.left_out)
    @rule(kill=KILL)
    def leave_out(self, kill):
        uuid = min(self.held - self.left_out)
        past = ledgers.Ledger(self.database.path, self.folder)
        with killed_at(kill) as killed:
            past.forget([uuid])
        found = {*ledgers.Ledger(self.database.path, self.folder).ids()}
        assert killed.dead or uuid not in found
        self.left_out |= {uuid} - found

    @precondition(lambda self: self.held)
    @rule()
    def delete_from_the_database(self):
        """Delete what the ledger has, as ReFrame does when it is asked to prune."""
        uuid = min(self.held)
        run = self.database.connection.execute
        run("DELETE FROM sessions WHERE uuid = ?", (uuid,))
        self.database.connection.commit()


TestKeeping = Keeping.TestCase
TestKeeping.settings = examples(3, steps=6, share=0.02)
