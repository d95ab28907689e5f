"""What is left of a published claim, in one word: what the table, its summary and its figure tell apart."""

from __future__ import annotations

from typing import Literal

from hone.analysis.archives import UNRESOLVED
from hone.records import Status

Standing = Literal[
    "credited", "doubtful", "degenerate", "no_custom_kernel", "fallback", "too_fast", "imprecise", "fails", "no_verdict"
]
FINDINGS: tuple[tuple[str, Standing], ...] = (
    ("below_floor", "too_fast"),
    ("fallback", "fallback"),
    ("no_custom_kernel", "no_custom_kernel"),
)
"""Findings that have a word of their own, the gravest first; all others are `doubtful`."""
MEANINGS: dict[Standing, str] = {
    "credited": "passes, no finding",
    "doubtful": "passes, other finding",
    "degenerate": "passes a degenerate problem",
    "no_custom_kernel": "passes, no kernel of its own",
    "fallback": "passes by a fallback",
    "too_fast": "faster than the GPU can be",
    "imprecise": "right, but imprecise",
    "fails": "fails",
    "no_verdict": "no verdict here",
}
"""In words of a few letters, as figures have them; in the order of legends."""


def standing(status: str, findings: str, sound: bool) -> Standing:
    """The gravest thing that our rule has against an answer.

    `findings` joined by `; `; `sound`: no kernel that leaves out the work passes the problem, as far as is known.
    """
    if status in UNRESOLVED:
        return "no_verdict"
    if status != Status.PASSED:
        return "imprecise" if status == Status.IMPRECISE else "fails"
    found = findings.split("; ")
    for finding, word in FINDINGS:
        if finding in found:
            return word
    if not sound:
        return "degenerate"
    return "doubtful" if findings else "credited"
