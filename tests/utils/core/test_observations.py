"""`core/findings.py`: what a case saw beside its numbers, and what it failed of."""

from acceptance.core.findings import STORED, Finding, observations, seen


def test_what_a_case_failed_of_is_not_told_twice():
    failure = Finding("link-rate", "node1 mlx5_0/1: SDR, expected QDR", fails=True)
    other = Finding("link-errors", "node1 mlx5_0/1: symbol_error grew by 3")
    assert seen([failure.as_data(), other.as_data()]) == (other.text,)
    assert seen(None) == seen("<undefined>") == ()


def test_of_many_nodes_each_is_stored_by_its_name():
    nodes = tuple(f"node{number:04}" for number in range(2 * STORED // 8))
    found = Finding("nodes-differ", "x" * 2 * STORED, nodes=nodes)
    (stored,) = observations([found.as_data()])
    assert stored.nodes == nodes
    assert len(stored.text) < STORED + 100
