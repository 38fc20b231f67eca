from tests.made import nights
from tests.stored import load


def shown(samples):
    return list(zip(samples.series, samples.session, samples.value, samples.time, strict=True))


def expected(series, begin):
    return [
        (one.number, sample.session.number, value, sample.time)
        for one in series
        for sample, value in [*zip(one.samples, one.values, strict=True)][begin(one) :]
    ]


def test_columns_hold_what_the_series_hold(tmp_path):
    # Two cases are measured on every second night only.
    nights(
        tmp_path / "db", 9, cases=4,
        change=lambda night, number, case: case if number < 2 or night % 2 else None,
    )  # fmt: skip
    history = load(tmp_path / "db")
    series = history.series
    assert shown(history.samples(series)) == expected(series, lambda one: 0)
    assert shown(history.samples(series[3:5])) == expected(series[3:5], lambda one: 0)
    since = expected(series, lambda one: one.index_of(7))
    assert {session for _, session, *_ in since} == {7, 8, 9}
    assert shown(history.samples(series, 7)) == since
    samples = history.samples(series, 9)
    for one, nodes in zip(samples.series, samples.nodes, strict=True):
        assert samples.named[nodes] == series[one].samples[-1].nodes
    assert len(set(samples.nodes)) == 2
