"""SAGE, GAT, GIN and SAGE-RI as SALIENT trains them (driver/models.py of its repository): a module for each family.

A family's module has its name in `hone.config.models`, and a class `MODEL`: a `GNN`, whose convolution says what its
counterpart in PyTorch Geometric is. Parameters carry that library's names, so that state dicts are interchangeable. A
test holds both to be equal.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from hone.gnn.models.model import GNN


def family(name: str) -> type[GNN]:
    """The class of a family of `hone.config.models`."""
    found: type[GNN] = import_module(f"{__name__}.{name}").MODEL
    return found


def build_model(name: str, *, inputs: int, hidden: int, outputs: int, layers: int, dropout: float, seed: int) -> GNN:
    """A model on the CPU with parameters that depend on `seed` alone."""
    generator = torch.Generator().manual_seed(seed)
    return family(name)(inputs, hidden, outputs, layers, dropout, generator)
