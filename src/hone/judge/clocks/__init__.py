"""How a batch of a side's runs is timed on a GPU: a module a clock, all behind `DeviceClock`.

| clock | launches | inputs are shown |
| --- | --- | --- |
| `graph` | captured once; one launch, each run waits at its gate | when all of it waits |
| `queued` | as ever, on the default stream; each run waits at its gate | when all of it waits |
| `replay` | captured once, one run; one launch | before |
| `stream` | as ever | before |

`graph` and `queued` leave the host's work out of the time. Those that capture can give other results than the same
calls without: that says something about the capture, nothing about the kernel.
"""

from hone.judge.clocks.base import DeviceClock
from hone.judge.clocks.graph import GraphClock
from hone.judge.clocks.queued import QueuedClock
from hone.judge.clocks.replay import ReplayClock
from hone.judge.clocks.stream import StreamClock
from hone.records import Mode

CLOCKS: dict[Mode, DeviceClock] = {
    clock.mode: clock for clock in (GraphClock(), QueuedClock(), ReplayClock(), StreamClock())
}

__all__ = ["CLOCKS", "DeviceClock"]
