"""The trusted process on the GPU: the reference's model, the memory that is shared, and the values in it."""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from hone.core.modules import load_module
from hone.judge.child.models import (
    KeptStateError,
    UnexpectedOutput,
    build_model,
    cast_inputs,
    check_and_copy,
    describe_error,
    flatten,
    seed_all,
    set_sizes,
    silence,
)
from hone.judge.device.cuda import driver
from hone.judge.device.cuda.checks import widened
from hone.judge.device.cuda.draws import Draws
from hone.judge.device.cuda.events import Clock, Gate
from hone.judge.device.cuda.memory import DeviceArena
from hone.judge.device.cuda.models import allow_tf32
from hone.judge.device.cuda.sets import Region
from hone.judge.device.cuda.values import redistribute

FLUSH_BYTES = 512 << 20
"""Several times the largest L2 cache."""
RANDOM_ELEMENTS = 1 << 24
ALIKE_SHARE = 1e-2
"""Two runs are alike if their results differ by less, norm over norm: results of a softmax are far below 1."""
PULSES = 20
LEAST_IDLE_S = 60e-6
KEPT_STATE = "the reference gives other results each time it runs: it keeps a state, which two processes do not share"
TOGETHER_BYTES = 256 << 20
"""Inputs that are drawn at a time; what is in between takes several times as much."""
OTHER_SEED = 0x5A5A5A5A
NEEDS_THE_GPU = re.compile(r"cuda|get_init_inputs.*(tensor|torch\.)", re.DOTALL | re.IGNORECASE)
"""A problem whose constructor may ask for the GPU: by name, or by tensors among its arguments, which are moved."""
LEAST_TOGETHER = 4
"""Fewer sets are drawn one by one."""


