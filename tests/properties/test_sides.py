"""The grammar of `acceptance compare`: whatever fits it is read as it was meant, else refused."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from acceptance.relations.sides import SideFault, read
from tests.properties import examples

#: A name that looks neither like a day, nor a session, nor a word for a time.
NAME = st.from_regex(r"[g-z][\w-]{1,6}[*?]?", fullmatch=True).filter(
    lambda name: not name.startswith(("last", "night")) and name.isascii()
)
DAY = st.dates(date(2000, 1, 1), date(2099, 12, 31))
BACK = st.integers(0, 999_999)


@st.composite
def places(draw):
    """Return the text of a place, and its names."""
    system, partition, environment = (draw(st.none() | NAME) for _ in range(3))
    pairs = ("", system), (":", partition), ("+", environment)
    text = "".join(f"{sign}{name}" for sign, name in pairs if name)
    return text, (system, partition, environment)


@st.composite
def times(draw):
    """Return the text of a time, and what it has."""
    kind = draw(st.sampled_from(["last", "night", "day", "window", "id"]))
    if kind in ("last", "night"):
        back = draw(st.none() | BACK)
        text = kind if back is None else f"{kind}-{back}"
        return text, {"group": kind, "back": None if back is None else str(back)}
    if kind == "day":
        day = str(draw(DAY))
        return day, {"day": day}
    if kind == "id":
        text = draw(st.from_regex(r"[a-f][0-9a-f]{7}", fullmatch=True))
        return text, {"id": text}
    first, last = sorted(draw(st.tuples(DAY, DAY)))
    ends = draw(st.sampled_from([(first, last), (first, None), (None, last)]))
    words = ["" if end is None else str(end) for end in ends]
    return "..".join(words), {"first": words[0] or None, "last": words[1] or None}


SOFTWARE = st.lists(
    st.tuples(
        st.from_regex(r"[a-z][\w.+-]{0,8}", fullmatch=True).filter(str.isascii),
        st.sampled_from(["", "!"]),
        st.from_regex(r"[\w.*?-]{1,6}", fullmatch=True).filter(str.isascii),
    ),
    max_size=3,
)


def appended(software):
    return "".join(f",{name}{without}={version}" for name, without, version in software)


@given(times(), SOFTWARE)
@examples(30)
def test_a_time_is_read(time, software):
    text, meant = time
    asked = read(text + appended(software))
    assert {key: asked.time[key] for key in meant} == meant
    assert (asked.bare, asked.software) == (text, tuple(software))


@given(places().filter(lambda place: place[0]), st.none() | times(), SOFTWARE)
@examples(30)
def test_a_place_is_read_with_its_time(place, time, software):
    (text, names), (when, meant) = place, time or ("", {})
    asked = read(text + f"@{when}" * bool(time) + appended(software))
    assert asked.place == names
    assert asked.software == tuple(software)
    if time:
        assert {key: asked.time[key] for key in meant} == meant
        assert asked.bare == ""
    else:
        assert asked.bare == text


@given(st.text(alphabet="last-0123456789night.@:+,!=*?ab é\n", max_size=24) | st.text(max_size=12))
@examples(100)
def test_anything_else_is_refused_with_what_could_be_written(text):
    refused = ""
    try:
        asked = read(text)
    except SideFault as fault:
        refused = str(fault)
    if refused:
        assert "write" in refused
        return
    assert asked.text == text
    names = zip(("", ":", "+"), asked.place, strict=True)
    written = "".join(f"{sign}{name}" for sign, name in names if name is not None)
    first = text.split(",")[0]
    # Nothing of what was asked for is dropped.
    assert first.partition("@")[0] in (written, asked.bare)
    assert len(asked.software) == text.count(",")
