"""A look at one machine: its links, which interface leads to Slurm's address, which paths it sees.

One script for all, that a job gets on its standard input, so that nothing has to be there.
"""

import ipaddress
import sys
from dataclasses import dataclass

from acceptance.core import machine
from acceptance.core.errors import ParseError
from acceptance.fabric import NodeLinks, link_report

_MARK = "== "
_SCRIPT = """\
echo '== links'
(
set --
{link}
)
echo '== route'
cat /proc/net/route 2>/dev/null
echo '== paths'
for path; do
    if [ -e "$path" ]; then echo "yes $path"; else echo "no $path"; fi
done
echo '== end'
"""


@dataclass(frozen=True)
class Probe:
    """What a machine said: its links, the way to Slurm's address, and the paths that it sees."""

    node: NodeLinks
    #: The interface over which the node reaches the network of its own address; empty: not known.
    control: str
    seen: frozenset[str]


def script() -> str:
    """Return the script; it takes paths as arguments."""
    return _SCRIPT.format(link=link_report.SCRIPT.read_text(encoding="utf-8"))


def here(paths: list[str]) -> Probe:
    """Look at this machine; raises ParseError when it cannot be understood."""
    done = machine.run(["sh", "-s", "--", *paths], timeout=60, text=script())
    if done.fault:
        raise ParseError("link.sh", done.fault)
    return read(done.out, "", "this machine")


def read(text: str, address: str, source: str) -> Probe:
    """Read what the script printed; `address` is the IPv4 address that Slurm has of the node.

    Lines before the first mark are those of prologs and profiles. Raises ParseError when a part is
    missing or cannot be read.
    """
    parts: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith(_MARK):
            part = parts.setdefault(line.removeprefix(_MARK), [])
        elif parts:
            part.append(line)
    if missing := [name for name in ("links", "route", "paths", "end") if name not in parts]:
        raise ParseError(source, f"the output is cut off: no part {missing[0]!r}")
    return Probe(
        node=link_report.parse("\n".join(parts["links"]) + "\n", source),
        control=_interface(parts["route"], address),
        seen=frozenset(
            line.removeprefix("yes ") for line in parts["paths"] if line.startswith("yes ")
        ),
    )


def _interface(lines: list[str], address: str) -> str:
    """Return the interface of the narrowest network that an address belongs to.

    Source of the form: Linux, /proc/net/route; addresses are hexadecimal, in the order of bytes of
    the machine.
    """
    try:
        number = int.from_bytes(ipaddress.IPv4Address(address).packed, sys.byteorder)
    except ValueError:
        return ""
    header = lines[0].split() if lines else []
    interface, narrowest = "", 0
    for line in lines[1:]:
        row = dict(zip(header, line.split(), strict=False))
        try:
            network, mask = int(row["Destination"], 16), int(row["Mask"], 16)
        except (KeyError, ValueError):
            continue
        bits = mask.bit_count()
        if bits > narrowest and number & mask == network:
            interface, narrowest = row["Iface"], bits
    return interface
