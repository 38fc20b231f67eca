"""Slow nodes get a step of their own, once."""

from dataclasses import replace
from pathlib import Path

import pytest

from acceptance.campaigns import conclusion
from acceptance.campaigns import state as campaign
from acceptance.campaigns.state import DONE, PENDING, Attempt, Progress, State
from acceptance.core.pairs import PairResult
from acceptance.core.paths import Workspace
from acceptance.machine import SlurmNode
from tests import made
from tests.places import ROOT

NAMES = tuple(f"node{number}" for number in range(1, 7))
ARGUMENTS = ["-c", "checks/nodes.py", "-r", "--mode=acceptance"]


def pairs(slow):
    ring = zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True)
    return tuple(
        PairResult("ring", pair, 2**22, 400.0, 50.0 if slow & {*pair} else 100.0) for pair in ring
    )


@pytest.fixture
def workspace(tmp_path):
    return replace(Workspace.of(), var=tmp_path, reference=ROOT / "reference")


@pytest.fixture
def campaign_with(workspace):
    """Make a stored campaign whose step of the nodes measured some as slow."""

    def make(*slow, known=True):
        case = made.Case(
            name="NodePairs %where=between", nodes=NAMES, suite="imb", pairs=pairs({*slow})
        )
        uuid = made.Database(workspace.results).add([case])
        step = Progress("nodes", ["checks/nodes.py"], [*ARGUMENTS], DONE)
        step.attempts = [
            Attempt("run", "2026-11-22T01:00:00+00:00", "2026-11-22T01:10:00+00:00", 0, uuid)
        ]
        nodes = {"compute": [SlurmNode(name, "idle", "", True) for name in NAMES]}
        return State(
            "accept-1", "accept", {"mode": "acceptance", "system": "made"},
            "2026-11-22T10:00:00+00:00", [step], nodes=nodes if known else {},
            campaigns=workspace.campaigns,
        )  # fmt: skip

    return make


def test_suspects_are_pinned_with_good_nodes_in_a_step_that_is_stored(workspace, campaign_with):
    state = campaign_with("node3")
    assert conclusion.add_step(state, workspace)
    stored = campaign.load(state.folder / "state.json")
    again = stored.steps[-1]
    assert (again.name, again.state, again.files) == ("nodes-again", PENDING, ["checks/nodes.py"])
    # Those first that were no partners of it.
    assert again.arguments == [*ARGUMENTS, "-S", "pinned=compute=node3,node1,node5,node6"]
    # One that was stopped then goes on with this step, and makes no other one.
    assert not conclusion.add_step(stored, workspace)


def test_without_suspects_or_without_slurm_nothing_is_measured_again(workspace, campaign_with):
    assert not conclusion.add_step(campaign_with(), workspace)


def test_nodes_that_nobody_can_ask_for_are_not_measured_again(workspace, campaign_with):
    assert not conclusion.add_step(campaign_with("node3", known=False), workspace)


def test_a_step_that_did_not_end_names_no_suspects(workspace, campaign_with):
    state = campaign_with("node3")
    state.steps[0].state = PENDING
    assert not conclusion.add_step(state, workspace)


def test_a_database_that_cannot_be_read_is_left_to_the_verdict(workspace, campaign_with):
    state = campaign_with("node3")
    Path(workspace.results).unlink()
    assert not conclusion.add_step(state, workspace)
