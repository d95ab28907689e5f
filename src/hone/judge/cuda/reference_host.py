"""The trusted process on the GPU: inputs, expected outputs, comparison, baselines."""

from __future__ import annotations

import copy
import ctypes
import functools
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from hone.judge.child.models import (
    UnexpectedOutput,
    build_model,
    check_and_copy,
    describe_error,
    flatten,
    load_module,
    seed_all,
    silence,
)
from hone.judge.cuda import driver
from hone.judge.cuda.batches import Clock, Gate
from hone.judge.cuda.checks import DeviceTally, changed_inputs, distance, rounding_slack, scale_of
from hone.judge.cuda.memory import DeviceArena
from hone.judge.cuda.models import allow_tf32, profile_table, set_sizes
from hone.judge.cuda.sets import Region
from hone.judge.cuda.values import redistribute

FLUSH_BYTES = 512 << 20
"""Several times the largest L2 cache."""
EXACT_BYTES = 24 << 30
EXACT_FLOPS = 4e12
"""Up to this size the reference is also computed in float64, which takes up to a few hundred milliseconds."""
RANDOM_ELEMENTS = 1 << 28
GATE_BATCHES = 9
IDLE_S = 60e-6
"""An empty kernel takes less when nobody else uses the GPU."""


class ReferenceHost:
    """Answers the messages of `hone.judge.wire` that are marked (reference), on a GPU."""

    def __init__(self) -> None:
        silence()
        self._models: dict[str, Any] = {}
        self._graphs: dict[str, Any] = {}
        self._descriptors: list[int] = []
        self._expected: list[torch.Tensor] = []
        self._exact_model: Any = None
        self._exact: list[torch.Tensor] | None = None
        self._returned: list[Any] = []
        self._arguments: list[list[Any]] = []
        self._after: dict[str, torch.Tensor] = {}
        self._written: list[str] = []
        self._slacks: dict[str, list[float]] = {}
        """Distribution -> for each output what an element may be off beside the tolerance; under the rule `hone`."""
        self._poison = 0xFF
        self._seed = 0

    def act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one message; whatever the reference raises becomes an answer too."""
        try:
            with torch.no_grad():
                answer: dict[str, Any] = getattr(self, f"_{message['do']}")(message)
        except driver.CudaError as error:
            return {"error": {"kind": "memory" if "out of memory" in str(error) else "run", "text": str(error)}}
        except Exception as error:  # noqa: BLE001  the boundary to code that may raise anything
            return describe_error(error, "load" if message["do"] == "load" else "run")
        return answer

    def descriptors(self) -> list[int]:
        """Of the regions inputs, outputs, parameters, gate; for `hand_over`."""
        return self._descriptors

    # ---------------------------------------------------------------------------------------------- set-up

    def _warm(self, message: Mapping[str, Any]) -> dict[str, Any]:
        os.environ["CUDA_VISIBLE_DEVICES"] = message["gpu"]
        allow_tf32(message["tf32"])
        torch.cuda.init()  # type: ignore[no-untyped-call]
        driver.open_context()
        self._clock = Clock(None)
        self._pulse = torch.zeros(1, device="cuda")
        self._flusher = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        free, _ = torch.cuda.mem_get_info()
        properties = torch.cuda.get_device_properties(0)
        return {
            "free_bytes": free,
            "bandwidth_gbs": 2 * properties.memory_clock_rate * properties.memory_bus_width / 8 / 1e6,
            "peak_gflops": 4096e-9 * properties.multi_processor_count * properties.clock_rate * 1e3,
            "l2_bytes": properties.L2_cache_size,
        }

    def _load(self, message: Mapping[str, Any]) -> dict[str, Any]:
        torch.set_num_threads(message["threads"])
        self._order, self._dtype = message["arguments"], getattr(torch, message["dtype"])
        self._module = load_module("hone_reference", message["reference"])
        set_sizes(self._module, message["sizes"])
        with torch.device("cuda"):
            model = build_model(self._module, self._module.Model, message["seed"], message["dtype"]).cuda()
        self._models, self._graphs, self._exact_model = {"torch_eager": model}, {}, None
        if not self._descriptors:
            regions = {item["name"]: Region.read(item) for item in message["regions"]}
            self._inputs, self._outputs, self._parameters, gate = (
                self._allocate(regions[name]) for name in ("inputs", "outputs", "parameters", "gate")
            )
            gate.bytes.zero_()
            self._gate = Gate(gate.bytes.data_ptr() + gate.region.layout.slots[0].offset)
            self._gate_stream, self._gate_value = driver.new_stream(), 0
            self._names = [slot.name for slot in self._outputs.region.layout.slots]
        self._write_parameters(model)
        self._find_written(message["seed"])
        return {"written": self._written, "random": self._is_random(message["seed"])}

    def _allocate(self, region: Region) -> DeviceArena:
        address, descriptor = driver.allocate(region.nbytes)
        self._descriptors.append(descriptor)
        os.set_inheritable(descriptor, False)
        return DeviceArena(region, address)

    def _write_parameters(self, model: Any) -> None:
        state = {
            name.replace(".", "_"): tensor for name, tensor in model.state_dict().items() if tensor.is_floating_point()
        }
        places = self._parameters.sets[0]
        if list(state) != list(places):
            raise UnexpectedOutput(f"parameters are {list(state)}, the definition has {list(places)}")
        check_and_copy(list(state.values()), list(places.values()), list(state))

    def _find_written(self, seed: int) -> None:
        """One run, which also brings the libraries' code to the GPU; notes which inputs the reference writes to."""
        values = self._values(seed, "as_given")
        versions = [value._version if isinstance(value, torch.Tensor) else 0 for value in values]
        self._models["torch_eager"](*values)
        driver.synchronize()
        self._written = [
            name
            for name, value, version in zip(self._order, values, versions, strict=True)
            if isinstance(value, torch.Tensor) and value._version != version
        ]

    def _is_random(self, seed: int) -> bool:
        """Whether the same inputs give other results under another seed, as with dropout in training mode."""
        results = []
        for forward_seed in (seed, seed + 1):
            values = self._values(seed, "as_given")
            seed_all(forward_seed)
            results.append(flatten(self._models["torch_eager"](*values)))
            del values
        first, second = results
        return any(
            not torch.allclose(one, other, rtol=1e-2, atol=1e-2, equal_nan=True)
            for one, other in zip(first, second, strict=True)
            if one.is_floating_point() and one.numel() < RANDOM_ELEMENTS
        )

    # ---------------------------------------------------------------------------------------------- values

    def _values(self, seed: int, distribution: str) -> list[Any]:
        """What `get_inputs` gives on the GPU for a seed, floating-point tensors in the workload's data type."""
        seed_all(seed)
        with torch.device("cuda"):
            values = list(self._module.get_inputs())
        if len(values) != len(self._order):
            raise UnexpectedOutput(f"get_inputs gives {len(values)} values, the definition has {len(self._order)}")
        values = [value.cuda() if isinstance(value, torch.Tensor) else value for value in values]
        values = [
            value.to(self._dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
            for value in values
        ]
        return redistribute(values, distribution, seed)

    def _fill(self, index: int, seed: int, distribution: str) -> dict[str, Any]:
        """Write the inputs of a seed to a set; returns the arguments that are plain numbers."""
        values = dict(zip(self._order, self._values(seed, distribution), strict=True))
        places = self._inputs.sets[index]
        tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
        if list(tensors) != list(places):
            raise UnexpectedOutput(f"input tensors are {list(tensors)}, the definition has {list(places)}")
        check_and_copy(list(tensors.values()), list(places.values()), list(tensors))
        return {name: value for name, value in values.items() if name not in tensors}

    def _arguments_of(self, index: int, scalars: Mapping[str, Any], *, fresh: bool) -> list[Any]:
        """Forward's arguments; `fresh`: copies of what it writes to, so that the shared ones stay as they are."""
        places = self._inputs.sets[index]
        chosen = {name: places[name].clone() if fresh and name in self._written else places[name] for name in places}
        return [scalars[name] if name in scalars else chosen[name] for name in self._order]

    def _poison_outputs(self) -> None:
        floating = all(slot.dtype.startswith(("float", "bfloat")) for slot in self._outputs.region.layout.slots)
        self._poison = 0xFF if floating else 0x81 + os.urandom(1)[0] % 0x7D
        self._outputs.bytes.fill_(self._poison)

    # --------------------------------------------------------------------------------------- correctness

    def _trial(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Inputs in set 0, poisoned outputs, expected results; `usable`: the reference gives numbers for them."""
        scalars = self._fill(0, message["seed"], message["distribution"])
        self._trial_values = (message["seed"], message["distribution"])
        self._poison_outputs()
        self._expect(0, scalars, message["forward_seed"])
        usual = message["distribution"] == "as_given"
        finite = all(bool(out.isfinite().all()) for out in self._expected if out.is_floating_point())
        self._exact = self._exactly(scalars, message["forward_seed"]) if message["exact"] and finite else None
        base = distance(self._expected, self._exact) if self._exact is not None else None
        if self._exact is not None:
            self._slacks[message["distribution"]] = [
                rounding_slack(want, exact) for want, exact in zip(self._expected, self._exact, strict=True)
            ]
        driver.synchronize()
        return {
            "scalars": scalars,
            "usable": usual or (finite and (base is None or base < 1e-2)),
            "baseline_error": base,
        }

    def _expect(self, index: int, scalars: Mapping[str, Any], forward_seed: int) -> None:
        self._returned, self._expected = [], []
        arguments = self._arguments_of(index, scalars, fresh=True)
        seed_all(forward_seed)
        returned = flatten(self._models["torch_eager"](*arguments))
        places = self._outputs.sets[index]
        if [(out.dtype, out.shape) for out in returned] != [(place.dtype, place.shape) for place in places.values()]:
            raise UnexpectedOutput("the reference's outputs are not the definition's")
        self._expected = [out.contiguous() for out in returned]
        self._after = {
            name: value
            for name, value in zip(self._order, arguments, strict=True)
            if name in self._written and isinstance(value, torch.Tensor)
        }

    def _exactly(self, scalars: Mapping[str, Any], forward_seed: int) -> list[torch.Tensor] | None:
        """The results in float64; absent where that is too large or the reference insists on its own data type."""
        if 3 * self._inputs.region.layout.nbytes + 3 * self._outputs.region.layout.nbytes > EXACT_BYTES:
            return None
        try:
            if self._exact_model is None:
                self._exact_model = copy.deepcopy(self._models["torch_eager"]).double()
            arguments = [
                value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
                for value in self._arguments_of(0, scalars, fresh=True)
            ]
            seed_all(forward_seed)
            found = [out.contiguous() for out in flatten(self._exact_model(*arguments))]
        except (RuntimeError, TypeError, ValueError):  # also PyTorch's out-of-memory error
            torch.cuda.empty_cache()
            return None
        same = [item.shape for item in found] == [item.shape for item in self._expected]
        return found if same else None

    def _compare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Check the outputs of set 0 against the last trial's, or of some sets against what the reference gives now."""
        tally = DeviceTally()
        answer: dict[str, Any] = {"guards": self._guards_hold(), "changed": []}
        if "audit" not in message:
            self._add(tally, 0, message)
            if self._exact is not None:
                got = list(self._outputs.sets[0].values())
                answer["exact_error"] = distance(got, self._exact)
            answer["changed"] = self._changed(0, *self._trial_values)
            self._expected, self._exact = [], None
        for index in message.get("audit", ()):
            answer["changed"] += self._changed(index, self._seeds[index], "as_given")
            self._fill(index, self._seeds[index], "as_given")  # the solution may have changed what it was given
            self._expect(index, self._scalars[index], self._seed)
            self._add(tally, index, message)
        return answer | tally.message()

    def _changed(self, index: int, seed: int, distribution: str) -> list[str]:
        """Inputs of a set that are no longer those of the seed, though the reference leaves them alone.

        Mapping memory read-only in the other process is no protection: its host code can lift that.
        """
        values = zip(self._order, self._values(seed, distribution), strict=True)
        kept = {name: value for name, value in values if isinstance(value, torch.Tensor) and name not in self._written}
        return changed_inputs(kept, self._inputs.sets[index])

    def _add(self, tally: DeviceTally, index: int, message: Mapping[str, Any]) -> None:
        """Outputs of a set, and after a trial the inputs that the reference has written to, against the expected."""
        tolerance, scaled = message["tolerance"], message["scaled"]
        slacks = self._slacks.get(message["distribution"], [0.0] * len(self._expected))
        got = self._outputs.sets[index]
        for (name, have), want, slack in zip(got.items(), self._expected, slacks, strict=True):
            atol = tolerance["atol"] * (scale_of(want) if scaled else 1.0)
            tally.add(name, want, have, atol=atol + slack, rtol=tolerance["rtol"])
        if "audit" not in message:
            for name, want in self._after.items():
                atol = tolerance["atol"] * (scale_of(want) if scaled else 1.0)
                tally.add(name, want, self._inputs.sets[index][name], atol=atol, rtol=tolerance["rtol"])

    def _guards_hold(self) -> bool:
        """Whether nothing was written between the tensors of any set."""
        rows = self._outputs.rows()
        gaps = self._outputs.region.layout.gaps()
        return all(bool((rows[:, start:end] == self._poison).all()) for start, end in gaps)

    # -------------------------------------------------------------------------------------------- timing

    def _refresh(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """New inputs in all sets, poisoned outputs; the arguments that are plain numbers, one mapping a set."""
        self._returned, self._expected, self._exact = [], [], None
        self._seed = message["seed"]
        count = self._inputs.region.count
        self._seeds = [self._seed + index for index in range(count)]
        self._scalars = [self._fill(index, self._seeds[index], "as_given") for index in range(count)]
        self._poison_outputs()
        self._arguments = [self._arguments_of(index, self._scalars[index], fresh=False) for index in range(count)]
        driver.synchronize()
        return {"scalars": self._scalars}

    def _refresh_rest(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """New inputs in the sets from `first` on, and nothing else."""
        for index in range(message["first"], self._inputs.region.count):
            self._seeds[index] = message["seed"] + index
            self._scalars[index] = self._fill(index, self._seeds[index], "as_given")
        driver.synchronize()
        return {"ok": True}

    def _untouched(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Whether the outputs of all sets from `first` on still are as they were poisoned."""
        return {"untouched": bool((self._outputs.rows()[message["first"] :] == self._poison).all())}

    def _flush(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self._flusher.add_(1)
        driver.synchronize()
        return {"ok": True}

    def _settle(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Milliseconds until an empty kernel is served at once, that is until the GPU has no other work."""
        started = time.perf_counter()
        while (now := time.perf_counter()) - started < message["limit_s"]:
            self._pulse.add_(1)
            driver.synchronize()
            if time.perf_counter() - now < IDLE_S:
                return {"settle_ms": (time.perf_counter() - started) * 1e3}
        return {"settle_ms": message["limit_s"] * 1e3, "busy": True}

    def _close_gates(self) -> int:
        """Close the gates of all runs; the value that will say that the last run is done."""
        driver.fill_words(self._gate_stream, self._gate.open_word(0), 0, self._inputs.region.count)
        driver.read_word(self._gate_stream, self._gate.done_word)
        self._gate_value += 1
        return self._gate_value

    def _open_gates(self, first: int, end: int) -> None:
        driver.fill_words(self._gate_stream, self._gate.open_word(first), 1, end - first)

    def _close(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"value": self._close_gates()}

    def _open(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Open some gates for a solution's graph; if the last is among them, milliseconds until it says it is done."""
        started = time.perf_counter()
        self._open_gates(message["first"], message["end"])
        while (
            message["end"] == self._inputs.region.count
            and driver.read_word(self._gate_stream, self._gate.done_word) != self._gate_value
        ):
            if time.perf_counter() - started > message["limit_s"]:
                return {"wall_ms": message["limit_s"] * 1e3, "late": True}
        return {"wall_ms": (time.perf_counter() - started) * 1e3}

    def _batch(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._returned = []
        seed_all(self._seed)
        name = message["baseline"]
        if message["mode"] == "graph":
            value = self._close_gates()
            self._clock.arm(self._graphs[name].replay, self._gate, value)
            self._open_gates(0, self._inputs.region.count)
            return {"device_ms": self._clock.collect()}
        kept: list[Any] = []
        model, arguments = self._models[name], self._arguments[: message["sets"]]
        elapsed = self._clock.time(lambda: kept.extend(model(*items) for items in arguments))
        return {"device_ms": elapsed}

    def _capture(self, message: Mapping[str, Any]) -> dict[str, Any]:
        name = message["baseline"]
        self._returned = []
        self._graphs.pop(name, None)
        seed_all(self._seed)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for run, items in enumerate(self._arguments):
                self._gate.wait(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), run)
                self._models[name](*items)
        self._graphs[name] = graph
        return {"ok": True}

    def _gate_cost(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """Milliseconds that a batch of graphs loses at each run's gate: a batch of nothing but open gates."""
        count = self._inputs.region.count
        graph = self._clock.gates_graph(self._gate, count)
        self._open_gates(0, count)
        driver.read_word(self._gate_stream, self._gate.done_word)
        taken = [self._clock.time(lambda: driver.launch_graph(graph, self._clock.stream)) for _ in range(GATE_BATCHES)]
        driver.destroy_graph(graph)
        return {"gate_ms": sorted(taken)[GATE_BATCHES // 2] / count}

    def _spans(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._returned = []
        model = self._models[message["baseline"]]
        runs: list[Callable[[], object]] = [functools.partial(model, *items) for items in self._arguments]
        answer: dict[str, Any] = self._clock.busy_ms(runs)
        return answer

    def _compile(self, _: Mapping[str, Any]) -> dict[str, Any]:
        compiled: Any = torch.compile(self._models["torch_eager"])
        compiled(*self._values(self._seed, "as_given"))
        driver.synchronize()
        self._models["torch_compile"] = compiled
        return {"ok": True}

    def _profile(self, _: Mapping[str, Any]) -> dict[str, Any]:
        model, values = self._models["torch_eager"], self._values(self._seed, "as_given")
        return {"table": profile_table(lambda: model(*values))}
