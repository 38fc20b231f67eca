"""Who reads what others wrote: one table of readers, for properties and for `python -m tests.fuzz`.

A row has the function in `acceptance`, how a text reaches it, texts that it reads, and what it may
raise: any other exception is a defect. `test_table.py` finds readers that have no row.
"""

import json
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest import mock

from acceptance.alerts import acknowledgements, notify, targets
from acceptance.campaigns import protocol
from acceptance.campaigns import state as campaign
from acceptance.campaigns.state import CampaignFault
from acceptance.core import extras, state_files, words
from acceptance.core.errors import Fault, ParseError, read_whole
from acceptance.core.extras import ExtrasFault
from acceptance.core.findings import Finding
from acceptance.core.state_files import StoredFault
from acceptance.fabric import FabricFault, adapters, inside, link_report, outputs, rails, routes
from acceptance.fabric import facts as fabric_facts
from acceptance.fabric import stored as fabric_stored
from acceptance.ledger import durations
from acceptance.ledger import records as sessions
from acceptance.ledger.rows import Batch
from acceptance.machine import (
    PlacementFault,
    SchedulerFault,
    externals,
    mpis,
    osnoise,
    partition_size,
    placement,
    schedulers,
    slurm,
    spack,
)
from acceptance.references import ReferenceFault, external, recordings, rows
from acceptance.references import records as parameters
from acceptance.references.tolerances import Tolerances
from acceptance.relations import sides
from acceptance.rfm import marks, run_log
from acceptance.simulation import defects
from acceptance.site import fabric_of_node
from acceptance.suites import (
    all_pairs,
    cpmd,
    detours,
    himeno,
    hpcc_output,
    imb_output,
    loaded,
    namd,
    netperf,
    npb,
    osu,
    patterns,
    specmpi,
)
from acceptance.verdict import stored as verdicts
from tests.foreign import examples
from tests.mutations import read_all
from tests.places import workspace

#: Between the files of a folder that one text fills.
PART = b"\f"


@dataclass(frozen=True)
class Reader:
    """A reader: `read` takes bytes that somebody wrote, `examples` are texts that it knows.

    `raises` is what it says of others. `also` are functions that are read through it.
    """

    read: Callable[[bytes], object]
    examples: Callable[[], Iterable[str]]
    raises: tuple[type[Exception], ...] = (ParseError,)
    also: tuple[str, ...] = ()


@cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="acceptance-foreign-")


def text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """Give a reader text as files and programs are read: what is no UTF-8 is replaced."""
    return lambda data: read(data.decode("utf-8", "replace"))


def file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Give a reader the path of a file with the bytes."""

    def call(data: bytes) -> object:
        path = Path(_folder().name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return read(path)

    return call


def folder(names: Iterable[str], read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Give a reader a folder whose files have the parts of the bytes, between form feeds."""
    names = list(names)

    def call(data: bytes) -> object:
        parts = [*data.split(PART, len(names) - 1), *[b""] * len(names)]
        paths = [Path(_folder().name, *name.split("/")) for name in names]
        for path, part in zip(paths, parts, strict=False):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(part)
        return read(Path(_folder().name, names[0].split("/")[0]))

    return call


def data(read: Callable[[object], object]) -> Callable[[bytes], object]:
    """Give a reader what Python has of JSON: the configuration of a site is such data."""

    def call(given: bytes) -> object:
        try:
            found = json.loads(given)
        except (ValueError, RecursionError):
            return None
        return read(found)

    return call


def says(module: object, name: str, read: Callable[[], object]) -> Callable[[bytes], object]:
    """Let a program print the parts of the text, one a call, while a reader asks it."""

    def call(given: bytes) -> object:
        told = [*given.decode("utf-8", "replace").split(PART.decode()), "", ""]
        with mock.patch.object(module, name, side_effect=told):
            return read()

    return call


def listed(read: Callable[[str], Iterable]) -> Callable[[bytes], object]:
    """Give a reader that yields text, and take all that it yields."""
    return text(lambda given: [*read(given)])


#: What tells which recorded output a text comes from.
_TITLES = {
    "imb": re.compile(r"# Benchmarking (\S+)"),
    "osu": re.compile(r"# OSU (.*?) v"),
    "hpcc": re.compile(r"CommWorldProcs=(\d+)"),
    "npb": re.compile(r"(\w+) Benchmark Completed"),
    "netperf": re.compile(r"MIGRATED (.*) TEST"),
    "patterns": re.compile(r'"pattern":"([^"]*)"'),
}


@cache
def _checks(suite: str) -> dict[str, Callable[[str], object]]:
    """Return how checks read the recorded outputs of a suite, by their titles."""
    title = _TITLES.get(suite, re.compile("()"))
    return {m[1]: each.read for each in read_all(suite)[0] if (m := title.search(each.text))}


