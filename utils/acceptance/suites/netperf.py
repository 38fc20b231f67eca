"""Netperf 2.5 to 2.7: streams and request/response over TCP and UDP sockets, and its output.

What is run is what kandadai2009 prints in its Tables 1 to 4, with its sizes of messages and of
socket buffers. `netperf.sh` starts server and client, and says where before netperf prints. With
`-k` that is a title and the values that were asked for (its `omni` output selectors)::

    netperf 2.7.0 client=node1 server=node2 device=eth2 address=198.18.0.3 port=25123
    MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 198.18.0.3 () port 0 AF_INET
    ELAPSED_TIME=10.00
    THROUGHPUT_UNITS=10^6bits/s
    LOCAL_SEND_SIZE=64
    ...
    LOCAL_SEND_THROUGHPUT=279.68
    REMOTE_RECV_THROUGHPUT=143.03
    TRANSACTION_RATE=1.000

Times are in s, sizes in bytes, throughputs in 10^6 bits/s (`-f m`). What a test lacks is 0, -1 or
1.000. Linux doubles the socket buffers that it is asked for, bounds them (net.core.wmem_max,
rmem_max), and since 3.12 gives no less than 4608 bytes to send and 2304 to receive: what netperf
says that they were are the keys of a result. Sources: src/nettest_omni.c of netperf 2.5.0 to 2.7.1
and its outputs; Linux, sock_setsockopt in net/core/sock.c.
"""

import re
from pathlib import Path
from typing import NamedTuple

from acceptance.suites.output import SLACK, TWO_DECIMALS, LineReader, Range
from acceptance.suites.records import Benchmark, Column, Suite

#: Starts server and client, each on its node.
SCRIPT = Path(__file__).with_name("netperf.sh")
#: Runs both on one machine, in two networks whose interfaces are called so.
NETWORKS, INTERFACE = Path(__file__).with_name("netperf_networks.sh"), "net0"

SENT = Column("LOCAL_SEND_THROUGHPUT", "throughput", "Mbit/s")
RECEIVED = Column("REMOTE_RECV_THROUGHPUT", "received", "Mbit/s")
RATE = Column("TRANSACTION_RATE", "transactions", "1/s")


def _row(name: str, *columns: Column, link_factor: int | None = None) -> Benchmark:
    # Of UDP only what arrived can be compared with a link: what was sent has what was lost.
    arrived = RECEIVED.stem if RECEIVED in columns else ""
    return Benchmark(
        name, columns, processes="two", sized=False, since_mode="smoke",
        family=name.partition("_")[0].lower(), link_factor=link_factor, pair_bandwidth=arrived,
    )  # fmt: skip


BENCHMARKS = {
    row.name: row
    for row in (
        _row("TCP_STREAM", SENT, link_factor=1),
        _row("TCP_RR", RATE),
        _row("UDP_STREAM", SENT, RECEIVED),
        _row("UDP_RR", RATE),
    )
}
SUITE = Suite(
    "netperf",
    "Netperf",
    ("netperf", "netserver"),
    "Debian's netperf, or `spack install netperf`",
    {f"netperf.{name}": row for name, row in BENCHMARKS.items()},
    of_mpi=False,
)


