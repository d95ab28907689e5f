"""Value distributions: the inputs of `get_inputs`, changed so that shortcuts which suit the usual values fail."""

from __future__ import annotations

from typing import Any

import torch

from hone.judge.device.cuda.checks import widened


def redistribute(values: list[Any], distribution: str, seed: int) -> list[Any]:
    """Inputs with another distribution; integers, flags and numbers stay as they are.

    `signed`: random signs. `wide`: factors from 0.01 to 100, evenly on a logarithmic scale. `sparse`: nine in ten zero.
    """
    if distribution == "as_given":
        return values
    devices = {value.device for value in values if isinstance(value, torch.Tensor)}
    generators = {device: torch.Generator(device).manual_seed(seed) for device in devices}
    return [
        _changed(widened(value), distribution, generators[value.device]).to(value.dtype)
        if isinstance(value, torch.Tensor) and value.is_floating_point()
        else value
        for value in values
    ]


def _changed(value: torch.Tensor, distribution: str, generator: torch.Generator) -> torch.Tensor:
    chance = torch.rand(value.shape, device=value.device, dtype=torch.float32, generator=generator)
    if distribution == "signed":
        return torch.where(chance < 0.5, -value, value)
    if distribution == "wide":
        return value * torch.pow(10.0, 4.0 * chance - 2.0).to(value.dtype)
    return torch.where(chance < 0.9, torch.zeros_like(value), value)
