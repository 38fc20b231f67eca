"""The claims of koop2008 on the results of its model: what they say, and what the model cannot."""

import pytest

from acceptance.relations.claims import BEYOND_MODEL, FAILS, HOLDS, NOT_MEASURED
from tests.conftest import Site
from tests.made import Case, Database

MODEL = "simulated-koop2008"
#: Partition -> peak one way and both ways (MB/s), latency of 8 bytes (us), as SimGrid gave them.
PEAKS = {
    "sdr-pcie1": (988, 1975, 1.28),
    "ddr-pcie1": (1301, 2602, 1.28),
    "ddr-pcie2": (1975, 3951, 1.07),
    "qdr-pcie2": (2602, 5204, 1.07),
}
PAIR = {"np": "2", "nodes": "2", "placement": "inter-node"}


def cases(system):
    """Return what OSU gives on the model, and a collective, which the model knows nothing of."""
    for partition, (one_way, both, latency) in PEAKS.items():
        sizes = (1, 8, 32, 256, 65536)
        measured = {
            "bw": {"bandwidth_peak": (one_way, "MB/s")},
            "bibw": {"bandwidth_peak": (both, "MB/s")},
            "latency": {f"latency_{size}": (latency + size / one_way, "us") for size in sizes},
            "multi_lat": {f"latency_{size}": (latency, "us") for size in sizes},
        }
        for name, metrics in measured.items():
            yield Case(
                f"Osu {name}", metrics, system, partition, "smpi", ("n0", "n1"),
                PAIR if name != "multi_lat" else {**PAIR, "np": "16", "pairs": "8"},
                f"osu.{name}", provenance={"simulated": "SimGrid 3.32"},
            )  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the command says of the model, and of the real system, after both were run alike."""
    site = Site(tmp_path_factory.mktemp("claims"))
    path = site.folder / "results.db"
    Database(path).add([*cases(MODEL)])
    command = ("claims", "--db", path, "--system")
    return {
        "text": site.acceptance(*command, MODEL),
        "data": site.acceptance(*command, MODEL, "--format", "json"),
        "real": site.acceptance(*command, "koop2008", "--format", "json"),
        "other": site.acceptance(*command, "simulated-saini2006"),
    }


def test_claims_about_peaks_and_single_pairs_are_evaluated(told):
    data = told["data"].data
    assert told["data"].status == 0
    assert data["counts"] == {HOLDS: 14, FAILS: 0, NOT_MEASURED: 0, BEYOND_MODEL: 59}
    held = [claim for claim in data["claims"] if claim["state"] == HOLDS]
    assert {claim["left"]["benchmark"] for claim in held} == {"osu.bw", "osu.bibw", "osu.latency"}
    assert sum(claim["of_input"] for claim in held) == 5
    assert not any(claim["expected"] for claim in data["claims"])


def test_what_the_model_cannot_say_has_its_reason_whatever_was_measured(told):
    beyond = [claim for claim in told["data"].data["claims"] if claim["state"] == BEYOND_MODEL]
    reasons = [claim["reason"] for claim in beyond]
    assert (reasons.count("several pairs at once"), reasons.count("computation")) == (35, 24)
    assert all(claim["ours"] is None for claim in beyond)


def test_the_text_says_that_no_machine_was_measured(told):
    lines = told["text"].output.splitlines()
    assert "SIMULATED: simulated-koop2008 is a model of koop2008: no machine was measured" in (
        " ".join(lines)
    )
    assert "73 claims: 14 hold, 0 fail, 0 not measured, 59 the model cannot say" in lines
    assert "5 of them by an input of the model: small latencies" in lines


def test_no_claim_of_the_real_system_is_decided_by_its_model(told):
    counts = told["real"].data["counts"]
    assert counts == {HOLDS: 0, FAILS: 0, NOT_MEASURED: 73}


def test_a_system_that_nobody_simulates_is_unknown(told):
    assert told["other"].status == 2
    assert "no system 'simulated-saini2006'" in told["other"].errors
    assert told["other"].output == ""
