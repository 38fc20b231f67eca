"""`references/library.py`: what is loaded of a made folder, what is refused, what is looked up.

`misses_text`: how a failure names its reference and how far it is off.
"""

import codecs

import pytest

from acceptance.core.words import TECHNOLOGIES
from acceptance.references import SIZES, agrees, load, misses_text
from tests.utils.references.made import (
    CLAIMS,
    LATENCY,
    PEAK,
    RATIO,
    SYSTEMS,
    VALUES,
    add,
    edit,
    make,
    refused,
)


def test_a_valid_folder_loads_completely(folder):
    library = load(folder)
    assert library.papers == {"koop": "One", "saini": "Two"}
    assert list(library.partitions) == ["koop:qdr", "koop:ddr", "saini:a"]
    assert library.partitions["koop:qdr"]["printed"] == "QDR;QDR-2.0"
    assert [(row.origin, row.line, row.value) for row in library.values] == [
        ("koop", 2, 2.5),
        ("koop", 3, 1000.0),
        ("saini", 2, 8729.0),
    ]
    assert library.values[0].parameters == {"np": "2", "message_size": "0"}
    assert library.values[0].citation == "published koop, Table 1"
    assert [row.citation for row in library.baselines] == ["baseline mine, Table 1"]
    ratio, order = library.claims
    assert (ratio.left.partition, ratio.right.partition) == ("qdr", "ddr")
    assert (ratio.value, ratio.unit) == ((10.0, 20.0), "%")
    assert (ratio.source, ratio.expected, order.expected) == ("published", True, False)
    assert (order.relation, order.value, order.right.partition) == ("better", (), "")


@pytest.mark.parametrize("technology", TECHNOLOGIES)
def test_a_system_may_have_every_technology(folder, technology):
    edit(folder / "systems.csv", "numalink", technology)
    assert load(folder).partitions["saini:a"]["technology"] == technology