def checks(suite: str, parse: Callable[[str], object]) -> Callable[[bytes], object]:
    """Give text to a parser, and then as the checks that asked for the output of its title do."""

    def read(given: str) -> object:
        parse(given)
        title = _TITLES.get(suite, re.compile("()")).search(given)
        as_check = _checks(suite).get(title[1]) if title else None
        return as_check(given) if as_check else None

    return text(read)


def suite(name: str) -> Callable[[], list[str]]:
    return lambda: examples.recorded(name)


def session(given: str) -> object:
    """Take a session in as the ledger does."""
    info, decoded = sessions.decode(given)
    batch = Batch(lambda *_: set(), float("-inf"))
    batch.add(1, info.uuid, info, decoded, given.encode("utf-8", "replace"))
    path = Path(_folder().name, "ledger")
    path.mkdir(exist_ok=True)
    return batch.write(path)


def logged(path: Path) -> object:
    """Ask a log for all that others ask of its runs."""
    names = ("label", "filters", "host", "system", "folder", "config_files", "database", "losses")
    return [[getattr(run, name) for name in names] for run in run_log.runs(path.parent)]


def _of_netperf(given: str) -> object:
    if _TITLES["netperf"].search(given):  # the checks know what they asked for
        return None
    return netperf.parse(given, "stdout", netperf.Run("TCP_STREAM", 1024, 0, 0, 0), 1.0)


_FACTS = fabric_facts.Facts.read({"technology": "infiniband", "rate": "QDR", "lanes": 4})
_WRONG = (ValueError,)
_RANKS = {0: "n", 1: "n"}
_OF_SITE = {"koop:qdr", "koop:ddr", "saini:a"}

