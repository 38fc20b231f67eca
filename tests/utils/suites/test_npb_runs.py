"""`suites/npb.py` against NPB 3.3.1 and 3.4.2, built with gcc 12, Open MPI, MPICH."""

import math

import pytest

from acceptance.core.errors import ParseError
from acceptance.core.words import UNITS
from acceptance.suites import npb
from acceptance.suites.records import Column

POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
SQUARES = (1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 196, 225, 256, 484, 576, 625, 1024)
ANY = (*range(1, 71), 81, 100, 121, 128, 144, 196, 225, 256, 484, 512, 576, 625, 1024, 2048)
#: What 3.3's sys/setparams was asked for, 0 included.
ASKED = (0, *ANY)

#: Benchmark and classes -> the numbers of processes of `ASKED` that setparams accepts.
SETPARAMS = {
    ("is", "SWABC"): POWERS,
    ("is", "D"): POWERS[2:],
    ("is", "E"): (),
    ("ep", "SWABCDE"): ANY,
    ("cg", "SWABCDE"): POWERS,
    ("mg", "SWABCDE"): POWERS,
    ("ft", "SWABCDE"): POWERS,
    ("lu", "SWABCDE"): POWERS,
    ("bt", "S"): (1, 4, 9, 16),
    ("bt", "WABCDE"): SQUARES,
    ("sp", "S"): (1, 4, 9, 16),
    ("sp", "WABCDE"): SQUARES,
}

#: What 3.3 accepts when it is built, and refuses when it runs: smallest and largest legal number
#: of `ASKED`. IS/is.c, EP/ep.f, {BT,SP}/make_set.f, LU/subdomain.f, FT/ft.f; the smallest ones
#: of class D and E are sizes that overflow an integer (MG/globals.h, CG/cg.f, FT/npbparams.h).
BOUNDS = {
    ("is", "S"): (1, 128),
    ("is", "W"): (1, 1024),
    ("is", "A"): (1, 1024),
    ("is", "B"): (1, 1024),
    ("is", "C"): (1, 1024),
    ("is", "D"): (4, 1024),
    ("ep", "S"): (1, 256),
    ("ep", "W"): (1, 512),
    ("cg", "E"): (4, 2048),
    ("mg", "D"): (8, 2048),
    ("mg", "E"): (64, 2048),
    ("ft", "W"): (1, 1024),
    ("ft", "D"): (2, 2048),
    ("ft", "E"): (16, 2048),
    ("bt", "W"): (1, 64),
    ("bt", "A"): (1, 256),
    ("sp", "W"): (1, 144),
    ("sp", "A"): (1, 256),
    ("lu", "S"): (1, 4),
    ("lu", "W"): (1, 64),
    ("lu", "A"): (1, 256),
    ("lu", "B"): (1, 256),
    ("lu", "C"): (1, 1024),
}

#: Runs: benchmark, class, processes, release, and whether all processes worked to a verified end.
RUNS = [
    ("is", "S", 128, "3.4", True),
    ("is", "S", 3, "3.4", False),
    ("is", "D", 2, "3.4", False),
    ("ep", "S", 3, "3.4", True),
    ("cg", "S", 64, "3.4", True),
    ("cg", "S", 3, "3.4", False),
    ("cg", "E", 2, "3.4", False),
    ("mg", "S", 64, "3.4", True),
    ("mg", "D", 4, "3.4", False),
    ("ft", "S", 128, "3.4", True),
    ("ft", "W", 64, "3.4", True),
    ("ft", "D", 1, "3.4", False),
    ("bt", "S", 16, "3.4", True),
    ("bt", "S", 2, "3.4", False),
    ("bt", "S", 25, "3.4", False),
    ("lu", "S", 6, "3.4", True),
    ("lu", "S", 7, "3.4", False),
    ("lu", "S", 16, "3.4", True),
    ("lu", "S", 36, "3.4", False),
    ("is", "S", 128, "3.3", True),
    ("cg", "S", 16, "3.3", True),
    ("ft", "S", 128, "3.3", True),
    ("ft", "W", 64, "3.3", True),
    ("bt", "W", 81, "3.3", False),
    ("lu", "S", 4, "3.3", True),
    ("lu", "S", 8, "3.3", False),
    ("lu", "W", 128, "3.3", False),
]

