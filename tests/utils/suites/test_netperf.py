"""Netperf's output in the form of 2.5 to 2.7, whole and mutilated, and what is asked of it."""

import csv
import re
import subprocess

import pytest

from acceptance.core.errors import ParseError
from acceptance.fabric import Facts, plausibility
from acceptance.machine import Layout
from acceptance.suites import netperf
from tests.needs import requires
from tests.places import ROOT

DATA = ROOT / "tests/data/netperf"
#: Test -> what was asked for when its output was recorded, and what it says.
RECORDED = {
    "TCP_STREAM": ((4096, 0, 262144, 262144), {"throughput": 258.05}),
    "TCP_RR": ((64, 64, 2048, 256), {"transactions": 2167.795}),
    "UDP_STREAM": ((1472, 0, 65536, 65536), {"throughput": 244.99, "received": 67.47}),
    "UDP_RR": ((64, 64, 126976, 126976), {"transactions": 3553.826}),
}


def text_of(test):
    return (DATA / f"{test}.txt").read_text()


def asked(test):
    return netperf.Run(test, *RECORDED[test][0])


def parse(test, text=None, seconds=1):
    return netperf.parse(text_of(test) if text is None else text, "out", asked(test), seconds)


@pytest.mark.parametrize("test", RECORDED)
def test_the_output_of_each_test_is_read(test):
    output = parse(test)
    columns = netperf.BENCHMARKS[test].columns
    assert {each.stem: output.values[each.name] for each in columns} == RECORDED[test][1]
    assert output.start["version"] == "2.7.1"
    assert (output.start["client"], output.start["server"]) == ("node1", "node2")


def test_what_did_not_arrive_is_told():
    output = parse("UDP_STREAM")
    assert output.moved == 8458112
    assert output.lost == "72.46 % of 30711808 bytes"
    assert parse("TCP_STREAM").lost.startswith("0.00 % of ")


def test_the_keys_are_the_socket_buffers_that_there_were():
    run, had = asked("TCP_RR"), parse("TCP_RR").buffers
    assert run in netperf.RUNS
    assert run.keys()["local_socket"] == "2048/256"
    # Linux gives no less since 3.12.
    assert run.keys(had) == {
        "send_size": "64", "recv_size": "64",
        "local_socket": "4608/2304", "remote_socket": "4608/2304",
    }  # fmt: skip
    stream = asked("TCP_STREAM")
    assert stream.keys(parse("TCP_STREAM").buffers) == stream.keys()


@pytest.mark.parametrize(
    ("test", "old", "new", "words"),
    [
        ("TCP_STREAM", r"\Anetperf .*\n", "", "no line of netperf.sh"),
        ("TCP_STREAM", "MIGRATED TCP STREAM", "TCP STREAM", "no title"),
        ("TCP_STREAM", "TCP STREAM", "UDP STREAM", "UDP_STREAM to 198.18.0.3, which was not asked"),
        ("TCP_STREAM", r"to 198\S+", "to 10.0.0.1", "to 10.0.0.1, which was not asked for"),
        ("TCP_STREAM", r"10\^6bits", "10^3bits", "throughputs in 10^3bits/s"),
        ("TCP_STREAM", "SEND_SIZE=4096", "SEND_SIZE=8192", "8192 instead of 4096"),
        ("TCP_STREAM", r"LSS_SIZE_END=\d+", "LSS_SIZE_END=0", "no time, no buffer or no bytes"),
        ("TCP_STREAM", r"RECVD=\d+", "RECVD=4096", "4096 bytes arrived of "),
        ("TCP_STREAM", r"RECVD=\d+", "RECVD=-1", "no time, no buffer or no bytes"),
        ("TCP_STREAM", "=258.05", "=285.05", "LOCAL_SEND_THROUGHPUT is not that of"),
        ("TCP_STREAM", "=258.05", "=nan", "no finite number"),
        ("TCP_STREAM", "=258.05", "=258.5", "no number as netperf prints it"),
        ("TCP_STREAM", "ELAPSED_TIME=", "ELAPSED=", "no value of ELAPSED_TIME"),
        ("TCP_STREAM", r"(LSR_SIZE_END=.*\n)", r"\1\1", "no value of RSS_SIZE_END"),
        ("TCP_STREAM", r"\Z", "more\n", "a line that is not understood"),
        ("TCP_STREAM", "=258.05", "=0.00", "LOCAL_SEND_THROUGHPUT is not that of"),
        ("TCP_RR", r"SEND_CALLS=\d+", "SEND_CALLS=0", "no time, no buffer or no bytes"),
        ("TCP_RR", "REQUEST_SIZE=64", "REQUEST_SIZE=1", "REQUEST_SIZE is 1 instead of 64"),
        ("TCP_RR", "=2167.795", "=2267.795", "TRANSACTION_RATE is not that of"),
        # All datagrams were lost.
        ("UDP_STREAM", r"RECVD=\d+", "RECVD=0", "no time, no buffer or no bytes"),
        ("UDP_STREAM", "=67.47", "=67.74", "REMOTE_RECV_THROUGHPUT is not that of"),
        ("UDP_STREAM", r"SENT=\d+", "SENT=30711809", "30711809 bytes sent in 20864 calls of 1472"),
        ("UDP_STREAM", r"RECVD=8458112", "RECVD=84581120", "84581120 bytes arrived of 30711808"),
    ],
)
def test_a_fault_is_refused_with_its_line(test, old, new, words):
    text = re.sub(old, new, text_of(test), count=1)
    assert text != text_of(test)
    with pytest.raises(ParseError) as caught:
        parse(test, text)
    assert words in str(caught.value)
    assert str(caught.value).startswith("out")