class ReferenceBase:
    """Answers `warm` and `load`; what the other messages need of models, memory and values."""

    def __init__(self) -> None:
        silence()
        self._models: dict[str, Any] = {}
        self._built: Any = None
        """The model between `build` and `load`, where it could be built on the CPU."""
        self._graphs: dict[str, Any] = {}
        self._descriptors: list[int] = []
        self._gates: list[Gate] = []
        """In shared memory: of solutions, then of each existing kernel."""
        self._expected: list[torch.Tensor] = []
        self._exact_model: Any = None
        self._arguments: list[list[Any]] = []
        self._written: list[str] = []
        self._strides: list[list[int]] = []
        """Of memory for each result alone, which any other implementation owes in the same layout."""
        self._views: list[list[int]] = []
        """Of the results themselves, which may be views of something larger."""
        self._slacks: dict[str, list[float]] = {}
        """Distribution -> for each output what an element may be off beside the tolerance; under the rule `hone`."""
        self._exact: set[str] = set()
        """Distributions for which float64 was the yardstick."""
        self._poison = 0xFF
        self._seed = 0
        self._scalars: list[dict[str, Any]] = []
        self._count = 1
        """Sets of the batch at hand."""

    def act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one message; whatever the reference raises becomes an answer too."""
        try:
            with torch.no_grad():
                answer: dict[str, Any] = getattr(self, f"_{message['do']}")(message)
        except driver.CudaError as error:
            return {"error": {"kind": "memory" if "out of memory" in str(error) else "run", "text": str(error)}}
        except Exception as error:  # noqa: BLE001  the boundary to code that may raise anything
            return describe_error(error, "load" if message["do"] in ("build", "load") else "run")
        return answer

    def descriptors(self) -> list[int]:
        """Of the regions inputs, outputs, parameters, gate; for `hand_over`: as if nobody had had them before.

        What trials and baselines have taken and no longer use goes back: of a large problem it is most of the memory,
        and PyTorch keeps it from all other processes.
        """
        torch.cuda.empty_cache()
        self._inputs.bytes.zero_()
        self._parameters.bytes.copy_(self._pristine_parameters)
        driver.synchronize()
        return [*self._descriptors[:3], self._descriptors[3 + self._gate_number]]  # gates come after the others

    def _choose_gate(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The number of the gate that `hand_over` gives away: `own`, a new one, else that of solutions."""
        if message["own"]:
            self._new_gate()
        self._gate_number = len(self._gates) - 1 if message["own"] else 0
        return {"gate": self._gate_number}

    def _new_gate(self) -> None:
        gate = self._allocate(self._gate_region)
        gate.bytes.zero_()
        self._gates.append(Gate(gate.bytes.data_ptr() + gate.region.layout.slots[0].offset))

    # ---------------------------------------------------------------------------------------------- set-up

    def _warm(self, message: Mapping[str, Any]) -> dict[str, Any]:
        allow_tf32(message["tf32"])
        self._clock = Clock(None)
        self._pulse = torch.zeros(1, device="cuda")
        self._flusher = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        # An empty kernel takes no longer than this when nobody else uses the GPU.
        self._idle_s = max(LEAST_IDLE_S, 3 * min(self._pulse_s() for _ in range(PULSES)))
        free, _ = torch.cuda.mem_get_info()
        properties = torch.cuda.get_device_properties(0)
        return {
            "free_bytes": free,
            "bandwidth_gbs": 2 * properties.memory_clock_rate * properties.memory_bus_width / 8 / 1e6,
            "name": properties.name,
            "capability": f"{properties.major}.{properties.minor}",
            "sm_count": properties.multi_processor_count,
            "clock_khz": properties.clock_rate,
            "l2_bytes": properties.L2_cache_size,
        }

    def _pulse_s(self) -> float:
        """Seconds until an empty kernel is done."""
        started = time.perf_counter()
        self._pulse.add_(1)
        driver.synchronize()
        return time.perf_counter() - started

    def _build(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The model on the CPU, where its weights are drawn; nothing of this needs the GPU.

        A constructor that needs it is called when the model is loaded.
        """
        os.environ["CUDA_VISIBLE_DEVICES"] = message["gpu"]
        torch.set_num_threads(message["threads"])
        self._order, self._loaded = message["arguments"], message
        self._module = load_module("hone_reference", message["reference"])
        set_sizes(self._module, message["sizes"])
        self._draws = Draws(self._module.get_inputs)
        self._built = None if NEEDS_THE_GPU.search(message["reference"]) else self._new_model(on_gpu=False)
        return {"ok": True}

    def _open_gpu(self, _: Mapping[str, Any]) -> dict[str, Any]:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        driver.open_context()
        return {"ok": True}

    def _new_model(self, *, on_gpu: bool) -> Any:
        message = self._loaded
        return build_model(
            self._module, self._module.Model, message["seed"], message["dtype"], mode=message["model_mode"],
            on_gpu=on_gpu,
        )  # fmt: skip

    def _load(self, message: Mapping[str, Any]) -> dict[str, Any]:
        model = self._new_model(on_gpu=True) if self._built is None else self._built.cuda()
        self._built = None
        self._models, self._graphs, self._exact_model = {"torch_eager": model}, {}, None
        if not self._descriptors:
            regions = {item["name"]: Region.read(item) for item in message["regions"]}
            self._inputs, self._outputs, self._parameters = (
                self._allocate(regions[name]) for name in ("inputs", "outputs", "parameters")
            )
            self._gate_region, self._gate_number = regions["gate"], 0
            self._new_gate()
            # Baselines wait at words that nobody else has: a solution's work on the GPU could hold them up there.
            self._own_gate = Gate(driver.allocate_private(self._gate_region.nbytes))
            # Inputs are made here and shown all at once: what waits on the GPU for them finds them no earlier.
            self._hidden = DeviceArena(regions["inputs"], driver.allocate_private(regions["inputs"].nbytes))
            self._hidden.bytes.zero_()
            self._inputs.bytes.zero_()  # between the tensors it stays zero, else a solution wrote there
            self._gate = self._gates[0]
            self._gate_stream, self._gate_value = driver.new_stream(), 0
            self._names = [slot.name for slot in self._outputs.region.layout.slots]
        self._write_parameters(model)
        self._flops = message["flops"]
        random = self._try_out(self._loaded["seed"])
        found = {"written": self._written, "strides": self._strides, "views": self._views}
        return found | {"random": random, "scalars": self._numbers}

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
        self._pristine_parameters = self._parameters.bytes.clone()

    def _try_out(self, seed: int) -> bool:
        """Two runs on the same inputs, which also bring the libraries' code to the GPU.

        Notes which inputs the reference writes to; returns whether its results depend on a seed, as with dropout.
        Raises KeptStateError where not even the same seed gives the same results: two processes cannot be compared.
        """
        first, second = self._tried(seed, seed), self._tried(seed, seed + 1)
        if _alike(first, second) and _close(first, second):  # chance may be small beside the rest, or all be small
            return False
        third = self._tried(seed, seed)
        if not _alike(first, third) and not _close(first, third):  # what is all rounding is close
            raise KeptStateError(KEPT_STATE)
        return True

    def _tried(self, seed: int, forward_seed: int) -> list[torch.Tensor]:
        """The beginning of each result of one run."""
        # As everybody gets them: what a layout of `get_inputs` does to results is no part of the problem.
        values = [
            value.contiguous() if isinstance(value, torch.Tensor) else value for value in self._values(seed, "as_given")
        ]
        versions = [value._version if isinstance(value, torch.Tensor) else 0 for value in values]
        seed_all(forward_seed)
        returned = flatten(self._models["torch_eager"](*values))
        self._strides = [list(torch.empty_like(out, device="meta").stride()) for out in returned]
        self._views = [list(out.stride()) for out in returned]
        named = dict(zip(self._order, values, strict=True))
        self._written = [
            name
            for (name, value), version in zip(named.items(), versions, strict=True)
            if isinstance(value, torch.Tensor) and value._version != version
        ]
        self._numbers = {name: value for name, value in named.items() if not isinstance(value, torch.Tensor)}
        driver.synchronize()
        # A part is enough, and large results would need as much memory again.
        return [
            out.reshape(-1)[:RANDOM_ELEMENTS].clone() for out in (*returned, *(named[name] for name in self._written))
        ]

    # ---------------------------------------------------------------------------------------------- values

    def _values(self, seed: int, distribution: str) -> list[Any]:
        """What `get_inputs` gives on the GPU for a seed, floating-point tensors in the workload's data type."""
        with torch.device("cuda"):
            values = self._draws.one(seed)
        return self._usable(values, seed, distribution)

    def _usable(self, values: list[Any], seed: int, distribution: str) -> list[Any]:
        values = [value.cuda() if isinstance(value, torch.Tensor) else value for value in values]
        # With the seed itself chances would be the very numbers that `torch.rand` has just given as values.
        return redistribute(cast_inputs(values, self._loaded), distribution, seed ^ OTHER_SEED)

    def _fill(self, places: Mapping[str, torch.Tensor], seed: int, distribution: str) -> dict[str, Any]:
        """Write the inputs of a seed to a set; returns the arguments that are plain numbers."""
        return self._write(self._values(seed, distribution), places)

    def _fill_hidden(self, first: int, end: int, seed: int, distribution: str) -> list[dict[str, Any]]:
        """Write new inputs to some hidden sets; of each the arguments that are plain numbers."""
        each = max(1, TOGETHER_BYTES // max(1, self._hidden.region.layout.tensor_bytes))
        found: list[dict[str, Any]] = []
        for start in range(first, end, each):
            found += self._fill_together(start, min(start + each, end), seed + start, distribution)
        return found

    def _fill_together(self, first: int, end: int, seed: int, distribution: str) -> list[dict[str, Any]]:
        numbers = self._write_together(first, end, seed, distribution) if end - first >= LEAST_TOGETHER else None
        if numbers is not None:
            return [dict(numbers) for _ in range(first, end)]
        sets = self._hidden.sets[first:end]
        return [self._fill(places, seed + at, distribution) for at, places in enumerate(sets)]

    def _write_together(self, first: int, end: int, seed: int, distribution: str) -> dict[str, Any] | None:
        """The plain numbers; None where sets cannot be drawn at once, or not in the memory that is left."""
        try:
            with torch.device("cuda"):
                values = self._draws.together(seed, end - first)
            if values is None:
                return None
            return self._write(self._usable(values, seed, distribution), self._hidden.stacked(first, end))
        except torch.OutOfMemoryError:
            return None

    def _write(self, arguments: list[Any], places: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        """The tensors to their places; returns what is none."""
        values = dict(zip(self._order, arguments, strict=True))
        tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
        if list(tensors) != list(places):
            raise UnexpectedOutput(f"input tensors are {list(tensors)}, the definition has {list(places)}")
        check_and_copy(list(tensors.values()), list(places.values()), list(tensors))
        return {name: value for name, value in values.items() if name not in tensors}

    def _arguments_of(self, index: int, scalars: Mapping[str, Any], *, fresh: bool) -> list[Any]:
        """Forward's arguments, as everybody sees them; `fresh`: as they were made, with copies of what it writes to.

        What others leave waiting on the GPU cannot reach those.
        """
        places = dict((self._hidden if fresh else self._inputs).sets[index])
        chosen = places | {name: places[name].clone() for name in self._written if fresh}
        return [scalars[name] if name in scalars else chosen[name] for name in self._order]

    def _poison_outputs(self) -> None:
        floating = all(slot.dtype.startswith(("float", "bfloat")) for slot in self._outputs.region.layout.slots)
        self._poison = 0xFF if floating else 0x81 + os.urandom(1)[0] % 0x7D
        self._outputs.bytes.fill_(self._poison)


def _alike(first: Sequence[torch.Tensor], second: Sequence[torch.Tensor]) -> bool:
    """Up to what another order of summation does, whatever the size of the numbers."""
    return all(
        not one.is_floating_point() or _differ_by(widened(one), widened(other)) <= ALIKE_SHARE
        for one, other in zip(first, second, strict=True)
    )


def _close(first: Sequence[torch.Tensor], second: Sequence[torch.Tensor]) -> bool:
    pairs = ((widened(one), widened(other)) for one, other in zip(first, second, strict=True))
    return all(
        not one.is_floating_point() or torch.allclose(one, other, rtol=1e-2, atol=1e-2, equal_nan=True)
        for one, other in pairs
    )


def _differ_by(one: torch.Tensor, other: torch.Tensor) -> float:
    """Norm of the difference over that of the first; NaN where numbers that are not finite stand at other places."""
    same = (one == other) | (one.isnan() & other.isnan())
    norm = functools.partial(torch.linalg.vector_norm, dtype=torch.float64)
    differing = norm(torch.where(same, 0, one - other))
    return float(differing / norm(one.nan_to_num(0, 0, 0))) if differing else 0.0
