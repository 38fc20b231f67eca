"""What every correct MPI satisfies, and where a session shows that one does not."""

from acceptance.guidelines.evaluate import Report, Violation, earlier, judge
