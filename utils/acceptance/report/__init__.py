"""A static site for people: pages made of verdicts, history, references and fabric facts."""

from acceptance.report.site import write
from acceptance.report.source import Source
