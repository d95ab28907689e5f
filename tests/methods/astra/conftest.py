"""A tiny kernel with a suite, and versions of it with made-up verdicts."""

import pytest

from hone.core.files import write_records
from hone.methods.astra.history import Attempt, histories
from hone.methods.astra.stages import STAGES, EarlierTurns
from hone.records import (
    Build,
    BuildStatus,
    Definition,
    Language,
    Performance,
    Solution,
    Status,
    Timing,
    Tolerance,
    Trace,
    Workload,
)

TOLERANCE = Tolerance(atol=1e-4, rtol=1e-4)
UPSTREAM = (
    'extern "C" void launch(const float* x, const float* bias, float* out, long rows, long columns) { /* old */ }\n'
)


@pytest.fixture
def kernel(definition):
    """The tiny definition with an existing kernel in C++."""
    changes = {"kernels": {"upstream": UPSTREAM}, "kernel_language": "cpp"}
    return Definition.model_validate({**definition.model_dump(), **changes})


def workload(rows, columns, dtype="float32", **changes):
    return Workload(
        definition="tiny/level1/1_Bias", name=f"w{rows}x{columns}_{dtype}", axes={"rows": rows, "columns": columns},
        dtype=dtype, tolerance=TOLERANCE, **changes,
    )  # fmt: skip


SUITE = (workload(4, 8), workload(100, 8))


def code(turn, sample=0):
    if turn == 0:
        return Solution(definition="tiny/level1/1_Bias", language=Language.CPP, entry_point="launch", source=UPSTREAM)
    source = UPSTREAM.replace("old", f"{turn} {sample}")
    return Solution(definition="tiny/level1/1_Bias", language=Language.CPP, entry_point="launch", source=source)


@pytest.fixture
def history(kernel, trace):
    """Builds a history from rows (turn, sample, outcomes): for each workload a time in ms, a Status, or None.

    `outcomes` may be a text instead: why there is no code. The existing kernel takes 1 ms everywhere.
    """

    def judged(solution, item, outcome, floor_ms, findings, device):
        fields = {**trace.model_dump(), "solution": solution.id, "workload": item.id}
        fields["environment"] = fields["environment"] | {"device": device}
        if isinstance(outcome, Status):
            return Trace.model_validate({**fields, "status": outcome, "detail": f"detail of {outcome.value}"})
        times = Performance(
            solution=Timing(samples_ms=(outcome,) * 9), baselines={"upstream": Timing(samples_ms=(1.0,) * 9)},
            floor_ms=floor_ms, findings=findings,
        )  # fmt: skip
        return Trace.model_validate({**fields, "performance": times})

    def make(*rows, suite=SUITE, floor_ms=0.0, findings=(), definition=kernel, device="cpu"):
        attempts, solutions, builds, traces = [], [], [], []
        for turn, sample, outcomes in rows:
            place = {"definition": definition.name, "turn": turn, "sample": sample}
            if isinstance(outcomes, str):
                attempts.append(Attempt(**place, solution=None, problem=outcomes))
                continue
            solution = code(turn, sample)
            attempts.append(Attempt(**place, solution=solution.id))
            solutions.append(solution)
            rejected = Status.COMPILE_ERROR in outcomes
            built = {"status": BuildStatus.REJECTED, "log": "error: no"}
            built = built if rejected else {"status": BuildStatus.BUILT, "artifact": "k.so"}
            builds.append(Build(solution=solution.id, **built))
            doubts = findings if turn else ()
            timed = zip(suite, outcomes, strict=True)
            traces += [judged(solution, item, outcome, floor_ms, doubts, device) for item, outcome in timed]
        found = histories([definition], {definition.name: suite}, attempts, solutions, builds, traces)
        return found[definition.name]

    return make


@pytest.fixture
def before(tmp_path):
    """Writes a history as the files of its turns."""

    def write(found):
        files = {stage: [] for stage in STAGES}
        for turn in range(found.last_turn + 1):
            versions = found.of_turn(turn)
            records = {
                "attempts": [item.attempt for item in versions],
                "solutions": [item.solution for item in versions if item.solution],
                "builds": [item.build for item in versions if item.build],
                "traces": [trace for item in versions for trace in item.traces.values()],
            }
            for stage, rows in records.items():
                files[stage].append(tmp_path / f"{stage}{turn}.jsonl")
                write_records(files[stage][-1], rows)
        write_records(tmp_path / "suites.jsonl", found.suite)
        return EarlierTurns(suites=tmp_path / "suites.jsonl", **files)

    return write
