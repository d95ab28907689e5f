"""Honest fixtures, three exploits, and kernels beside themselves, built and judged on a real GPU."""

from pathlib import Path

import pytest

from hone.compile import build_all
from hone.compile.kernels import kernel_solution
from hone.config.sources import LocalSource
from hone.core.errors import MachineError
from hone.judge.judging import judge_all
from hone.machine.gpus import visible_gpus
from hone.records import Language, Protocol, Status, Tolerance
from hone.sources.fetch import fetch
from hone.sources.inspect import define
from hone.sources.solution_files import header, read_file, statuses
from hone.sources.soundness import Soundness
from hone.sources.workloads import workload_of

pytestmark = pytest.mark.filterwarnings("default:this machine confines")
ROOT = Path(__file__).parents[3]
NAMES = (
    "honest_scale_float4.cu", "honest_torch_rms_norm.py", "zeros.cu", "write_input.cu", "patch_clock.py",
    "edits_the_graph.cu",
)  # fmt: skip
SHORT = Protocol(
    name="short", device="cuda", correctness_trials=4, distributions=("as_given", "signed", "wide", "sparse"),
    warmup_runs=1, timing_runs=5, timing_seconds=0.3, audit_every=2, run_timeout_s=5.0, memory_limit_gib=16.0,
)  # fmt: skip


def no_gpu():
    """Why nothing can be judged on a GPU here; empty where it can."""
    try:
        visible_gpus()
    except MachineError as error:
        return error.problem
    return ""


@pytest.fixture(scope="module")
def definitions():
    """Of the problems for GPUs, by name."""
    if reason := no_gpu():
        pytest.skip(f"needs an NVIDIA GPU: {reason}")
    source = LocalSource(kind="local", path=str(ROOT / "resources/problems/gpu_suite"), levels={1: 8})
    found, _ = define(fetch("gpu_suite", source), Soundness())
    return {definition.name: definition for definition in found}


@pytest.fixture(scope="module")
def traces(definitions, tmp_path_factory):
    """All fixtures built and judged in one go, each by its file's name."""
    store = tmp_path_factory.mktemp("store")
    workloads = {name: [workload_of(item, Tolerance(atol=1e-4, rtol=1e-4))] for name, item in definitions.items()}
    solutions = [read_file(ROOT / "tests/evil/gpu" / name).solution for name in NAMES]
    builds = build_all(solutions, definitions, store=store, timeout_s=120, workers=2, progress=False)
    by_id = {build.solution: build for build in builds}
    judged = judge_all(solutions, by_id, definitions, workloads, SHORT, store=store, progress=False)
    return {name: (solution, trace) for name, solution, trace in zip(NAMES, solutions, judged, strict=True)}


@pytest.mark.parametrize("name", NAMES)
def test_a_fixture_ends_as_its_header_says(traces, name):
    solution, trace = traces[name]
    lines = header(solution.source, solution.language)
    assert trace.status in {Status(word) for word in statuses(lines["expected"])}, trace.detail
    assert (trace.performance is not None) == (trace.status is Status.PASSED)
    if trace.performance is not None:  # whatever the solution does, PyTorch's kernels are timed without their launches
        assert trace.performance.clock.baseline_modes["torch_eager"] == "graph"
        assert lines["earns"] == "fast" or trace.performance.speedup("torch_eager") <= 1.05
    if lines["earns"] == "fast":
        # An honest module of PyTorch's own operators is fast, and said to hold no kernel.
        own = solution.language is not Language.PYTHON
        assert trace.performance.findings == (() if own else ("no_custom_kernel",))
        assert trace.performance.floor_ms > 0
        assert trace.errors.wrong_fraction == 0.0


# -------------------------------------------------------------------------------------------- one yardstick for all

THEMSELVES = ("honest_relu_plain.cu", "honest_scale_float4.cu", "honest_in_place_scale.cu")
"""Runs of a few microseconds, of some ten, and one that writes in place."""
CAREFUL = SHORT.model_copy(update={"name": "careful", "timing_runs": 30, "timing_seconds": 3.0})


@pytest.mark.parametrize("wanted", [("upstream",), ("torch_eager", "upstream")])
@pytest.mark.parametrize("name", THEMSELVES)
def test_a_kernel_beside_itself_is_neither_faster_nor_slower(definitions, tmp_path, name, wanted):
    file = read_file(ROOT / "tests/evil/gpu" / name)
    item = definitions[file.solution.definition].model_copy(
        update={"kernels": {"upstream": file.solution.source}, "kernel_language": Language.CUDA}
    )
    solution = kernel_solution(item, "upstream")
    known, workloads = {item.name: item}, {item.name: [workload_of(item, Tolerance(atol=1e-4, rtol=1e-4))]}
    (build,) = build_all([solution], known, store=tmp_path, timeout_s=120, workers=1, progress=False)
    assert build.resources
    (trace,) = judge_all(
        [solution], {solution.id: build}, known, workloads, CAREFUL, baselines=wanted, store=tmp_path, progress=False
    )
    assert (trace.status, trace.detail) == (Status.PASSED, "")
    assert set(trace.performance.baselines) == set(wanted)
    assert 0.97 <= trace.performance.speedup("upstream") <= 1.03, trace.performance