#: Up to 100: for which 3.4 finds a grid for LU (get_active_nprocs.f90 and isqrt2, called by hand).
GRIDS = (
    *(1, 2, 4, 6, 8, 9, 12, 15, 16, 18, 20, 24, 25, 28, 30, 32, 35, 36, 40, 42, 45, 48, 49, 50),
    *(54, 56, 60, 63, 64, 66, 70, 72, 77, 80, 81, 84, 88, 90, 91, 96, 98, 99, 100),
)

#: data + bss of a process of 3.3.1 (`size`; gcc 12 -O0, MPICH 4), for 1, 2 and 4 processes, 1 and
#: 4 for bt and sp; None where ld says "relocation truncated to fit".
STATIC = {
    ("is", "S"): (1194816, 604992, 310080),
    ("is", "W"): (18914112, 9476928, 4758336),
    ("is", "A"): (151034688, 75537216, 37788480),
    ("is", "B"): (604019520, 302029632, 151034688),
    ("is", "C"): (None, 1207999296, 604019520),
    ("ep", "S"): (1130856, 1130856, 1130856),
    ("ep", "W"): (1130856, 1130856, 1130856),
    ("ep", "A"): (1130856, 1130856, 1130856),
    ("ep", "B"): (1130856, 1130856, 1130856),
    ("ep", "C"): (1130856, 1130856, 1130856),
    ("cg", "S"): (2959336, 1528552, 867752),
    ("cg", "W"): (18314664, 9396648, 5259624),
    ("cg", "A"): (62498664, 31726696, 17278696),
    ("cg", "B"): (448202792, 226652776, 121952744),
    ("cg", "C"): (1156802792, 583502760, 311102760),
    ("mg", "S"): (1135024, 648816, 391472),
    ("mg", "W"): (59156336, 30725680, 16291696),
    ("mg", "A"): (456923184, 232963824, 120116144),
    ("mg", "B"): (456923184, 232963824, 120116144),
    ("mg", "C"): (None, 1813492912, 921127792),
    ("ft", "S"): (14684248, 7344216, 3674200),
    ("ft", "W"): (29508696, 14828632, 7488600),
    ("ft", "A"): (470056024, 235175000, 117734488),
    ("ft", "B"): (1879633208, 940109112, 470347064),
    ("ft", "C"): (None, None, 1879633208),
    ("bt", "S"): (1132664, 516248),
    ("bt", "W"): (6822712, 2408920),
    ("bt", "A"): (107804472, 31086680),
    ("bt", "B"): (418781272, 114753240),
    ("bt", "C"): (1635012952, 433442520),
    ("sp", "S"): (857904, 436432),
    ("sp", "W"): (16692912, 5602384),
    ("sp", "A"): (87326832, 26014608),
    ("sp", "B"): (341652624, 98340912),
    ("sp", "C"): (1339969104, 366825072),
    ("lu", "S"): (604752, 368592, 218832),
    ("lu", "W"): (8088144, 4582224, 2548304),
    ("lu", "A"): (50765136, 26926416, 14064976),
    ("lu", "B"): (192241616, 100062224, 51510544),
    ("lu", "C"): (736657616, 378164624, 192931856),
}


#: The same of programs for more processes.
LARGE = [("bt", "D", 16, 1705366296), ("lu", "D", 8, 1461273424)]


def all_static():
    yield from LARGE
    for (name, problem_class), measured in STATIC.items():
        processes = (1, 4) if name in npb.SQUARE else (1, 2, 4)
        for number, size in zip(processes, measured, strict=True):
            yield name, problem_class, number, size


