"""What compute-sanitizer watches: `python -m hone.sanitizer.child REQUEST REPORT`.

Launches a kernel once on each workload. Inputs are made on the CPU and reach the GPU by copies, and outputs are left as
they were allocated, so that no kernel but the one in question writes or reads memory there. Request: `artifact`,
`definition` and `workloads` (records), `device`; report: names of the `finished` workloads. Nothing is confined.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from hone.core.files import write_text
from hone.records import Definition, Workload
from hone.sanitizer.calls import WorkloadCalls


def main(request: Path, report: Path) -> None:
    """Run all and write the report after each; whatever goes wrong ends the process with a traceback."""
    asked = json.loads(request.read_text(encoding="utf-8"))
    definition = Definition.model_validate(asked["definition"])
    if definition.parameters:
        raise ValueError("a kernel that takes a model's parameters cannot be run here")  # WorkloadCalls passes none
    library = ctypes.CDLL(asked["artifact"])
    finished: list[str] = []
    for record in asked["workloads"]:
        workload = Workload.model_validate(record)
        launch(library, WorkloadCalls(definition, workload, "cpu"), asked["device"])
        finished.append(workload.name)
        write_text(report, json.dumps({"finished": finished}))  # whole or not at all: the next kernel may crash


def launch(library: ctypes.CDLL, run: WorkloadCalls, device: str) -> None:
    """One call, waited for; raises RuntimeError when the launch or the kernel fails."""
    arguments = placed(run, device)
    if device == "cpu":
        run.launch(library, arguments, None)
        return
    run.launch(library, arguments, torch.cuda.current_stream().cuda_stream)
    if code := int(library.hone_last_error()):  # every build of CUDA has it; a refused launch would leave no finding
        raise RuntimeError(f"the launch on workload '{run.workload.name}' failed with CUDA error {code}")
    torch.cuda.synchronize()


def placed(run: WorkloadCalls, device: str) -> Mapping[str, Any]:
    """Arguments of the call by name: copies of the inputs, contiguous, and outputs that nobody has written."""
    found = {
        name: value.contiguous().to(device, copy=True) if isinstance(value, torch.Tensor) else value
        for name, value in run.values.items()
    }
    for item in run.definition.outputs:
        dtype = getattr(torch, item.dtype_at(run.workload.dtype))
        found[item.name] = torch.empty(run.definition.shape_of(item), dtype=dtype, device=device)
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
