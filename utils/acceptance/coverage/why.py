"""Why some rows and claims of `reference/` judge no case."""

from enum import Enum


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