#: Function of `acceptance` -> how it is read.
READERS: dict[str, Reader] = {
    # What suites print.
    "suites.imb_output.parse": Reader(checks("imb", imb_output.parse), suite("imb")),
    "suites.osu.parse": Reader(checks("osu", osu.parse), suite("osu")),
    "suites.hpcc_output.parse": Reader(checks("hpcc", hpcc_output.parse), suite("hpcc")),
    "suites.netperf.parse": Reader(checks("netperf", _of_netperf), suite("netperf")),
    "suites.npb.parse": Reader(
        checks("npb", npb.parse), suite("npb"), also=("suites.npb.only_result", "suites.npb.Result")
    ),
    "suites.patterns.parse": Reader(checks("patterns", patterns.parse), suite("patterns")),
    "suites.detours.Measured": Reader(checks("detours", detours.Measured), suite("detours")),
    "suites.loaded.Measured": Reader(text(loaded.Measured), examples.loaded),
    "suites.all_pairs.Measured": Reader(text(all_pairs.Measured), examples.all_pairs),
    "suites.cpmd.parse": Reader(text(lambda t: cpmd.parse(t, "c120", 4)), examples.cpmd),
    "suites.namd.parse": Reader(text(lambda t: namd.parse(t, 4)), examples.namd),
    "suites.namd.configuration": Reader(
        text(namd.configuration), lambda: ["numsteps 500\n", "run 1\n"], _WRONG
    ),
    "suites.himeno.parse": Reader(text(lambda t: himeno.parse(t, "S", 2)), examples.himeno),
    "suites.specmpi.parse": Reader(
        text(lambda t: specmpi.parse(t, "104.milc", 64, "table")), examples.specmpi
    ),
    # What a fabric and nodes say.
    "fabric.outputs.parse_netdiscover": Reader(
        text(outputs.parse_netdiscover), examples.netdiscover
    ),
    "fabric.outputs.parse_linkinfo": Reader(text(outputs.parse_linkinfo), examples.linkinfo),
    "fabric.outputs.parse_query_errors": Reader(
        text(outputs.parse_query_errors), examples.query_errors
    ),
    "fabric.outputs.read": Reader(
        folder(examples.READING, outputs.read), examples.reading, (Fault,),
        also=("fabric.seen.read_stored", "fabric.seen.read_live", "fabric.outputs.read_lines"),
    ),
    "fabric.routes.Routes.of": Reader(
        text(lambda t: routes.Routes.of(examples.topology(), t)), examples.tables, (Fault,),
        also=("fabric.routes.forwarding_tables",),
    ),
    "fabric.link_report.parse_all": Reader(
        text(link_report.parse_all), examples.links, also=("fabric.link_report.parse",)
    ),
    "fabric.link_report.parse_lldp": Reader(
        text(link_report.parse_lldp), lambda: examples.recorded("lldp")
    ),
    "fabric.plausibility.readings_of": Reader(
        folder(("links/n.before", "links/n.after"), lambda path: rails.read(path, ["n"], _FACTS)),
        lambda: ["\f".join(2 * examples.links())], also=("fabric.rails.read",),
    ),
    "fabric.adapters.read": Reader(
        folder(("ucx/0.ucx", "ucx/1.ucx"), lambda path: adapters.read(path, _RANKS, [])),
        examples.ucx, (), also=("fabric.adapters.of_ucx",),
    ),
    "fabric.inside.read": Reader(text(inside.read), examples.unaided, _WRONG),
    "fabric.inside.waited": Reader(
        text(lambda t: inside.waited(*(t + "\f").split("\f")[:2])), examples.waited, ()
    ),
    "fabric.facts.Facts.read": Reader(
        data(fabric_facts.Facts.read), examples.facts, (FabricFault,)
    ),
    "fabric.stored.read": Reader(
        file("site.fabric", lambda path: fabric_stored.read(path, fabric_stored.AcceptedFabric)),
        examples.accepted,
    ),
    "fabric.stored.read_state": Reader(
        file("fabric.json", fabric_stored.read_state), examples.fabric_state, (Fault,)
    ),
    "site.fabric_of_node.read": Reader(
        text(lambda t: fabric_of_node.read(t, "10.0.0.1", "node17")), examples.node
    ),
    # What schedulers, launchers, MPIs and Spack say.
    "machine.slurm.all_nodes": Reader(
        says(slurm, "show", slurm.all_nodes), lambda: examples.recorded("slurm", "nodes"),
        (SchedulerFault,),
    ),
    "machine.slurm.all_partitions": Reader(
        says(slurm, "show", slurm.all_partitions), lambda: examples.recorded("slurm", "partitions"),
        (SchedulerFault,),
    ),
    "machine.slurm.config": Reader(
        text(slurm.config), lambda: examples.recorded("slurm", "config"), ()
    ),
    "machine.slurm.mpi_plugins": Reader(
        text(slurm.mpi_plugins), lambda: examples.recorded("slurm", "mpi"), ()
    ),
    "machine.slurm.read_states": Reader(
        text(slurm.read_states), lambda: ["IDLE+DRAIN", "DOWN*"], ()
    ),
    "machine.slurm.names_of": Reader(
        text(slurm.names_of), lambda: ["node[01-04,7],login", "a[1-2]b[8-10]"], (SchedulerFault,)
    ),
    "machine.slurm.satisfies": Reader(
        text(lambda t: slurm.satisfies(frozenset({"ib", "ten"}), t)),
        lambda: ["ib&ten|x", "[(ib|a)&ten]"], (SchedulerFault,),
    ),
    "machine.slurm.options_of": Reader(
        text(lambda t: slurm.options_of(t.split("\n"))),
        lambda: ["-p main\n--exclude=node[1-3]", "--requires=a --requires 'b'"], (SchedulerFault,),
    ),
    "machine.slurm.last_words": Reader(text(slurm.last_words), examples.stderr, ()),
    "machine.slurm.cut_short": Reader(text(slurm.cut_short), examples.stderr, ()),
    "machine.schedulers._of_pbs": Reader(
        says(schedulers, "_answer", lambda: schedulers.nodes_of("pbs", [])), examples.pbs,
        (SchedulerFault,), also=("machine.schedulers.nodes_of",),
    ),
    "machine.schedulers._of_flux": Reader(
        says(schedulers, "_answer", lambda: schedulers.nodes_of("flux", [])), examples.flux,
        (SchedulerFault,),
    ),
    "machine.externals.identity_of": Reader(text(externals.identity_of), examples.identities, ()),
    "machine.mpis.modules": Reader(text(mpis.modules), lambda: examples.recorded("modules"), ()),
    "machine.osnoise.seen": Reader(
        text(lambda t: osnoise.seen(t, {"n": (0.0, 1e12)})), examples.osnoise, _WRONG
    ),
    "machine.partition_size.last_level_cache": Reader(
        text(partition_size.last_level_cache),
        lambda: ["cache 2 1024K 0-1\ncache 3 32M 0-7\nend\n"], _WRONG,
    ),
    "machine.placement.read_pins": Reader(
        text(lambda t: placement.read_pins(t, ("a", "b"))), lambda: ["a=n1,n2;b=n3"],
        (PlacementFault,),
    ),
    "machine.placement.read_ranks": Reader(
        text(placement.read_ranks), examples.ranks, also=("machine.placement.is_line",)
    ),
    "machine.spack.complaint": Reader(
        text(spack.complaint), lambda: examples.recorded("spack"), ()
    ),
    "machine.spack.read_lock": Reader(
        text(lambda t: spack.read_lock(t, {})), examples.lock, (Fault,)
    ),
    "machine.spack.read_packages": Reader(text(spack.read_packages), examples.lock, (Fault,)),
    # What a site writes.
    "references.rows.values": Reader(
        file("koop.csv", lambda path: rows.values(path, "published", _OF_SITE)), examples.values,
        (ReferenceFault,), also=("references.rows.read_rows", "references.rows.text_of"),
    ),
    "references.rows.claims": Reader(
        file("claims.csv", lambda path: rows.claims(path, {"koop", "saini"}, _OF_SITE)),
        examples.claims, (ReferenceFault,),
    ),
    "references.rows.partitions": Reader(
        file("systems.csv", lambda path: rows.partitions(path, {"koop", "saini"})),
        examples.partitions, (ReferenceFault,),
    ),
    "references.rows.papers": Reader(
        file("papers.bib", rows.papers), examples.papers, (ReferenceFault,)
    ),
    "references.recordings.read": Reader(
        file("made.csv", recordings.read), examples.recordings, (ReferenceFault,)
    ),
    "references.external.read": Reader(
        file("theirs.yaml", external.read), examples.external, (ReferenceFault,)
    ),
    "references.tolerances.Tolerances.load": Reader(
        file("tolerances.yaml", Tolerances.load), examples.tolerances, (ReferenceFault,)
    ),
    "references.records.read_parameters": Reader(
        text(lambda t: parameters.read_parameters(t, ranges=True)),
        lambda: ["np=2..;message_size=8", "placement=inter-node"], _WRONG,
        also=("references.rows.parameters",),
    ),
    "references.rows.number": Reader(text(rows.number), lambda: ["1.5e3", "nan"], _WRONG),
    "alerts.acknowledgements.load": Reader(
        file("acks/acks.json", lambda path: acknowledgements.load(path.parent)), examples.acks,
        (Fault,),
    ),
    "alerts.targets.load": Reader(
        file("targets", lambda path: targets.load({targets.FILE_VARIABLE: str(path)})),
        lambda: ["# mine\nops = mailto://user:word@example.org\njson://localhost\n"], (),
    ),
    "core.extras.PartitionExtras.read": Reader(
        data(lambda given: extras.PartitionExtras.read(given if isinstance(given, dict) else {})),
        examples.extras, (ExtrasFault,),
    ),
    "core.extras.read_environment": Reader(
        data(lambda given: extras.read_environment(
            given if isinstance(given, dict) else {}, ["x"], ["osu"], ["openmpi"]
        )),
        examples.environment, (ExtrasFault,),
    ),
    "relations.sides.read": Reader(text(sides.read), examples.sides, (sides.SideFault,)),
    "simulation.defects.Injected.of": Reader(
        text(defects.Injected.of), lambda: ["port-sdr:node2", "latency-10"], (Fault,)
    ),
    # What was stored, by us too: a disk fails, and people edit.
    "ledger.records.decode": Reader(
        text(session), examples.sessions, (ValueError, KeyError, TypeError, AttributeError)
    ),
    "ledger.durations._shares": Reader(
        text(lambda t: durations._shares(t, ())), examples.sessions, ()
    ),
    "core.state_files.read": Reader(
        file("any.json", state_files.read), lambda: ['{"a": [1, null]}'], (ValueError, StoredFault),
        also=("core.records.from_json",),
    ),
    "core.findings.Finding.of_data": Reader(
        data(lambda given: Finding.of_data(given if isinstance(given, dict) else {})),
        examples.findings, (ValueError, KeyError, TypeError),
    ),
    "alerts.notify.listing": Reader(
        file("alerts/state.json", lambda path: notify.listing(examples.NOW, path.parent)),
        examples.alerts, (StoredFault,),
    ),
    "campaigns.state.load": Reader(
        file("campaigns/nightly/state.json", campaign.load), examples.campaigns, (CampaignFault,),
        also=("campaigns.state.readable",),
    ),
    "campaigns.protocol.verify": Reader(
        file("protocol.json", protocol.verify), examples.protocol, (CampaignFault,)
    ),
    "rfm.marks.read": Reader(
        folder(("var/runs/1.json", "var/runs/77.started"), marks.read), examples.marks,
        (StoredFault,),
    ),
    "rfm.run_log.runs": Reader(file("logs/reframe_1.log", logged), examples.log, (Fault,)),
    "verdict.stored.read": Reader(
        file("verdicts/made.json", lambda path: verdicts.read(workspace(path.parents[1]), "made")),
        examples.verdict, (StoredFault,), also=("verdict.model.Verdict.of_data",),
    ),
    "core.words.read_metric": Reader(
        text(words.read_metric), lambda: ["latency.distance.1_8", "bandwidth_peak"], ()
    ),
    "core.errors.read_whole": Reader(
        file("any.txt", lambda path: read_whole(path, 64)), lambda: ["a\r\nb\n"],
        also=("core.text.read_bounded", "core.machine.read_text"),
    ),
}  # fmt: skip
