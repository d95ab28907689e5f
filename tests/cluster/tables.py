"""Tables of two runs, compared but for what a clock decides; a column's name tells."""

import csv
import re

TIMED = re.compile(
    r"_(s|ms|us|ms_low|ms_high)$|^seconds$|speedup|gain|efficiency|blocked_share|bandwidth_share"
    r"|^(findings|doubtful|lane|peak_memory_bytes)$"
)
SHARES = {"fast_p", "ci_low", "ci_high"}
"""At a threshold p above 0 these are decided by times."""
BEST = {"turn", "sample", "solution"}
"""In `kernelbench_speedups` the fastest of several."""


def untimed(folder):
    """Table -> its rows as a sorted list, without what a clock decides."""
    found = {}
    for file in sorted(folder.glob("*.csv")):
        with file.open() as lines:
            rows = [_untimed(file.stem, row) for row in csv.DictReader(lines)]
        found[file.stem] = sorted(rows)
    return found


def _untimed(table, row):
    timed = {name for name in row if TIMED.search(name)}
    if float(row.get("p", 0)) > 0:
        timed |= SHARES
    if table == "kernelbench_speedups":
        timed |= BEST
    return tuple((name, value) for name, value in row.items() if name not in timed)
