"""The input file of HPCC (`hpccinf.txt`), and the matrix from which all its tests take their size.

HPCC finds values by the position of their line and reads the first word of it::

     1,  2  free text                         18, 19  NDIV: panels that it splits into
     3,  4  output file, device: ignored      20, 21  RFACT: recursive factorisation
     5,  6  N: order of the matrix            22, 23  BCAST: broadcast of a panel
     7,  8  NB: block                         24, 25  DEPTH: look-ahead
     9      PMAP: ranks in the grid           26, 27  SWAP: of rows, and its threshold
    10      number of grids                   28, 29  L1, U: form in which they are stored
    11, 12  P, Q: rows and columns of it      30      equilibration
    13      threshold of the residuals        31      alignment (doubles)
    14, 15  PFACT: panel factorisation        32      ignored
    16, 17  NBMIN: width where it stops       33, 34  further N of PTRANS
                                              35, 36  further NB of PTRANS

Of two lines the first is the number of values on the second, except in 1 to 4, 11, 12 and 26 to
29. A line longer than 81 bytes counts as two. Without a file, or with a value that it cannot use,
HPCC ends well all the same, on defaults of its own (64 MiB a process).

Source: HPCC 1.5.0, src/io.c, hpl/testing/ptest/HPL_pdinfo.c and the source of each test; the
parameters are those that hpl/TUNING recommends.
"""

import math

_DOUBLE = 8
#: HPCC keeps N in a C int.
_LARGEST = 2**31 - 1
#: HPCC bounds the length of a vector that a C int cannot hold.
_LONGEST_VECTOR = 2**30
#: Doubles of the matrix for each process: arrays of 160 kB, so that no kernel of STREAM takes less
#: than a tick of a clock of 1 us (HPCC prints -1 then).
_DOUBLES_PER_PROCESS = 250**2
#: From this number of processes on, MPIRandomAccess loses updates at its end.
_LOSSY = 5
#: And it forgives them in 1 % of its table, which has 2^20 words from this order on.
_ORDER_WHEN_LOSSY = 2**10


def grid(processes: int) -> tuple[int, int]:
    """Return the grid P x Q of all processes that is nearest to a square, with P <= Q.

    Raises ValueError when there is no process.
    """
    _require_processes(processes)
    rows = next(n for n in range(math.isqrt(processes), 0, -1) if processes % n == 0)
    return rows, processes // rows


def problem_size(memory: int, share: float, block: int) -> int:
    """Return the order of the matrix of doubles that takes a share of `memory` (bytes, all nodes).

    It is a multiple of the block, rounded down. HPCC's other tests take no more than the matrix,
    but for the verification of MPIRandomAccess: 16 KiB for each process in each process. Raises
    ValueError for a share outside (0, 1], a block below 1, and when not one block fits.
    """
    if not 0 < share <= 1:
        raise ValueError(f"a share of {share} of the memory; it must be above 0 and at most 1")
    if block < 1:
        raise ValueError(f"a block of {block}; it must be at least 1")
    order = math.isqrt(int(max(memory, 0) * share) // _DOUBLE) // block * block
    if order < 1:
        raise ValueError(f"{share:g} of {memory} bytes hold no matrix of one block of {block}")
    return order


def smallest(processes: int) -> int:
    """Return the smallest order at which every test of HPCC gives a number that can be trusted.

    With N^2 / processes doubles for each process:

    - MPIRandomAccess has a table of the power of two at or below N^2 words. It crashes, or never
      ends, when a process holds fewer than 25 of them, because 1 % of its updates is none then.
    - RandomAccess updates 128 words at a time, so that its table must have 32.
    - STREAM gives -1 when a kernel takes less than a tick of the clock. This bound is the largest.
    - With five processes or more MPIRandomAccess may end before it has read its last messages. By
      the size of its buffers some 7000 updates can be lost, all processes together. It counts them
      as errors and forgives them in 1 % of its table.
    - The FFT over all processes has at least processes^2 points whatever N is, and no test needs a
      block for each process.

    Raises ValueError when there is no process.
    """
    _require_processes(processes)
    order = math.isqrt(_DOUBLES_PER_PROCESS * processes - 1) + 1
    return max(order, _ORDER_WHEN_LOSSY) if processes >= _LOSSY else order


def stream_vector(order: int, processes: int) -> int:
    """Return the length (doubles) of each of the three arrays of STREAM in one process.

    It is HPCC's `STREAM_VectorSize` for a grid of all processes. Raises ValueError for an order or
    a number of processes below 1.
    """
    _require_processes(processes)
    if order < 1:
        raise ValueError(f"an order of {order}; it must be at least 1")
    # HPCC computes the bytes in double precision, and it is its number that is wanted.
    memory = int(float(order) * float(order) * _DOUBLE / processes)
    length = memory // _DOUBLE // 3
    return length if length < 2 * _LONGEST_VECTOR else _LONGEST_VECTOR


def input_file(order: int, block: int, rows: int, columns: int) -> str:
    """Return `hpccinf.txt` for a matrix of this order on a grid of rows x columns processes.

    Raises ValueError for a grid or a block below 1, and for an order that is below `smallest` of
    the grid, below the block, or more than a C int holds.
    """
    if rows < 1 or columns < 1:
        raise ValueError(f"a grid of {rows} x {columns}; it must be at least 1 x 1")
    least = smallest(rows * columns)
    if not least <= order <= _LARGEST:
        raise ValueError(
            f"an order of {order} on a grid of {rows} x {columns}; HPCC takes {least} to {_LARGEST}"
        )
    if not 1 <= block <= order:
        raise ValueError(f"a block of {block}; it must be 1 to the order, {order}")
    lines = (
        "Input of HPCC; values are found by the number of their line",
        "HPL: lines 5 to 31; PTRANS: lines 33 to 36",
        "none  output file (ignored)",
        "8  device (ignored)",
        "1  orders N",
        f"{order}  N",
        "1  blocks NB",
        f"{block}  NB",
        # By rows, because neighbouring ranks share a node.
        "0  PMAP: by rows",
        "1  grids",
        f"{rows}  P",
        f"{columns}  Q",
        "16.0  threshold of the residuals",
        "1  panel factorisations",
        "1  PFACT: Crout",
        "1  widths where the recursion stops",
        "4  NBMIN",
        "1  panels in the recursion",
        "2  NDIV",
        "1  recursive factorisations",
        "2  RFACT: right-looking",
        "1  broadcasts",
        "1  BCAST: modified ring",
        "1  look-ahead",
        "1  DEPTH",
        "2  SWAP: mix",
        f"{block}  threshold of the swap",
        "0  L1: transposed",
        "0  U: transposed",
        "1  equilibration",
        "8  alignment in doubles",
        "----",
        "0  further N of PTRANS",
        "0",
        "0  further NB of PTRANS",
        "0",
    )
    return "".join(f"{line}\n" for line in lines)


def _require_processes(processes: int) -> None:
    if processes < 1:
        raise ValueError(f"{processes} processes; there must be at least one")