class Run(NamedTuple):
    """What one case runs: sizes in bytes, those of socket buffers as Linux tells them.

    `recv_size` is that of the response, 0 in a stream.
    """

    benchmark: str
    send_size: int
    recv_size: int
    send_buffer: int
    recv_buffer: int

    @property
    def is_stream(self) -> bool:
        """Tell whether messages go one way."""
        return self.benchmark.endswith("STREAM")

    @property
    def buffers(self) -> tuple[int, ...]:
        """Return the socket buffers in the order of `BUFFERS`."""
        return (self.send_buffer, self.recv_buffer) * 2

    def keys(self, buffers: tuple[int, ...] = ()) -> dict[str, str]:
        """Return what a reference must agree with; `buffers` are those that there were."""
        send, receive, remote_send, remote_receive = buffers or self.buffers
        sent, received = str(self.send_size), str(self.recv_size)
        if self.is_stream:
            local, remote = str(send), str(remote_receive)
            return {"send_size": sent, "local_socket": local, "remote_socket": remote}
        local, remote = f"{send}/{receive}", f"{remote_send}/{remote_receive}"
        sizes = {"send_size": sent, "recv_size": received}
        return {**sizes, "local_socket": local, "remote_socket": remote}

    def options(self, seconds: int) -> list[str]:
        """Return netperf's options but for the address of the server."""
        halves = f"{self.send_buffer // 2},{self.recv_buffer // 2}"
        size = f"-m {self.send_size}" if self.is_stream else f"-r {self.send_size},{self.recv_size}"
        # Without -R 1 no datagram passes a router.
        return [
            f"-t {self.benchmark}", f"-l {seconds}", "-f m", "--", size,
            f"-s {halves}", f"-S {halves}", "-R 1", f"-k {','.join(SELECTORS)}",
        ]  # fmt: skip


#: Kandadai2009, Tables 1 to 4. Those that begin a test are its smoke test.
RUNS = (
    *(
        Run("TCP_STREAM", size, 0, buffer, buffer)
        for buffer in (262144, 114688, 65536)
        for size in (4096, 8192, 32768)
    ),
    Run("TCP_STREAM", 4096, 0, 16384, 16384),
    *(
        Run("TCP_RR", *sizes, 2048, 256)
        for sizes in ((1, 1), (64, 64), (100, 200), (128, 8192))
    ),
    *(Run("UDP_STREAM", size, 0, 65536, 65536) for size in (64, 1024, 1472)),
    *(
        Run("UDP_RR", *sizes, 126976, 126976)
        for sizes in ((1, 1), (64, 64), (100, 200), (1024, 1024))
    ),
)  # fmt: skip

#: Those of this side to send and to receive, and those of the other side.
BUFFERS = ("LSS_SIZE_END", "LSR_SIZE_END", "RSS_SIZE_END", "RSR_SIZE_END")
_TIME, _UNITS, _MBITS = "ELAPSED_TIME", "THROUGHPUT_UNITS", "10^6bits/s"
_SIZES = ("LOCAL_SEND_SIZE", "REQUEST_SIZE", "RESPONSE_SIZE")
_COUNTS = ("LOCAL_SEND_CALLS", "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD")
_REALS = (_TIME, SENT.name, RECEIVED.name, RATE.name)
#: The share of its time that a test lasts at least: a timer ends it, and two decimals are printed.
LASTED = 0.9
#: What netperf is asked for, in this order.
SELECTORS = (_TIME, _UNITS, *_SIZES, *BUFFERS, *_COUNTS, *_REALS[1:])

_START = re.compile(
    r"netperf (?P<version>\S+) client=(?P<client>\S+) server=(?P<server>\S+) "
    r"device=(?P<device>\S+) address=(?P<address>\S+) port=(?P<port>\d+)\Z"
)
_TITLE = re.compile(
    r"MIGRATED (?P<test>(TCP|UDP) (STREAM|REQUEST/RESPONSE)) TEST from \S+ \(\S*\) port \d+ AF_INET"
    r" to (?P<to>\S+) \(\S*\) port \d+ AF_INET(?: : [\w :]+)?\s*\Z"
)
_THREE_DECIMALS = re.compile(r"(0|[1-9]\d*)\.\d{3}\Z", re.ASCII)
_VALUE = re.compile(r"(?P<name>[A-Z_]+)=(?P<value>\S+)\Z")


def parse(text: str, source: str, run: Run, seconds: float) -> "Output":
    """Read the output of a run that was to take so many seconds.

    Raises ParseError, with the line, for that of any other run, and one that ended early.
    """
    output = Output(text, source)
    output.read(run)
    if (lasted := output.values[_TIME]) < LASTED * seconds:
        raise output.error(f"it ended after {lasted:g} s, where it was to take {seconds:g} s")
    return output


