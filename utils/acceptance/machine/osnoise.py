"""What Linux's own tracers saw: which thread or interrupt had a CPU, or that the hardware had it.

`osnoise.sh` says it on each node, where somebody has switched a tracer on and lets users read it.
Form and meaning of the events: Linux, Documentation/trace/osnoise-tracer.rst, hwlat_detector.rst.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from math import inf
from pathlib import Path

from acceptance.core.text import number_text, plural, shortened

SCRIPT = Path(__file__).parent / "osnoise.sh"
#: The program whose noise is looked for, and what runs where nothing else does.
_NO_NOISE = re.compile(r"(patterns|swapper/\d+|osnoise/\d+)$")
_EVENT = re.compile(
    r"(?P<node>\S+) event .*?\[\d+\]\s+\S+\s+(?P<time>\d+\.\d+): "
    r"((?P<kind>nmi|irq|softirq|thread)_noise:\s*(?P<name>.*?)(:\d+)? ?start [\d.]+ "
    r"duration (?P<ns>\d+) ns"
    r"|#\d+\s+inner/outer\(us\):\s+(?P<inner>\d+)/(?P<outer>\d+)\s.*)\Z"
)
#: Names of a node that are told.
_TOLD = 3


def seen(text: str, spans: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """Say of each node what had its CPUs longest, or why nobody knows; raises ValueError.

    Where the tracer tells times of CLOCK_MONOTONIC (`mono`), only events in the span of the node
    (ns, from when to when) count, if that is known.
    """
    lost: dict[str, Counter[str]] = defaultdict(Counter)
    times: Counter[tuple[str, str]] = Counter()
    told: dict[str, str] = {}
    clocks: dict[str, str] = {}
    for line in text.splitlines():
        node, kind, rest = [*line.split(maxsplit=2), "", "", ""][:3]
        if kind == "none":
            told[node] = f"not read: {rest}"
        elif kind == "tracer":
            tracer, clocks[node], *options = [*rest.split(), ""]
            loads = tracer == "osnoise" and "NO_OSNOISE_WORKLOAD" not in options
            own = ", with its own load, which is noise itself" * loads
            told.setdefault(node, f"{tracer}{own}")
        elif kind == "event" and (event := _EVENT.match(line)) and node in clocks:
            begin, end = spans.get(node, (0.0, inf)) if clocks[node] == "mono" else (0.0, inf)
            name = f"{event['kind']} {event['name']}" if event["kind"] else "the hardware"
            if _NO_NOISE.search(name) or not begin <= 1e9 * float(event["time"]) <= end:
                continue
            micros = int(event["ns"] or 0) / 1000 or max(
                int(event["inner"] or 0), int(event["outer"] or 0)
            )
            lost[node][name] += micros  # type: ignore[assignment]
            times[node, name] += 1
        else:
            raise ValueError(f"no line of osnoise.sh: {line!r}")
    return {node: f"{what}{_names(node, lost[node], times)}" for node, what in told.items()}


def _names(node: str, lost: Counter[str], times: Counter[tuple[str, str]]) -> str:
    each = [
        f"{name} {number_text(micros)} us in {plural(times[node, name], 'time')}"
        for name, micros in lost.most_common(_TOLD)
    ]
    return f": {', '.join(each)}" if each else ""


def text(told: Mapping[str, str], nodes: Collection[str]) -> str:
    """Say what nodes told (`seen`), and of which nobody said anything."""
    each = [f"{node}: {what}" for node, what in told.items()]
    silent = [node for node in nodes if node not in told]
    each += [f"{shortened(silent)}: nothing said what it saw"] * bool(silent)
    return "; ".join(each)
