"""One verdict on a run: complete, passed, no worse than before; as text, JUnit, Prometheus."""

from acceptance.verdict import prometheus, stored
from acceptance.verdict.cases import judge_cases, of_culprits
from acceptance.verdict.conclude import by_hand, conclude
from acceptance.verdict.coverage import looked_at
from acceptance.verdict.evidence import Evidence, Run
from acceptance.verdict.junit import junit
from acceptance.verdict.model import (
    LEFT_OUT,
    CaseResult,
    Problem,
    Status,
    SuiteUse,
    Verdict,
)
from acceptance.verdict.nodes import (
    Nodes,
    compared_nodes,
    coverage_text,
    judge_nodes,
    limited_text,
    measured_of,
    node_lines,
    not_benchmarked,
    place_of,
    stated_nodes,
)
from acceptance.verdict.remeasure import Repetition
from acceptance.verdict.stored import VerdictFault
from acceptance.verdict.text import WORDS, verdict_text
