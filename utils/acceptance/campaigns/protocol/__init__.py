"""The protocol of an acceptance: as data, as Markdown, and drawn again to verify it."""

from acceptance.campaigns.protocol.build import (
    accept_fabrics,
    check_folder,
    decide,
    path_of,
    protocol_of,
    verify,
    write,
)
from acceptance.campaigns.protocol.conclusions import ACCEPTED, REJECTED
