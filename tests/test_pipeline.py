"""The stages as functions of files, where they decide something themselves."""

from pathlib import Path

import pytest

from hone import pipeline
from hone.config import Experiment
from hone.errors import MachineError
from hone.files import read_records, write_records
from hone.records import Build, BuildStatus, Candidate, Language, Prompt, Solution, Status, Tolerance, Trace

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
        for name, records in {**named, "definitions": [definition]}.items():
            write_records(tmp_path / f"{name}.jsonl", records)
        return {name: tmp_path / f"{name}.jsonl" for name in named} | {"output": tmp_path / "next.jsonl"}

    return write


def render_next(files, folder):
    pipeline.render_next(
        "e", EXPERIMENT, [(1, 1)], Tolerance(atol=1e-4, rtol=1e-4), [folder / "definitions.jsonl"], turn=1, **files
    )
    return read_records(files["output"], Prompt)


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
        pipeline.build(*arguments, **options)
    assert not Path(options["output"]).exists()
    monkeypatch.delenv("CXX")
    pipeline.build(*arguments, **options)
    (built,) = read_records(options["output"], Build)
    assert built.status is BuildStatus.BUILT
