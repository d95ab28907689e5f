"""The trusted process on the GPU: batches of the baselines, gates for those of solutions, and an idle GPU between."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from hone.judge.child.cuda.reference_checks import ReferenceChecks
from hone.judge.child.models import (
    seed_all,
)
from hone.judge.device.cuda import driver
from hone.judge.device.cuda.events import Gate
from hone.judge.device.cuda.models import captured_graph, profile_table

GATE_BATCHES = 9


class ReferenceHost(ReferenceChecks):
    """Answers the messages of `hone.judge.wire` that are marked (reference), on a GPU."""

    def _refresh(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """New inputs for some sets, hidden until `reveal`; poisoned outputs; the plain numbers, one mapping a set."""
        self._expected, self._yardstick = [], None
        self._seed = message["forward_seed"]
        self._count = count = message["sets"]
        self._scalars = self._fill_hidden(0, count, message["seed"], message["distribution"])
        self._poison_outputs()
        self._arguments = [self._arguments_of(index, self._scalars[index], fresh=False) for index in range(count)]
        driver.synchronize()
        return {"scalars": self._scalars}

    def _refresh_rest(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """New inputs for the sets from `first` on, hidden until `reveal`, and nothing else."""
        first = message["first"]
        self._scalars[first:] = self._fill_hidden(first, self._count, message["seed"], message["distribution"])
        driver.synchronize()
        return {"ok": True}

    def _reveal(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Show the hidden inputs of some sets and make the L2 cache forget; milliseconds until the GPU is idle."""
        started = time.perf_counter()
        part = slice(message["first"], message["end"])
        self._inputs.rows()[part].copy_(self._hidden.rows()[part])
        self._flusher.add_(1)
        driver.synchronize()
        return {"reveal_ms": (time.perf_counter() - started) * 1e3}

    def _untouched(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Whether the outputs of all sets from `first` on still are as they were poisoned.

        And, where the reference writes to inputs, whether those of the batch's sets still are as they were made.
        """
        part = slice(message["first"], self._count)
        outputs = bool((self._outputs.rows()[message["first"] :] == self._poison).all())
        inputs = not self._written or torch.equal(self._inputs.rows()[part], self._hidden.rows()[part])
        return {"untouched": outputs and inputs}

    def _flush(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self._flusher.add_(1)
        driver.synchronize()
        return {"ok": True}

    def _settle(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Milliseconds until an empty kernel is served at once, that is until the GPU has no other work."""
        started = time.perf_counter()
        while time.perf_counter() - started < message["limit_s"]:
            if self._pulse_s() < self._idle_s:
                return {"settle_ms": (time.perf_counter() - started) * 1e3}
        return {"settle_ms": message["limit_s"] * 1e3, "busy": True}

    def _close_gates(self, gate: Gate) -> int:
        """Close the gates of all runs; the value that will say that the last run is done."""
        driver.fill_words(self._gate_stream, gate.open_word(0), 0, self._inputs.region.count)
        driver.read_word(self._gate_stream, gate.done_word)
        self._gate_value += 1
        return self._gate_value

    def _open_gates(self, gate: Gate, first: int, end: int) -> None:
        driver.fill_words(self._gate_stream, gate.open_word(first), 1, end - first)

    def _open_own_gates(self) -> None:
        """Let all runs of a baseline begin as soon as they are launched."""
        self._open_gates(self._own_gate, 0, self._count)
        driver.read_word(self._gate_stream, self._own_gate.done_word)

    def _close(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._count, self._gate = message["sets"], self._gates[message["gate"]]
        return {"value": self._close_gates(self._gate)}

    def _open(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Open some gates for a solution's graph; if the last is among them, milliseconds until it says it is done."""
        started = time.perf_counter()
        self._open_gates(self._gate, message["first"], message["end"])
        while (
            message["wait"]
            and message["end"] == self._count
            and driver.read_word(self._gate_stream, self._gate.done_word) != self._gate_value
        ):
            if time.perf_counter() - started > message["limit_s"]:
                return {"wall_ms": message["limit_s"] * 1e3, "late": True}
        return {"wall_ms": (time.perf_counter() - started) * 1e3}

    def _batch(self, message: Mapping[str, Any]) -> dict[str, Any]:
        seed_all(self._seed)
        name = message["baseline"]
        if message["mode"] == "graph":
            value = self._close_gates(self._own_gate)
            self._clock.arm(self._graphs[name].replay, self._own_gate, value)
            self._open_gates(self._own_gate, 0, self._count)
            return {"device_ms": self._clock.collect()}
        if message["mode"] == "replay":
            self._open_own_gates()
            return {"device_ms": self._clock.time(self._graphs[name].replay)}
        kept: list[Any] = []
        model, arguments = self._models[name], self._arguments[: message["runs"]]
        elapsed = self._clock.time(lambda: kept.extend(model(*items) for items in arguments))
        return {"device_ms": elapsed}

    def _capture(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Make a graph of a batch, and say whether its steps are a `chain`."""
        name = message["baseline"]
        self._graphs.pop(name, None)
        seed_all(self._seed)
        with captured_graph() as graph:
            kept = []  # as a solution's: results of all runs at addresses of their own
            for run, items in enumerate(self._arguments):
                self._own_gate.wait(_capturing(), run)
                kept.append(self._models[name](*items))
            try:
                _, chain = driver.captured_steps(_capturing())
                answer: dict[str, Any] = {"chain": chain}
            except (driver.CudaError, AttributeError) as error:
                answer = {"uncounted": str(error)}
        self._open_own_gates()
        graph.replay()  # later launches need no more room than a kernel: the first one brings the graph to the GPU
        driver.synchronize()
        self._graphs[name] = graph
        return answer

    def _try_graph(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """As `capture`, and what the batch takes; the graph and its memory are given back."""
        answer = self._capture(message)
        graph = self._graphs.pop(message["baseline"])
        answer["batch_ms"] = self._clock.time(graph.replay)
        graph.reset()
        torch.cuda.empty_cache()
        return answer

    def _gate_cost(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """Milliseconds that a batch loses at each run's gate: batches of nothing but gates."""
        count = self._count
        graph = self._clock.gates_graph(self._own_gate, count)
        self._open_own_gates()
        taken = [self._clock.time(lambda: driver.launch_graph(graph, self._clock.stream)) for _ in range(GATE_BATCHES)]
        driver.destroy_graph(graph)
        queued = [self._queued_gates_ms(count) for _ in range(GATE_BATCHES)]
        middle = GATE_BATCHES // 2
        return {"graph_ms": sorted(taken)[middle] / count, "queued_ms": sorted(queued)[middle] / count}

    def _queued_gates_ms(self, count: int) -> float:
        """Milliseconds of a batch of gates that wait behind the first one, and are all opened at once."""
        value = self._close_gates(self._own_gate)

        def wait() -> None:
            for run in range(1, count):
                self._own_gate.wait(self._clock.stream, run)

        self._clock.arm(wait, self._own_gate, value)
        self._open_gates(self._own_gate, 0, count)
        return self._clock.collect()

    def _as_published(self, message: Mapping[str, Any]) -> dict[str, Any]:
        call = functools.partial(self._models[message["baseline"]], *self._arguments[0])
        return {"device_ms": self._clock.published_ms(call, message["trials"], flush=message["flush"])}

    def _spans(self, message: Mapping[str, Any]) -> dict[str, Any]:
        model = self._models[message["baseline"]]
        runs: list[Callable[[], object]] = [functools.partial(model, *items) for items in self._arguments]
        answer: dict[str, Any] = self._clock.busy_ms(runs)
        return answer

    def _compile(self, message: Mapping[str, Any]) -> dict[str, Any]:
        compiled: Any = torch.compile(self._models["torch_eager"], **message["options"])
        compiled(*self._values(self._seed, "as_given"))
        driver.synchronize()
        self._models[message["baseline"]] = compiled
        return {"ok": True}

    def _profile(self, _: Mapping[str, Any]) -> dict[str, Any]:
        model, values = self._models["torch_eager"], self._values(self._seed, "as_given")
        return {"table": profile_table(lambda: model(*values))}


def _capturing() -> ctypes.c_void_p:
    """The stream that PyTorch is capturing."""
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
