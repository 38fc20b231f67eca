"""Samples in columns, derived from what `rfm` reads; brought up to date before it is read."""

from acceptance.store import parquet, reading
from acceptance.store.samples import Runs, Samples
from acceptance.store.schema import REPEATED, SHARED_MACHINE, UNFIT
from acceptance.store.store import Store, open_store
from acceptance.store.taking import software_of

__all__ = [
    "REPEATED",
    "SHARED_MACHINE",
    "UNFIT",
    "Runs",
    "Samples",
    "Store",
    "open_store",
    "parquet",
    "reading",
    "software_of",
]
