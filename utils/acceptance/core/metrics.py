"""Names of metrics: a stem, keys of this metric alone, and the message size in bytes.

`bandwidth_1024`; in a case that has results under several values of a key also
`bandwidth_peak.distance.4`, or `bandwidth.pattern.nearest_1024`.
"""

import re
from collections.abc import Mapping

_SIZED = re.compile(r"(?P<stem>[A-Za-z].*)_(?P<size>\d+)\Z")
#: The keys of `reference/README.md` that a name can have.
_KEY = re.compile(r"\.(?P<key>distance|pairs|pattern)\.(?P<value>[^.]+)\Z")


def sized(stem: str, message_size: int) -> str:
    """Name the metric of one message size (bytes): `bandwidth`, 1024 -> `bandwidth_1024`."""
    return f"{stem}_{message_size}"


def keyed(stem: str, keys: Mapping[str, object]) -> str:
    """Return a stem with keys: `bandwidth`, {"distance": 4} -> `bandwidth.distance.4`."""
    return stem + "".join(f".{key}.{value}" for key, value in keys.items())


def split(name: str) -> tuple[str, int | None]:
    """Split a name into stem and message size (bytes): `bandwidth_1024` -> `bandwidth`, 1024.

    A name without a size has None there.
    """
    found = _SIZED.match(name)
    return (found["stem"], int(found["size"])) if found else (name, None)


def read(name: str) -> tuple[str, dict[str, str]]:
    """Return the bare stem of a name, and its parameters: keys and `message_size`."""
    stem, size = split(name)
    parameters = {}
    while found := _KEY.search(stem):
        parameters[found["key"]] = found["value"]
        stem = stem[: found.start()]
    return stem, parameters | ({} if size is None else {"message_size": str(size)})
