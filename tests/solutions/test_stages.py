"""The stages as functions of files, where they decide something themselves."""

from pathlib import Path

import pytest

from hone.config.experiments import Experiment
from hone.config.settings import parse_source
from hone.core.errors import MachineError, SourceError
from hone.core.files import read_records, write_records
from hone.methods import stages as methods
from hone.records import (
    Build,
    BuildStatus,
    Candidate,
    Definition,
    Language,
    Prompt,
    Protocol,
    Solution,
    Status,
    Tolerance,
    Trace,
    UnsupportedProblem,
    Workload,
)
from hone.solutions import stages
from hone.sources import stages as sources
from hone.sources.workloads import workload_of

EXPERIMENT = Experiment(
    method="refine", source="tiny", levels=(1,), language=Language.CPP, turns=2, samples=2, feedback=("execution",)
)


def solution(definition, source):
    return Solution(definition=definition.name, language=Language.CPP, entry_point="launch", source=source)


@pytest.fixture
def last_turn(tmp_path, definition, trace):
    """Files of a turn of two samples; `statuses` are their verdicts. Gives the arguments of `render_next`."""

    def write(*statuses):
        kernels = [solution(definition, f"void launch() {{ /* {index} */ }}") for index in range(len(statuses))]
        rows = [
            Candidate(
                experiment="e", method="refine", model="m", definition=definition.name, turn=0, sample=index,
                prompt_digest="", completion_key="", solution=kernel.id,
            )
            for index, kernel in enumerate(kernels)
        ]  # fmt: skip
        built = [Build(solution=kernel.id, status=BuildStatus.BUILT, artifact="x.so") for kernel in kernels]
        traces = [
            Trace.model_validate({**trace.model_dump(), "solution": kernel.id, "status": status, "detail": "no GPU"})
            for kernel, status in zip(kernels, statuses, strict=True)
        ]
        named = {"candidates": rows, "solutions": kernels, "builds": built, "traces": traces}
        workload = workload_of(definition, Tolerance(atol=1e-4, rtol=1e-4))
        traces[:] = [item.model_copy(update={"workload": workload.id}) for item in traces]
        for name, records in {**named, "definitions": [definition], "workloads": [workload]}.items():
            write_records(tmp_path / f"{name}.jsonl", records)
        return {name: tmp_path / f"{name}.jsonl" for name in named} | {"earlier": [], "output": tmp_path / "next.jsonl"}

    return write


def render_next(files, folder, turn=1):
    methods.render_next(
        "e", EXPERIMENT, [(1, 1)], [folder / "definitions.jsonl"], [folder / "workloads.jsonl"], turn=turn, **files
    )
    return read_records(files["output"], Prompt)


def test_a_prompt_that_was_asked_before_is_asked_anew(last_turn, tmp_path):
    """Two answers without code in a row: the next prompt is the last one to the byte."""
    files, earlier, repeats = last_turn(Status.PASSED), [], []
    (row,) = read_records(files["candidates"], Candidate)
    for turn in range(1, 5):
        silent = row.model_copy(update={"turn": turn - 1, "solution": None, "problem": "no code block"})
        if turn == 3:
            silent = row.model_copy(update={"turn": 2})
        write_records(files["candidates"], [silent])
        (prompt,) = render_next({**files, "earlier": earlier}, tmp_path, turn)
        repeats.append(prompt.repeat)
        earlier.append(tmp_path / f"candidates{turn}.jsonl")
        write_records(earlier[-1], [silent])
        row = row.model_copy(update={"prompt_digest": prompt.digest})
    # No code, no code: again. Then a kernel, whose prompt is a new one; and no code for the third time.
    assert repeats == [0, 1, 0, 2]


def test_every_judged_sample_has_a_next_prompt(last_turn, tmp_path):
    prompts = render_next(last_turn(Status.PASSED, Status.WRONG_VALUE), tmp_path)
    assert [prompt.samples for prompt in prompts] == [(0,), (1,)]


