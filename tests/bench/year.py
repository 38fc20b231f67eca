"""A year of nights of a made cluster of 200 nodes: what is told of it, and what that costs.

Run by `make bench`; asserts nothing. What a night measures is made (`tests/made_year.py`), and goes
through what a site has: turns of nodes, ReFrame's database, the ledger, the verdict of a night with
all its rules, alerts that are sent, at last the report. `SEED="2 3" make bench BENCHES=year` runs
other years. A year has three faults. Each is to be told within the nights that the method states:

- a node that loses 10 %: by the operating characteristic of that night's comparison of nodes
- a port that loses 5 %, which is `cables.LEAST`: each of its two directions is beyond it every
  second night
- latencies that are 3 % longer, in noise of 1 %: 6 nights, in 9 of 10 cases (reference/METHOD.md)

Bounds are of nights that ran, and are kept with 95 % (the last one 90 %). The administrator does
what one would: when the alert of the new MPI comes he acknowledges it, and 14 nights later he
writes a new baseline; alerts of the renamed partition he acknowledges; a fault is repaired after
two weeks, the latencies after 20 nights. An alert is true where something that happened explains
it: its node or cable, or its metric and the night since when it was worse.
"""

import argparse
import itertools
import math
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from unittest import mock

import msgspec

from acceptance import ledger, references, report
from acceptance.alerts import AWAY, MANY, acknowledgements, notify
from acceptance.campaigns import nodes as campaign_nodes
from acceptance.campaigns import state as campaign
from acceptance.core.text import table
from acceptance.detection.constants import START_FARTHEST
from acceptance.machine import placement
from acceptance.nodes import AllPairs
from acceptance.regressions import new_baseline
from acceptance.regressions.history import load
from acceptance.regressions.history import night as night_of
from acceptance.rfm import configuration
from acceptance.rfm.last_run import LastRun
from acceptance.rfm.run_log import LoggedRun
from acceptance.verdict import Nodes, Run, conclude, stored
from tests import endpoints, tested
from tests.made import FIRST, NIGHT, Database
from tests.made_year import BLOCK, ENVIRONMENT, FABRIC, SYSTEM, Year
from tests.places import REFERENCE, workspace

NIGHTS = 365
#: Nights after which the costs are told.
TOLD = (30, 180, 365)
#: Of so many nights each.
COST_OF = 5
#: Nights of a new baseline; days for which an alert is acknowledged.
BASELINE, ACKNOWLEDGED = 14, 14
#: How surely a bound is kept; nights of the bound of latencies, by reference/METHOD.md.
SURE, LATE = 0.95, 6
#: Nights after an event in which an alert may still be of it; what all pairs of nodes show.
AFTERWARDS, OF_PAIRS = 10, ("node", "cable", "busy", "latency")
CONFIGURATION = """
partitions = [
    {{"name": name, "scheduler": "squeue", "launcher": "srun", "environs": ["{environment}"],
      "extras": {{"nodes": {block}, "cores": 128, "memory": 2**38, "fabric": {fabric}}}}}
    for name in {names}
]
site_configuration = {{
    "systems": [{{"name": "{system}", "hostnames": ["{system}"], "partitions": partitions}}],
    "environments": [{{"name": "{environment}", "features": ["mpi"]}}],
}}
"""


@dataclass
class Told:
    """An alert that was opened: in which night, what it says, and the event that explains it."""

    night: int
    id: str
    finding: object
    event: object = None

    @property
    def text(self):
        found = self.finding
        what = " ".join(filter(None, (found.device, found.what)))
        return f"{found.kind}: {what}: {found.text}"