@pytest.mark.parametrize("test", RECORDED)
def test_a_test_that_ended_early_is_refused(test):
    with pytest.raises(ParseError, match=r"it ended after 1\S* s, where it was to take 2 s"):
        parse(test, seconds=2)


@pytest.mark.parametrize("test", RECORDED)
def test_an_output_that_is_cut_anywhere_measures_nothing(test):
    text = text_of(test)
    for end in range(len(text)):
        with pytest.raises(ParseError):
            parse(test, text[:end])


@pytest.mark.parametrize("test", RECORDED)
def test_the_output_of_another_test_or_size_is_refused(test):
    for run in netperf.RUNS:
        if (run.benchmark, *run[1:3]) != (test, *RECORDED[test][0][:2]):
            with pytest.raises(ParseError):
                netperf.parse(text_of(test), "out", run, 1)


def test_what_is_run_is_what_the_paper_prints():
    with (ROOT / "reference/kandadai2009.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["benchmark"].startswith("netperf.")]
    printed = {(row["benchmark"], row["parameters"]) for row in rows}
    run = {
        (f"netperf.{run.benchmark}", ";".join(f"{k}={v}" for k, v in run.keys().items()))
        for run in netperf.RUNS
    }
    assert (len(netperf.RUNS), len(rows)) == (21, 63)
    assert run == printed


def test_netperf_is_asked_for_half_of_each_buffer_since_linux_doubles_it():
    words = " ".join(netperf.Run("TCP_RR", 100, 200, 2048, 256).options(7))
    assert words.startswith("-t TCP_RR -l 7 -f m -- -r 100,200 -s 1024,128 -S 1024,128 -R 1 -k ")
    assert " -m 64 -s 32768,32768 " in " ".join(
        netperf.Run("UDP_STREAM", 64, 0, 65536, 65536).options(7)
    )


def test_no_stream_is_faster_than_the_wire_but_a_sender_of_datagrams_may_be():
    facts, layout = Facts("ethernet", rate="1"), Layout(2, 1, "inter-node")

    def implausible(test, **values):
        measured = {name: (value, "Mbit/s") for name, value in values.items()}
        return plausibility.implausible(netperf.BENCHMARKS[test], measured, facts, layout)

    assert implausible("TCP_STREAM", throughput=949) == []
    (line,) = implausible("TCP_STREAM", throughput=1100)
    assert line.startswith("implausible: throughput is 1100 Mbit/s")
    assert implausible("UDP_STREAM", throughput=2500, received=940) == []
    (line,) = implausible("UDP_STREAM", throughput=2500, received=1100)
    assert line.startswith("implausible: received is 1100 Mbit/s")


#: A machine with two ports of Ethernet, a bridge, IP over InfiniBand, and RoCE at eth1.
MADE = {
    "class/net/eth0": {"type": "1", "speed": "1000", "device": None},
    "class/net/eth1": {"type": "1", "speed": "10000", "device": None},
    "class/net/br0": {"type": "1", "speed": "10000"},
    "class/net/ib0": {"type": "32", "speed": "20000", "device": None},
    "class/net/lo": {"type": "772"},
    "class/infiniband/mlx4_0/device/net/ib0": {"dev_port": "0"},
    "class/infiniband/mlx4_0/device/net/ib1": {"dev_port": "1"},
    "class/infiniband/mlx5_0/device/net/eth1": {"dev_port": "0"},
}
#: It has no address at all, but says which interfaces it was asked for.
IP = '#!/bin/sh\ncase $1 in link) [ "$4" = eth1 ] ;; *) echo "asked $6" >&2 ;; esac\n'


@requires("sh")
@pytest.mark.parametrize(
    ("devices", "technology", "speed", "expected"),
    [
        ("eth1", "ethernet", "1000", "eth1"),
        ("mlx4_0", "infiniband", "", "ib0 ib1"),
        ("mlx4_0/2", "infiniband", "", "ib1"),
        ("mlx5_0/1,mlx4_0/1", "roce", "", "eth1 ib0"),
        ("", "ethernet", "10000", "eth1 eth0"),
        ("", "infiniband", "", "ib0"),
        ("", "", "", "br0 eth0 eth1"),
        ("eth7", "ethernet", "", ""),
    ],
)
def test_the_server_listens_at_the_interface_of_the_fabric(
    tmp_path, devices, technology, speed, expected
):
    for folder, files in MADE.items():
        (tmp_path / folder).mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text or "")
    for program in ("ip", "netserver"):
        (tmp_path / program).write_text(IP)
        (tmp_path / program).chmod(0o755)
    done = subprocess.run(
        ["sh", netperf.SCRIPT, tmp_path / "netserver", "5", devices, technology, speed, "netperf"],
        capture_output=True, text=True, cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "SYSFS": tmp_path, "ACCEPTANCE_RANK": "1"},
    )  # fmt: skip
    assert done.returncode == 1
    assert re.findall(r"^asked (\S+)", done.stderr, re.MULTILINE) == expected.split()
    assert "no interface of the fabric is up and has an IPv4 address: " in done.stderr
    assert f"{devices or technology or 'any'}, which is" in done.stderr
