"""What was measured: all that ReFrame ever stored, and the only code that reads its database."""

from acceptance.ledger import durations, prune, reading
from acceptance.ledger.ledger import (
    GONE,
    Entry,
    Ledger,
    campaign_of,
    last_first,
    of,
    of_file,
    repeated,
    runs_of,
    step_of,
)
from acceptance.ledger.reading import Ints, Samples
from acceptance.ledger.records import Case, Metric, Session, node_of_case
from acceptance.ledger.results_db import ResultsFault, SessionFault
from acceptance.ledger.rows import REPEATED, SHARED_MACHINE, software_of