class Output(LineReader):
    """An output of one test: `values` are what was asked for, by the name of the selector.

    `start` has the version, both nodes, and interface, address and port of the server.
    """

    suite = "netperf"
    decimal = TWO_DECIMALS

    def read(self, run: Run) -> None:
        """Read start, title and values, and compare what the output says twice."""
        self.benchmark = run.benchmark
        lines = self.lines()
        if not (start := _START.match(next(lines))):
            raise self.error("no line of netperf.sh that says where the server is")
        self.start = start.groupdict()
        if not (title := _TITLE.match(next(lines, ""))):
            raise self.error("no title of a test of netperf")
        test = title["test"].replace(" ", "_").replace("REQUEST/RESPONSE", "RR")
        if test != run.benchmark or title["to"] != self.start["address"]:
            raise self.error(f"the test {test} to {title['to']}, which was not asked for")
        self.values: dict[str, float] = {}
        for name in SELECTORS:
            match = _VALUE.match(next(lines, ""))
            if not match or match["name"] != name:
                raise self.error(f"no value of {name}")
            self.require_whole_line()
            self.take(name, match["value"])
        if next(lines, None) is not None:
            raise self.error("a line that is not understood")
        self.stand()
        self.check(run)

    def take(self, name: str, text: str) -> None:
        """Take a value; what a test lacks is a number, too."""
        if name == _UNITS:
            if text != _MBITS:
                raise self.error(f"throughputs in {text} instead of {_MBITS}")
        elif name in _REALS:
            form = _THREE_DECIMALS if name == RATE.name else self.decimal
            self.values[name] = self._number(text, form, "number")
        else:
            self.values[name] = -1 if text == "-1" else self.integer(text)

    def check(self, run: Run) -> None:
        """Raise ParseError unless this is the run that was asked for, and its values agree."""
        sizes = (run.send_size, -1, -1) if run.is_stream else (0, run.send_size, run.recv_size)
        for name, size in zip(_SIZES, sizes, strict=True):
            if self.values[name] != size:
                raise self.error(f"{name} is {self.values[name]:.0f} instead of {size}")
        if not all(self.values[name] > 0 for name in (_TIME, *_COUNTS, *BUFFERS)):
            raise self.error("no time, no buffer or no bytes")
        calls, sent, arrived = (self.values[name] for name in _COUNTS)
        if sent != calls * run.send_size:
            raise self.error(f"{sent:.0f} bytes sent in {calls:.0f} calls of {run.send_size}")
        # The last message may have gone in part when the time was over: the sender leaves it out.
        least = sent if run.benchmark == "TCP_STREAM" else 0
        if not least <= arrived <= sent + run.send_size:
            raise self.error(f"{arrived:.0f} bytes arrived of {sent:.0f} that were sent")
        # Each throughput is of the one time, of which two decimals are printed.
        time = Range.rounded(self.values[_TIME])
        for name, count in {SENT.name: sent, RECEIVED.name: arrived}.items():
            implied = Range.rounded(self.values[name]).under(8e-6 * count)
            if not time.agrees(implied):
                raise self.error(f"{name} is not that of {count:.0f} bytes in {time.value:g} s")
            time = Range(time.value, max(time.low, implied.low), min(time.high, implied.high))
        # The request whose answer did not come in time counts as a call.
        rate = Range.rounded(self.values[RATE.name], 5e-4)
        answered = Range(rate.value, rate.low * time.low, rate.high * time.high)
        if not run.is_stream and not answered.agrees(Range(calls, calls - 1, calls), slack=SLACK):
            raise self.error(f"{RATE.name} is not that of {calls:.0f} requests")

    @property
    def buffers(self) -> tuple[int, ...]:
        """Return the socket buffers that there were, in the order of `BUFFERS`."""
        return tuple(int(self.values[name]) for name in BUFFERS)

    @property
    def moved(self) -> int:
        """Return how many bytes of messages arrived at the server, and crossed the network."""
        return int(self.values[_COUNTS[2]])

    @property
    def lost(self) -> str:
        """Say how much of what was sent did not arrive."""
        _, sent, arrived = (self.values[name] for name in _COUNTS)
        return f"{100 * max(0.0, 1 - arrived / sent):.2f} % of {sent:.0f} bytes"