@dataclass
class Site:
    """A clone of a site in a folder, in which a year goes on."""

    folder: Path
    year: Year
    alerts: list = field(default_factory=list)
    ran: list = field(default_factory=list)
    open: set = field(default_factory=set)
    done: list = field(default_factory=list)
    costs: dict = field(default_factory=dict)
    powers: dict = field(default_factory=dict)
    ended: int = 0

    def __post_init__(self):
        reference = shutil.copytree(REFERENCE, self.folder / "reference")
        self.workspace = replace(workspace(self.folder / "var"), reference=reference)
        self.workspace.var.mkdir()
        self.database = Database(self.workspace.results)

    def configure(self, night):
        """Write the configuration of the site as of a night."""
        path = self.folder / "site.py"
        text = CONFIGURATION.format(
            system=SYSTEM, environment=ENVIRONMENT, block=BLOCK, fabric=FABRIC,
            names=[self.year.partition(night)],
        )  # fmt: skip
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        return path

    def night(self, night):
        """Run and judge a night; return its verdict."""
        path, started = self.configure(night), time.process_time()
        site = configuration.load([path])
        known = {self.year.partition(night): self.year.nodes(night)}
        begins = datetime.fromtimestamp(FIRST + NIGHT * night, timezone.utc)
        earlier = campaign.readable(self.workspace.campaigns, "nightly-*")
        turn, notes = campaign_nodes.turns(site.system(SYSTEM), known, earlier)
        spent = time.process_time() - started
        # Where fewer are up than take a turn, the scheduler chooses.
        up = (node.name for nodes in known.values() for node in nodes if node.up)
        nodes = next(iter(turn.values()), None) or tuple(itertools.islice(up, BLOCK))
        cases = self.year.cases(night, nodes)
        state, run = self.stored(night, begins, cases, known, turn, notes, path)
        now, started = begins + timedelta(hours=3), time.process_time()
        given = conclude(self.workspace, run, config_files=[path], send=True, now=now)
        stored.keep(self.workspace, state.id, given)
        state.ended, state.status = campaign.stamp(now), int(given.status)
        state.save()
        self.costs[night] = spent + time.process_time() - started
        self.ran.append(night)
        self.powers[night] = msgspec.convert(
            cases["all_pairs"][0].more["all_pairs"], AllPairs
        ).power
        self.look(night, given)
        return given

    def stored(self, night, begins, cases, known, turn, notes, path):
        """Store the sessions of a night as ReFrame does; return the campaign, and its run."""
        pins = placement.write_pins(turn)
        steps = [campaign.Step(step, (f"/opt/clone/checks/{step}.py",), ("-r",),
                               pinned="" if step in ("links", "all_pairs") else pins)
                 for step in cases]  # fmt: skip
        asked = {"mode": "nightly", "system": SYSTEM, "reframe": []}
        state = campaign.begin(
            self.workspace.campaigns, "nightly", asked, steps, begins, known, notes
        )
        runs = []
        for number, step in enumerate(steps):
            label = f"{state.id}.{step.name}.3f2a9c"
            command = f"reframe -c {step.files[0]} -r --session-extras run={label}"
            command += f" -S pinned={step.pinned}" if step.pinned else ""
            start = begins.timestamp() + 1200 * number
            uuid = self.database.add(cases[step.name], start, command=command, label=label)
            attempt = campaign.Attempt(
                label, campaign.stamp(begins), campaign.stamp(begins), 0, uuid
            )
            step.state, step.attempts = campaign.DONE, [attempt]
            count = len(cases[step.name])
            fields = {
                "command": repr(command), "launched by": "'operator@login1'",
                "settings files": f"'{path}'", "selected system": f"'{SYSTEM}'",
                "results database": f"[on] '{self.workspace.results}'",
                "working directory": "'/opt/clone'",
            }  # fmt: skip
            time_text = datetime.fromtimestamp(start).isoformat(timespec="seconds")
            logged = LoggedRun(time_text, 1, fields, (count, count), uuid)
            runs.append(LastRun(logged, label=label))
        state.save()
        nodes = {f"{SYSTEM}:{name}": there for name, there in known.items()}
        return state, Run(runs, state.id, SYSTEM, nodes=lambda _: Nodes(known=nodes))

    def look(self, night, given):
        """Do what an administrator does who reads the alerts of a night."""
        alerts = {each.id: each for each in (*given.alerts, *given.acknowledged)}
        for key in alerts.keys() - self.open:
            told = Told(night, key, alerts[key].finding)
            told.event = explained(self.year, told)
            self.alerts.append(told)
            if told.event and told.event.name in ("mpi", "renamed"):
                self.acknowledge(night, told)
        self.open = {*alerts}
        mpi = next((each for each in self.year.events if each.name == "mpi"), None)
        if mpi and sum(each >= mpi.first for each in self.ran) == BASELINE:
            self.baseline(night)

    def acknowledge(self, night, told):
        """Acknowledge an alert."""
        now = datetime.fromtimestamp(FIRST + NIGHT * night, timezone.utc) + timedelta(hours=9)
        folder = self.workspace.alerts
        acknowledgements.add(
            told.id, told.event.text, f"{(now + timedelta(ACKNOWLEDGED)).date()}",
            notify.listing(now, folder).alerts, now, folder,
        )  # fmt: skip
        self.done.append((night, f"acknowledged {told.id}: {told.event.text}"))

    def baseline(self, night):
        """Write a baseline of the last nights, as `acceptance baseline --write` does."""
        history = load(ledger.of(self.workspace))
        library = references.load(self.workspace.reference)
        some = new_baseline.select(history, (), BASELINE)
        proposal = new_baseline.propose(history, SYSTEM, some, library)
        new_baseline.write(proposal, library)
        refused = sum(map(len, proposal.refused.values()))
        self.done.append(
            (night, f"a baseline of {len(proposal.changes)} metrics, {refused} refused")
        )

    def report(self, night):
        """Write the report; return its CPU seconds and its MB."""
        began = time.process_time()
        now = datetime.fromtimestamp(FIRST + NIGHT * night, timezone.utc) + timedelta(hours=4)
        source = report.Source(self.workspace, self.workspace.results, now)
        source.systems = configuration.load([self.folder / "site.py"]).systems
        report.write(source, self.workspace.var / "report")
        return time.process_time() - began, size_of(self.workspace.var / "report")

    def bytes(self):
        """Return folder -> MB of all that is kept."""
        return {each.name: size_of(each) for each in sorted(self.workspace.var.iterdir())
                if each.name != "report"}  # fmt: skip


