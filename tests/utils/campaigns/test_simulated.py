"""The protocol of what was simulated: nobody can sign it as the acceptance of a machine."""

import copy

import pytest

from acceptance.campaigns import protocol
from acceptance.campaigns.markdown import markdown
from acceptance.campaigns.protocol import NO_ACCEPTANCE, decide
from acceptance.verdict import Status, Verdict
from tests.utils.campaigns.test_protocol import CASE, LINKS, failed, make, sealed

BY = "SimGrid 3.32"
MODEL = {"system": "simulated-made", "provenance": {"simulated": BY}}


def simulated(*cases, **changes):
    """Return a sound protocol of a simulated system."""
    verdict = {**make()["verdict"], "system": "simulated-made", **changes}
    measured = [{**case, **MODEL} for case in (LINKS, *(cases or [CASE]))]
    return make(system="simulated-made", verdict=verdict, measured=measured)


def test_its_outcome_is_no_acceptance_whatever_the_model_is():
    good = simulated()
    assert (good["outcome"], good["of_model"], good["simulated"]) == (
        "no acceptance: simulated",
        "accepted",
        [BY],
    )
    bad = simulated(failed(), verdict="fail", problems=[{"kind": "case-failed", "text": "m"}])
    assert (bad["outcome"], bad["of_model"]) == (NO_ACCEPTANCE, "rejected")
    assert protocol.differences(good) == protocol.differences(bad) == []


def test_nobody_can_sign_it():
    text = markdown(simulated())
    assert text.startswith("# SIMULATED: no acceptance of made, nor of any machine\n")
    assert f"no machine was measured, and nothing here is said of one ({BY})" in text
    assert "____" not in text
    assert "agree that" not in text
    assert "None: this was simulated." in text
    assert "____" in markdown(make())


@pytest.mark.parametrize(
    "forge",
    [
        lambda data: data | {"outcome": "accepted"},
        lambda data: {k: v for k, v in data.items() if k not in ("simulated", "of_model")},
        lambda data: data | {"system": "made", "outcome": "accepted"},
    ],
)
def test_whoever_writes_an_acceptance_of_a_machine_into_it_is_told(forge):
    data = forge(copy.deepcopy(simulated()))
    data["sha256"] = protocol.checksum(data)
    assert protocol.differences(data)


@pytest.mark.parametrize("witness", ["system", "case", "provenance", "extras"])
def test_one_witness_is_enough(witness):
    data = make()
    if witness == "system":
        data["system"] = "simulated-made"
    elif witness == "case":
        data["measured"][1]["system"] = "simulated-made"
    elif witness == "provenance":
        data["measured"][1]["provenance"] = {"simulated": BY}
    else:
        data["asked"]["partitions"][0]["extras"]["simulated"] = {"of": "made"}
    assert sealed(data)["outcome"] == NO_ACCEPTANCE


def test_a_model_that_is_rejected_fails_the_verdict():
    data = simulated(failed())
    assert data["of_model"] == "rejected"
    given = Verdict(system="simulated-made")
    data = decide(data, given)
    assert data["verdict"]["verdict"] == "fail"
    assert protocol.differences(data) == []
    assert (given.status, given.outcome) == (Status.FAILED, NO_ACCEPTANCE)
