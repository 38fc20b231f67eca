"""One verdict on a run: complete, passed, no worse than before; and its forms for others."""

from acceptance.nodes import ROUNDS_LIMIT, Aim, Chance, Power, chance_table
from acceptance.verdict import stored, telemetry
from acceptance.verdict.cases import (
    expected_text,
    judge_cases,
    metric_verdict,
    misses,
    of_case,
    result_of,
    text_of,
)
from acceptance.verdict.conclude import conclude
from acceptance.verdict.coverage import LINK_SUITE, judge_nodes, why_no_case
from acceptance.verdict.evidence import Evidence, Run, find_run
from acceptance.verdict.model import (
    ACCEPT,
    CaseResult,
    Status,
    SuiteUse,
    Verdict,
    guidelines_text,
)
from acceptance.verdict.nodes import (
    Nodes,
    Paired,
    PartitionNodes,
    node_lines,
    short_name,
    stated_nodes,
    written_nodes,
)
from acceptance.verdict.outputs import WORDS, Judged, bencher, junit, prometheus, verdict_text
from acceptance.verdict.punchlist import punch_list
from acceptance.verdict.remeasured import Repetition
from acceptance.verdict.rules import of_claims
