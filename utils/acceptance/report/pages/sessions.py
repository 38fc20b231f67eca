"""A page for each session: every number, what judged it, and where it is from."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from acceptance.core.text import read_bounded
from acceptance.ledger import Case, Metric, Session, campaign_of
from acceptance.references import Reference
from acceptance.report import addresses
from acceptance.report.pages.references import Citations
from acceptance.report.plot_model import Page, cell_text
from acceptance.report.runs import SOFTWARE, Outcome, Ran, bounds, counts, outcome, told
from acceptance.report.source import Source
from acceptance.verdict import Verdict

#: Bytes of an output that are copied into the site: its begin and its end; and of all of them.
BEGIN, END, ALL = 48_000, 16_000, 3_000_000
_FIELDS = (
    "case", "system", "partition", "environment", "suite", "benchmark", "keys", "nodes", "result",
    "metric", "value", "unit", "reference", "least", "most", "judged_by", "passed", "simulated",
)  # fmt: skip


@dataclass(frozen=True)
class _ShownMetric:
    """A metric with the range that it has to lie in, and the reference that judged it."""

    metric: Metric
    least: float | None
    most: float | None
    reference: Reference | None = None

    @property
    def judged(self) -> bool:
        """Tell whether something judged it."""
        return self.metric.reference is not None

    @property
    def outcome(self) -> Outcome:
        """Return what became of it."""
        if not self.judged:
            return Outcome.NOT_JUDGED
        return Outcome.GREEN if self.metric.passed else Outcome.RED


@dataclass(frozen=True)
class ShownCase:
    """A case with its number in the session, and its output where that was copied."""

    number: int
    case: Case
    metrics: tuple[_ShownMetric, ...]
    output: str = ""
    why_no_output: str = ""

    @property
    def outcome(self) -> Outcome:
        """Return what became of this execution."""
        return outcome([self.case])

    @property
    def software(self) -> list[tuple[str, str]]:
        """Return what it was measured with, what names software first."""
        known = self.case.provenance
        keys = [*(key for key in SOFTWARE if key in known)]
        return [(key, known[key]) for key in (*keys, *(key for key in known if key not in keys))]

    @property
    def path(self) -> Path | None:
        """Return the file of its output; None where nobody stored where it is."""
        case = self.case
        return Path(case.folder) / case.output if case.folder and case.output else None


@dataclass
class _Outputs:
    """Outputs of cases, copied into the site as long as there is room."""

    var: Path
    files: dict[str, str] = field(default_factory=dict)
    bytes: int = 0

    def copied(self, session: str, shown: ShownCase) -> tuple[str, str]:
        """Return the address of a case's output, or why it has none.

        A database of somebody else may name any file: only those in `var/` are read.
        """
        path = shown.path
        if path is None:
            return "", "nothing was stored of where its output is"
        if self.var.resolve() not in path.resolve().parents:
            return "", "it is not in var/ of this report"
        if self.bytes > ALL:
            return "", "this report has no room for more outputs"
        try:
            text, cut = read_bounded(path, BEGIN, END)
        except OSError as err:
            return "", f"it cannot be read: {err.strerror}"
        address = addresses.output(session, shown.number)
        note = f"[{cut}; the whole file is {path}]\n" if cut else ""
        self.files[address] = note + text
        self.bytes += len(text)
        return address, ""


def pages(source: Source) -> list[Page]:
    """Return the list of sessions, and a page for each."""
    citations = Citations.of(source)
    outputs = _Outputs(source.workspace.var)
    return [_index(source), *(_page(source, each, citations, outputs) for each in source.sessions)]


def _index(source: Source) -> Page:
    rows = [(each, told(source.verdict_of(each)), counts(_cases(each))) for each in source.sessions]
    context = {"rows": rows, "source": source, "campaign_of": campaign_of}
    return Page(addresses.SESSIONS, "Sessions", "sessions.html.j2", "Sessions", context)


def _cases(session: Session) -> Iterator[Ran]:
    for number, case in enumerate(session.cases):
        if not case.fixture or outcome([case]) is Outcome.RED:
            yield Ran(session, number, (case,))


def _page(source: Source, session: Session, citations: Citations, outputs: _Outputs) -> Page:
    before = set(outputs.files)
    cases = [
        _shown(session.uuid, number, case, citations, outputs)
        for number, case in enumerate(session.cases)
    ]
    csv_file = addresses.of_session(session.uuid, "csv")
    json_file = addresses.of_session(session.uuid, "json")
    verdict = source.verdict_of(session)
    metrics = [each.judged for case in cases for each in case.metrics]
    context = {
        "session": session,
        "cases": cases,
        "verdict": verdict,
        "told": told(verdict),
        "counts": counts(_cases(session)),
        "judged": sum(metrics),
        "recorded": len(metrics) - sum(metrics),
        "simulated": sorted({case.simulated for case in session.cases if case.simulated}),
        "csv": csv_file,
        "json": json_file,
        "database": source.database,
    }
    files = {address: outputs.files[address] for address in outputs.files.keys() - before}
    files[csv_file] = _csv(session.cases)
    files[json_file] = _json(_data(session, verdict))
    systems = ", ".join(sorted({case.system for case in session.cases}))
    return Page(
        addresses.session(session.uuid),
        f"Session {session.uuid[:8]}{f' on {systems}' if systems else ''}",
        "session.html.j2",
        "Sessions",
        context,
        files=files,
        simulated=bool(context["simulated"]),
    )


def _shown(
    session: str, number: int, case: Case, citations: Citations, outputs: _Outputs
) -> ShownCase:
    metrics = [_ShownMetric(each, *bounds(each), citations.find(case, each))
               for each in case.metrics]  # fmt: skip
    shown = ShownCase(number, case, tuple(metrics))
    output, why = outputs.copied(session, shown)
    return replace(shown, output=output, why_no_output=why)


def _csv(cases: Iterable[Case]) -> str:
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(_FIELDS)
    for case in cases:
        keys = "; ".join(f"{key}={value}" for key, value in case.keys.items())
        of_case = (
            case.name, case.system, case.partition, case.environment, case.suite, case.benchmark,
            keys, " ".join(case.nodes), case.result,
        )  # fmt: skip
        for each in case.metrics:
            passed = None if each.reference is None else each.passed
            of_metric = (each.name, each.value, each.unit, each.reference, *bounds(each),
                         each.judged_by, passed, case.simulated)  # fmt: skip
            lines.writerow(map(cell_text, (*of_case, *of_metric)))
    return file.getvalue()


def _json(data: Any) -> str:
    """Return JSON; a number that JSON does not know, NaN say, is text."""
    try:
        return json.dumps(data, default=str, allow_nan=False, separators=(",", ":")) + "\n"
    except ValueError:
        return _json(_finite(data))


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def _short(metric: Metric) -> dict[str, Any]:
    """Return a metric as data; one that was not judged has its value alone."""
    if metric.reference is None:
        return {"name": metric.name, "value": metric.value, "unit": metric.unit}
    least, most = bounds(metric)
    return {**asdict(metric), "least": least, "most": most}


def _data(session: Session, verdict: Verdict | None) -> dict[str, Any]:
    """Return a session as data: of its cases what is not empty, without single pairs."""
    cases = []
    for case in session.cases:
        data = {
            key: value for key, value in vars(case).items() if key not in ("pairs", "all_pairs")
        }
        data["metrics"] = [_short(metric) for metric in case.metrics]
        data["findings"] = [finding.as_data() for finding in case.findings]
        cases.append({**data, "simulated": case.simulated})
    own = {key: value for key, value in vars(session).items() if key != "cases"}
    return {**own, "verdict": told(verdict).word, "cases": cases}