def test_metrics_have_known_units_and_are_fields_of_a_result():
    assert [column.stem for column in npb.METRICS] == ["time", "mops_total"]
    assert {column.unit for column in npb.METRICS} <= set(UNITS)
    assert all(hasattr(npb.Result, column.name) for column in (*npb.METRICS, npb.COMMUNICATION))
    assert all(isinstance(column, Column) for column in npb.METRICS)


@pytest.mark.parametrize(("name", "classes"), SETPARAMS)
def test_legal_is_what_the_suite_builds_and_runs(name, classes):
    for problem_class in classes:
        low, high = BOUNDS.get((name, problem_class), (1, 2048))
        accepted = [n for n in SETPARAMS[name, classes] if low <= n <= high]
        assert [n for n in ASKED if npb.legal(name, problem_class, n, "3.3")] == accepted


@pytest.mark.parametrize(("name", "problem_class", "processes", "version", "ran"), RUNS)
def test_legal_agrees_with_runs(name, problem_class, processes, version, ran):
    assert npb.legal(name, problem_class, processes, version) is ran


@pytest.mark.parametrize("name", [name for name in npb.NAMES if name != "lu"])
def test_3_4_is_as_3_3_but_for_lu(name):
    for problem_class in npb.CLASSES:
        if (name, problem_class) != ("is", "E"):
            for processes in ASKED:
                old, new = (npb.legal(name, problem_class, processes, v) for v in ("3.3", "3.4"))
                assert old is new


def test_dt_wants_a_process_for_each_node_of_its_graph():
    """The table of DT/README, and 3.3, whose program exits with 1."""
    legal = {
        (name, problem_class): [n for n in range(1, 1025) if npb.legal(name, problem_class, n)]
        for name in npb.TRAFFIC
        for problem_class in npb.CLASSES
    }
    tree = {"S": [5], "W": [11], "A": [21], "B": [43], "C": [], "D": [], "E": []}
    shuffle = {"S": [12], "W": [32], "A": [80], "B": [192], "C": [], "D": [], "E": []}
    for name, expected in (("dt-bh", tree), ("dt-wh", tree), ("dt-sh", shuffle)):
        assert {letter: legal[name, letter] for letter in npb.CLASSES} == expected
        assert npb.counts(name, 1024) == [number for (number,) in filter(None, expected.values())]
        assert not any(npb.legal(name, "S", n, "3.3") for n in range(1, 20))
        # Resident, without the MPI: A 18 MiB, B 158 MiB of the largest process.
        assert npb.memory(name, "B", 43) / 43 == pytest.approx(162 * 2**20)
        for word in ("C", "F", "", "SW"):
            with pytest.raises(ValueError, match=f"{word!r} is no class of NPB's {name}: S W A B$"):
                npb.sizes(name, word)
    assert npb.sizes("dt-sh", "B") == ((3538944,), 192)
    with pytest.raises(ValueError, match="'SW' is no class"):
        npb.legal("dt-bh", "SW", 5)


def test_class_e_of_is_is_new_in_3_4():
    assert not any(npb.legal("is", "E", n, "3.3") for n in ASKED)
    assert [n for n in ASKED if npb.legal("is", "E", n)] == [64, 128, 256, 512, 1024]
    assert npb.sizes("is", "E") == ((2**35,), 10)


def test_lu_of_3_4_takes_any_grid_near_a_square():
    assert tuple(n for n in range(1, 101) if npb.legal("lu", "C", n)) == GRIDS
    # 12 points: no process gets less than 3, of 3.3 than 4.
    assert [n for n in ANY if npb.legal("lu", "S", n)] == [1, 2, 4, 6, 8, 9, 12, 16]
    assert [n for n in ANY if npb.legal("lu", "S", n, "3.3")] == [1, 2, 4]


