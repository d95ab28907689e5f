"""How a search meets the machine: what is compiled, pruned and judged, under which protocol, and what it counts."""

import pytest

from hone.config.experiments import Experiment
from hone.core.errors import ConfigError, MachineError
from hone.core.files import read_records, write_records
from hone.machine.hardware import gpu
from hone.records import (
    Build,
    BuildStatus,
    Candidate,
    KernelResources,
    Language,
    Performance,
    Protocol,
    SearchStep,
    Solution,
    Status,
    Timing,
    Tolerance,
    Trace,
    Workload,
)
from hone.tunables import declared
from hone.tuning import trials
from hone.tuning.stages import tune

SOURCE = """// definition: tiny/level1/1_Bias
// tune: WORK in 4, 1, 2, 8
// threads: 64 * WORK
extern "C" void launch(const float* x, const float* bias, float* out, long rows, long columns) {
    for (int pass = 0; pass < 50 * WORK; ++pass)
        for (long i = 0; i < rows * columns; ++i) {
            volatile float y = x[i] + bias[i % columns];
            out[i] = y;
        }
}
"""
PROTOCOL = Protocol(
    name="t", correctness_trials=4, timing_runs=12, timing_seconds=0.2, warmup_runs=2, profile=True, run_timeout_s=10
)


def workload(name, **changes):
    return Workload(
        definition="tiny/level1/1_Bias", name=name, axes={"rows": 4, "columns": 8},
        tolerance=Tolerance(atol=1e-4, rtol=1e-4), seed=len(name), **changes,
    )  # fmt: skip


VISIBLE = [workload("a"), workload("bb")]


@pytest.fixture
def machine(monkeypatch, trace):
    """Compilers and a judge that look at the source alone; `calls` are the judge's."""
    calls = []

    def build_all(solutions, definitions, **_):
        kernel = KernelResources(kernel="k", registers=200, shared_bytes=0, spill_store_bytes=0, spill_load_bytes=0)
        broken = {"status": BuildStatus.REJECTED, "log": "x.cpp:1: error: no\n"}
        good = {"status": BuildStatus.BUILT, "artifact": "k.so", "resources": (kernel,)}
        return [
            Build(solution=item.id, seconds=2.0, **(broken if "WORK 2 " in item.source else good)) for item in solutions
        ]

    def judge_all(solutions, builds, definitions, workloads, protocol, *, baselines, **_):
        calls.append((protocol, tuple(baselines), [item.source for item in solutions]))
        return [judged(item, each) for item in solutions for each in workloads[item.definition]]

    def judged(solution, item):
        work = int(solution.source.partition("#define WORK ")[2].split()[0])
        times = Performance(
            solution=Timing(samples_ms=(work / 10,) * 3), baselines={"torch_eager": Timing(samples_ms=(1.0,) * 3)}
        )
        fields = {"solution": solution.id, "workload": item.id, "performance": times, "phase_s": {"timing": 0.5}}
        return Trace.model_validate({**trace.model_dump(), **fields})

    monkeypatch.setattr(trials, "build_all", build_all)
    monkeypatch.setattr(trials, "judge_all", judge_all)
    return calls


@pytest.fixture
def trying(definition, tmp_path):
    def make(on=None):
        solution = Solution(definition=definition.name, language=Language.CPP, entry_point="launch", source=SOURCE)
        template = trials.Template("k.cpp", solution, declared(SOURCE))
        bench = trials.Bench(definition, VISIBLE, PROTOCOL, ("torch_eager", "torch_compile"), tmp_path, on, 5)
        return trials.Trials("e", template, bench, 0, 7)

    return make


def measure(made, points, rung):
    """For one search."""
    return trials.measured({0: made}, rung, {0: points})[0]


def test_verdicts_and_seconds_add_up_and_what_does_not_compile_costs_none(machine, trying):
    made = trying()
    found = measure(made, [{"WORK": 4}, {"WORK": 2}, {"WORK": 1}], 0)
    assert [round(item.speedup or 0, 3) for item in found] == [2.5, 0, 10]
    assert [step.evaluations for step in made.steps] == [2, 2, 4]
    assert [step.seconds for step in made.steps] == [3.0, 5.0, 8.0]
    assert [step.problem for step in made.steps] == ["", "rejected: x.cpp:1: error: no", ""]
    assert len(machine[0][2]) == 2


