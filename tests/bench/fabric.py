"""Seconds and memory that reading, judging and showing a fabric of 10,000 nodes takes.

The texts are made, in the forms of infiniband-diags: 500 leaves with 20 nodes and 20 uplinks each,
20 switches above them, an uplink at 1x. Asserts 10 s and 500 MB; the routes are not among it, which
nothing here reads.
"""

import contextlib
import io
import resource
import sys
import tempfile
import time
from pathlib import Path

from acceptance.cli.main import main
from tests.ibsim import fat_tree, is_host

NODES, LEAVES, SPINES = 10_000, 500, 20
SECONDS, MEGABYTES = 10, 500
SPEEDS = {"HDR": "53.125 Gbps"}


def why_not():
    """Say what is missing: nothing."""
    return ""


def port_lines(tree):
    """Yield what iblinkinfo prints of the ports that are linked."""
    for (device, port), ((far, at), trained) in tree.cables.items():
        width, speed = trained[:2], SPEEDS[trained[2:]]
        near, other = (
            tree.guids[name] + (number if is_host(name) else 0)
            for name, number in ((device, port), (far, at))
        )
        yield (
            f'0x{near:016x} "{tree.names[device]:>30}" {1:6} {port:4}[  ] ==({width.upper():>3} '
            f"{speed:>18} Active/  LinkUp)==>  0x{other:016x} {1:6} {at:4}[  ] "
            f'"{tree.names[far]}" (Could be 12X )\n'
        )


def store(folder):
    """Store a reading as `fabric.sh` leaves it."""
    tree = fat_tree(NODES, LEAVES, SPINES)
    tree.train(("leaf07", 25), "1xHDR")
    net = tree.net.replace(" lid 0", " lid 1")
    texts = {
        "ibnetdiscover": net + "\n",
        "iblinkinfo": "".join(port_lines(tree)),
        "ibqueryerrors": f"## Summary: {len(tree.guids)} nodes checked, 0 bad nodes found\n"
        f"##          {len(tree.cables)} ports checked, 0 ports have errors\n",
        "dump_lfts": "Unicast lids\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.out").write_text(text)
        (folder / f"{name}.status").write_text("0\n")
        (folder / f"{name}.err").write_text("")
    for name in ("begin", "end"):
        (folder / name).write_text("1795372118\n")
    return sum(map(len, texts.values()))


def bench():
    """Print the figures; return 1 where a bound is exceeded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = store(folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()) as page:
            status = main(["fabric", "--from", name])
        seconds = time.process_time() - begin
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(page.getvalue())
    print(
        f"{NODES} nodes, {size / 1e6:.1f} MB of text: {seconds:.1f} s of CPU (at most {SECONDS}), "
        f"{most:.0f} MB (at most {MEGABYTES}), of which the made texts took {before / 1024:.0f}"
    )
    named = "leaf07[25] - spine05[7]" in page.getvalue() and status == 1
    return int(not named or seconds > SECONDS or most > MEGABYTES)


if __name__ == "__main__":
    sys.exit(bench())
