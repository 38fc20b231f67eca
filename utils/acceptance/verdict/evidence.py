"""What is judged as one, and what it is judged by: all of it read once, and handed to each rule."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from acceptance.core.findings import Finding
from acceptance.core.paths import Workspace
from acceptance.core.words import is_simulated
from acceptance.ledger import Case, Ledger, Session, repeated
from acceptance.regressions import Judgement
from acceptance.rfm import last_run
from acceptance.rfm.configuration import Site
from acceptance.rfm.last_run import LastRun
from acceptance.verdict.nodes import Nodes


@dataclass(frozen=True)
class Run:
    """What is judged as one: all steps of a campaign, or a run by hand, which is one step.

    `runs` are those of ReFrame that came to their end, in order. Of a campaign, whose id is `id`,
    `stopped` returns the sessions of steps that were stopped, with the cases that count, and
    `nodes` what is known of the nodes; both raise as the ledger and the site do. `not_run` has the
    state of each step that did not come to its end, `unprovided` the check files of those that this
    system has nothing for; `without_suite`: no step with a benchmark ran.
    """

    runs: Sequence[LastRun] = ()
    id: str = ""
    system: str = ""
    stopped: Callable[[Ledger], Sequence[Session]] = lambda _: ()
    nodes: Callable[[Site], Nodes] | None = None
    not_run: Mapping[str, str] = field(default_factory=dict)
    unprovided: Sequence[Finding] = ()
    without_suite: bool = False
    notes: Sequence[str] = ()


def find_run(workspace: Workspace, label: str | None = None) -> Run:
    """Return the run that ended last, or the one labelled `--session-extras run=<label>`."""
    if label is None:
        return Run([last_run.find(workspace, lambda each: not repeated(each))])
    last = last_run.find(workspace, lambda each: each == label)
    return Run([replace(last, label=label)])


@dataclass
class Evidence:
    """The sessions that are judged, in order, and what judges them.

    `last` is the last session of the run, empty without one, and `again` are those that measured
    cases of it again. `site` is None where the configuration cannot be read. `foreign`: the
    database is none of this clone's. `whole`: no session of it is asked for.
    """

    workspace: Workspace
    past: Ledger
    sessions: Sequence[Session]
    last: str
    site: Site | None
    nodes: Nodes
    system: str
    foreign: bool = False
    whole: bool = False
    again: list[Session] = field(default_factory=list)
    #: The judgements of the history that were asked for, by the session up to which it counts.
    histories: dict[str, Judgement] = field(default_factory=dict)

    @property
    def newest(self) -> str:
        """Return the session up to which the history counts, empty without one."""
        return self.again[-1].uuid if self.again else self.last

    @property
    def simulated(self) -> bool:
        """Tell whether the system that is judged is a simulated one."""
        simulated = (case.simulated for case in self.cases if not case.fixture)
        return is_simulated(self.system) or any(simulated)

    @property
    def cases(self) -> list[Case]:
        """Return the cases of all sessions."""
        return [case for session in self.sessions for case in session.cases]

    @property
    def systems(self) -> set[str]:
        """Return the names of the systems that are judged."""
        return {self.system, *(case.system for case in self.cases)}
