"""What is kept from one run to the next, `state.json`: open alerts, and messages that wait."""

from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from acceptance.alerts import old_spool
from acceptance.alerts.alert import Alert
from acceptance.alerts.messages import Message
from acceptance.core import state_files

#: Form of the file.
_FORM = 1


@dataclass(frozen=True)
class Entry:
    """An open alert: when it was first seen, when and to whom it was sent, who acknowledged it.

    `seen` is when it was found again last. `sent`, `acknowledged` and `seen` are empty when it was
    not; times are ISO 8601.
    """

    alert: Alert
    opened: str
    sent: str = ""
    targets: tuple[str, ...] = ()
    acknowledged: str = ""
    seen: str = ""


@dataclass
class State:
    """All open alerts by their id, and the messages that no target has taken yet, in their order.

    `serial` is that of the last message of an old spool which counts (see `alerts/old_spool.py`).
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    waiting: list[Message] = field(default_factory=list)
    serial: int = 0


def stamp(now: datetime) -> str:
    """Return a time as it is stored.

    In microseconds, so that it is known which alerts were open when one was acknowledged.
    """
    return now.astimezone(timezone.utc).isoformat(timespec="microseconds")


def read(folder: Path, notes: list[str], *, aside: bool = True) -> State:
    """Read the state; one that is malformed counts as none, so that all alerts are sent again.

    What is malformed is put `aside` and noted. Raises StoredFault.
    """
    path = folder / "state.json"
    state, serial = State(), None
    try:
        data = state_files.read(path)
        if data is not None:
            if data["form"] != _FORM:
                raise ValueError(f"form {data['form']!r}, this program reads {_FORM}")
            entries = [_entry(stored) for stored in data["open"]]
            waiting = [Message(**stored) for stored in data.get("waiting", ())]
            serial = int(data["serial"])
            state = State({entry.alert.id: entry for entry in entries}, waiting, serial)
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        kept = f"; kept as {state_files.put_aside(path).name}" if aside else ""
        notes.append(f"{path}: malformed ({err!r}){kept}; all open alerts are sent again")
    for message in old_spool.messages(folder, serial, notes, aside=aside):
        if message not in state.waiting:  # after a kill between `write` and its end
            state.waiting.append(message)
    return state


def _entry(data: dict[str, Any]) -> Entry:
    entry = Entry(
        **{**data, "alert": Alert.from_data(data["alert"]), "targets": tuple(data["targets"])}
    )
    if datetime.fromisoformat(entry.opened).tzinfo is None:
        raise ValueError(f"{entry.opened!r} has no time zone")
    return entry


def write(folder: Path, state: State) -> None:
    """Write the state. Raises StoredFault."""
    data = {
        "form": _FORM,
        "serial": state.serial,
        "open": [
            {**asdict(entry), "alert": entry.alert.as_data()} for entry in state.entries.values()
        ],
        "waiting": [asdict(message) for message in state.waiting],
    }
    state_files.write(folder / "state.json", data)
    old_spool.clear(folder)