@pytest.mark.parametrize("name", ["a: b", "a:1: b", "limit, x: y"])
def test_a_folder_may_have_any_name(tmp_path, name):
    folder = make(tmp_path / name)
    limit = "limit:\n  bandwidth_peak: {worse: 0.3, better: null, reason: a lane lost is half}\n"
    edit(folder / "tolerances.yaml", "published:\n", f"{limit}published:\n")
    tolerances = load(folder).tolerances
    assert tolerances.thresholds("limit", "=", "MB/s", "bandwidth_peak") == (-0.3, None)
    edit(folder / "tolerances.yaml", "  bandwidth_peak", "  us")
    refused(folder, "tolerances.yaml", 0, "limit, us: not one of bandwidth_peak")


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "words"),
    [
        ("koop.csv", "1000,MB/s", "1000,MiB/s", 3, "unknown unit 'MiB/s'"),
        ("koop.csv", ",np=2,", ",ranks=2,", 3, "unknown key 'ranks'"),
        ("koop.csv", ",np=2,", ",np,", 3, "'np' is not of the form key=value"),
        ("koop.csv", ",np=2,", ",np=2;np=2,", 3, "the key 'np' stands twice"),
        ("koop.csv", ",np=2,", ",np=two,", 3, "'two' is no value of 'np'"),
        ("koop.csv", ",np=2,", ",np=0,", 3, "'0' is no value of 'np'"),
        ("koop.csv", ",np=2,", ",placement=far,", 3, "'far' is no value of 'placement'"),
        ("koop.csv", ",np=2,", ",distance=2..,", 3, "'2..' is no value of 'distance'"),
        ("koop.csv", "np=2;message_size=0", "message_size=0;np=2", 2, "not in order; write np=2;"),
        ("koop.csv", ",=,1000,", ",<,1000,", 3, "unknown relation: '<'; known: =, ~, >=, <="),
        ("koop.csv", ",=,1000,", ",in,1000,", 3, "unknown relation: 'in'; known: =, ~"),
        (
            "koop.csv",
            ",=,1000,",
            ",=,fast,",
            3,
            "value is 'fast'; it has to be a number above 0",
        ),
        ("koop.csv", ",=,1000,", ",=,,", 3, "value is ''; it has to be a number above 0"),
        (
            "koop.csv",
            ",=,1000,",
            ",=,nan,",
            3,
            "value is 'nan'; it has to be a number above 0",
        ),
        (
            "koop.csv",
            ",=,1000,",
            ",=,-inf,",
            3,
            "value is '-inf'; it has to be a number above 0",
        ),
        ("koop.csv", "MB/s,1000,peak", "MB/s,,peak", 3, "printed is ''; it has to be filled in"),
        (
            "koop.csv",
            "Table 1,koop,qdr,imb.PingPong,b",
            ",koop,qdr,imb.PingPong,b",
            3,
            "where is ''",
        ),
        ("koop.csv", "koop,qdr,imb.PingPong,b", "koop,edr,imb.PingPong,b", 3, "'koop:edr'"),
        ("koop.csv", "koop,qdr,imb.PingPong,b", "saini,a,imb.PingPong,b", 3, "the file of 'koop'"),
        ("koop.csv", ",peak\n", "\n", 3, "10 fields where the header has 11"),
        ("koop.csv", ",peak\n", ",peak,high\n", 3, "12 fields where the header has 11"),
        ("koop.csv", ",peak\n", ",peak\n\n", 4, "0 fields where the header has 11"),
        ("koop.csv", ",peak\n", ',"peak\n', 3, "unexpected end of data"),
        ("koop.csv", "where,system", "system,where", 1, "the header is not where,system,"),
        ("koop.csv", f"{VALUES}\n", "", 1, "the header is not where,system,"),
        ("sites/mine.csv", "mine,qdr", "yours,qdr", 2, "'yours' in the file of 'mine'"),
        (
            "sites/mine.csv",
            ",2.5,us",
            ",slow,us",
            2,
            "value is 'slow'; it has to be a number above 0",
        ),
        ("sites/mine.csv", "note\n", "note,spread\n", 2, "11 fields where the header has 12"),
        ("koop.csv", "note\n", "note,spread\n", 1, "the header is not where,system,"),
        ("systems.csv", "saini,a,", "saini,a b,", 4, "'a b' is no ReFrame name"),
        ("systems.csv", "saini,a,", "koop,ddr,", 4, "koop:ddr stands twice"),
        ("systems.csv", "saini,a,", "smith,a,", 4, "papers.bib has no entry 'smith'"),
        ("systems.csv", ",DDR,", ",QDR-2.0,", 3, "line 2 has the printed name 'QDR-2.0', too"),
        ("systems.csv", "numalink", "token ring", 4, "unknown technology 'token ring'; known: "),
        ("systems.csv", SYSTEMS, CLAIMS, 1, "the header is not system,partition,"),
        ("papers.bib", "{2006}}\n", "{2006}}\n@misc{nobody,}\n", 0, "'nobody' has no nobody.csv"),
        ("papers.bib", "{2006}}", "{2006}", 0, "cannot be read: syntax error in line 3"),
        ("papers.bib", "{Two}", "{Two", 0, "cannot be read: syntax error"),
        ("papers.bib", "@misc{saini", "@misc{koop", 0, "repeated bibliography entry: koop"),
        ("claims.csv", ",in,", ",between,", 2, "unknown relation 'between'"),
        ("claims.csv", "10..20", "20..10", 2, "'20..10' is a range upside down"),
        ("claims.csv", "10..20", "10", 2, "'10' is no range low..high"),
        ("claims.csv", "10..20", "10..many", 2, "the value 'many' is no number"),
        ("claims.csv", "10..20,%", "10..20,percent", 2, "unknown unit 'percent'"),
        ("claims.csv", "better,,", "better,5,", 3, "'better' has neither value nor unit"),
        ("claims.csv", "better,,", "similar,,us", 3, "'similar' has neither value nor unit"),
        ("claims.csv", "koop:ddr", "koop:qdr", 2, "left and right are the same"),
        ("claims.csv", "koop:ddr", "koop:edr", 2, "systems.csv has no partition 'koop:edr'"),
        ("claims.csv", "koop:ddr", "saini:a", 2, "'saini:a' is no partition of koop"),
        ("claims.csv", "koop:ddr", "koop", 2, "'koop' is no partition of koop"),
        ("claims.csv", "koop:ddr", "koop:ddr;ranks=2", 2, "unknown key 'ranks'"),
        ("claims.csv", ",np=2,", ",np=-2,", 2, "'-2' is no value of 'np'"),
        ("claims.csv", "koop,Section 2", "smith,Section 2", 2, "no entry 'smith'"),
        ("claims.csv", "10 to 20", "", 2, "printed is ''; it has to be filled in"),
        ("claims.csv", "imb.PingPong,latency,np", ",latency,np", 2, "'benchmark' is empty"),
        ("claims.csv", "lower,,\n", f"lower,,\n{RATIO}\n", 4, "the same claim as in line 2"),
        ("claims.csv", "20,yes,", "20,no,", 2, "expected is 'no'; write yes, or nothing"),
        ("claims.csv", "saini:a,saini:", "saini:,saini:;np=2", 3, "neither side names a partition"),
    ],
)
def test_a_fault_is_refused_with_file_and_line(folder, file, old, new, line, words):
    edit(folder / file, old, new)
    refused(folder, file, line, words)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (PEAK.replace("=,1000", "~,1000"), None),
        (PEAK.replace("Table 1", "Table 2"), "line 3 has '=' for the same quantity, too"),
        (PEAK.replace("=,1000", "=,900"), "line 3 has '=' for the same quantity, too"),
        (PEAK.replace("np=2", "np=4"), None),
    ],
    ids=["about, too", "elsewhere", "another value", "another quantity"],
)
def test_one_quantity_has_one_value_that_judges(folder, row, words):
    add(folder, row)
    if words is None:
        assert len(load(folder).values) == 4
    else:
        refused(folder, "koop.csv", 4, words)


