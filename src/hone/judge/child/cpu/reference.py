"""The runner of references and PyTorch baselines. Its code comes from the benchmark and is trusted."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import torch

from hone.core.modules import load_module
from hone.judge.child.models import (
    Arenas,
    UnexpectedOutput,
    build_model,
    cast_inputs,
    check_and_copy,
    describe_error,
    flatten,
    profile_table,
    seed_all,
    set_sizes,
    silence,
    tensors_over,
)


class ReferenceHost:
    """Makes inputs and parameters, computes the expected outputs, runs the baselines.

    Arenas: `pristine` (inputs as made), `inputs` (what forward gets; absent for large inputs, which then are the
    pristine ones), `parameters`, `outputs`.
    """

    def __init__(self, arenas: Arenas) -> None:
        silence()
        self._pristine = tensors_over(*arenas["pristine"])
        self._inputs = tensors_over(*arenas["inputs"]) if "inputs" in arenas else self._pristine
        self._parameters = tensors_over(*arenas["parameters"])
        outputs = tensors_over(*arenas["outputs"])
        self._names, self._places = list(outputs), list(outputs.values())
        self._models: dict[str, Any] = {}
        self._arguments: list[Any] = []
        self._versions: dict[str, int] = {}
        self._returned: Any = None

    def act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one message; whatever the reference raises becomes an answer too."""
        try:
            with torch.no_grad():
                answer: dict[str, Any] = getattr(self, f"_{message['do']}")(message)
        except Exception as error:  # noqa: BLE001  the boundary to code that may raise anything
            return describe_error(error, "load" if message["do"] == "load" else "run")
        return answer

    def _load(self, message: Mapping[str, Any]) -> dict[str, Any]:
        torch.set_num_threads(message["threads"])
        self._order, self._loaded = message["arguments"], message
        self._module = load_module("hone_reference", message["reference"])
        set_sizes(self._module, message["sizes"])
        model = build_model(
            self._module, self._module.Model, message["seed"], message["dtype"], mode=message["model_mode"]
        )
        self._models = {"torch_eager": model}
        self._write_parameters(model)
        return {"ok": True}

    def _write_parameters(self, model: Any) -> None:
        state = {
            name.replace(".", "_"): tensor for name, tensor in model.state_dict().items() if tensor.is_floating_point()
        }
        if list(state) != list(self._parameters):
            raise UnexpectedOutput(f"parameters are {list(state)}, the definition has {list(self._parameters)}")
        check_and_copy(list(state.values()), list(self._parameters.values()), list(state))

    def _inputs_of(self, seed: int) -> list[Any]:
        seed_all(seed)
        return cast_inputs(list(self._module.get_inputs()), self._loaded)

    def _make_inputs(self, message: Mapping[str, Any]) -> dict[str, Any]:
        values = dict(zip(self._order, self._inputs_of(message["seed"]), strict=True))
        tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
        if list(tensors) != list(self._pristine):
            raise UnexpectedOutput(f"input tensors are {list(tensors)}, the definition has {list(self._pristine)}")
        check_and_copy(list(tensors.values()), list(self._pristine.values()), list(tensors))
        return {"scalars": {name: value for name, value in values.items() if name not in tensors}}

    def _prepare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._returned = None  # free the last outputs outside the timed region
        scalars = message["scalars"]
        self._arguments = [scalars[name] if name in scalars else self._inputs[name] for name in self._order]
        self._versions = {name: tensor._version for name, tensor in self._inputs.items()}
        seed_all(message["seed"])
        return {"ok": True}

    def _run(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._returned = self._models[message["baseline"]](*self._arguments)
        if message["copy"]:
            check_and_copy(flatten(self._returned), self._places, self._names)
        return {"done": message["nonce"]}

    def _store(self, _: Mapping[str, Any]) -> dict[str, Any]:
        check_and_copy(flatten(self._returned), self._places, self._names)
        return {"ok": True}

    def _describe(self, _: Mapping[str, Any]) -> dict[str, Any]:
        written = [name for name, tensor in self._inputs.items() if tensor._version != self._versions[name]]
        return {"written_inputs": written}

    def _compile(self, _: Mapping[str, Any]) -> dict[str, Any]:
        compiled: Any = torch.compile(self._models["torch_eager"])
        compiled(*self._arguments)
        self._models["torch_compile"] = compiled
        return {"ok": True}

    def _profile(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"table": profile_table(lambda: self._models["torch_eager"](*self._arguments))}

    def _peak(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """GFLOP/s of the best of three products of 1024 x 1024 float32 matrices."""
        left = torch.ones(1024, 1024)
        left @ left
        best_s = min(_seconds(lambda: left @ left) for _ in range(3))
        return {"gflops": 2 * 1024**3 / best_s / 1e9}


def _seconds(call: Any) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started
