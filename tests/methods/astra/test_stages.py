"""The stages of the rounds as functions of files, where they decide something themselves."""

from pathlib import Path

import pytest

from hone.config.experiments import Experiment
from hone.core.errors import MachineError, RecordError
from hone.core.files import read_records, write_records
from hone.methods.astra import stages
from hone.methods.astra.history import Attempt
from hone.methods.astra.stages import EarlierTurns, told_files
from hone.methods.astra.suite import Suite
from hone.records import (
    Answer,
    Candidate,
    Completion,
    Definition,
    Language,
    LLMRequest,
    Message,
    Prompt,
    Sampling,
    Solution,
    Status,
    Usage,
    Workload,
)
from hone.sources.stages import show_workloads
from hone.teams import TEAMS
from tests.methods.astra.conftest import workload

OLD, NEW = (0, 0, (1.0, 1.0)), (1, 0, (0.5, 0.5))
VISIBLE, HELD_OUT = workload(64, 8), workload(7777, 13, held_out=True)


def experiment(method="astra", **changes):
    values = {"method": method, "source": "tiny", "levels": (1,), "language": "cpp", "turns": 6, **changes}
    return Experiment.model_validate(values)


def answer(role, turn, words, sample=0, definition="tiny/level1/1_Bias"):
    request = LLMRequest(provider="p", base_url="", model="m", messages=(), sampling=Sampling(), sample=sample)
    completion = Completion(
        key=f"{role}{turn}{sample}", request=request, response=words, finish_reason="stop", model_returned="m",
        usage=Usage(), cost_usd=0, price_source="", latency_s=0, created_at="",
    )  # fmt: skip
    return Answer(
        experiment="e", model="m", definition=definition, role=role, turn=turn, sample=sample, prompt_digest="p",
        completion=completion,
    )  # fmt: skip


@pytest.fixture
def given(tmp_path, kernel):
    """Definition and visible workload, as the arguments that all stages share."""
    write_records(tmp_path / "definitions.jsonl", [kernel])
    write_records(tmp_path / "visible.jsonl", [VISIBLE])
    return {"definitions": [tmp_path / "definitions.jsonl"], "workloads": [tmp_path / "visible.jsonl"]}


@pytest.fixture
def ask(tmp_path, given, before):
    """Prompts of a role for the turn after the history's last; `told` are answers by field."""

    def run(role, found, told=(), **changes):
        files = {}
        asked = TEAMS["astra"].asked[role]
        names = (*asked.told, *asked.told_before, *asked.told_of_others)
        for field, rows in (dict.fromkeys(names, ()) | dict(told)).items():
            files[field] = [tmp_path / f"{field}.jsonl"]
            write_records(files[field][0], rows)
        output = tmp_path / "prompts.jsonl"
        stages.ask_role(
            role,
            "e",
            experiment(**changes),
            found.last_turn + 1,
            before(found),
            files,
            *given.values(),
            output,
        )
        return read_records(output, Prompt)

    return run


def test_turn_0_is_the_existing_kernel(tmp_path, given, kernel):
    files = {name: tmp_path / f"{name}.jsonl" for name in ("attempts", "candidates", "solutions")}
    stages.upstream("e", "m", experiment(), [(1, 1)], given["definitions"], **files)
    (solution,) = read_records(files["solutions"], Solution)
    (row,) = read_records(files["candidates"], Candidate)
    assert solution.source == kernel.kernels["upstream"]
    assert (row.turn, row.label, row.solution) == (0, "upstream", solution.id)
    assert [item.solution for item in read_records(files["attempts"], Attempt)] == [solution.id]


def test_what_is_held_out_reaches_no_prompt(tmp_path, given):
    write_records(tmp_path / "all.jsonl", [VISIBLE, HELD_OUT])
    show_workloads(tmp_path / "all.jsonl", given["workloads"][0])
    assert read_records(given["workloads"][0], Workload) == [VISIBLE]
    stages.ask_testing("e", experiment(), [(1, 1)], *given.values(), tmp_path / "prompts.jsonl")
    assert "7777" not in (tmp_path / "prompts.jsonl").read_text()


def test_a_kernel_without_a_visible_workload_is_named(tmp_path, given):
    write_records(given["workloads"][0], [])
    with pytest.raises(RecordError, match="1_Bias"):
        stages.ask_testing("e", experiment(), [(1, 1)], *given.values(), tmp_path / "prompts.jsonl")


def test_suites_and_where_they_came_from(tmp_path, given):
    write_records(tmp_path / "answers.jsonl", [answer("testing", 0, '```\n[{"axes": {"rows": 3, "columns": 5}}]\n```')])
    files = {name: tmp_path / f"{name}.jsonl" for name in ("suites", "origins")}
    stages.suite(tmp_path / "answers.jsonl", *given.values(), **files)
    (made,) = read_records(files["suites"], Workload)
    (origin,) = read_records(files["origins"], Suite)
    assert made.axes == {"rows": 3, "columns": 5}
    assert (origin.origin, origin.workloads) == ("answer", (made.id,))


