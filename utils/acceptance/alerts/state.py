"""The alerts that are open, as they are kept from one run to the next: `var/alerts/state.json`."""

from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from acceptance.alerts.alert import Alert
from acceptance.core import state_files

#: Form of the file.
_FORM = 1


@dataclass(frozen=True)
class Entry:
    """An open alert: when it was first seen, when and to whom it was sent, who acknowledged it.

    `sent` and `acknowledged` are empty when it was not; times are ISO 8601.
    """

    alert: Alert
    opened: str
    sent: str = ""
    targets: tuple[str, ...] = ()
    acknowledged: str = ""


@dataclass
class State:
    """All open alerts by their id, and the serial of the last message."""

    entries: dict[str, Entry] = field(default_factory=dict)
    serial: int = 0
    known: bool = False  # whether it was read from a file, so that `serial` tells what is committed


def stamp(now: datetime) -> str:
    """Return a time as it is stored.

    In microseconds, so that it is known which alerts were open when one was acknowledged.
    """
    return now.astimezone(timezone.utc).isoformat(timespec="microseconds")


def read(folder: Path, notes: list[str], *, aside: bool = True) -> State:
    """Read the state; one that is malformed counts as none, so that all alerts are sent again.

    It is put `aside` and noted. Raises StoredFault.
    """
    path = folder / "state.json"
    try:
        data = state_files.read(path)
        if data is None:
            return State()
        if data["form"] != _FORM:
            raise ValueError(f"form {data['form']!r}, this program reads {_FORM}")
        entries = [_entry(one) for one in data["open"]]
        return State({one.alert.id: one for one in entries}, int(data["serial"]), known=True)
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        kept = f"; kept as {state_files.put_aside(path).name}" if aside else ""
        notes.append(f"{path}: malformed ({err!r}){kept}; all open alerts are sent again")
        return State()


def _entry(data: dict[str, Any]) -> Entry:
    entry = Entry(
        **{**data, "alert": Alert.from_data(data["alert"]), "targets": tuple(data["targets"])}
    )
    if datetime.fromisoformat(entry.opened).tzinfo is None:
        raise ValueError(f"{entry.opened!r} has no time zone")
    return entry


def write(folder: Path, state: State, now: datetime) -> None:
    """Write the state. Raises StoredFault."""
    entries = [{**asdict(one), "alert": one.alert.as_data()} for one in state.entries.values()]
    data = {"form": _FORM, "written": stamp(now), "serial": state.serial, "open": entries}
    state_files.write(folder / "state.json", data)
