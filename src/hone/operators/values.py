"""What a definition's reference says for a workload: the values of a call, and the results that are expected.

The reference is trusted and runs in this process, on the CPU or a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hone.core.modules import load_module
from hone.judge.child.models import build_model, cast_inputs, flatten, seed_all, set_sizes
from hone.judge.plan import reference_message
from hone.operators.contract import Contract
from hone.records import Definition, Workload


class ReferenceCalls:
    """Values and results of one (definition, workload) on a device."""

    def __init__(self, definition: Definition, workload: Workload, device: str) -> None:
        """Builds the reference's model at the workload's sizes."""
        self._contract = Contract.of(definition)
        self._message = reference_message(definition, workload, workload.axes)
        self._device = device
        self._module = load_module("hone_operator_reference", definition.reference)
        set_sizes(self._module, workload.axes)
        with torch.device(device):
            self._model = build_model(self._module, self._module.Model, workload.seed, workload.dtype).to(device)

    def values(self, seed: int) -> list[Any]:
        """Inputs of a seed, then parameters: an operator's arguments, contiguous."""
        seed_all(seed)
        with torch.device(self._device):
            made = cast_inputs(list(self._module.get_inputs()), self._message)
        parameters = [tensor for tensor in self._model.state_dict().values() if tensor.is_floating_point()]
        return [_placed(value, self._device) for value in (*made, *parameters)]

    def results(self, values: Sequence[Any]) -> list[torch.Tensor]:
        """What the reference makes of the values: inputs that it writes in place, then outputs; values stay."""
        copies = copied(values)
        with torch.no_grad():
            returned = self._model(*copies[: len(self._message["arguments"])])
        return [*written(self._contract, copies), *flatten(returned)]


def copied(values: Sequence[Any]) -> list[Any]:
    """The same values in memory of their own."""
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in values]


def written(contract: Contract, values: Sequence[Any]) -> list[torch.Tensor]:
    """Those of a call's arguments that are written in place."""
    return [value for item, value in zip(contract.arguments, values, strict=True) if item.in_place]


def _placed(value: Any, device: str) -> Any:
    return value.detach().to(device).contiguous() if isinstance(value, torch.Tensor) else value
