"""What became worse: series of samples, changes in them, grouped into incidents."""

from acceptance.detection.constants import AGAIN_FEWEST, BASELINE_NIGHTS
from acceptance.detection.evidence import BUFFER as LOOKS_BACK
from acceptance.regressions import history, judge, new_baseline
from acceptance.regressions.changes import Change, OpenIncident
from acceptance.regressions.judge import Judgement
from acceptance.regressions.new_baseline import Proposal
