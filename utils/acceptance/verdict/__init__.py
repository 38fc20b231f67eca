"""One verdict on a run: complete, passed, no worse than before; as text, JUnit, Prometheus."""

from acceptance.verdict import prometheus, stored
from acceptance.verdict.case_findings import expected_text, misses, of_case
from acceptance.verdict.cases import judge_cases, result_of
from acceptance.verdict.conclude import conclude, find_run
from acceptance.verdict.coverage import LINK_SUITE, judge_nodes
from acceptance.verdict.evidence import Evidence, Run
from acceptance.verdict.junit import junit
from acceptance.verdict.model import ACCEPT, CaseResult, Status, SuiteUse, Verdict
from acceptance.verdict.nodes import (
    Nodes,
    PartitionNodes,
    node_lines,
    place_of,
    stated_nodes,
    written_nodes,
)
from acceptance.verdict.remeasure import Repetition
from acceptance.verdict.text import WORDS, verdict_text
