"""`site/unmet.py`: which rows of a site no case can meet."""

import shutil

import pytest

from acceptance import references
from acceptance.rfm.configuration import Site
from acceptance.site import BROKEN, examine, unmet_rows
from tests.places import ROOT, workspace

HEADER = "where,system,partition,benchmark,metric,parameters,relation,value,unit,printed,note\n"
CLAIMS = (
    "paper,where,benchmark,metric,parameters,left,right,relation,value,unit,printed,expected,note\n"
)
SYSTEM = {
    "name": "made",
    "hostnames": [".*"],
    "partitions": [
        {
            "name": "batch",
            "environs": ["gnu"],
            "processor": {"num_cpus": 8, "num_cpus_per_core": 2, "num_sockets": 1},
            "extras": {"nodes": 2},
        },
        {"name": "alone", "environs": [], "extras": {"cores": 4}},
    ],
}
SITE = Site((SYSTEM,), ({"name": "gnu", "features": ["imb"]},))
BANDWIDTH = "imb.PingPong,bandwidth_peak"


@pytest.fixture
def unmet(tmp_path):
    """Return the reasons for which the rows of a site's file, or its claims, judge nothing."""
    folder = tmp_path / "reference"
    shutil.copytree(ROOT / "reference", folder)

    def reasons(*rows, system="made", claims=()):
        (folder / "sites/claims").mkdir(parents=True, exist_ok=True)
        lines = [f"s,{system},{row},1,n\n" for row in rows]
        (folder / f"sites/{system}.csv").write_text(HEADER + "".join(lines))
        if claims:
            (folder / "sites/claims/made.csv").write_text(CLAIMS + "".join(claims))
        return [*unmet_rows(references.load(folder), SITE, {"made"})]

    return reasons


def test_rows_that_cases_meet_are_not_said(unmet):
    assert not unmet(
        f"batch,{BANDWIDTH},np=2;nodes=2;placement=inter-node;environment=gnu,=,1000,MB/s",
        "batch,imb.PingPong,latency,np=2;message_size=0,=,1.5,us",
        "batch,hpcc,G-HPL,np=8,=,10,Gflop/s",
        "batch,npb.cg,mops_total,np=1;class=S,=,10,Mop/s",
        "batch,patterns.all-pairs,latency,message_size=8,=,1.5,us",
        "batch,StreamOfOurs,triad,,=,10,MB/s",
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (f"bach,{BANDWIDTH},np=2,=,1,MB/s", "made has no partition 'bach'; known: batch, alone"),
        ("batch,imb.PingPang,latency,,=,1,us", "no check runs imb.PingPang; known: imb.PingPong"),
        ("batch,imb.PingPong,speed,,=,1,us", "imb.PingPong has no metric 'speed'; known: latency"),
        (
            f"batch,{BANDWIDTH},np=2,=,1,GB/s",
            "bandwidth_peak of imb.PingPong is in MB/s, not in GB/s",
        ),
        (f"batch,{BANDWIDTH},np=4,=,1,MB/s", "imb.PingPong does not run with np=4"),
        ("batch,hpcc,G-HPL,np=16,=,1,Gflop/s", "np=16 is more than the 2 x 4 cores of made:batch"),
        (f"batch,{BANDWIDTH},nodes=4,=,1,MB/s", "nodes=4 is more than the 2 of made:batch"),
        (
            f"alone,{BANDWIDTH},np=2;placement=inter-node,=,1,MB/s",
            "placement=inter-node, but made:alone has one node",
        ),
        (
            f"batch,{BANDWIDTH},np=2;placement=inter-socket,=,1,MB/s",
            "placement=inter-socket, but a node of made:batch has one socket",
        ),
        (
            f"batch,{BANDWIDTH},np=2;environment=intel,=,1,MB/s",
            "made:batch has no environment 'intel'; known: gnu",
        ),
        (
            "batch,imb.PingPong,latency,np=2,=,1,us",
            "latency of imb.PingPong is one for each message size",
        ),
        (f"batch,{BANDWIDTH},message_size=8,=,1,MB/s", "bandwidth_peak of imb.PingPong has no"),
        ("batch,imb.PingPong,latency,message_size=3,=,1,us", "message_size=3 is no power of two"),
        (
            "batch,imb.PingPong,latency,message_size=8,>=,1,us",
            "tolerances.yaml has nothing for >= us of a baseline",
        ),
    ],
)
def test_a_row_that_no_case_can_meet_is_said_with_its_line(unmet, row, reason):
    (rows,) = unmet("batch,imb.PingPong,latency,message_size=0,=,1,us", row)
    path, why = rows.place
    assert why.startswith(reason)
    assert rows.text == f"{path}:3: judges nothing: {why}"
    assert rows.fails


def test_many_rows_of_one_reason_are_said_once(unmet):
    (rows,) = unmet(*(f"bach,imb.PingPong,latency,message_size={2**n},=,1,us" for n in range(9)))
    assert f"{rows.place[0]}:2, and 8 more lines: judges nothing: " in rows.text


def test_a_system_that_is_not_configured_is_said(unmet):
    (rows,) = unmet(f"batch,{BANDWIDTH},np=2,=,1,MB/s", system="mdae")
    assert rows.place[1] == "no system 'mdae' is configured"


def test_a_claim_of_the_site_that_no_case_can_meet_is_said(unmet):
    claim = "made,contract 3,{},bandwidth_peak,np=2,made:batch,made:alone,better,,,p,,\n"
    (rows,) = unmet(claims=[claim.format("imb.PingPong"), claim.format("imb.PingPang")])
    assert rows.text.startswith(f"{rows.place[0]}:3: judges nothing: no check runs imb.PingPang")


def test_the_doctor_says_it(tmp_path):
    folder = tmp_path / "reference"
    shutil.copytree(ROOT / "reference", folder)
    (folder / "sites").mkdir(exist_ok=True)
    (folder / "sites/made.csv").write_text(f"{HEADER}s,made,bach,{BANDWIDTH},np=2,=,1,MB/s,1,n\n")
    path = tmp_path / "made.py"
    path.write_text(f'site_configuration = {{"systems": [{SYSTEM}], "environments": []}}')
    rows = examine(workspace(tmp_path, reference=folder), [path], "made")
    (row,) = [row for row in rows if row.what == "reference"]
    assert row.state == BROKEN
    assert "made.csv:2: judges nothing: made has no partition 'bach'" in row.found


def test_a_reference_in_reframes_form_that_no_case_meets_is_said(unmet, tmp_path):
    entry = "imb_PingPong:\n  made:batch:\n    latency_0: [1.5, null, 0.1, us]\n"
    other = "imb_PingPang:\n  made:batc:\n    rate: [1.5, null, 0.1, us]\n"
    assert not unmet()
    path = tmp_path / "reference/sites/made.yaml"
    path.write_text(entry)
    assert not unmet()
    path.write_text(entry.replace("latency_0", "latency_3") + other)
    first, second = unmet()
    assert (first.kind, first.fails) == ("reference-unmet", True)
    assert f"{path}:3: judges nothing: message_size=3 is" in first.text
    assert f"{path}:6: judges nothing: made has no partition 'batc'" in second.text
