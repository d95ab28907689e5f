"""Selected kernels run in the same small trainings as the builtins."""

import pytest

from hone.records import Performance, Status, Timing
from tests.gnn.conftest import _one_thread, library, small_graph  # noqa: F401  fixtures
from tests.selection.operator import DEFINITION, WORKLOADS


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