def size_of(path):
    """Return the MB of a file or folder."""
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    return sum(each.stat().st_size for each in files) / 1e6


def explained(year, told):
    """Return the event that explains an alert; None where none does."""
    since = told.night
    if told.finding.of_history:
        began = datetime.fromisoformat(told.finding.since).timestamp()
        since = night_of(began) - night_of(FIRST)
    for each in reversed(year.events):
        lasts = each.first <= told.night < each.last + AFTERWARDS
        if lasts and since >= each.first - START_FARTHEST and explains(year, each, told.finding):
            return each
    return None


def explains(year, event, found):
    """Tell whether what happened then is what an alert says: by place, metric and kind."""
    texts = f"{found.device} {found.text}".split()
    words = {word.strip(",:;()").split("[")[0] for word in texts} | {*found.nodes}
    if event.loss and {event.node, *event.cable} - {""} <= words:
        return True
    if found.kind in (AWAY, MANY):
        return event.name in ("away", "drained")
    if found.kind == "vanished":
        return event.name == "renamed"
    if not found.of_history:
        return False
    if found.device == "AllPairs":
        return event.name in OF_PAIRS
    row = next((row for row in year.rows if f"={row.name} " in found.device), None)
    return row is not None and event.shift(row, found.what) != 0


def bound(site, event):
    """Return in how many nights that run a fault is to be told."""
    if event.name == "latency":
        return LATE
    if event.name == "cable":
        missed = 0.25
    else:
        power = next(site.powers[night] for night in site.ran if night >= event.first)
        missed = power.accepted(event.loss)
    return max(1, math.ceil(math.log(1 - SURE) / math.log(min(max(missed, 1e-9), 1 - 1e-9))))


def names(event, told):
    """Tell whether an alert names what is at fault."""
    found = told.finding
    if event.name == "node":
        return event.node in found.nodes
    if event.name == "cable":
        return all(end in f"{found.device} {found.text}" for end in event.cable)
    return found.of_history and (found.device == "AllPairs" or " us" in found.found)


def faults(site):
    """Yield a row for each fault: when it came, the bound, when it was told, and as what."""
    for event in (each for each in site.year.events if each.fault and each.first < site.ran[-1]):
        mine = [each for each in site.alerts if each.event is event]
        hit = next((each for each in mine if names(event, each)), None)
        took = hit and sum(event.first <= night <= hit.night for night in site.ran)
        within = bound(site, event)
        yield (event.text, event.first, within, took or "never",
               "yes" if took and took <= within else "NO",
               hit.text if hit else "", len(mine))  # fmt: skip


def months(site, nights):
    """Yield a row for each month."""

    def month(night):
        return f"{datetime.fromtimestamp(FIRST + NIGHT * night, timezone.utc):%Y-%m}"

    for name in dict.fromkeys(map(month, range(nights))):
        mine = [each for each in site.alerts if month(each.night) == name]
        ran = sum(month(night) == name for night in site.ran)
        happened = [f"night {each.first}: {each.text}" for each in site.year.events
                    if each.first < nights and month(each.first) == name]  # fmt: skip
        false = sum(each.event is None for each in mine)
        said = Counter(
            f"{each.finding.kind} ({each.event.name if each.event else 'FALSE'})" for each in mine
        )
        yield (
            name,
            ran,
            len(mine),
            len(mine) - false,
            false,
            ", ".join(f"{count} {what}" for what, count in said.items()),
            "; ".join(happened),
        )