def test_the_planner_is_told_of_this_kernel_alone(ask, history):
    told = {
        "analysis": [answer("profiling", 2, "Mine."), answer("profiling", 2, "Other's.", definition="x")],
        "plans": [answer("planning", 1, "Earlier."), answer("planning", 1, "Foreign.", definition="x")],
        "notes": [answer("experience", 6, "Lesson.", definition="x")],
    }
    (prompt,) = ask("planning", history(OLD, NEW), told)
    shown = prompt.messages[0].content
    assert prompt.turn == 2
    for words in ("Mine.", "Earlier.", "Lesson."):
        assert words in shown
    assert "Other's." not in shown
    assert "Foreign." not in shown


def test_what_one_role_was_not_asked_the_next_is_not_either(ask, history):
    assert ask("coding", history(OLD, NEW), {"plan": []}) == []


def test_a_kernel_at_the_floor_is_asked_no_more(ask, history):
    found = history(OLD, NEW, floor_ms=0.45)
    assert ask("profiling", found, astra={"stop_at_floor_share": 0.89}) == []
    assert len(ask("profiling", found, astra={"stop_at_floor_share": 0.91})) == 1
    assert len(ask("experience", found, astra={"stop_at_floor_share": 0.89})) == 1


def test_a_kernel_that_stopped_stays_stopped(tmp_path, ask, history, before, given):
    found = history(OLD, NEW)
    output = tmp_path / "later.jsonl"
    stages.ask_role("profiling", "e", experiment(), 3, before(found), {}, *given.values(), output)
    assert read_records(output, Prompt) == []


def test_without_any_verdict_it_stops_with_the_reason(ask, history):
    missing = Status.NOT_JUDGED
    with pytest.raises(MachineError, match="detail of not_judged"):
        ask("profiling", history((0, 0, (missing, missing))))


def test_the_conversation_goes_on_from_the_candidate_that_does(tmp_path, given, before, history):
    found = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, (0.4, 0.4)))
    asked = Prompt(
        experiment="e", definition=found.definition.name, role="single", turn=1, samples=(0, 1),
        messages=(Message(role="user", content="go"),),
    )  # fmt: skip
    write_records(tmp_path / "asked.jsonl", [asked])
    write_records(tmp_path / "said.jsonl", [answer("single", 1, f"answer {sample}", sample) for sample in (0, 1)])
    stages.converse(
        "e", experiment("astra_single", samples=2), 2, before(found), prompts=tmp_path / "asked.jsonl",
        answers=tmp_path / "said.jsonl", **given, output=tmp_path / "next.jsonl",
    )  # fmt: skip
    (prompt,) = read_records(tmp_path / "next.jsonl", Prompt)
    assert [message.role for message in prompt.messages] == ["user", "assistant", "user"]
    assert prompt.messages[1].content == "answer 1"
    assert "Start from version 1, candidate 2." in prompt.messages[2].content


@pytest.mark.parametrize(
    ("dtypes", "code", "usable"),
    [
        ([], "void launch(int a) {}", True),
        ([], "void launch_float16(int a) {}", False),
        (["float16", "float32"], "void launch_float16(int a) {}", True),
        (["float16", "float32"], "#define L(T) void launch_##T( \\\n  T* x) \\\n  {}\n", True),
        (["float16", "float32"], "void launch_float16(int a);", False),
        (["float16", "float32"], "void launch(int a) {}", False),
    ],
)
def test_the_launchers_that_a_definition_wants_are_looked_for(tmp_path, kernel, dtypes, code, usable):
    typed = Definition.model_validate({**kernel.model_dump(), "dtypes": dtypes})
    write_records(tmp_path / "definitions.jsonl", [typed])
    write_records(tmp_path / "answers.jsonl", [answer("coding", 1, f"```cpp\n{code}\n```\n")])
    files = {name: tmp_path / f"{name}.jsonl" for name in ("attempts", "candidates", "solutions")}
    inputs = (tmp_path / "answers.jsonl", "astra", Language.CPP, [tmp_path / "definitions.jsonl"])
    stages.extract(*inputs, **files)
    (attempt,) = read_records(files["attempts"], Attempt)
    assert (attempt.solution is not None) == usable


def test_paths_of_a_rule_are_read_as_files_or_lists():
    class Inputs:
        suites = "s"
        attempts = solutions = builds = traces = ("a", "b")
        analysis = "one"
        plans = ()

    assert [path.name for path in EarlierTurns.of(Inputs).traces] == ["a", "b"]
    assert told_files("astra", "planning", Inputs) == {"analysis": [Path("one")], "plans": [], "notes": []}