def test_a_duplicate_row_is_refused(folder):
    row = PEAK.replace("=,1000", "~,990")
    add(folder, row, row.replace("990", "980"))
    refused(folder, "koop.csv", 5, "a duplicate of line 4")


def test_the_same_place_may_give_several_values_of_one_quantity_by_relation(folder):
    add(folder, PEAK.replace("=,1000", ">=,990"), PEAK.replace("=,1000", "<=,1010"))
    assert [row.relation for row in load(folder).values[1:4]] == ["=", ">=", "<="]


def test_values_of_a_paper_that_is_not_in_the_bibliography_are_refused(folder):
    (folder / "smith.csv").write_text(f"{VALUES}\n")
    refused(folder, "smith.csv", 0, "papers.bib has no entry 'smith'")


FILES = ("koop.csv", "systems.csv", "claims.csv", "sites/mine.csv", "papers.bib", "tolerances.yaml")


@pytest.mark.parametrize("name", FILES)
def test_another_encoding_is_named_with_its_line(folder, name):
    path = folder / name
    last = path.read_bytes().count(b"\n") + 1
    path.write_bytes(path.read_bytes() + "é".encode("latin-1"))
    refused(folder, name, last, "is not UTF-8: the byte 0xe9; save it as UTF-8")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE]
)
def test_a_byte_order_mark_is_named(folder, name, mark):
    path = folder / name
    path.write_bytes(mark + path.read_bytes())
    refused(folder, name, 1, "begins with a byte-order mark; save it as UTF-8 without one")


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("koop.csv", "imb.PingPong,b", "imb.PingPongg,b", "unknown benchmark 'imb.PingPongg'"),
        ("koop.csv", "imb.PingPong,b", "mpptest.one,b", "unknown benchmark 'mpptest.one'"),
        ("koop.csv", "bandwidth_peak", "bandwidth_top", "unknown metric of imb.PingPong"),
        ("koop.csv", "1000,MB/s", "1000,GB/s", "bandwidth_peak of imb.PingPong is in MB/s, not in"),
        ("koop.csv", "=,1000,MB/s,1000,peak", "=,1001,MB/s,1000,", "no note says by which"),
        ("koop.csv", "=,1000,MB/s,1000,peak", "=,1000,MB/s,some,", "no note says by which"),
        ("systems.csv", "nd,,,,,,,,,\nkoop,ddr", "nd,QDRR,,,,,,,,\nkoop,ddr", "rate of infiniband"),
    ],
)  # fmt: skip
def test_what_nothing_reports_is_refused(folder, file, old, new, words):
    edit(folder / file, old, new)
    refused(folder, file, 3 if file == "koop.csv" else 2, words)