def test_what_several_searches_ask_is_compiled_and_judged_once(machine, trying):
    """Each has its own steps and counts all that it asked for."""
    made = {0: trying(), 3: trying()}
    found = trials.measured(made, 0, {0: [{"WORK": 4}, {"WORK": 1}], 3: [{"WORK": 1}, {"WORK": 2}]})
    assert [[round(item.speedup or 0, 3) for item in found[number]] for number in (0, 3)] == [[2.5, 10], [10, 0]]
    assert [[step.evaluations for step in made[number].steps] for number in (0, 3)] == [[2, 4], [2, 2]]
    (call,) = machine
    assert len(call[2]) == 2


def test_what_a_gpu_cannot_launch_is_not_judged(machine, trying):
    made = trying(gpu("H100"))
    found = measure(made, [{"WORK": 4}, {"WORK": 8}], 0)  # 200 registers for 256 and 512 threads
    assert [item.evaluations for item in found] == [2, 0]
    assert "registers a block" in made.steps[1].problem


def test_each_rung_times_twice_as_long_and_the_last_is_the_judges_own(machine, trying):
    made = trying()
    for rung in (0, 1, 2, None):
        measure(made, [{"WORK": 4}], rung)
    protocols = [protocol for protocol, _, _ in machine]
    assert [item.timing_runs for item in protocols] == [5, 10, 12, 12]
    assert protocols[1].timing_seconds == pytest.approx(2 * protocols[0].timing_seconds)
    assert {item.correctness_trials for item in protocols[:3]} == {1}
    assert protocols[3] == PROTOCOL
    assert [baselines for _, baselines, _ in machine] == [("torch_eager",)] * 3 + [("torch_eager", "torch_compile")]


def test_a_machine_that_cannot_judge_ends_the_search(machine, trying, monkeypatch, trace):
    lost = trace.model_copy(update={"status": Status.MACHINE_ERROR, "detail": "no room"})
    known = trials.judge_all

    def judge_all(*given, **named):
        return [lost.model_copy(update={"solution": item.solution}) for item in known(*given, **named)]

    monkeypatch.setattr(trials, "judge_all", judge_all)
    with pytest.raises(MachineError, match="no room"):
        measure(trying(), [{"WORK": 4}], 0)


@pytest.fixture
def files(tmp_path, definition):
    """Arguments of `tune` for one kernel in a folder."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "k.cpp").write_text(SOURCE)
    write_records(tmp_path / "definitions.jsonl", [definition])
    write_records(tmp_path / "workloads.jsonl", [*VISIBLE, workload("hidden", held_out=True)])

    def run(**strategy):
        item = Experiment.model_validate(
            {
                "method": "files", "source": "tiny", "levels": (1,), "files": str(folder),
                "strategy": {"kind": "tuned", "budget": {"evaluations": 16}, "repeats": 2, "finalists": 1, **strategy},
            }
        )  # fmt: skip
        outputs = {name: tmp_path / f"{name}.jsonl" for name in ("candidates", "solutions", "searches")}
        tune(
            "e", "reference/model", item, [(1, 1)], [tmp_path / "definitions.jsonl"], [tmp_path / "workloads.jsonl"],
            protocol=PROTOCOL, baselines=("torch_eager",), store=tmp_path / "store", gpu=None, **outputs,
        )  # fmt: skip
        kinds = (Candidate, Solution, SearchStep)
        return [read_records(path, kind) for path, kind in zip(outputs.values(), kinds, strict=True)]

    return run


def test_each_search_of_a_file_is_a_candidate_with_the_fastest_values(machine, files):
    rows, solutions, steps = files()
    assert [row.label for row in rows] == ["k.cpp, search 1", "k.cpp, search 2"]
    assert {row.solution for row in rows} == {item.id for item in solutions}
    assert "#define WORK 1 " in solutions[0].source
    assert {(step.repeat, step.seed) for step in steps} == {(0, 0), (1, 1)}
    assert max(step.evaluations for step in steps) <= 16


def test_a_search_knows_no_held_out_workload(machine, files):
    _, _, steps = files()
    assert all(step.evaluations % len(VISIBLE) == 0 for step in steps)


def test_a_search_may_time_fewer_workloads(machine, files):
    _, _, steps = files(workloads=1)
    assert steps[0].evaluations == 1


def test_a_budget_that_does_not_reach_is_named(machine, files):
    with pytest.raises(ConfigError, match="3 evaluations are not enough"):
        files(budget={"evaluations": 3})


@pytest.mark.slow  # compilers and the judge for real
def test_a_second_search_is_the_same_and_compiles_and_judges_nothing(files, monkeypatch):
    first = files()
    assert first[0][0].solution is not None
    monkeypatch.setattr("hone.compile.builds.compile_source", lambda *_: pytest.fail("compiled again"))
    monkeypatch.setattr("hone.judge.judging.judge_one", lambda *_: pytest.fail("judged again"))
    assert files() == first
