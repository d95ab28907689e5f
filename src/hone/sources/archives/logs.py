"""What KernelBench's harness prints while it evaluates: the reference's time, which its files of results leave out."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from hone.records import Claimed

Place = tuple[int, int, int]
"""Level, number, sample."""
Printed = Mapping[tuple[str, Place], tuple[float, float]]
"""Run and place of an answer -> milliseconds of the answer and of the reference."""

EVALUATION = "Starting Batch Eval with config:"
RUN = re.compile(r"'run_name': '([^']+)'")
LEVEL = re.compile(r"'level': (\d+)")
RESULT = re.compile(r"\[Eval Result\] Problem ID: (\d+), Sample ID: (\d+)")
TIMES = re.compile(r"\bcorrectness=True .*\bruntime=([\d.e+-]+) .*\bref_runtime=([\d.e+-]+)")


def printed_times(log: bytes) -> dict[tuple[str, Place], tuple[float, float]]:
    """Of every evaluation in a log the correct answers with both times; of an answer with several the last ones."""
    found: dict[tuple[str, Place], tuple[float, float]] = {}
    run, level, place = "", 0, None
    # A bar of progress goes back to the start of its line.
    for line in re.split(r"[\r\n]+", log.decode("utf-8", "replace")):
        if EVALUATION in line:
            named, leveled = RUN.search(line), LEVEL.search(line)
            run, level, place = (named[1], int(leveled[1]), None) if named and leveled else ("", 0, None)
        elif match := RESULT.search(line):
            place = (level, int(match[1]), int(match[2]))
        elif run and place and (times := TIMES.search(line)) and (pair := _positive(*times.groups())):
            found[run, place] = pair
            place = None
    return found


def _positive(*texts: str) -> tuple[float, float] | None:
    """Both numbers; None where one of them is none, or stands for an absent one."""
    try:
        own, reference = map(float, texts)
    except ValueError:
        return None
    return (own, reference) if own > 0 and reference > 0 else None


def with_reference(claimed: Claimed, runs: Collection[str], place: Place, printed: Printed) -> Claimed:
    """The claim with the reference's time and the speedup, where a log of one of the runs has the claim's own time."""
    for run in runs:
        own, reference = printed.get((run, place), (None, None))
        if claimed.correct and claimed.speedup is None and own and reference and own == claimed.runtime_ms:
            return claimed.model_copy(update={"reference_ms": reference, "speedup": reference / own})
    return claimed
