"""The year of the bench, short: what happens is told once, and nothing else is."""

from acceptance.simulation import Tree
from tests.bench.year import costs, faults, months, run
from tests.made_year import ROWS, Event, Year

NIGHTS, SLOW, AWAY = 13, 9, 3
EVENTS = [
    Event("away", "n5 is repaired", AWAY, AWAY + 4, node="n5"),
    Event("node", "n2 loses 20 % of its rates", SLOW, 30, 0.2, "n2", fault=True),
]


def test_a_slow_node_is_told_in_time_and_nothing_is_told_that_did_not_happen(tmp_path):
    year = Year(1, Tree(4, 2), 4, rows=ROWS[:1], events=EVENTS)
    site, measured = run(year, tmp_path, NIGHTS, told=(NIGHTS,))
    assert {(told.event and told.event.name) for told in site.alerts} == {"away", "node"}
    assert [told.night for told in site.alerts if told.event.name == "away"] == [AWAY]
    ((_, night, _, _, in_time, named, _),) = faults(site)
    assert (night, in_time) == (SLOW, "yes")
    assert "n2" in named
    ((month, ran, alerts, true, false, *_),) = months(site, NIGHTS)
    assert (month, ran, true, false) == ("2026-01", NIGHTS, alerts, 0)
    ((_, _, _, kept, *_),) = costs(site, measured)
    assert float(kept) > 0