def test_a_baseline_may_be_of_a_check_of_the_site(folder):
    row = LATENCY.replace("koop", "mine").replace("imb.PingPong,latency", "lammps.melt,time")
    add(folder, row.replace("message_size=0", "nodes=2"), name="sites/mine.csv")
    assert [row.benchmark for row in load(folder).baselines] == ["imb.PingPong", "lammps.melt"]


@pytest.mark.parametrize("name", ["papers.bib", "systems.csv", "claims.csv"])
def test_a_missing_file_is_refused(folder, name):
    (folder / name).unlink()
    refused(folder, name, 0, "cannot be read")


def test_a_missing_paper_is_refused(folder):
    (folder / "koop.csv").unlink()
    refused(folder, "papers.bib", 0, "'koop' has no koop.csv")


@pytest.mark.parametrize(("text", "spread"), [("", None), ("0", 0.0), ("0.012", 0.012)])
def test_a_baseline_may_say_its_spread(folder, text, spread):
    path = folder / "sites/mine.csv"
    header, row = path.read_text().splitlines()
    path.write_text(f"{header},spread\n{row},{text}\n")
    assert [row.spread for row in load(folder).baselines] == [spread]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("-0.1", "spread is '-0.1'; it has to be a number from 0 on"),
        ("1 %", "spread is '1 %'; it has to be a number from 0 on"),
    ],
)
def test_a_spread_that_is_none_is_refused(folder, text, says):
    path = folder / "sites/mine.csv"
    header, row = path.read_text().splitlines()
    path.write_text(f"{header},spread\n{row},{text}\n")
    refused(folder, "sites/mine.csv", 2, says)


def test_a_folder_without_sites_loads(folder):
    (folder / "sites/mine.csv").unlink()
    (folder / "sites").rmdir()
    assert load(folder).baselines == ()


def test_lines_end_as_the_editor_likes(folder):
    path = folder / "koop.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert [row.note for row in load(folder).values[:2]] == ["", "peak"]


def test_a_newline_in_a_note_keeps_the_lines_right(folder):
    edit(folder / "koop.csv", ",=,2.5,us,2.5,", ',=,2.5,us,2.5,"two\nlines"')
    library = load(folder)
    assert [(row.line, row.note) for row in library.values[:2]] == [(2, "two\nlines"), (4, "peak")]
    edit(folder / "koop.csv", "=,1000", "=,fast")
    refused(folder, "koop.csv", 4, "value is 'fast'; it has to be a number above 0")


# For str.splitlines() a form feed (copied from a PDF, say) or U+2028 ends a line, too.
@pytest.mark.parametrize("character", ["\f", "\u2028"], ids=["form feed", "line separator"])
def test_only_newlines_count_as_lines(folder, character):
    edit(folder / "koop.csv", ",=,2.5,us,2.5,", f',=,2.5,us,2.5,"two{character}pages"')
    assert [row.line for row in load(folder).values[:2]] == [2, 3]


def test_a_range_has_all_between_its_ends_and_both_of_them():
    assert [n for n in range(20) if agrees("4..16", str(n))] == [*range(4, 17)]
    assert [n for n in range(10) if agrees("8..", str(n))] == [8, 9]
    assert [n for n in range(10) if agrees("8", str(n))] == [8]
    assert not any(agrees("4..16", other) for other in (None, "x", "4..16.5"))


