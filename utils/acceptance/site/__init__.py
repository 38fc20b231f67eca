"""Getting a machine ready: the doctor, and a first configuration of a new site."""

from acceptance.site import init
from acceptance.site.doctor import BROKEN, MISSING, OK, Examined, examine

__all__ = [
    "BROKEN",
    "MISSING",
    "OK",
    "Examined",
    "examine",
    "init",
]
