"""The runner of .cu solutions: maps device memory and calls the launcher; no Python of the candidate's, no PyTorch."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from typing import Any

from hone.judge.child.native import launcher_argument
from hone.judge.cuda import driver
from hone.judge.cuda.batches import Clock, Gate
from hone.judge.cuda.sets import Region


class NativeHost:
    """`map` opens the context and the memory, `load` the shared object, `run` calls the launcher on some sets."""

    def __init__(self) -> None:
        self._launch: Any = None
        self._library: Any = None
        self._graph: Any = None
        self._addresses: list[dict[str, int]] = []
        self._calls: list[Callable[[], object]] = []
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
        self._clock = Clock(driver.new_stream())
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
            self._call_of([launcher_argument(item, places, scalars) for item in self._signature])
            for places, scalars in zip(self._addresses, message["scalars"], strict=False)
        ]
        return {"ok": True}

    def _call_of(self, arguments: list[Any]) -> Callable[[], object]:
        launch, stream = self._launch, self._clock.stream
        return lambda: launch(*arguments, stream)

    def _run(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if message["mode"] == "null":
            words = message["sets"] * self._output_bytes // 4
            elapsed = self._clock.time(lambda: driver.fill_words(self._clock.stream, self._outputs, 0, words))
            return {"done": message["nonce"], "device_ms": elapsed}
        if message["mode"] == "replay":
            elapsed = self._clock.time(lambda: driver.launch_graph(self._graph, self._clock.stream))
        else:
            calls = self._calls[: message["sets"]]
            elapsed = self._clock.time(lambda: [call() for call in calls])
        return self._launch_error() or {"done": message["nonce"], "device_ms": elapsed}

    def _arm(self, message: Mapping[str, Any]) -> dict[str, Any]:
        graph, stream = self._graph, self._clock.stream
        if message["null"]:
            graph = self._clock.null_graph(self._gate, message["null"])
        self._clock.arm(lambda: driver.launch_graph(graph, stream), self._gate, message["value"])
        return {"ok": True}

    def _collect(self, _: Mapping[str, Any]) -> dict[str, Any]:
        elapsed = self._clock.collect()
        return self._launch_error() or {"device_ms": elapsed}

    def _capture(self, _: Mapping[str, Any]) -> dict[str, Any]:
        if self._graph is not None:
            driver.destroy_graph(self._graph)
            self._graph = None
        driver.begin_capture(self._clock.stream)
        try:
            for run, call in enumerate(self._calls):
                self._gate.wait(self._clock.stream, run)
                call()
        finally:  # what cannot be captured must leave the stream, and the runtime's last error, as before
            try:
                self._graph = driver.end_capture(self._clock.stream)
            finally:
                error = self._launch_error()
        return error or {"ok": True}

    def _spans(self, _: Mapping[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._clock.busy_ms(self._calls)
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
