"""What a check saw that is not as it should be, as ReFrame stores it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from acceptance.core.text import clipped

#: Characters that are stored of a field at most; an output may be anything.
STORED = 4000


#: The kind of what was measured while another run used the machine: no sample of its history.
SHARED = "shared-machine"
#: The kind of what is not judged since another simulator, or suite, gave what was recorded.
RECORDED_OTHERWISE = "recorded-otherwise"


@dataclass(frozen=True)
class Observation:
    """Something that is not as it should be: `kind` is for programs, `text` for people.

    `fails`: the case failed because of it. The rest says where it was seen, and what; all of it is
    empty where it does not apply.
    """

    kind: str
    text: str
    fails: bool = False
    node: str = ""
    device: str = ""
    what: str = ""
    found: str = ""
    expected: str = ""

    def as_data(self) -> dict[str, str]:
        """Return what is stored: the fields that are not empty, as text."""
        data = {key: clipped(str(value), STORED) for key, value in asdict(self).items() if value}
        return {**data, "fails": "yes"} if self.fails else data

    @classmethod
    def of_data(cls, data: Mapping[str, str]) -> "Observation":
        """Return what `as_data` made."""
        fields: dict[str, Any] = {key: data.get(key) or "" for key in cls.__dataclass_fields__}
        return cls(**{**fields, "fails": bool(fields["fails"])})


def observations(stored: object) -> tuple[Observation, ...]:
    """Read what a case has stored; ReFrame stores text for what was never set."""
    found = stored if isinstance(stored, list) else ()
    return tuple(Observation.of_data(each) for each in found if isinstance(each, Mapping))


def seen(stored: object) -> tuple[str, ...]:
    """Return the texts of what a case has stored and did not fail of."""
    return tuple(each.text for each in observations(stored) if not each.fails)
