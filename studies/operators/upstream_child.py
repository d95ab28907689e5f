"""The GPU's part of the study `upstream`: `python -m studies.operators.upstream_child build|compare REQUEST REPORT`.

`build`: sources, include folders and flags -> one library that registers PyTorch operators. `compare`: a stand-alone
source's shared object and an operator on the same inputs, workload by workload. Trusted code, nothing is confined.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from hone.judge.device.cuda.checks import FLOAT8_STEPS
from hone.machine.hardware import gpu_here
from hone.records import Definition, Tolerance, Workload
from hone.sanitizer.calls import WorkloadCalls

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
    found = build(asked) if what == "build" else {"rows": compare(asked)}
    report.write_text(json.dumps(found), encoding="utf-8")


def build(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Compile the library with PyTorch's extension builder, all sources at a time."""
    capability = gpu_here().compute_capability
    # With the instructions of this generation alone, which there are since Hopper.
    own = capability + "a" if float(capability) >= 9 else capability
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", own)
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


def compare(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for each workload."""
    definition = Definition.model_validate(asked["definition"])
    torch.ops.load_library(asked["library"])  # type: ignore[no-untyped-call]
    operator = getattr(getattr(torch.ops, NAME), asked["operator"])
    library = ctypes.CDLL(asked["artifact"])
    rows = []
    for text in asked["workloads"]:
        workload = Workload.model_validate(text)
        found: dict[str, Any] = {"workload": workload.name, "dtype": workload.dtype, "held_out": workload.held_out}
        run = WorkloadRun(definition, workload, "cuda")
        ours, theirs = run.copy(), run.copy()
        run.launch(library, ours, torch.cuda.current_stream().cuda_stream)
        try:
            operator(*(theirs[word] if isinstance(word, str) else word for word in asked["arguments"]))
            torch.cuda.synchronize()
        except RuntimeError as error:
            rows.append({**found, "detail": str(error).splitlines()[0][:200]})
            continue
        rows.append({**found, **run.compared(ours, theirs)})
        torch.cuda.empty_cache()
    return rows


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
