"""The protocol of an acceptance: as data, as Markdown, and drawn again to verify it."""

from acceptance.campaigns.protocol.build import decide
from acceptance.campaigns.protocol.files import check_folder, path_of, verify, write

__all__ = ["check_folder", "decide", "path_of", "verify", "write"]
