"""The GPU's part of the study `upstream`: `python -m studies.operators.upstream_child WHAT REQUEST REPORT`.

`build`: sources, include folders and flags -> one library that registers PyTorch operators. `module`: the same -> a
library of functions that tvm-ffi exports. `compare`: a stand-alone source's shared object and an operator on the same
inputs, workload by workload. Trusted code, nothing is confined.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from hone.compile.toolchain import toolchain_for
from hone.judge.device.cuda.checks import FLOAT8_STEPS
from hone.machine.hardware import gpu_here
from hone.records import Definition, Language, Tolerance, Workload
from hone.sanitizer.calls import WorkloadCalls
from hone.sources.axes import size_of
from hone.sources.extraction.entry import Operator, OperatorTensor
from studies.operators.package_sources import export_name

NAME = "hone_upstream_operators"
HALF_OPERATORS = tuple(
    f"-U__CUDA_NO_{what}__"
    for what in ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS", "HALF2_OPERATORS")
)
"""PyTorch's builder hides CUDA's operators of half types, which the packages use; their own builders do not."""
CHUNK = 1 << 25


def main(what: str, request: Path, report: Path) -> None:
    """Do it and write the report; whatever goes wrong ends the process with a traceback."""
    asked = json.loads(request.read_text(encoding="utf-8"))
    if what == "compare":
        found: dict[str, Any] = {"rows": compare(asked)}
    else:
        found = build(asked) if what == "build" else module(asked)
    report.write_text(json.dumps(found), encoding="utf-8")


def build(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Compile the library with PyTorch's extension builder, all sources at a time."""
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", _architecture())
    from torch.utils import cpp_extension

    started = time.perf_counter()
    folder = Path(asked["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    flags = [*asked["flags"], *HALF_OPERATORS]
    cpp_extension.load(
        NAME, asked["sources"], extra_include_paths=asked["include"], extra_cuda_cflags=flags,
        build_directory=str(folder), is_python_module=False,
    )  # fmt: skip
    return {"library": str(folder / f"{NAME}.so"), "seconds": time.perf_counter() - started}


def module(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Compile a module of tvm-ffi with nvcc; raises RuntimeError with what nvcc objects to."""
    from tvm_ffi import libinfo

    started = time.perf_counter()
    target = _architecture().replace(".", "")
    include = [f"-I{path}" for path in dict.fromkeys([*libinfo.include_paths(), *asked["include"]])]
    ffi = Path(libinfo.find_libtvm_ffi())
    command = [
        *toolchain_for(Language.CUDA).program, f"-gencode=arch=compute_{target},code=sm_{target}", *asked["flags"],
        *include, "-Xcompiler", "-fPIC", "-shared", "-o", asked["library"], *asked["sources"],
        f"-L{ffi.parent}", f"-l{ffi.stem.removeprefix('lib')}",
    ]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if ended.returncode:
        said = [line for line in ended.stderr.splitlines() if "error" in line]
        raise RuntimeError(f"nvcc: {' '.join(said)[:1000] or ended.stderr[:1000]}")
    return {"library": asked["library"], "seconds": time.perf_counter() - started}


def _architecture() -> str:
    """This GPU's, with the instructions of its generation alone, which there are since Hopper."""
    capability = gpu_here().compute_capability
    return capability + "a" if float(capability) >= 9 else capability


def compare(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for each workload."""
    definition = Definition.model_validate(asked["definition"])
    operator = Operator.model_validate(asked["operator"])
    function_for = functions(operator, asked["library"])
    library = ctypes.CDLL(asked["artifact"])
    rows = []
    for text in asked["workloads"]:
        workload = Workload.model_validate(text)
        found: dict[str, Any] = {"workload": workload.name, "dtype": workload.dtype, "held_out": workload.held_out}
        run = WorkloadRun(definition, workload, "cuda")
        ours, theirs = run.copy(), run.copy()
        run.launch(library, ours, torch.cuda.current_stream().cuda_stream)
        try:
            function_for(workload.dtype)(*given(operator, theirs, workload.axes, "cuda"))
            torch.cuda.synchronize()
        except (RuntimeError, TypeError) as error:
            rows.append({**found, "detail": str(error).splitlines()[0][:200]})
            continue
        rows.append({**found, **run.compared(ours, theirs)})
        torch.cuda.empty_cache()
    return rows


def functions(operator: Operator, library: str) -> Callable[[str], Callable[..., Any]]:
    """Data type -> the operator's function; those of PyTorch take every type."""
    if operator.function:
        import tvm_ffi

        exports = tvm_ffi.load_module(library)
        return lambda dtype: getattr(exports, export_name(operator, dtype))
    torch.ops.load_library(library)  # type: ignore[no-untyped-call]
    registered = getattr(getattr(torch.ops, NAME), operator.name)
    return lambda _: registered


def given(operator: Operator, values: Mapping[str, Any], axes: Mapping[str, int], device: str) -> list[Any]:
    """The operator's arguments, of inputs and outputs by name."""

    def value(item: Any) -> Any:
        if isinstance(item, OperatorTensor):
            shape = [size_of(str(size), axes) for size in item.shape]
            return values[item.tensor].view(shape) if item.tensor else torch.empty(shape, device=device)
        if isinstance(item, str):
            return values[item] if item in values else size_of(item, axes)
        return item

    return [value(item) for item in operator.arguments]


class WorkloadRun(WorkloadCalls):
    """One workload, whose results are compared."""

    def compared(self, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
        """The row's numbers."""
        mine, other, exact = self.results(ours), self.results(theirs), self.exact()
        tolerance = self.workload.tolerance
        return {
            "identical": all(_same_bits(a, b) for a, b in zip(mine, other, strict=True)),
            "max_abs_difference": max(_largest(a, b) for a, b in zip(mine, other, strict=True)),
            "difference_share": worst_share(mine, other, tolerance),
            "reference_share": worst_share(mine, exact, tolerance),
        }


def worst_share(got: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor], tolerance: Tolerance) -> float:
    """Largest |got - wanted| / (atol + rtol |wanted|), where eight-bit numbers may be one step of their type off.

    Infinite where NaN or an infinity stands in one of the two only. Where both are NaN, or the same infinity, they
    agree.
    """
    return max((_share(a, b, tolerance) for a, b in zip(got, wanted, strict=True)), default=0.0)


def _share(got: torch.Tensor, wanted: torch.Tensor, tolerance: Tolerance) -> float:
    worst = 0.0
    least_atol, least_rtol = FLOAT8_STEPS.get(got.dtype, (0.0, 0.0))
    atol, rtol = max(tolerance.atol, least_atol), max(tolerance.rtol, least_rtol)
    for start in range(0, got.numel(), CHUNK):
        have, want = (item.reshape(-1)[start : start + CHUNK].double() for item in (got, wanted))
        same = (have == want) | (have.isnan() & want.isnan())
        share = (have - want).abs() / (atol + rtol * want.abs())
        share = torch.where(share.isfinite(), share, torch.inf)
        worst = max(worst, float(torch.where(same, 0.0, share).max()))
    return worst


def _largest(left: torch.Tensor, right: torch.Tensor) -> float:
    """Largest difference where both are finite."""
    worst = 0.0
    for start in range(0, left.numel(), CHUNK):
        a, b = (item.reshape(-1)[start : start + CHUNK].double() for item in (left, right))
        finite = a.isfinite() & b.isfinite()
        worst = max(worst, float(torch.where(finite, (a - b).abs(), 0.0).max()))
    return worst


def _same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    return bool(torch.equal(left.contiguous().view(torch.uint8), right.contiguous().view(torch.uint8)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
