"""Lists of nodes, pins and jobs: what is written is what is read."""

from hypothesis import assume, given
from hypothesis import strategies as st

from acceptance.machine import Layout, names_of, placement
from acceptance.machine.schedulers import of_pbs
from tests.properties import examples

NAME = st.from_regex(r"[a-z][a-z0-9.]{0,6}[a-z]-?", fullmatch=True)
PLAIN = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)


@st.composite
def numbered(draw):
    """Return what stands before, numbers with their width, and what stands behind."""
    low = st.integers(0, 500)
    ranges = draw(st.lists(st.tuples(low, st.integers(0, 20)), min_size=1, max_size=5))
    width = draw(st.sampled_from([1, 1, 3, 4]))
    return draw(NAME), ranges, width, draw(st.sampled_from(["", "", "-ib", ".x"]))


def written(before, ranges, width, behind):
    """Write a list as Slurm and Flux do: node[01-04,7]."""
    parts = [
        f"{low:0{width}}" + (f"-{low + more:0{width}}" if more else "") for low, more in ranges
    ]
    return f"{before}[{','.join(parts)}]{behind}"


@given(st.lists(numbered() | PLAIN, max_size=5))
@examples(60)
def test_the_names_of_a_list_are_those_that_it_was_written_of(parts):
    texts = [part if isinstance(part, str) else written(*part) for part in parts]
    expected = []
    for part in parts:
        if isinstance(part, str):
            expected.append(part)
            continue
        before, ranges, width, behind = part
        for low, more in ranges:
            expected += [f"{before}{n:0{width}}{behind}" for n in range(low, low + more + 1)]
    assert names_of(",".join(texts)) == expected
    # Written out they are a list, too.
    assert names_of(",".join(expected)) == expected


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), min_size=1, max_size=3),
)
@examples(30)  # fmt: skip
def test_of_several_numbers_in_a_name_each_takes_its_turn(racks, nodes):
    text = written("r", racks, 1, "").removesuffix("]") + "]" + written("n", nodes, 2, "")
    listed = [n for low, more in nodes for n in range(low, low + more + 1)]
    assert names_of(text) == [
        f"r{r}n{n:02}" for low, more in racks for r in range(low, low + more + 1) for n in listed
    ]


@given(st.dictionaries(PLAIN, st.lists(PLAIN, min_size=1, max_size=5, unique=True), max_size=4))
@examples(60)
def test_pins_that_were_written_are_read(pins):
    nodes = {partition: tuple(names) for partition, names in pins.items()}
    assert placement.read_pins(placement.write_pins(nodes), [*nodes]) == nodes


def chunks(option):
    """Return of each chunk that qsub is asked for how often, on which host, and its ranks."""
    for chunk in option.partition("=")[2].split("+"):
        number, *entries = chunk.split(":")
        told = dict(entry.partition("=")[::2] for entry in entries)
        yield int(number), told.get("host", ""), int(told["mpiprocs"]), int(told["ncpus"])


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 64), st.integers(0, 12))
@examples(60)
def test_the_chunks_of_pbs_are_all_ranks_on_all_nodes(processes, per_node, cpus, named):
    assume(processes >= per_node)
    layout = Layout(processes, per_node, "inter-node")
    nodes = [f"n{number}" for number in range(min(named, layout.nodes))]
    select, place = of_pbs("pbs", layout, cpus, nodes)
    found = [*chunks(select.removeprefix("-l "))]
    assert sum(number * ranks for number, _, ranks, _ in found) == processes
    assert sum(number for number, *_ in found) == layout.nodes
    assert [host for _, host, *_ in found if host] == nodes
    assert all(number == 1 for number, host, *_ in found if host)
    assert all(count >= ranks for *_, ranks, count in found)
    assert place == "-l place=scatter:exclhost"