@pytest.mark.parametrize("problem_class", npb.CLASSES)
def test_mg_leaves_each_process_two_points_in_a_direction(problem_class):
    points = npb.sizes("mg", problem_class)[0][0]
    largest = max(2**n for n in range(20) if npb.legal("mg", problem_class, 2**n))
    assert largest == min((points // 2) ** 3, 2**17)


@pytest.mark.parametrize(("name", "problem_class", "processes", "size"), list(all_static()))
def test_memory_is_about_what_a_program_declares(name, problem_class, processes, size):
    own = npb.memory(name, problem_class, processes) / processes
    assert npb.is_linkable(name, problem_class, processes, "3.3") is (size is not None)
    if size is None:
        assert own > npb.STATIC_LIMIT
    elif problem_class in "SW":
        assert size < 1.1 * own
    else:
        assert own == pytest.approx(size, rel=0.06 if processes == 1 else 0.2)


@pytest.mark.parametrize(
    ("name", "problem_class", "processes"),
    [("is", "D", 8), ("mg", "D", 8), ("cg", "E", 4), ("ft", "E", 8)],
)
def test_links_agrees_with_larger_programs(name, problem_class, processes):
    assert not npb.is_linkable(name, problem_class, processes, "3.3.1")
    assert npb.is_linkable(name, problem_class, processes, "3.4.2")


def test_memory_grows_with_processes_where_they_hold_copies():
    assert npb.memory("ep", "A", 8) == pytest.approx(8 * npb.memory("ep", "E"))
    for name in set(npb.NAMES) - {"ep", "is"}:
        assert npb.memory(name, "C") < npb.memory(name, "C", 64) < 3 * npb.memory(name, "C")
    # The buffers of IS have more room from 256 processes on.
    rooms = [npb.memory("is", "C", n) / npb.memory("is", "C") for n in (64, 128, 256, 512, 1024)]
    assert rooms == pytest.approx([1, 1, 5 / 3, 8 / 3, 13 / 3], rel=0.1)


@pytest.mark.parametrize(
    ("name", "largest", "expected"),
    [
        ("cg", 1, []),
        ("cg", 2, [2]),
        ("lu", 3, [2]),
        ("is", 48, [2, 4, 8, 16, 32]),
        ("ep", 64, [2, 4, 8, 16, 32, 64]),
        ("bt", 0, []),
        ("bt", 1, [1]),
        ("sp", 3, [1]),
        ("bt", 4, [4]),
        ("sp", 12, [4, 9]),
        ("bt", 48, [4, 16, 36]),
        ("sp", 64, [4, 16, 64]),
        ("bt", 300, [4, 16, 64, 256, 289]),
    ],
)
def test_counts_are_powers_or_squares(name, largest, expected):
    assert npb.counts(name, largest) == expected
    assert all(npb.legal(name, "C", n, version) for n in expected for version in ("3.3", "3.4"))


@pytest.mark.parametrize("name", npb.NAMES)
def test_counts_never_exceed_the_largest(name):
    for largest in range(200):
        found = npb.counts(name, largest)
        assert found == sorted(set(found))
        assert all(1 <= n <= largest for n in found)
        if largest >= 4:
            assert min(found) > 1


@pytest.mark.parametrize(
    ("name", "problem_class", "size", "iterations"),
    [
        ("is", "S", (65536,), 10),
        ("is", "D", (2147483648,), 10),
        ("ep", "S", (33554432,), 0),
        ("ep", "E", (2199023255552,), 0),
        ("cg", "B", (75000,), 75),
        ("cg", "E", (9000000,), 100),
        ("mg", "A", (256, 256, 256), 4),
        ("mg", "B", (256, 256, 256), 20),
        ("ft", "W", (128, 128, 32), 6),
        ("ft", "D", (2048, 1024, 1024), 25),
        ("bt", "W", (24, 24, 24), 200),
        ("sp", "W", (36, 36, 36), 400),
        ("lu", "W", (33, 33, 33), 300),
        ("lu", "E", (1020, 1020, 1020), 300),
    ],
)
def test_sizes_are_those_of_setparams(name, problem_class, size, iterations):
    assert npb.sizes(name, problem_class) == (size, iterations)


#: Benchmark -> size and iterations of each class, as setparams of both releases writes them into
#: npbparams.h; of IS as IS/is.c has them.
WORK = {
    "is": [(2**keys, 10) for keys in (16, 20, 23, 25, 27, 31, 35)],
    "ep": [(2 ** (m + 1), 0) for m in (24, 25, 28, 30, 32, 36, 40)],
    "cg": [(1400, 15), (7000, 15), (14000, 15), (75000, 75), (150000, 75), (1500000, 100),
           (9000000, 100)],
    "mg": [(32, 4), (128, 4), (256, 4), (256, 20), (512, 20), (1024, 50), (2048, 50)],
    "ft": [((64, 64, 64), 6), ((128, 128, 32), 6), ((256, 256, 128), 6), ((512, 256, 256), 20),
           ((512, 512, 512), 20), ((2048, 1024, 1024), 25), ((4096, 2048, 2048), 25)],
    "bt": [(12, 60), (24, 200), (64, 200), (102, 200), (162, 200), (408, 250), (1020, 250)],
    "sp": [(12, 100), (36, 400), (64, 400), (102, 400), (162, 400), (408, 500), (1020, 500)],
    "lu": [(12, 50), (33, 300), (64, 250), (102, 250), (162, 250), (408, 300), (1020, 300)],
}  # fmt: skip


@pytest.mark.parametrize("name", npb.NAMES)
def test_every_size_is_that_of_the_suite(name):
    for problem_class, (size, iterations) in zip(npb.CLASSES, WORK[name], strict=True):
        if not isinstance(size, tuple):
            size = (size,) * (1 if name in ("is", "ep", "cg") else 3)
        assert npb.sizes(name, problem_class) == (size, iterations)


@pytest.mark.parametrize("name", npb.NAMES)
def test_classes_grow(name):
    work = []
    for problem_class in npb.CLASSES:
        size, iterations = npb.sizes(name, problem_class)
        work.append(math.prod(size) * max(1, iterations))
    assert work == sorted(set(work))


@pytest.mark.parametrize(
    ("version", "expected"),
    [("3.3", "bt.C.16"), ("3.3.1", "bt.C.16"), ("3.4", "bt.C.x"), ("3.4.2", "bt.C.x")],
)
def test_programs_are_named_by_class_and_in_3_3_by_processes(version, expected):
    assert npb.program("bt", "C", 16, version) == expected


def test_dt_is_one_program_for_all_graphs():
    assert {npb.program(name, "S", 5) for name in npb.TRAFFIC} == {"dt.S.x"}
    assert npb.program("dt-bh", "S", 5, "3.3") == "dt-bh.S.5"


@pytest.mark.parametrize("version", ["", "3", "3.2", "3.35", "3.40", "4.0", "v3.4", "3.4x"])
def test_other_versions_are_refused(version):
    with pytest.raises(ValueError, match="is not known"):
        npb.release(version)


@pytest.mark.parametrize("call", [npb.sizes, npb.memory])
@pytest.mark.parametrize(
    ("name", "problem_class", "words"),
    [
        ("bt", "F", "'F' is no class of NPB"),
        ("bt", "", "'' is no class of NPB"),
        ("bt", "SW", "'SW' is no class of NPB"),
    ],
)
def test_other_classes_are_refused(call, name, problem_class, words):
    with pytest.raises(ValueError, match=words):
        call(name, problem_class)
    with pytest.raises(ValueError, match=words):
        npb.legal(name, problem_class, 4)


def test_what_a_program_that_stopped_says_is_told_up_to_five_lines():
    words = [f"line {number} of it" for number in range(1, 8)]
    text = "\n".join([" NAS Parallel Benchmarks 3.4 -- CG Benchmark", " Error: no", *words, ""])
    with pytest.raises(ParseError, match="the program stopped") as caught:
        npb.parse(text)
    said = str(caught.value)
    assert said.startswith("stdout:2: ")
    assert "Error: no line 1 of it line 2 of it line 3 of it line 4 of it'" in said
