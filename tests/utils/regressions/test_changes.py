"""What became worse, and when: the same from what is kept of the nights as from the first one."""

from acceptance.regressions import changes as module
from acceptance.regressions.changes import shared
from acceptance.regressions.judge import judge
from tests.made_pairs import BAD, judged_nights
from tests.made_series import Made
from tests.stored import load


def worse(history, place):
    """Return what is followed of a history after its last night."""
    progress = judge(history, None, place).progress
    others = shared(progress)
    series = [
        one
        for one in progress.all
        if one.direction and (id(one) in others or any(c.worse for c in progress.changes(one)))
    ]
    found = module.followed(series, progress, others)
    return [
        [
            (one.session.number, one.decided.number, one.time, one.before, one.after,
             one.confidence, one.over and one.over.number, one.text, one.within, one.node,
             [sample.nodes for sample in each.samples][each.index_of(one.session.number)])
            for one in found[id(each)]
        ]
        for each in series
    ]  # fmt: skip


def test_night_by_night_is_as_from_the_beginning(tmp_path):
    place = tmp_path / "measured"
    made = Made(88, 1, 110)
    kinds = set()
    for night in range(110):
        made.night(night)
        if night % 7 == 3:
            continue  # two nights at once
        judge(made.history, None, place)
        if night % 12 == 11:
            found = worse(made.history, place)
            assert found == worse(made.history, None)
            kinds |= {
                (over is None, bool(text))
                for of_series in found
                for _, _, _, _, _, _, over, text, *_ in of_series
            }
    # Those that go on and those that are over, shared and not.
    assert [{kind[place] for kind in kinds} for place in range(2)] == [{False, True}] * 2


def test_of_what_was_measured_on_a_node_only_that_counts(tmp_path):
    judged_nights(tmp_path, "node", 3 * BAD + 4, 5, turns=True)
    history = load(tmp_path / "results.db")
    found = worse(history, tmp_path / "kept")
    of_nodes = [one for of_series in found for one in of_series if one[-2]]
    assert {node for *_, node, _ in of_nodes} >= {"n2"}
    assert found == worse(history, None)
    # They begin with a sample on their node, though others had their turn between.
    assert all(node in nodes for *_, node, nodes in of_nodes)
