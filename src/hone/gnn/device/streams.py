"""Work beside what the next kernel waits for, and work that is captured."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


class Aside:
    """A stream for what the current one needs only later; can be captured. Without one all is done in turn."""

    def __init__(self, stream: torch.cuda.Stream | None = None) -> None:
        """`stream` is no other's."""
        self._stream = stream
        self._open = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """What is launched inside begins when all that was launched before has been done, and nothing waits for it."""
        if self._stream is None:
            yield
            return
        self._stream.wait_stream(torch.cuda.current_stream())
        self._open = True
        with torch.cuda.stream(self._stream):
            yield

    def join(self) -> None:
        """Wait, on the current stream, for what was launched since the last time; a capture has no need of others."""
        if self._stream is not None and self._open:
            torch.cuda.current_stream().wait_stream(self._stream)
            self._open = False


IN_TURN = Aside()
"""One kernel after the other."""


def nothing() -> None:
    """What is done meanwhile where there is nothing to do."""


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """A finalizer that frees something of CUDA's would spoil what is being captured."""
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def stream_on(device: torch.device, priority: int = 0) -> torch.cuda.Stream | None:
    """A stream of its own on a GPU; none on a CPU."""
    return torch.cuda.Stream(device, priority) if device.type == "cuda" else None  # type: ignore[no-untyped-call]


def graph_of(
    work: Callable[[], object], stream: torch.cuda.Stream | None = None, pool: Any = None, *,
    generator: torch.Generator | None = None, alone: bool = True,
) -> Callable[[], object]:  # fmt: skip
    """What launches all that `work` launches, as one CUDA graph; `stream` is the one that it is captured on.

    `pool`: memory (`torch.cuda.graph_pool_handle`) that it shares with graphs that never run at the same time.
    `generator`: what `work` draws from; the graph draws from its state at each launch. `alone`: no other thread of this
    process calls CUDA meanwhile.
    Raises RuntimeError where `work` does what cannot be captured.
    """
    graph = torch.cuda.CUDAGraph()
    if generator is not None:
        graph.register_generator_state(generator)
    mode = "global" if alone else "thread_local"
    with _nothing_collected(), torch.cuda.graph(graph, stream=stream, pool=pool, capture_error_mode=mode):
        work()
    replay: Callable[[], object] = graph.replay
    return replay
