"""Which cases of a listing each row and claim of `reference/` judges, and why some judge none."""

from acceptance.coverage.claims import CoveredClaim, cover_claims
from acceptance.coverage.rows import CoveredRow, Judged, cover_rows
from acceptance.coverage.why import Why

__all__ = ["CoveredClaim", "CoveredRow", "Judged", "Why", "cover_claims", "cover_rows"]
