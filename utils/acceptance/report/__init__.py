"""A static site for people: pages made of verdicts, history, references and fabric facts."""

from acceptance.report.site import ReportFault, Written, write
from acceptance.report.source import Protocol, Selection, Source

__all__ = ["Protocol", "ReportFault", "Selection", "Source", "Written", "write"]
