"""Packages that only some systems need, and that Hone is installed without."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from hone.core.errors import MachineError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Need(NamedTuple):
    """What a system imports beside Hone's own requirements."""

    modules: tuple[str, ...]
    """Any one of them will do."""
    remedy: str


PEERS = "pip install 'hone[peers]'"
NEEDS: Mapping[str, Need] = {
    "pyg": Need(("pyg_lib", "torch_sparse"), "install pyg-lib or torch-sparse for this version of PyTorch"),
    "wholegraph": Need(("pylibwholegraph",), PEERS),
}


def check_packages(system: str, where: str = "") -> None:
    """Raise MachineError, `where` in its message, when this Python lacks what a system imports; nothing is imported."""
    need = NEEDS.get(system)
    if need is None or any(find_spec(module) for module in need.modules):
        return
    lacking = " or ".join(need.modules)
    remedy = f"{need.remedy}, or take {system} out of the training's systems"
    raise MachineError(f"systems: {system} needs the package {lacking}", where=where, remedy=remedy)
