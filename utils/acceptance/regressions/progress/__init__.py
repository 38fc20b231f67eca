"""What is known of all series after the newest session, and how the next one is taken in."""

from acceptance.regressions.progress.progress import Progress, Recent, is_old, update
from acceptance.regressions.progress.records import Shared
