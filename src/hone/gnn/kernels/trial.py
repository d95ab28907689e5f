"""A selected kernel tried before a training depends on it: against the reference, on this machine, in another process.

The kernel passed the judge, perhaps on another machine, with another driver or library, or long ago. It is native
code: here it may crash, hang or scribble over memory, so it is loaded by a process that may do so.

    python -m hone.gnn.kernels.trial REQUEST ANSWER     both JSON files
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hone.errors import HoneError, RecordError
from hone.files import read_record, write_text
from hone.gnn.job import TrainingJob
from hone.judge.confinement import die_with_parent
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


class Trial(Versioned):
    """What a trial is told."""

    definition: Definition
    workloads: tuple[Workload, ...]
    solution: Solution
    artifact: str
    """Path of the shared object."""
    own: OwnBatch | OwnLoop | None = None
    """For the sampler's operator, which is exact: there it has to draw what the builtin draws. For the device system's:
    there it has to agree with the builtin."""


class Outcome(Versioned):
    """What a trial found."""

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
    trial = Trial(
        definition=selection.definition, workloads=selection.workloads, solution=kernel.solution,
        artifact=str(artifact.resolve()), own=own,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="hone-trial-") as folder:
        request, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
        write_text(request, trial.model_dump_json())
        code, said = _run([str(request), str(answer)], timeout_s)
        if code is None:
            return f"the trial took over {timeout_s:g} s"
        if code < 0:
            return f"it crashed: {_signal_name(-code)}"
        if code > 0:
            return f"it cannot be called: {said}"
        try:
            outcome = read_record(answer, Outcome)
        except RecordError:
            return "it ended the process"
    if outcome.disagreements:
        return f"it disagrees: {outcome.disagreements[0]}"
    return "" if outcome.compared else "there is no workload to compare it on"


def _run(arguments: list[str], timeout_s: float) -> tuple[int | None, str]:
    """Status of the process, None where it ran out of time, and the last line that it wrote."""
    command = [sys.executable, "-m", "hone.gnn.kernels.trial", *arguments]
    # A group of its own, so that what a kernel starts is ended with it.
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        ) as run,
    ):
        try:
            code: int | None = run.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(run)
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").strip().splitlines()
    return code, lines[-1] if lines else ""


def _end(run: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(run.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def attempt(trial: Trial) -> Outcome:
    """Load the kernel and compare it on every workload; raises OperatorError when it cannot be called, MachineError
    without the GPU that it needs."""
    from hone.operators.contract import Contract
    from hone.operators.native import NativeLibrary

    # What cannot even be loaded need not wait for PyTorch.
    NativeLibrary(Contract(trial.definition, {}), trial.solution.language, Path(trial.artifact))
    from hone.operators import Operator
    from hone.operators.check import check, disagreements
    from hone.operators.stage import require_device

    operator = Operator(trial.definition, trial.solution, Path(trial.artifact))
    require_device([operator])
    rows = list(check(operator, trial.workloads, "selected"))
    found = disagreements(rows)
    if isinstance(trial.own, OwnBatch) and not found:
        found = list(_on_own_batch(trial, trial.own))
    if isinstance(trial.own, OwnLoop) and not found:
        found = _in_own_loop(trial, trial.own)
    return Outcome(disagreements=tuple(found), compared=len(rows))


def _on_own_batch(trial: Trial, own: OwnBatch) -> Iterator[str]:
    """A line for each hop of the batch on which the kernel and the builtin differ."""
    import torch

    from hone.gnn.graph import Graph
    from hone.gnn.kernels.batches import builtin_library, calls, first_batches
    from hone.operators.contract import Contract
    from hone.operators.native import NativeLibrary

    graph = Graph.open(Path(own.graph))
    builtin = builtin_library(trial.definition, Path(own.store))
    kernel = NativeLibrary(Contract(trial.definition, {}), trial.solution.language, Path(trial.artifact))
    batches = first_batches(graph, own.batch_size, own.seed, 1)
    for made in calls(trial.definition, graph, Path(own.sampler), own.fanouts, batches):
        for hop, call in enumerate(made):
            pairs = zip(call.results(builtin), call.results(kernel), strict=True)
            if not all(torch.equal(expected, got) for expected, got in pairs):
                yield f"draws other neighbours than the builtin in hop {hop} of a batch of {graph.info.name}"


def _in_own_loop(trial: Trial, own: OwnLoop) -> list[str]:
    """A line for each call in the loop that the kernel and the builtin answer differently."""
    from hone.gnn.kernels.in_loop import differences

    operator = trial.definition.title
    chosen = {"objects": {operator: trial.artifact}, "definitions": {operator: trial.definition}}
    job = own.job.model_copy(update=chosen)
    return differences(job, Path(own.graph), Path(own.library), trial.workloads[0].tolerance)


def main(arguments: list[str]) -> int:
    """Exit status: 1 for a failure that is explained on standard error."""
    die_with_parent()
    request, answer = map(Path, arguments)
    try:
        outcome = attempt(read_record(request, Trial))
    except HoneError as error:
        sys.stderr.write(f"{error.problem}\n")
        return 1
    except RuntimeError as error:  # CUDA's, whose last lines are advice
        sys.stderr.write(f"{str(error).strip().splitlines()[0]}\n")
        return 1
    write_text(answer, outcome.model_dump_json() + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
