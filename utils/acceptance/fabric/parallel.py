"""Cables between the same two switches: which of them carry nothing, and what traffic moved.

What a cable carries is what its two ends have sent since the last reading. Nothing of it fails:
routes spread over destinations, so that a night of few nodes may leave a cable out.
"""

from collections.abc import Iterator, Mapping

from acceptance.core.findings import Finding
from acceptance.core.text import plural, rounded_bytes
from acceptance.fabric import kinds
from acceptance.fabric.kinds import observation, of_link
from acceptance.fabric.outputs import Counters
from acceptance.fabric.stored import KeptTraffic
from acceptance.fabric.topology import Topology
from acceptance.fabric.traffic import carrying, shares, shifted

#: The counter of what a port has sent, in words of 4 bytes; ports that count in 32 bits stop there.
_SENT, _WORD, _FULL = "PortXmitData", 4, 0xFFFFFFFF
#: Bytes between two switches below which no share is told: management alone makes some.
LEAST = 10**9


def kept_of(topology: Topology, traffic: Counters, before: KeptTraffic) -> KeptTraffic:
    """Return what is kept of the cables beside others, given what is kept of the last reading.

    Of one with an end that did not answer nothing is: no counter is no zero.
    """
    kept: KeptTraffic = {}
    for link in (link for links in topology.parallel for link in links):
        key = " ".join(map(str, link.ends))
        sent = [traffic[end][_SENT] for end in link.ends if _SENT in traffic.get(end, {})]
        if len(sent) < len(link.ends):
            continue
        grown = [now - was for now, was in zip(sent, before.get(key, ())[:2], strict=False)]
        known = len(grown) == len(sent) and min(grown) >= 0 and _FULL not in sent
        kept[key] = (sent[0], sent[1], sum(grown) if known else None)
    return kept


def judge(topology: Topology, now: KeptTraffic, before: KeptTraffic) -> Iterator[Finding]:
    """Yield the cables that carried nothing beside others, and those that took over traffic."""
    unknown = 0
    for links in topology.parallel:
        by_key = {" ".join(map(str, link.ends)): link for link in links}
        sent, was = _grown(now, by_key), _grown(before, by_key)
        if not sent:
            unknown += 1
            continue
        total, used = _WORD * sum(sent.values()), carrying(sent)
        if total < LEAST:
            continue
        of = f"of {rounded_bytes(total)} over {plural(len(links), 'cable')} between them"
        for key in (key for key in by_key if key not in used):
            yield of_link(
                topology, by_key[key], kinds.UNUSED, f"nothing {of}", "a share of it", "traffic"
            )
        if key := shifted(was, sent):
            share, old = (100 * shares(each)[key] for each in (sent, was))
            yield of_link(
                topology, by_key[key], kinds.SHIFTED,
                f"{share:.0f} % {of}, {old:.0f} % before: it moved at the same sum, no regression",
                "", "traffic",
            )  # fmt: skip
    if unknown:
        text = f"between {plural(unknown, 'pair')} of switches with several cables each it is not "
        text += "told what each carried: their counters were not read twice, reset, or full"
        yield observation(kinds.NOT_JUDGED, "traffic", found=text)


def _grown(kept: KeptTraffic, keys: Mapping[str, object]) -> dict[str, int]:
    """Return what these cables carried; empty where that is not known of each."""
    found = {key: kept[key][2] for key in keys if key in kept}
    known = {key: grown for key, grown in found.items() if grown is not None}
    return known if len(known) == len(keys) else {}
