"""A finding: one thing that is not as it should be, whoever found it.

A case stores what it saw, a verdict lists it, a protocol prints it, and what fails is told as an
alert. What all findings of a kind have in common is in `core/kinds.py`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acceptance.core import kinds
from acceptance.core.kinds import SEVERITIES, Kind
from acceptance.core.text import clipped
from acceptance.core.words import is_simulated

#: Characters that are stored of a text at most; an output may be anything.
STORED = 4000

#: The kind of what was measured while another run used the machine: no sample of its history.
SHARED = "shared-machine"
#: The kind of what is not judged since another simulator, or suite, gave what was recorded.
RECORDED_OTHERWISE = "recorded-otherwise"

#: The kind of software that is not what an environment names.
OTHER_SOFTWARE = "other-software"
#: The kind of nodes that suffer more than others from the load of a network.
SUFFERS = "suffers-load"

#: The kind of what nobody knows of a run, since a patch of ours does not fit its ReFrame.
UNPATCHED = "unpatched"

#: The kind of what the machine itself does not judge, since it was too busy or not measured.
UNJUDGED = "unjudged-inside"


class Finding(Struct, frozen=True, forbid_unknown_fields=True):
    """Something that is not as it should be: `kind` is for programs, `text` for people.

    `fails`: a case, or a verdict, failed because of it. `nodes` are those concerned, none where no
    node is to blame; `device`, `what`, `found` and `expected` say where on them it was seen, and
    what: of the history these are a check, a metric and its levels. `where` is
    `system:partition+environ`, as far as it is known, and `since` a time (ISO 8601) of what lasts
    longer than a run. All of it is empty where it does not apply.

    `place` names it on every run the same; it is empty as long as only its case knows of it, and
    where it is of the whole run. `source` says what it was concluded from. `severity` and `remedy`
    are those of its kind where they are empty. `alerts` are the ids of the alerts that tell it:
    when all of them are acknowledged, it fails nothing. One without cannot be acknowledged.
    """

    kind: str
    text: str
    fails: bool = False
    nodes: tuple[str, ...] = ()
    device: str = ""
    what: str = ""
    found: str = ""
    expected: str = ""
    place: tuple[str, ...] = ()
    source: str = ""
    severity: str = ""
    remedy: str = ""
    alerts: tuple[str, ...] = ()
    where: str = ""
    since: str = ""

    @property
    def row(self) -> Kind:
        """Return what all findings of its kind have in common."""
        return kinds.of(self.kind)

    @property
    def id(self) -> str:
        """Return its kind in capitals and its place: the same whenever the same is wrong there."""
        words = (part.replace(" ", "") for part in self.place if part)
        return ":".join((self.kind.upper(), *words))

    @property
    def node(self) -> str:
        """Return the nodes that are concerned, in a word."""
        return ",".join(self.nodes)

    @property
    def subject(self) -> str:
        """Return what is concerned in words: check and metric, or what takes their place."""
        return f"{self.device} {self.what}".strip()

    @property
    def partition(self) -> str:
        """Return `system:partition`, or the system alone, of where it is."""
        return self.where.partition("+")[0]

    @property
    def system(self) -> str:
        """Return the system of where it is."""
        return self.partition.partition(":")[0]

    @property
    def simulated(self) -> bool:
        """Tell whether it is of a simulated system."""
        return is_simulated(self.system)

    @property
    def of_history(self) -> bool:
        """Tell whether the history shows it, not a run by itself."""
        return self.kind in kinds.HISTORY

    @property
    def rated(self) -> "Finding":
        """Return it with severity and remedy, its subject and what was found, as people read it."""
        return replace(
            self,
            severity=self.severity or self.row.severity,
            remedy=self.remedy or self.row.remedy,
            device="",
            what=self.subject or self.kind,
            found=self.found or self.text,
        )

    def as_data(self) -> dict[str, str]:
        """Return what a case stores: the fields that are not empty, as text; all of its nodes."""
        words = {name: clipped(getattr(self, name), STORED) for name in _OF_CASE}
        words |= {"fails": "yes" * self.fails, "nodes": self.node}
        return {name: text for name, text in words.items() if text}

    @classmethod
    def of_data(cls, data: Mapping[str, str]) -> "Finding":
        """Return what `as_data` made."""
        nodes = tuple(filter(None, (data.get("nodes") or "").split(",")))
        words: dict[str, Any] = {name: data.get(name) or "" for name in _OF_CASE}
        return cls(**words, fails=bool(data.get("fails")), nodes=nodes)


#: The texts that a case stores of a finding; the rest of it only follows from the case.
_OF_CASE = ("kind", "text", "device", "what", "found", "expected")


def observations(stored: object) -> tuple[Finding, ...]:
    """Read what a case has stored; ReFrame stores text for what was never set."""
    found = stored if isinstance(stored, list) else ()
    return tuple(Finding.of_data(each) for each in found if isinstance(each, Mapping))


def seen(stored: object) -> tuple[str, ...]:
    """Return the texts of what a case has stored and did not fail of."""
    return tuple(each.text for each in observations(stored) if not each.fails)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding for each id, that of the first with the nodes of all; the worst first."""
    by_id: dict[str, Finding] = {}
    for each in findings:
        known = by_id.get(each.id, each.rated)
        by_id[each.id] = replace(known, nodes=tuple(dict.fromkeys((*known.nodes, *each.nodes))))
    return sorted(by_id.values(), key=lambda each: (SEVERITIES.index(each.severity), each.id))