def test_each_message_size_has_one_word():
    small, medium, large = (SIZES[word] for word in ("small", "medium", "large"))
    assert small[0] == 0
    assert (small[1] + 1, medium[1] + 1) == (medium[0], large[0])
    joined = {"small-medium": (small, medium), "medium-large": (medium, large)}
    for word, (low, high) in {**joined, "all": (small, large)}.items():
        assert SIZES[word] == (low[0], high[1])


# Such a reference could not fail (bandwidth) or not pass (time).
@pytest.mark.parametrize("value", ["0", "-1000"])
@pytest.mark.parametrize("name", ["koop.csv", "sites/mine.csv"])
def test_a_value_that_nothing_can_measure_is_refused(folder, name, value):
    system = "mine" if "sites" in name else "koop"
    row = PEAK.replace("koop", system).replace("=,1000", f"=,{value}").replace("np=2", "np=4")
    add(folder, row, name=name)
    refused(folder, name, len((folder / name).read_text().splitlines()), f"'{value}'")


def look_up(folder, metric="latency", unit="us", system="koop", **parameters):
    given = {key: str(value) for key, value in parameters.items()}
    return load(folder).look_up(system, "qdr", "imb.PingPong", metric, given, unit)


def value_of(*arguments, **parameters):
    found = look_up(*arguments, **parameters)
    return found and found.value


def test_a_published_value_is_found_by_what_it_is_a_value_of(folder):
    assert look_up(folder, np=2, nodes=2, message_size=0).line == 2
    assert look_up(folder, "bandwidth_peak", "MB/s", np=2).line == 3


@pytest.mark.parametrize(
    "other",
    [
        {"np": 4, "message_size": 0},
        {"np": 2, "message_size": 1},
        {"message_size": 0},
        {"np": 2, "message_size": 0, "metric": "latency_peak"},
        {"np": 2, "message_size": 0, "system": "saini"},
        {"np": 2, "message_size": 0, "repetitions": 5},
        {"np": 2, "message_size": 0, "gpu": "cuda-DD"},
        {"np": 2, "message_size": 0, "synchronization": "lock"},
        {"np": 2, "message_size": 0, "window": "create"},
        {},
    ],
    ids=[
        "processes", "size", "no processes", "metric", "system", "repetitions", "GPU",
        "synchronization", "window", "nothing",
    ],
)  # fmt: skip
def test_what_no_reference_fits_has_none(folder, other):
    assert look_up(folder, **other) is None


def test_a_baseline_comes_before_a_published_value(folder):
    row = LATENCY.replace("np=2;", "").replace("2.5", "9.5")
    (folder / "sites/koop.csv").write_text(f"{VALUES}\n{row}\n")
    found = look_up(folder, np=2, message_size=0)
    assert (found.source, found.value) == ("baseline", 9.5)


def test_a_published_value_judges_what_the_baselines_lack(folder):
    (folder / "sites/koop.csv").write_text(f"{VALUES}\n{LATENCY.replace('np=2', 'np=4')}\n")
    assert look_up(folder, np=2, message_size=0).source == "published"
    assert look_up(folder, np=4, message_size=0).source == "baseline"


def test_the_most_specific_value_wins(folder):
    add(
        folder,
        PEAK.replace("np=2", "").replace("=,1000", "=,900"),
        PEAK.replace("np=2", "np=2;nodes=2").replace("=,1000", "~,800"),
    )
    peak = ("bandwidth_peak", "MB/s")
    assert value_of(folder, *peak, np=2, nodes=2, placement="inter-node") == 800
    assert value_of(folder, *peak, np=2, nodes=1) == 1000
    assert value_of(folder, *peak, np=4) == 900


def test_an_exact_value_comes_before_an_approximate_one_before_a_bound(folder):
    def rows(*relations):
        return "".join(f"{PEAK.replace('=,1000', relation)}\n" for relation in relations)

    path = folder / "koop.csv"
    for relations, expected in [
        ((">=,700", "~,800", "=,900"), 900),
        ((">=,700", "~,800"), 800),
        ((">=,700",), 700),
    ]:
        path.write_text(f"{VALUES}\n{rows(*relations)}")
        assert value_of(folder, "bandwidth_peak", "MB/s", np=2) == expected


