"""Names of metrics: a stem and, for a sweep over message sizes, the size in bytes."""

import re

_SIZED = re.compile(r"(?P<stem>[A-Za-z].*)_(?P<size>\d+)\Z")


def sized(stem: str, message_size: int) -> str:
    """Name the metric of one message size (bytes): `bandwidth`, 1024 -> `bandwidth_1024`."""
    return f"{stem}_{message_size}"


def split(name: str) -> tuple[str, int | None]:
    """Split a name into stem and message size (bytes): `bandwidth_1024` -> `bandwidth`, 1024.

    A name without a size has None there.
    """
    found = _SIZED.match(name)
    return (found["stem"], int(found["size"])) if found else (name, None)
