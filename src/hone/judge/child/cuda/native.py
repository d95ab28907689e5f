"""The runner of .cu solutions: maps device memory and calls the launcher; no Python of the candidate's, no PyTorch."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from hone.judge.child.cpu.native import launcher_argument
from hone.judge.device.cuda import driver
from hone.judge.device.cuda.events import Clock, Gate
from hone.judge.device.cuda.sets import Region


class NativeHost:
    """`map` opens the context and the memory, `load` the shared object, `run` calls the launcher on some sets."""

    def __init__(self) -> None:
        self._launch: Any = None
        self._library: Any = None
        self._graph: Any = None
        self._addresses: list[dict[str, int]] = []
        self._calls: list[list[Any]] = []
        """The launcher's arguments for each set, all but the stream."""
        self._clock: Any = None

    def act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one message; what the driver reports becomes an answer too."""
        try:
            answer: dict[str, Any] = getattr(self, f"_{message['do']}")(message)
        except driver.CudaError as error:
            return {"error": {"kind": "memory" if error.code == OUT_OF_MEMORY else "run", "text": str(error)}}
        return answer

    def _warm(self, message: Mapping[str, Any]) -> dict[str, Any]:
        os.environ["CUDA_VISIBLE_DEVICES"] = message["gpu"]
        driver.open_context()
        # Runs that are no graph go to the default stream, as PyTorch's do: a launcher may leave its argument unused.
        self._clock, self._capturing = Clock(None), driver.new_stream()
        return {"ok": True}

    def _map(self, message: Mapping[str, Any]) -> dict[str, Any]:
        shared: dict[str, int] = {}
        for region_message, writable, descriptor in zip(
            message["regions"], message["writable"], message["descriptors"], strict=True
        ):
            region = Region.read(region_message)
            base = driver.import_memory(descriptor, region.nbytes, writable=writable)
            os.close(descriptor)
            places = [
                {slot.name: base + index * region.layout.nbytes + slot.offset for slot in region.layout.slots}
                for index in range(region.count)
            ]
            if region_message["name"] == "outputs":
                self._outputs, self._output_bytes = base, region.layout.nbytes
            if region_message["name"] == "gate":
                self._gate = Gate(base + region.layout.slots[0].offset)
            elif region_message["name"] == "parameters":
                shared = places[0]
            elif not self._addresses:
                self._addresses = places
            else:
                for known, more in zip(self._addresses, places, strict=True):
                    known.update(more)
        for known in self._addresses:
            known.update(shared)
        return {"ok": True}

    def _load(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            self._library = ctypes.CDLL(message["artifact"])
            self._launch = getattr(self._library, message["entry_point"])
        except OSError as error:
            return {"error": {"kind": "load", "text": f"the shared object cannot be loaded: {error}"}}
        except AttributeError:
            text = f"no function {message['entry_point']} with C linkage; wanted is {message['wanted']}"
            return {"error": {"kind": "load", "text": text}}
        self._launch.restype = None
        self._signature = message["signature"]
        return {"ok": True}

    def _prepare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of all sets: `scalars` has one mapping for each."""
        self._calls = [
            [launcher_argument(item, places, scalars) for item in self._signature]
            for places, scalars in zip(self._addresses, message["scalars"], strict=False)
        ]
        return {"ok": True}

    def _give_back(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing is kept for later here."""
        return {"ok": True}

    def _launcher(self, run: int, stream: Any = None) -> Callable[[], object]:
        return functools.partial(self._launch, *self._calls[run], stream)

    def _run(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if message.get("as_published"):
            return self._as_published(message)
        if message["mode"] == "null":
            words = message["sets"] * self._output_bytes // 4
            elapsed = self._clock.time(lambda: driver.fill_words(self._clock.stream, self._outputs, 0, words))
            return {"done": message["nonce"], "device_ms": elapsed}
        if message["mode"] == "replay":
            elapsed = self._clock.time(lambda: driver.launch_graph(self._graph, self._clock.stream))
        else:
            calls = [self._launcher(run) for run in range(message["sets"])]
            elapsed = self._clock.time(lambda: [call() for call in calls])
        return self._launch_error() or {"done": message["nonce"], "device_ms": elapsed}

    def _arm(self, message: Mapping[str, Any]) -> dict[str, Any]:
        graph, stream = self._graph, self._clock.stream
        if message["null"]:
            graph = self._clock.null_graph(self._gate, message["null"])
        queued = message["how"] == "queued"
        work = self._queue if queued else functools.partial(driver.launch_graph, graph, stream)
        self._clock.arm(work, self._gate, message["value"])
        return (self._launch_error() if queued else {}) or {"ok": True}

    def _queue(self) -> None:
        """Put the launches of all runs on the default stream, each behind its gate."""
        for run in range(len(self._calls)):
            if run:  # the first gate has been passed when the clock starts
                self._gate.wait(self._clock.stream, run)
            self._launcher(run)()

    def _as_published(self, message: Mapping[str, Any]) -> dict[str, Any]:
        taken = self._clock.published_ms(self._launcher(0), message["trials"], flush=message["flush"])
        return self._launch_error() or {"done": message["nonce"], "device_ms": taken}

    def _collect(self, _: Mapping[str, Any]) -> dict[str, Any]:
        elapsed = self._clock.collect()
        return self._launch_error() or {"device_ms": elapsed}

    def _capture(self, _: Mapping[str, Any]) -> dict[str, Any]:
        if self._graph is not None:
            driver.destroy_graph(self._graph)
            self._graph = None
        driver.begin_capture(self._capturing)
        try:
            for run in range(len(self._calls)):
                self._gate.wait(self._capturing, run)
                self._launcher(run, self._capturing)()
            steps = driver.count_captured(self._capturing)
        finally:  # what cannot be captured must leave the stream, and the runtime's last error, as before
            try:
                self._graph = driver.end_capture(self._capturing)
            finally:
                error = self._launch_error()
        return error or {"steps": steps}

    def _spans(self, _: Mapping[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._clock.busy_ms([self._launcher(run) for run in range(len(self._calls))])
        return self._launch_error() or answer

    def _launch_error(self) -> dict[str, Any]:
        """What the solution's own CUDA runtime holds against its last launch; empty when nothing."""
        try:
            code = int(self._library.hone_last_error())
        except AttributeError:
            return {}
        if not code:
            return {}
        self._library.hone_error_text.restype = ctypes.c_char_p
        text = (self._library.hone_error_text(code) or b"").decode("utf-8", "replace")
        return {"error": {"kind": "memory" if code == RUNTIME_OUT_OF_MEMORY else "run", "text": f"CUDA: {text}"}}


OUT_OF_MEMORY = 2
RUNTIME_OUT_OF_MEMORY = 2
