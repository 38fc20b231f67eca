"""What a node does without MPI; it runs there, by itself: python3 without_mpi.py

It prints one JSON object. Copies are those of memory by C's memcpy (slices of memoryview), in MB/s
of one core: while the others rest (`alone`), and while all that the job has copy (`together`). A
message goes there and back between two processes, each on a core of its own, that look for it all
the time as the processes of an MPI do: through memory that both share, and over TCP on the
loopback; half of that, in us, is what one way takes. All is measured in turns, several times, and
kept as the lowest quarter, the median and the highest. It takes less than a second, and some more
where there are many CPUs, and Python 3.6 with its standard library. Where it fails, the last line
of standard error says why.
"""

# ruff: noqa: UP006, UP035, UP045  (of Python 3.6)

import ctypes
import json
import mmap
import os
import signal
import socket
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

#: Bytes of one copy: inside of the caches of a core, and beyond those of most nodes.
SIZES = [2**n for n in (16, 18, 20, 22, 24)]
#: Turns, the seconds of one turn of a size, and round trips of one turn.
TURNS, SLOT, TRIPS = 7, 0.007, 100
#: Seconds that a process has: one that looks for the answer of a dead one would do so for ever.
LIMIT = 15
#: Seconds until all processes that copy together have begun, and more for each of them.
BEGIN, FORK = 0.05, 0.01


def quarters(values: Sequence[float]) -> List[float]:
    """Return the lowest quarter, the median and the highest of some values."""
    found = sorted(values)
    return [round(found[k], 3) for k in (len(found) // 4, len(found) // 2, -1)]


def copies(begin: float) -> Dict[int, List[float]]:
    """Copy from `begin` on, turn by turn; return size -> MB/s of each turn."""
    found = {size: [] for size in SIZES}  # type: Dict[int, List[float]]
    buffers = [memoryview(bytearray(SIZES[-1])) for _ in range(2)]
    buffers[0][:] = buffers[1]
    for turn in range(TURNS):
        for number, size in enumerate(SIZES):
            start = begin + (turn * len(SIZES) + number) * SLOT
            here, there = (each[:size] for each in buffers)
            while time.time() < start:
                pass
            count, first, now = 0, time.perf_counter(), 0.0
            while time.time() < start + SLOT:
                for _ in range(max(1, 2**18 // size)):
                    there[:] = here
                    count += 1
                now = time.perf_counter()
            if count:
                found[size].append(count * size / (now - first) / 1e6)
    return found


def child(work: Callable[[], Any], cpu: int) -> Callable[[], Any]:
    """Run `work` in a process of its own, bound to a CPU; return what it returns, when asked."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(LIMIT)
            os.sched_setaffinity(0, {cpu})
            os.write(writes, json.dumps(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writes)

    def result() -> Any:
        with open(reads, "rb") as pipe:
            text = pipe.read()
        os.waitpid(pid, 0)
        if not text:
            raise OSError(f"a process of the measurement failed, or took {LIMIT} s")
        return json.loads(text.decode())

    return result


def copied(cpus: Sequence[int]) -> Dict[int, List[float]]:
    """Return size -> MB/s of a core's copies, all turns of those on these CPUs together."""
    begin = time.time() + BEGIN + FORK * len(cpus)
    asked = [child(lambda: copies(begin), cpu) for cpu in cpus]
    results = [each() for each in asked]
    found = {size: [v for r in results for v in r[str(size)]] for size in SIZES}
    missed = [size for size in SIZES if not found[size]]
    if missed:
        raise OSError(f"too busy: no core got to copy {missed[0]} bytes in its turns")
    return {size: quarters(values) for size, values in found.items()}


def through_memory(cpus: Sequence[int]) -> Optional[List[float]]:
    """Return the times (us) of one way between two cores, through a page of both."""
    page = mmap.mmap(-1, 8192)
    there, back = 0, 4096

    def answer() -> None:
        for trip in range(TURNS * TRIPS):
            while page[there] != trip % 255 + 1:
                pass
            page[back] = trip % 255 + 1

    def ask(trip: int) -> None:
        page[there] = trip % 255 + 1
        while page[back] != trip % 255 + 1:
            pass

    return trips(ask, answer, cpus)


def over_tcp(cpus: Sequence[int]) -> Optional[List[float]]:
    """Return the times (us) of one way of a byte over TCP, on the loopback."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(1)
    calling = socket.create_connection(listening.getsockname())
    called = listening.accept()[0]
    for each in (calling, called):
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        each.setblocking(False)

    def receive(end: socket.socket) -> bytes:
        while True:
            try:
                return end.recv(1)
            except BlockingIOError:
                pass

    def answer() -> None:
        for _ in range(TURNS * TRIPS):
            called.send(receive(called))

    def ask(_: int) -> None:
        calling.send(b"x")
        receive(calling)

    return trips(ask, answer, cpus)


def trips(
    ask: Callable[[int], None], answer: Callable[[], None], cpus: Sequence[int]
) -> Optional[List[float]]:
    """Return the quarters of the turns' average times (us) of one way."""

    def turns() -> List[float]:
        found = []
        for turn in range(TURNS):
            first = time.perf_counter()
            for trip in range(TRIPS):
                ask(turn * TRIPS + trip)
            found.append((time.perf_counter() - first) / TRIPS / 2 * 1e6)
        return found

    if len(cpus) < 2:
        return None
    answered, asked = child(answer, cpus[-1]), child(turns, cpus[0])
    found = quarters(asked())
    answered()
    return found


def refusal(cpus: Sequence[int]) -> str:
    """Return why a process may not read the memory of another one of its user; empty: it may."""

    class Piece(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    call = getattr(ctypes.CDLL(None, use_errno=True), "process_vm_readv", None)
    if call is None:
        return "the C library has no process_vm_readv"
    here, there = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
    local, remote = (Piece(ctypes.addressof(each), 8) for each in (here, there))
    other = os.fork()
    if other == 0:
        time.sleep(5)
        os._exit(0)

    def read() -> str:
        done = call(other, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        return "" if done == 8 else os.strerror(ctypes.get_errno())

    try:  # not by the parent, which may read what a sibling may not
        return str(child(read, cpus[0])())
    finally:
        os.kill(other, 9)
        os.waitpid(other, 0)


def shared_memory() -> Optional[List[int]]:
    """Return the bytes of /dev/shm, and how many of them are free; None: there is none."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    return [found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail]


def main() -> None:
    """Measure, and print it."""
    cpus = sorted(os.sched_getaffinity(0))
    told = {
        "node": socket.gethostname(),
        "time": time.time(),
        "cores": len(cpus),
        "alone": copied(cpus[:1]),
        "together": copied(cpus),
        "core": through_memory(cpus),
        "tcp": over_tcp(cpus),
        "shm": shared_memory(),
        "refused": refusal(cpus),
    }
    os.write(1, json.dumps(told).encode())


if __name__ == "__main__":
    main()
