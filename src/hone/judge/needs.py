"""What a Python solution needs that this judge does not have: a GPU, or a compiler at run time."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence

from hone.machine.environment import sees_gpu
from hone.records import Language, Solution
from hone.screen.module import Module, UnreadableSourceError, read_module

GPU_PACKAGES = ("triton", "cupy", "pycuda", "numba.cuda")
OPTIONAL_PACKAGES = (
    "triton", "cupy", "tilelang", "cutlass", "pycuda", "numba", "tvm", "pytorch_lightning", "apex",
    "transformer_engine", "flash_attn", "xformers", "torchvision", "einops",
)  # fmt: skip
"""Packages that kernels are written with and that a machine may lack: says nothing about the solution."""
COMPILE_WHEN_RUN = ("triton", "tilelang", "tvm", "cutlass", "cupy")
"""Packages whose kernels are compiled at the first call and kept in a folder under HOME."""
RUN_TIME_COMPILERS = ("load_inline", "cpp_extension")
INDUCTOR = "torch.compile"
NO_COMPILING = "compiling at run time is not possible under this judge's confinement"
GPU_ERRORS = ("Torch not compiled with CUDA enabled", "Found no NVIDIA driver", "No CUDA GPUs are available")
"""What PyTorch says when a GPU is asked for in vain."""


def cpu_only(what: str) -> str:
    """Why something for GPUs is not judged."""
    return f"{what}; judge.device is cpu" + ("" if sees_gpu() else "; no GPU on this machine")


def gpu_error(text: str) -> str:
    """Why a solution that failed with this text is not judged; empty when the failure is its own."""
    said = next((words for words in GPU_ERRORS if words in text), "")
    return cpu_only(f"it needs a GPU: {said}") if said else ""


def lacking(source: str) -> str:
    """Why this source is not judged; empty when nothing is known that it lacks."""
    module = _module(source)
    if module is None:
        return ""  # loading it will tell
    if package := _first(GPU_PACKAGES, module.imported):
        return cpu_only(f"it imports {package}")
    named = module.imported | module.uses
    used = [word for word in RUN_TIME_COMPILERS if any(word in name.split(".") for name in named)]
    used += [INDUCTOR] if INDUCTOR in named else []
    return f"it uses {used[0]}: {NO_COMPILING}" if used else ""


def lacking_on_gpu(source: str) -> str:
    """Why this source is not judged on a GPU: a package that is not installed, whether it can do without or not."""
    module = _module(source)
    absent = [package for package in OPTIONAL_PACKAGES if importlib.util.find_spec(package) is None]
    missing = _first(absent, module.imported) if module else ""
    if not missing:
        return ""
    remedy = "; pip install 'hone[dsl]'" if missing in COMPILE_WHEN_RUN else ""
    return f"it needs the package '{missing}', which is not installed{remedy}"


def other_gpu(target: str) -> str:
    """Why machine code for a target is not for this machine's GPU; empty where it is, or is for none."""
    if not target.startswith("sm_"):
        return ""
    from hone.machine.gpus import visible_gpus

    gpu = visible_gpus()[0]
    if target.removeprefix("sm_").rstrip("a") == gpu.capability.replace(".", ""):
        return ""
    remedy = "name it in the config (gpu: <entry of resources/hardware/gpus.yaml>)"
    return f"built for {target}, this machine's GPU is {gpu.name} of compute capability {gpu.capability}: {remedy}"


def compiles_when_run(solution: Solution) -> bool:
    """Whether it compiles when it is first run, as Triton, Inductor, TileLang, CuTe and CuPy do."""
    if solution.language is Language.TRITON:
        return True
    module = _module(solution.source) if solution.language is Language.PYTHON else None
    if module is None:
        return False
    return INDUCTOR in module.imported | module.uses or bool(_first(COMPILE_WHEN_RUN, module.imported))


def _module(source: str) -> Module | None:
    """None where Python cannot parse it: loading it will tell."""
    try:
        return read_module(source)
    except UnreadableSourceError:
        return None


def _first(packages: Sequence[str], imported: Iterable[str]) -> str:
    """The first of the packages that is imported, or of which a part is; empty where there is none."""
    names = [f"{name}." for name in imported]
    return next((package for package in packages if any(name.startswith(f"{package}.") for name in names)), "")
