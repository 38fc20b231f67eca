"""GUIDs of InfiniBand in one form: `0x` and 16 lower-case hexadecimal digits.

sysfs writes `9803:9b03:0050:0000`, the programs `0x98039b0300500000` or without its zeros.
"""

import re

#: A device without a GUID has zeros there.
NO_GUID = "0x" + 16 * "0"
_GUID = re.compile(r"(?:0x)?([0-9a-f]{1,16})\Z", re.IGNORECASE)


def guid_text(text: str) -> str:
    """Write a GUID in our form; empty for a text that is none."""
    match = _GUID.match(text.replace(":", ""))
    return f"0x{match[1].lower():0>16}" if match else ""
