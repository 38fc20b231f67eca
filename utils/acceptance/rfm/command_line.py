"""What ReFrame's command line asks for, as far as it says whether checks run, and as which run.

ReFrame 4.10 (`frontend/cli.py`) parses it with argparse: one action only, long options may be cut,
short ones without a value may stand together.
"""

import re
from collections.abc import Iterable

#: Short options without a value, and `-r` after them.
_RUN = re.compile(r"-[Rvq]*r")
#: What the option `--session-extras` has, or a part of it.
_LABEL = re.compile(r"(?:--session-extras=)?(?:.*?,)?run=([^,]*)")


def runs_checks(words: Iterable[str]) -> bool:
    """Tell whether these arguments run checks, and do not list, try or describe them."""
    return any(word in ("--run", "--ru") or _RUN.match(word) for word in words)


def names_configuration(words: Iterable[str]) -> bool:
    """Tell whether these arguments name a configuration file."""
    return any(word.startswith(("-C", "--config-file")) for word in words)


def label_of(words: Iterable[str]) -> str:
    """Return the label of a run, `--session-extras run=LABEL`; empty where it has none."""
    found = filter(None, map(_LABEL.match, words))
    return next((match[1] for match in found), "")
