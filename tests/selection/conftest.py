"""Selected kernels run in the same small trainings as the builtins."""

import pytest

from hone.core.files import write_records
from hone.records import Build, BuildStatus, Performance, Status, Timing
from tests.gnn.conftest import _one_thread, compiled_store, library, small_graph  # noqa: F401  fixtures
from tests.selection.operator import BUILTIN, DEFINITION, FAST, FASTEST, WORKLOADS


@pytest.fixture
def judged(trace):
    """Traces of a solution on all workloads, so many times as fast as the builtin's 8 us."""

    def make(kernel, speedup, device="a CPU", status=Status.PASSED, **changed):
        time = Performance(
            solution=Timing(samples_ms=(0.008 / speedup,)), baselines={"upstream": Timing(samples_ms=(0.008,))}
        )
        machine = trace.environment.model_copy(update={"device": device})
        return [
            trace.model_copy(
                update={
                    "solution": kernel.id, "definition": DEFINITION.name, "workload": item.id, "status": status,
                    "environment": machine, "performance": time if status is Status.PASSED else None, **changed,
                }
            )
            for item in WORKLOADS
        ]  # fmt: skip

    return make


@pytest.fixture
def files(tmp_path):
    """Writes one operator's files, and gives them in the order in which the stages take them."""

    def write(traces, kernels=(BUILTIN, FAST, FASTEST)):
        builds = [
            Build(solution=item.id, status=BuildStatus.BUILT, artifact=f"builds/{item.id[:4]}/kernel.so", target="here")
            for item in kernels
        ]
        parts = {
            "definitions": [DEFINITION], "workloads": WORKLOADS, "solutions": kernels, "traces": traces,
            "builds": builds,
        }  # fmt: skip
        for name, records in parts.items():
            write_records(tmp_path / name, records)
        return [[tmp_path / name] for name in parts]

    return write
