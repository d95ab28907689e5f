"""Hone's protocol: turns of all sides in random order, on inputs that nobody has seen before, some of them audited."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from hone.judge.stand import SOLUTION, OtherResultsError, Timed
from hone.judge.verdict import Verdict
from hone.records import Performance, Protocol, Status

LEAST_TIMED_RUNS = 3


def measure(stand: Timed, baselines: Sequence[str], protocol: Protocol) -> Performance:
    """All turns, with the solution timed in the best way in which it gives right results.

    Raises Verdict when a timed result is wrong in PyTorch's ordinary environment, BaselineFailedError when an existing
    kernel fails.
    """
    while True:
        try:
            return _turns(stand, baselines, protocol)
        except OtherResultsError as error:
            if error.name != SOLUTION:
                raise Verdict(Status.MACHINE_ERROR, str(error)) from None
            stand.bar(error)


def _turns(stand: Timed, baselines: Sequence[str], protocol: Protocol) -> Performance:
    stand.begin(baselines)
    chance, turns, last = random.SystemRandom(), -protocol.warmup_runs, False
    stand.audit_apart(every_kind=True)
    while not last:
        turns += 1
        if turns <= 1:
            started = time.monotonic()  # warm-ups take none of the protocol's time
        if turns > 0 and chance.random() < 1 / protocol.audit_every:
            stand.audit_apart()
        last = turns >= protocol.timing_runs or stand.enough(turns, time.monotonic() - started)
        stand.turn(kept=turns > 0, audit=last or chance.random() < 1 / protocol.audit_every)
    return stand.performance()
