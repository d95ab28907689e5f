"""What makes the time of a correct solution doubtful."""

from __future__ import annotations

from hone.judge.findings import Findings
from hone.records import Performance

MUCH_CHARGED = 0.1
"""Of the solution's time."""
ANY_RULE = ("below_floor", "slow_times")


def note_doubts(findings: Findings, rule: str, *, own: bool) -> None:
    """Add what else is doubtful under the rule `hone`; `own`: the results are the work of the solution's kernels."""
    performance, errors = findings.performance, findings.errors
    assert performance is not None
    doubts = list(performance.findings)
    if rule != "hone":
        doubts = [item for item in doubts if item in ANY_RULE]
    else:
        doubts += ["precision_unchecked"] if errors and errors.yardstick == "none" else []
        doubts += [] if own else ["no_custom_kernel"]
    findings.performance = performance.model_copy(update={"findings": tuple(doubts)})


def was_disturbed(performance: Performance | None) -> bool:
    """Whether times may be those of a disturbed process: of two kinds, or with much charged.

    Work that a solution hides is charged in the next process, too. In the stream the host's noise is: in any process.
    """
    if performance is None or performance.clock is None:
        return False
    clock = performance.clock
    much = clock.mode != "stream" and clock.charged_ms > MUCH_CHARGED * performance.solution.latency_ms
    return much or "slow_times" in performance.findings
