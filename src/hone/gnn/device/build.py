"""The device system's CUDA as a shared object, from the store where it was compiled before."""

from __future__ import annotations

from pathlib import Path

from hone.compile.builds import build_one
from hone.compile.toolchain import Toolchain, toolchain_for
from hone.core.errors import MachineError
from hone.core.store import Store
from hone.gnn.sampling.build import whole_source
from hone.machine.gpus import visible_gpus
from hone.machine.hardware import gpu_here
from hone.records import Language, Solution

MAIN = Path(__file__).parent / "cuda" / "api.cu"
NAME = "hone/device"
TIMEOUT_S = 600.0


def build_device_library(store: Path, source: str | None = None) -> Path:
    """Path of the shared object; compiled at most once for each source and compiler (about ten seconds).

    `source`: another than the device system's own. Raises MachineError without nvcc, or when it refuses.
    """
    solution = Solution(
        definition=NAME, language=Language.CUDA, entry_point="hone_begin_batch", source=source or whole_source(MAIN)
    )
    build = build_one(solution, _toolchain(), Store(store), TIMEOUT_S, own=True)
    if build.artifact is None:
        remedy = "install the CUDA toolkit, 12.0 or newer, or set NVCC"
        raise MachineError(f"the device system does not compile: {build.log[:2000]}", where=str(MAIN), remedy=remedy)
    return store / build.artifact


def _toolchain() -> Toolchain:
    """With what a Hopper GPU alone can do: `gradient_of_weights` multiplies by instructions that later ones lack."""
    gpu = gpu_here()
    try:
        seen = {each.capability for each in visible_gpus()}
    except MachineError:
        seen = set()
    hopper = gpu.compute_capability == "9.0" and seen <= {"9.0"}  # one that the table lacks compiles PTX for 9.0
    return toolchain_for(Language.CUDA, gpu.model_copy(update={"compute_capability": "9.0a"}) if hopper else gpu)
