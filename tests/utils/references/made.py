"""A smallest folder like `reference/`, and what a test changes in it."""

import pytest

from acceptance.references import ReferenceFault, load
from acceptance.references.records import CLAIM_COLUMNS, VALUE_COLUMNS
from acceptance.references.rows import SYSTEM_COLUMNS

VALUES = ",".join(VALUE_COLUMNS)
CLAIMS = ",".join(CLAIM_COLUMNS)
SYSTEMS = ",".join(SYSTEM_COLUMNS)

PAPERS = """\
@misc{koop, title = {One}, year = {2008}}
@misc{saini, title = {Two}, year = {2006}}
"""
TOLERANCES = """\
published:
  us: {worse: 0.2, better: null, reason: one number without a spread}
  MB/s: {worse: 0.1, better: null, reason: peaks repeat}
baseline:
  us: {worse: 0.1, better: 2.0, reason: the same hardware}
  MB/s: {worse: 0.05, better: 0.5, reason: the steadiest metric}
claims:
  "=":
    "%": {within: 3.0, reason: two results}
    x: {within: 0.1, reason: two results}
  similar:
    "%": {within: 10, reason: curves on each other}
"""
LATENCY = "Table 1,koop,qdr,imb.PingPong,latency,np=2;message_size=0,=,2.5,us,2.5,"
PEAK = "Table 1,koop,qdr,imb.PingPong,bandwidth_peak,np=2,=,1000,MB/s,1000,peak"
HPL = "Table 2,saini,,hpcc,G-HPL,,>=,8729,Gflop/s,8.729,printed in TF/s"
RATIO = "koop,Section 2,imb.PingPong,latency,np=2,koop:qdr,koop:ddr,in,10..20,%,10 to 20,yes,"
ORDER = "saini,Section 2,imb.PingPong,latency,,saini:a,saini:,better,,,lower,,"


def partition(system, name, printed, technology="infiniband"):
    given = {
        "system": system,
        "partition": name,
        "printed": printed,
        "where": "Section 1",
        "technology": technology,
    }
    return ",".join(given.get(column, "") for column in SYSTEM_COLUMNS)


def make(folder):
    """Fill a folder with the smallest references that are valid; return it."""
    files = {
        "papers.bib": PAPERS,
        "tolerances.yaml": TOLERANCES,
        "systems.csv": "\n".join(
            [
                SYSTEMS,
                partition("koop", "qdr", "QDR;QDR-2.0"),
                partition("koop", "ddr", "DDR"),
                partition("saini", "a", "QDR", "numalink"),
                "",
            ]
        ),
        "koop.csv": f"{VALUES}\n{LATENCY}\n{PEAK}\n",
        "saini.csv": f"{VALUES}\n{HPL}\n",
        "claims.csv": f"{CLAIMS}\n{RATIO}\n{ORDER}\n",
        "sites/mine.csv": f"{VALUES}\n{LATENCY.replace('koop', 'mine')}\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def add(folder, *rows, name="koop.csv"):
    """Append rows to a file of values."""
    with (folder / name).open("a") as file:
        file.writelines(f"{row}\n" for row in rows)


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path.name}"
    path.write_text(text.replace(old, new))


def refused(folder, name, line, words):
    with pytest.raises(ReferenceFault) as caught:
        load(folder)
    place = f"{folder / name}:{line}: " if line else f"{folder / name}: "
    assert str(caught.value).startswith(place)
    assert words in str(caught.value)
    assert (caught.value.where, caught.value.number) == (str(folder / name), line)
