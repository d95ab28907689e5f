"""A selected kernel tried before a training depends on it: against the reference, on this machine, in another process.

The kernel passed the judge, perhaps on another machine, with another driver or library, or long ago. It is native
code: here it may crash, hang or scribble over memory, so it is loaded by a process that may do so.

    python -m hone.selection.loop.check REQUEST ANSWER     both JSON files
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hone.core.errors import HoneError, RecordError
from hone.core.files import read_record, write_text
from hone.core.processes import status_within
from hone.gnn.job import TrainingJob
from hone.machine.confinement import die_with_parent
from hone.records import Definition, Record, SelectedKernel, Selection, Solution, Versioned, Workload

TIMEOUT_S = 300.0
"""For starting Python with PyTorch, the reference and the kernel on a few small workloads."""


class OwnBatch(Record):
    """Where the first batch of a training comes from."""

    graph: str
    """Folder of the graph."""
    sampler: str
    """Path of the compiled sampler."""
    fanouts: tuple[int, ...]
    batch_size: int
    seed: int
    store: str
    """Where the builtin is, or is put."""


class OwnLoop(Record):
    """What a training of the device system runs its kernels on."""

    job: TrainingJob
    graph: str
    """Folder of the graph."""
    library: str
    """Path of the device system's shared object."""


class CheckRequest(Versioned):
    """What the process of a check is asked."""

    definition: Definition
    workloads: tuple[Workload, ...]
    solution: Solution
    artifact: str
    """Path of the shared object."""
    own: OwnBatch | OwnLoop | None = None
    """For the sampler's operator, which is exact: there it has to draw what the builtin draws. For the device system's:
    there it has to agree with the builtin."""


class CheckResult(Versioned):
    """What a check found."""

    disagreements: tuple[str, ...]
    compared: int
    """Workloads."""


def refusal(
    selection: Selection,
    kernel: SelectedKernel,
    artifact: Path,
    own: OwnBatch | OwnLoop | None = None,
    timeout_s: float = TIMEOUT_S,
) -> str:
    """Why the kernel is not to be used, in a few words; empty when it agrees with the reference, and the builtin."""
    assert selection.definition is not None, "the record sees to it"
    request = CheckRequest(
        definition=selection.definition, workloads=selection.workloads, solution=kernel.solution,
        artifact=str(artifact.resolve()), own=own,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="hone-check-") as folder:
        asked, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
        write_text(asked, request.model_dump_json())
        code, message = _run([str(asked), str(answer)], timeout_s)
        if code is None:
            return f"the check took over {timeout_s:g} s"
        if code < 0:
            return f"it crashed: {_signal_name(-code)}"
        if code > 0:
            return f"it cannot be called: {message}"
        try:
            result = read_record(answer, CheckResult)
        except RecordError:
            return "it ended the process"
    if result.disagreements:
        return f"it disagrees: {result.disagreements[0]}"
    return "" if result.compared else "there is no workload to compare it on"


def _run(arguments: list[str], timeout_s: float) -> tuple[int | None, str]:
    """Status of the process, None where it ran out of time, and the last line that it wrote."""
    command = [sys.executable, "-m", "hone.selection.loop.check", *arguments]
    # A group of its own, so that what a kernel starts is ended with it.
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        ) as run,
    ):
        code = status_within(run, timeout_s)
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").strip().splitlines()
    return code, lines[-1] if lines else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def check_kernel(request: CheckRequest) -> CheckResult:
    """Load the kernel and compare it on every workload; raises OperatorError when it cannot be called, MachineError
    without the GPU that it needs."""
    from hone.operators.contract import Contract
    from hone.operators.native import NativeLibrary

    # What cannot even be loaded need not wait for PyTorch.
    NativeLibrary(Contract(request.definition, {}), request.solution.language, Path(request.artifact))
    from hone.operators import Operator
    from hone.operators.check import check, disagreements
    from hone.operators.stages import require_device

    operator = Operator(request.definition, request.solution, Path(request.artifact))
    require_device([operator])
    rows = list(check(operator, request.workloads, "selected"))
    found = disagreements(rows)
    if isinstance(request.own, OwnBatch) and not found:
        found = list(_on_own_batch(request, request.own))
    if isinstance(request.own, OwnLoop) and not found:
        found = _in_own_loop(request, request.own)
    return CheckResult(disagreements=tuple(found), compared=len(rows))


def _on_own_batch(request: CheckRequest, own: OwnBatch) -> Iterator[str]:
    """A line for each hop of the batch on which the kernel and the builtin differ."""
    import torch

    from hone.gnn.graph import Graph
    from hone.operators.contract import Contract
    from hone.operators.native import NativeLibrary
    from hone.selection.loop.batches import builtin_library, calls, first_batches

    graph = Graph.open(Path(own.graph))
    builtin = builtin_library(request.definition, Path(own.store))
    kernel = NativeLibrary(Contract(request.definition, {}), request.solution.language, Path(request.artifact))
    batches = first_batches(graph, own.batch_size, own.seed, 1)
    for made in calls(request.definition, graph, Path(own.sampler), own.fanouts, batches):
        for hop, call in enumerate(made):
            pairs = zip(call.results(builtin), call.results(kernel), strict=True)
            if not all(torch.equal(expected, got) for expected, got in pairs):
                yield f"draws other neighbours than the builtin in hop {hop} of a batch of {graph.info.name}"


def _in_own_loop(request: CheckRequest, own: OwnLoop) -> list[str]:
    """A line for each call in the loop that the kernel and the builtin answer differently."""
    from hone.selection.loop.in_loop import differences

    operator = request.definition.title
    chosen = {"objects": {operator: request.artifact}, "definitions": {operator: request.definition}}
    job = own.job.model_copy(update=chosen)
    return differences(job, Path(own.graph), Path(own.library), request.workloads[0].tolerance)


def main(arguments: list[str]) -> int:
    """Exit status: 1 for a failure that is explained on standard error."""
    die_with_parent()
    request, answer = map(Path, arguments)
    try:
        result = check_kernel(read_record(request, CheckRequest))
    except HoneError as error:
        sys.stderr.write(f"{error.problem}\n")
        return 1
    except RuntimeError as error:  # CUDA's, whose last lines are advice
        sys.stderr.write(f"{str(error).strip().splitlines()[0]}\n")
        return 1
    write_text(answer, result.model_dump_json() + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