def test_a_message_size_stands_on_both_sides_or_on_neither(folder):
    add(folder, LATENCY.replace(";message_size=0", "").replace("2.5", "7.5"))
    assert value_of(folder, np=2, message_size=1) is None
    assert value_of(folder, np=2, message_size=0) == 2.5
    assert value_of(folder, np=2) == 7.5


def test_a_size_in_words_judges_nothing(folder):
    add(folder, LATENCY.replace("message_size=0", "sizes=small").replace("2.5", "7.5"))
    assert value_of(folder, np=2) is None


@pytest.mark.parametrize(("other", "fits"), [("900", False), ("1000", True)])
def test_two_values_that_fit_equally_well_are_ambiguous_unless_they_agree(folder, other, fits):
    add(folder, PEAK.replace("np=2", "nodes=2").replace("=,1000", f"=,{other}"))
    if fits:
        assert value_of(folder, "bandwidth_peak", "MB/s", np=2, nodes=2) == 1000
    else:
        with pytest.raises(ValueError, match=r"koop\.csv:3 and .*koop\.csv:4 fit"):
            look_up(folder, "bandwidth_peak", "MB/s", np=2, nodes=2)


def test_another_unit_than_the_results_is_an_error(folder):
    with pytest.raises(ValueError, match=r"koop\.csv:3: the reference is in MB/s, the result in G"):
        look_up(folder, "bandwidth_peak", "GB/s", np=2)


BASELINE = "baseline made, sessions of 2026-11-20"


def perfvalues(*values):
    return {f"made:batch:m{number}": value for number, value in enumerate(values)}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            [1006.3, 1227, -0.05, 0.1, "MB/s", "fail"],
            f"1006 MB/s is 18 % below 1227 MB/s ({BASELINE}; at most 5 % below)",
        ),
        (
            [1.5, 1.2, -0.5, 0.1, "us", "fail"],
            f"1.5 us is 25 % above 1.2 us ({BASELINE}; at most 10 % above)",
        ),
        (
            [98765.4, 123450, -0.15, None, "MB/s", "fail"],
            f"98765 MB/s is 20 % below 123450 MB/s ({BASELINE}; at most 15 % below)",
        ),
        (
            [9999.7, 650, -0.5, 0.1, "us", "fail"],
            f"10000 us is 1438 % above 650 us ({BASELINE}; at most 10 % above)",
        ),
        (
            [99, 100, 0, None, "MB/s", "fail"],
            f"99 MB/s is 1 % below 100 MB/s ({BASELINE}; nothing below it)",
        ),
    ],
)
def test_a_failure_names_its_reference(value, said):
    assert misses_text(perfvalues(value), {"m0": BASELINE}) == [f"m0: {said}"]


def test_what_passed_is_no_miss():
    passed = [1200, 1227, -0.05, 0.1, "MB/s", "pass"]
    assert misses_text(perfvalues(passed, [5, 0, None, None, "us", "pass"]), {}) == []


def test_the_worst_are_said_and_the_rest_counted():
    values = [[100 - n, 100, -0.01, None, "MB/s", "fail"] for n in range(5, 10)]
    lines = misses_text(perfvalues(*values), {})
    assert [line.split()[4] for line in lines[:3]] == ["9", "8", "7"]
    assert lines[3:] == ["and 2 more metrics, each nearer to its reference"]
    assert "(a reference of the check; at most 1 % below)" in lines[0]


def test_what_values_state_is_what_a_check_is_asked_to_measure(folder):
    library = load(folder)
    stated = library.stated("koop", "qdr", "imb.PingPong")
    assert stated == [{"np": "2", "message_size": "0"}, {"np": "2"}, {"np": "2"}]
    assert library.stated("koop", "qdr", "imb.PingPing") == []
