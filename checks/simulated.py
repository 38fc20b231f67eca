"""What the checks do on a simulated partition, whose jobs SimGrid runs on this machine."""

from pathlib import Path

from reframe.core.exceptions import SanityError

from acceptance import simulation
from acceptance.core.errors import Fault
from acceptance.core.findings import RECORDED_OTHERWISE, Finding
from acceptance.machine import Layout
from acceptance.references import judging

from .partitions import cores_of, nodes_of

#: What runs in the place of a link check, and the folder of what each node shows.
LINKS, NODES = "links.sh", "nodes"
#: What runs in the place of the script that reads a fabric, and the folder of what that shows.
VIEW, FABRIC = "view.sh", "fabric"


def write(check):
    """Write the platform and the host of each rank into the folder of a case's job."""
    try:
        loopback = check.ways()[1] == "loopback"
        simulation.write(Path(check.stagedir), _with_fault(check, check.layout, loopback)[0])
    except Fault as err:
        raise SanityError(f"{check.benchmark_name}: {err}") from None


def judged_by_row(check, library, *quantity):
    """Return the row that judges a metric of a model, and its thresholds; or None twice.

    That another simulator gave what was recorded is logged: the metric is not judged then.
    """
    row, thresholds, what = judging(library, *quantity, check.provenance)
    if what and all(each.get("what") != what for each in check.findings):
        text = f"not judged: recorded with {what}"
        check.record([Finding(RECORDED_OTHERWISE, text, what=what)])
    return row, thresholds


def write_links(check):
    """Write what the links of each node show, and the script that reads all of them in turn."""
    folder = Path(check.stagedir).resolve()
    try:
        run, fault = _with_fault(check, check.layout)
        commands = [
            simulation.readings.write_node(folder / NODES / name, name, run.facts, fault)
            for name in run.platform.hosts
        ]
    except Fault as err:
        raise SanityError(f"{check.benchmark_name}: {err}") from None
    (folder / LINKS).write_text("\n".join(["set -e", *commands, ""]))


def write_view(check):
    """Write what the programs of infiniband-diags show, and the script that reads it."""
    folder = Path(check.stagedir).resolve()
    try:
        layout = Layout(nodes_of(check.current_partition), 1, "inter-node")
        run, fault = _with_fault(check, layout)
        command = simulation.readings.write_fabric(folder / FABRIC, run.facts, run.platform, fault)
    except Fault as err:
        raise SanityError(f"{check.benchmark_name}: {err}") from None
    (folder / VIEW).write_text(f'{command} "$@"\n')


def _with_fault(check, layout, loopback=False):
    """Return what a case runs on, with the fault that is asked for, and that fault if it is there.

    Whatever runs with a fault says so, and why it does not where there can be none.
    """
    part, tree = check.current_partition, check.simulated
    platform = simulation.Platform.of(
        check.fabric,
        max(layout.nodes, nodes_of(part)),
        cores=cores_of(part),
        tree=simulation.Tree(tree.leaf, tree.spines) if tree.spines else None,
        loopback=loopback,
    )
    run = simulation.SimulatedRun.of(check.fabric, platform, layout)
    if (fault := simulation.injected()) is None:
        return run, None
    if why := fault.why_not(run.facts, platform):
        check.provenance["no_fault"] = f"{fault}: {why}"
        return run, None
    changed = fault.apply(run)
    check.provenance["fault"] = str(fault)
    check.provenance["fault_at"] = ",".join(fault.at(platform))
    return changed, fault