def costs(site, told):
    """Yield a row for each night whose costs are told."""
    for night, (kept, (seconds, size)) in told.items():
        some = [site.costs[each] for each in site.ran if each < night][-COST_OF:]
        every = ", ".join(f"{name} {value:.1f}" for name, value in kept.items() if value >= 0.05)
        yield (night, f"{sum(some) / len(some):.2f}", f"{max(some):.2f}",
               f"{sum(kept.values()):.1f}", every, f"{seconds:.1f}", f"{size:.1f}")  # fmt: skip


def run(year, folder, nights, told=TOLD, quiet=True):
    """Let a year go by in a folder; return the site, and its costs after some nights."""
    measured = {}
    with ExitStack() as stack:
        endpoint = stack.enter_context(endpoints.http())
        targets = {"ACCEPTANCE_ALERTS": f"admin={endpoint.url}", "XDG_CONFIG_HOME": str(folder)}
        stack.enter_context(mock.patch.dict(os.environ, targets))
        site = Site(folder, year)
        for night in range(nights):
            if not year.lasting(night, "window"):
                site.night(night)
                if not quiet:
                    fresh = [each for each in site.alerts if each.night == night]
                    print(
                        night,
                        f"{site.costs[night]:.2f}",
                        *(f"{e.event.name if e.event else 'FALSE'} {e.text}" for e in fresh),
                        sep="\n  ",
                        flush=True,
                    )
            if night + 1 in told:
                measured[night + 1] = site.bytes(), site.report(night)
        site.ended = len(endpoint.posts)
    return site, measured


def why_not():
    """Return why this machine cannot run the bench: it always can."""
    return ""


def show(seed, site, measured, nights, seconds):
    """Print what became of a year."""
    false = [each for each in site.alerts if each.event is None]
    print(f"\nseed {seed}: {len(site.ran)} of {nights} nights ran, {len(site.alerts)} alerts in "
          f"{site.ended} messages, {len(false)} false; CPU {seconds:.0f} s\n")  # fmt: skip
    head = ("month", "nights", "alerts", "true", "false", "said", "happened")
    print(table(head, months(site, nights), width=160))
    head = ("fault", "night", "bound", "told after", "in time", "named as", "alerts")
    print(table(head, faults(site), width=160))
    for each in false:
        print(f"FALSE, night {each.night}: {each.text}")
    for night, what in site.done:
        print(f"night {night}: {what}")
    head = ("night", "CPU s a night", "most", "MB kept", "of these", "report s", "MB")
    print(table(head, costs(site, measured), width=160), flush=True)


def figures(shown):
    """Return what is kept of some years: seed -> site and costs."""
    false = [sum(each.event is None for each in site.alerts) for site, _ in shown.values()]
    told = [row for site, _ in shown.values() for row in faults(site)]
    late = sum(row[4] != "yes" for row in told)
    last = [(site.costs[site.ran[-1]], sum(kept[max(kept)][0].values()))
            for site, kept in shown.values() if kept]  # fmt: skip
    found = {
        "years of 200 nodes (seeds)": ", ".join(map(str, shown)),
        "false alarms of each year": ", ".join(map(str, false)),
        "faults told in time": f"{len(told) - late} of {len(told)}",
    }
    if last:
        found["CPU of the last night"] = ", ".join(f"{seconds:.1f} s" for seconds, _ in last)
        found["kept after a year"] = ", ".join(f"{size:.0f} MB" for _, size in last)
    return found


def main():
    parser = argparse.ArgumentParser("tests.bench.year")
    parser.add_argument("seeds", type=int, nargs="*", help="default: those of SEED, or 1")
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--links", action="store_true", help="a link check for each node")
    parser.add_argument("--verbose", action="store_true", help="print each night")
    options = parser.parse_args()
    if "OPENBLAS_NUM_THREADS" not in os.environ:  # the figures are those of one core
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "tests.bench.year", *sys.argv[1:]])
    shown = {}
    for seed in options.seeds or map(int, (os.environ.get("SEED") or "1").split()):
        began = time.process_time()
        with tempfile.TemporaryDirectory() as name:
            year = Year(seed, links=options.links)
            shown[seed] = run(year, Path(name), options.nights, quiet=not options.verbose)
        show(seed, *shown[seed], options.nights, time.process_time() - began)
    if options.nights == NIGHTS:
        tested.record("year", "make bench BENCHES=year", figures(shown))


if __name__ == "__main__":
    main()
