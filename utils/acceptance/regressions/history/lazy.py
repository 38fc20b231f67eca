"""Values and samples of series, taken from the store when somebody asks for them.

Those of cases that stand side by side are read at once; of several such blocks the one that was
asked for longest ago is given up.
"""

import json
from array import array
from collections import OrderedDict

import numpy as np

from acceptance.detection.constants import READ_BLOCK, READ_BLOCKS, READ_FEW
from acceptance.regressions.history.series import CaseHistory, PastSession, Sample, Series, Software
from acceptance.store import Store, reading


class Source:
    """The store behind a history, as of some session."""

    def __init__(
        self,
        store: Store,
        rows: list[reading.SessionRow],
        sessions: list[PastSession | None],
        end: int,
    ) -> None:
        """Serve runs below the number `end`; `sessions` are by their place in the store."""
        self.store, self.rows, self.sessions, self.end = store, rows, sessions, end
        self.blocks: list[list[CaseHistory]] = []
        self.block_of: dict[int, int] = {}
        self.loaded: OrderedDict[int, None] = OrderedDict()
        self.texts: dict[str, tuple[str, ...]] = {}
        self.software: dict[str, Software] = {}

    def serve(self, cases: list[CaseHistory]) -> None:
        """Serve the series of cases, which are in the order of their numbers."""
        size = 0
        for case in cases:
            count = sum(series.stored for series in case.series)
            if not self.blocks or size + count > READ_BLOCK:
                self.blocks.append([])
                size = 0
            size += count
            self.block_of[case.number] = len(self.blocks) - 1
            self.blocks[-1].append(case)

    def first_run(self, number: int) -> int:
        """Return the first run of the sessions from this number on."""
        after = (
            row.run
            for row, session in zip(self.rows, self.sessions, strict=True)
            if session is not None and session.number >= number
        )
        return next(after, self.end)

    def read_few(self) -> None:
        """Read all samples, where these are few: the store need not be opened again then."""
        cases = [case for block in self.blocks for case in block]
        if cases and sum(series.stored for case in cases for series in case.series) < READ_FEW:
            self.loaded[0] = None
            self._load(cases)

    def session(self, place: int) -> PastSession:
        """Return the session at a place of the store that has runs."""
        session = self.sessions[place]
        assert session is not None
        return session

    def load(self, series: Series) -> None:
        """Give the series, and those of its block, their values and samples."""
        if series.number < 0 or series.case.number not in self.block_of:
            series.set(array("d"), [])
            return
        number = self.block_of[series.case.number]
        while len(self.loaded) >= READ_BLOCKS:
            old, _ = self.loaded.popitem(last=False)
            for one in (one for case in self.blocks[old] for one in case.series):
                one.__dict__.pop("values", None)
                one.__dict__.pop("samples", None)
        self.loaded[number] = None
        self._load(self.blocks[number])

    def _load(self, cases: list[CaseHistory]) -> None:
        found = reading.of_cases(self.store, cases[0].number, cases[-1].number, self.end)
        samples = {row[0]: self._sample(*row[1:]) for row in found.runs}
        before: tuple[bytes, list[Sample]] = (b"", [])
        every = [series for case in cases for series in case.series]
        numbers = np.array([series.number for series in every], found.series.dtype)
        begins, ends = (np.searchsorted(found.series, numbers, side) for side in ("left", "right"))
        for series, begin, end in zip(every, begins.tolist(), ends.tolist(), strict=True):
            own = found.run[begin:end]
            # The metrics of a case were measured by the same runs, most of them.
            if own.tobytes() != before[0]:
                before = own.tobytes(), [samples[run] for run in own.tolist()]
            series.set(array("d", found.value[begin:end].tobytes()), before[1])

    def _sample(
        self, session: int, time: float, software: str, nodes: str, findings: str
    ) -> Sample:
        if software not in self.software:
            self.software[software] = tuple(json.loads(software).items())
        for text in (nodes, findings):
            if text not in self.texts:
                self.texts[text] = tuple(json.loads(text))
        return Sample(
            self.session(session), time, self.software[software], self.texts[nodes],
            self.texts[findings],
        )  # fmt: skip
