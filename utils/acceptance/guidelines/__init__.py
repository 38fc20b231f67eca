"""What every correct MPI satisfies, and where a session shows that one does not."""

from acceptance.guidelines.evaluate import FAIL, SHOW, earlier, evaluate, judge
from acceptance.guidelines.findings import Report, Violation

__all__ = ["FAIL", "SHOW", "Report", "Violation", "earlier", "evaluate", "judge"]
