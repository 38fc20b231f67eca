"""In which modes a row or a claim of `reference/` judges cases, and why some judge none."""

from enum import Enum

#: How much is measured, the least first.
MODES = ("smoke", "nightly", "acceptance")


class Why(Enum):
    """A reason; its value is the word for it."""

    HARDWARE = "hardware fact"
    PROGRAM = "no program"
    METRIC = "no metric"
    PARTITION = "no partition"
    WORDS = "size in words"
    KEY = "parameter never run"
    STRICTER = "another row judges"
    BOUND = "cannot fail"
    CASE = "no case"
