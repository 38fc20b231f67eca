"""How bad a finding is; the worst first."""

CRITICAL, MAJOR, MINOR, INFO = "critical", "major", "minor", "info"
SEVERITIES = (CRITICAL, MAJOR, MINOR, INFO)