def test_a_sample_without_verdict_is_not_paid_for_again(last_turn, tmp_path):
    prompts = render_next(last_turn(Status.NOT_JUDGED, Status.WRONG_VALUE), tmp_path)
    assert [prompt.samples for prompt in prompts] == [(1,)]


def test_a_turn_without_any_verdict_stops_with_the_reason(last_turn, tmp_path):
    files = last_turn(Status.NOT_JUDGED, Status.MACHINE_ERROR)
    with pytest.raises(MachineError, match="no GPU"):
        render_next(files, tmp_path)
    assert not files["output"].exists()


def test_a_missing_compiler_stops_the_build_and_loses_nothing(tmp_path, definition, monkeypatch):
    write_records(tmp_path / "definitions.jsonl", [definition])
    write_records(tmp_path / "solutions.jsonl", [solution(definition, 'extern "C" void launch() {}\n')])
    arguments = (tmp_path / "solutions.jsonl", [tmp_path / "definitions.jsonl"])
    options = {
        "store": tmp_path / "store", "timeout_s": 60, "workers": 1, "device": "cpu", "output": tmp_path / "builds.jsonl"
    }  # fmt: skip
    monkeypatch.setenv("CXX", "/nonexistent/compiler")
    with pytest.raises(MachineError, match="compiler"):
        stages.build(*arguments, **options)
    assert not Path(options["output"]).exists()
    monkeypatch.delenv("CXX")
    stages.build(*arguments, **options)
    (built,) = read_records(options["output"], Build)
    assert built.status is BuildStatus.BUILT


def test_feedback_is_about_the_first_failure_that_may_be_shown(last_turn, tmp_path, definition):
    files = last_turn(Status.PASSED, Status.PASSED)
    own = workload_of(definition, Tolerance(atol=1e-4, rtol=1e-4))
    other = own.model_copy(update={"name": "other"})
    hidden = own.model_copy(update={"name": "hidden", "held_out": True})
    write_records(tmp_path / "workloads.jsonl", [own, other, hidden])
    first, second = read_records(files["traces"], Trace)
    wrong = {"status": Status.WRONG_VALUE, "performance": None, "detail": "out[0] is 2"}
    known = [
        first, first.model_copy(update={"workload": other.id, **wrong}),
        second, second.model_copy(update={"workload": hidden.id, **wrong}),
    ]  # fmt: skip
    write_records(files["traces"], known)
    one, two = (prompt.messages[0].content for prompt in render_next(files, tmp_path))
    assert "out[0] is 2" in one
    assert "out[0] is 2" not in two


ENTRY = """
language: cpp
dtypes: [float32]
axes: {rows: , cols: }
inputs: [{name: x, axes: [rows, cols], in_place: true}]
reference: |
  import torch


  class Model(torch.nn.Module):
      def forward(self, x):
          x.mul_(3)


  def get_inputs():
      return [torch.randn(ROWS, COLS)]


  def get_init_inputs():
      return []
kernels:
  upstream:
    packages: [own]
    headers: [triple.h]
    body: for (int64_t i = 0; i < rows * cols; ++i) x[i] = triple(x[i]);
workloads:
  - {name: usual, axes: {rows: 30, cols: 40}}
  - {name: odd, axes: {rows: 7, cols: 13}, held_out: true}
"""


