"""The protocol of an acceptance: as data, as Markdown, and drawn again to verify it."""

from acceptance.campaigns.protocol.build import build
from acceptance.campaigns.protocol.conclusions import status
from acceptance.campaigns.protocol.files import check_folder, verify, write

__all__ = ["build", "check_folder", "status", "verify", "write"]
