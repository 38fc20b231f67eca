"""A page for each session: every number, what judged it, and where it is from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from acceptance.core.text import csv_text, read_bounded
from acceptance.ledger import Case, Metric, Session, campaign_of
from acceptance.nodes import UnderLoad
from acceptance.report import addresses
from acceptance.report.pages.references import cited
from acceptance.report.plot_model import Page
from acceptance.report.runs import Ran, Run, told
from acceptance.report.source import Source
from acceptance.verdict import Verdict

#: Bytes of an output that are copied into the site: its begin and its end; and of all of them.
BEGIN, END, ALL = 48_000, 16_000, 3_000_000
_FIELDS = (
    "case", "system", "partition", "environment", "suite", "benchmark", "keys", "nodes", "result",
    "metric", "value", "unit", "reference", "least", "most", "judged_by", "passed", "simulated",
)  # fmt: skip


def copied(
    var: Path, files: dict[str, str], session: str, number: int, case: Case
) -> tuple[str, str]:
    """Add the output of a case to files, as long as there is room; return its address, or why not.

    A database of somebody else may name any file: only those in `var/` are read.
    """
    if not (case.folder and case.output):
        return "", "nothing was stored of where its output is"
    path = Path(case.folder) / case.output
    if var.resolve() not in path.resolve().parents:
        return "", "it is not in var/ of this report"
    if sum(map(len, files.values())) > ALL:
        return "", "this report has no room for more outputs"
    try:
        text, cut = read_bounded(path, BEGIN, END)
    except OSError as err:
        return "", f"it cannot be read: {err.strerror}"
    address = addresses.output(session, number)
    files[address] = (f"[{cut}; the whole file is {path}]\n" if cut else "") + text
    return address, ""


def pages(source: Source) -> list[Page]:
    """Return the list of sessions, and a page for each."""
    outputs: dict[str, str] = {}
    verdicts = {each.uuid: run.verdict for run in source.runs for each in run.sessions}
    rows = [(Run((each,)), verdicts[each.uuid]) for each in source.sessions]
    made = [_page(source, run, verdict, outputs) for run, verdict in rows]
    context = {"rows": rows, "source": source, "campaign_of": campaign_of}
    named = addresses.SESSIONS, "Sessions", "sessions.html.j2", "Sessions"
    return [Page(*named, context, files=outputs), *made]


def _page(source: Source, run: Run, verdict: Verdict | None, outputs: dict[str, str]) -> Page:
    session, rows = run.sessions[0], cited(source)
    var = source.workspace.var
    cases = [
        (Ran(session, number, (case,)), *copied(var, outputs, session.uuid, number, case))
        for number, case in enumerate(session.cases)
    ]
    files = {
        addresses.of_session(session.uuid, "csv"): csv_text(_rows(session.cases)),
        addresses.of_session(session.uuid, "json"): _json(session, verdict),
    }
    simulated = sorted({case.simulated for case in session.cases if case.simulated})
    context = {
        "session": session,
        "run": run,
        "cases": cases,
        "row_of": lambda metric: rows.get(id(metric)),
        "loaded_of": _loaded_of,
        "verdict": verdict,
        "metrics": [each for case in session.cases for each in case.metrics],
        "simulated": simulated,
        "database": source.database,
    }
    systems = ", ".join(sorted({case.system for case in session.cases}))
    return Page(
        addresses.session(session.uuid),
        f"Session {session.uuid[:8]}{f' on {systems}' if systems else ''}",
        "session.html.j2",
        "Sessions",
        context,
        files=files,
        simulated=bool(simulated),
    )


def _loaded_of(case: Case) -> tuple[UnderLoad | None, str]:
    """Return what a case measured under load; None, and why, where that cannot be read."""
    try:
        return msgspec.convert(case.loaded, UnderLoad), ""
    except ValueError as err:
        return None, f"what is stored of the measurement under load is malformed: {err}"


def _rows(cases: Iterable[Case]) -> Iterator[Sequence[object]]:
    yield _FIELDS
    for case in cases:
        keys = "; ".join(f"{key}={value}" for key, value in case.keys.items())
        of_case = (
            case.name, case.system, case.partition, case.environment, case.suite, case.benchmark,
            keys, " ".join(case.nodes), case.result,
        )  # fmt: skip
        for each in case.metrics:
            passed = None if each.reference is None else each.passed
            of_metric = (each.name, each.value, each.unit, each.reference, *each.bounds,
                         each.judged_by, passed, case.simulated)  # fmt: skip
            yield *of_case, *of_metric


def _json(session: Session, verdict: Verdict | None) -> str:
    """Return a session as JSON: without pairs and places of nodes; what is no number is null."""
    cases = [
        {
            **{
                key: value
                for key, value in vars(case).items()
                if key not in ("all_pairs", "loaded")
            },
            "metrics": [*map(_judged, case.metrics)],
            "simulated": case.simulated,
        }
        for case in session.cases
    ]
    data = {**structs.asdict(session), "verdict": told(verdict)[0], "cases": cases}
    return msgspec.json.encode(data, enc_hook=str).decode() + "\n"


def _judged(metric: Metric) -> Mapping[str, object]:
    """Return a metric as data; one that was not judged has its value alone."""
    if metric.reference is None:
        return {"name": metric.name, "value": metric.value, "unit": metric.unit}
    least, most = metric.bounds
    return {**vars(metric), "least": least, "most": most}