@pytest.mark.filterwarnings("default:this machine confines")
def test_an_existing_kernel_is_fetched_defined_built_and_judged_on_all_its_workloads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("kernels/1_triple.yaml", ENTRY),
        ("headers/triple.h", "#pragma once\ntemplate <typename T> T triple(T x) { return 3 * x; }\n"),
    ):
        Path(name).parent.mkdir()
        Path(name).write_text(text)
    packages = {"own": {"kind": "folder", "path": "headers"}}
    source = parse_source({"kind": "kernels", "path": "kernels", "levels": {1: 1}, "packages": packages})
    sources.fetch_problems("mini", source, Path("entries.jsonl"))
    known = {name: Path(f"{name}.jsonl") for name in ("definitions", "workloads", "unsupported")}
    baselines = ("torch_eager", "upstream", "current")
    nowhere = {"soundness": Path("none"), "versions": Path("none")}
    sources.define_level(
        Path("entries.jsonl"), 1, source.tolerance, kind="kernels", baselines=baselines, **nowhere, **known
    )
    (item,) = read_records(known["definitions"], Definition)
    assert item.baselines == ("torch_eager", "upstream")
    assert read_records(known["unsupported"], UnsupportedProblem) == []
    faster = item.kernels["upstream"].replace("triple(x[i])", "x[i] + x[i] + x[i]")
    write_records(Path("solutions.jsonl"), [solution(item, faster)])
    definitions, workloads = [known["definitions"]], [known["workloads"]]
    stages.build(
        Path("solutions.jsonl"), definitions, store=Path("store"), timeout_s=60, workers=2, device="cpu",
        output=Path("builds.jsonl"),
    )  # fmt: skip
    protocol = Protocol(name="quick", timing_runs=3, timing_seconds=0.05, correctness_trials=1, memory_limit_gib=1)
    stages.judge(
        Path("solutions.jsonl"), Path("builds.jsonl"), definitions, workloads, protocol=protocol, baselines=baselines,
        store=Path("store"), output=Path("traces.jsonl"),
    )  # fmt: skip
    traces = read_records(Path("traces.jsonl"), Trace)
    assert [trace.status for trace in traces] == [Status.PASSED] * 2, traces
    assert [trace.workload for trace in traces] == [item.id for item in read_records(known["workloads"], Workload)]
    assert [list(trace.performance.baselines) for trace in traces] == [["torch_eager", "upstream"]] * 2


def test_a_batch_has_its_own_definitions_and_workloads_alone(tmp_path, definition):
    others = [definition.model_copy(update={"name": f"d/level1/{number}", "number": number}) for number in (7, 8)]
    every = [definition, *others]
    write_records(tmp_path / "d.jsonl", every)
    write_records(tmp_path / "w.jsonl", [workload_of(item, Tolerance(atol=1e-4, rtol=1e-4)) for item in every])
    chosen, workloads = tmp_path / "chosen.jsonl", tmp_path / "workloads.jsonl"
    batch = {(definition.level, 7), (definition.level, 9)}
    sources.select_batch(
        batch, [tmp_path / "d.jsonl"], [tmp_path / "w.jsonl"], chosen=chosen, chosen_workloads=workloads
    )
    assert read_records(chosen, Definition) == [others[0]]
    assert [item.definition for item in read_records(workloads, Workload)] == [others[0].name]


def existing(definition, number, body):
    changes = {"name": f"tiny/level1/{number}_kernel", "number": number, "kernel_language": "cpp"}
    kernels = {"upstream": f'extern "C" void launch() {{ {body} }}\n'}
    return Definition.model_validate({**definition.model_dump(), **changes, "kernels": kernels})


def test_existing_kernels_are_compiled_before_anybody_is_asked(definition, tmp_path):
    file, output = tmp_path / "level1.jsonl", tmp_path / "builds.jsonl"
    arguments = {"store": tmp_path / "store", "timeout_s": 60.0, "workers": 2, "output": output}
    write_records(file, [existing(definition, 1, "int one = 1;"), existing(definition, 2, "return missing;")])
    with pytest.raises(SourceError, match=r"tiny/level1/2_kernel, upstream: .*missing") as caught:
        stages.build_existing(file, **arguments)
    assert "1_kernel" not in str(caught.value)
    assert "prune: false" in caught.value.remedy
    assert not output.exists()
    write_records(file, [existing(definition, 1, "int one = 1;")])
    stages.build_existing(file, **arguments)
    assert [item.status for item in read_records(output, Build)] == [BuildStatus.BUILT]
