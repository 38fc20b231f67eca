"""`machine/rounds.py` and `machine/hosts.sh`: disjoint pairs of nodes, and launches of one job."""

import os
import subprocess

import pytest

from acceptance.core.errors import ParseError
from acceptance.machine.placement import SCRIPT
from acceptance.machine.rounds import HALVES, HOSTS_SCRIPT, launches, mark, rounds

NUMBERS = [*range(2, 10), 200, 201, 2000]


@pytest.mark.parametrize("number", NUMBERS)
def test_every_node_has_two_partners_where_there_are_two_and_a_third_of_four(number):
    partners = {node: set() for node in range(number)}
    for each in rounds(number):
        if each.name == HALVES:
            # Without it each node has two, and it adds another to all, or to all but one.
            assert {len(others) for others in partners.values()} == {2}
        nodes = [node for pair in each.pairs for node in pair]
        assert len(set(nodes)) == len(nodes), "the pairs of a round are disjoint"
        for left, right in each.pairs:
            assert left not in partners[right], "each pair is measured in one round"
            partners[left].add(right)
            partners[right].add(left)
    counts = [len(others) for others in partners.values()]
    third = 1 if number > 3 else 0
    assert counts == [min(2, number - 1) + third] * (number - number % 2 * third) + [2] * (
        number % 2 * third
    )
    assert rounds(number)[0].nodes == list(range(number))
    # A launcher that sorts the nodes does the same, but for the halves.
    assert all(each.in_turn or each.nodes == sorted(each.nodes) for each in rounds(number))


@pytest.mark.parametrize("number", NUMBERS)
def test_the_halves_are_far_from_each_other(number):
    found = {each.name: each.pairs for each in rounds(number)}.get(HALVES, [])
    half = number // 2 if number > 3 else 0
    assert found == [(node, node + half) for node in range(half)]


def test_the_rounds_of_four_and_of_five_nodes():
    assert {each.name: each.pairs for each in rounds(4)} == {
        "neighbours": [(0, 1), (2, 3)],
        "shifted": [(1, 2)],
        "ends": [(0, 3)],
        "halves": [(0, 2), (1, 3)],
    }
    assert {each.name: each.pairs for each in rounds(5)} == {
        "neighbours": [(0, 1), (2, 3)],
        "shifted": [(1, 2), (3, 4)],
        "ends": [(0, 4)],
        "halves": [(0, 2), (1, 3)],
    }


@pytest.mark.parametrize("number", [3, 4, 9, 200])
def test_the_choice_of_a_round_takes_its_nodes_from_a_file(number, tmp_path):
    path = tmp_path / "hosts"
    path.write_text("".join(f"node{node}\n" for node in range(number)))
    for each in rounds(number):
        command = ["sh", "-c", f"{each.choice} {path}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == [f"node{node}" for node in each.nodes]


def test_what_each_launch_wrote_is_told_apart_and_keeps_its_lines():
    script = f"echo before; {mark('shifted', 1)}; echo one; echo err >&2; {mark('ends', 2)}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    found = launches(done.stdout, "out")
    assert list(found) == [("shifted", 1), ("ends", 2)]
    assert found["shifted", 1] == "\n\none\n"
    assert found["ends", 2].strip() == ""
    assert launches(done.stderr, "err")["shifted", 1].split() == ["err"]
    with pytest.raises(ParseError, match="out:5: this launch is there twice"):
        launches(done.stdout + done.stdout.partition("\n")[2], "out")


def hosts(path, **environment):
    return subprocess.run(
        ["sh", HOSTS_SCRIPT, path],
        capture_output=True, text=True, env={"PATH": os.environ["PATH"], **environment},
    ).stdout.split()  # fmt: skip


def test_the_hosts_are_those_of_the_ranks_or_slurms(tmp_path):
    path = tmp_path / "err"
    ranks = {0: "b.site.org", 10: "k", 2: "c", 1: "a"}
    lines = [f"placement rank={rank} node={node} cpus=0 sockets=0 cores=0:0\n"
             for rank, node in ranks.items()]  # fmt: skip
    path.write_text("a warning\n" + "".join(lines))
    assert hosts(path) == ["b.site.org", "a", "c", "k"]
    (tmp_path / "scontrol").write_text(
        '#!/bin/sh\n[ "$*" = "show hostnames n[1-2]" ] && echo n1 n2'
    )
    (tmp_path / "scontrol").chmod(0o755)
    search = f"{tmp_path}:{os.environ['PATH']}"
    assert hosts(path, SLURM_JOB_NODELIST="n[1-2]", PATH=search) == ["n1", "n2"]


def test_of_several_launches_the_links_are_read_before_the_first_and_after_the_last(tmp_path):
    script = tmp_path / "link.sh"
    script.write_text(f"echo >> {tmp_path}/readings; grep -c '' {tmp_path}/readings\n")
    environment = {
        **os.environ,
        "ACCEPTANCE_LINKS": "links",
        "ACCEPTANCE_LINK_SCRIPT": str(script),
        "SLURM_LOCALID": "0",
    }
    for _ in range(3):
        subprocess.run(
            ["sh", SCRIPT, "true"], cwd=tmp_path, env=environment, capture_output=True, check=True
        )
    (before,), (after,) = (
        [path.read_text() for path in (tmp_path / "links").glob(f"*.{when}")]
        for when in ("before", "after")
    )
    assert (before, after) == ("1\n", "4\n")
