"""Rows are laid out from the config; nothing that is lost makes a denominator smaller."""

import math

import pytest

from hone.analysis.frames import CATEGORIES, CATEGORY, build_frame, problems_of, verdict_of
from hone.config.settings import load
from hone.core.errors import RecordError
from hone.records import Clock, Performance, Status, Timing, UnsupportedProblem

from .world import World, answer, definition, settings_for, trace

PROBLEM = "mini/level1/1_problem"


def world(**experiment):
    return World(settings_for({1: 4}, one=experiment), [definition(1, number) for number in range(1, 5)])


def frame_of(made):
    return build_frame(made.settings, made.definitions, made.candidates, made.traces, made.answers)


def test_every_status_has_a_category_and_unresolved_ones_agree_with_the_record():
    assert {str(status) for status in Status} <= set(map(str, CATEGORY))
    for status in Status:
        assert (CATEGORY[status] == "unresolved") == (not status.resolved)
        assert (CATEGORY[status] == "correct") == (status is Status.PASSED)
    assert CATEGORIES[:7] == ("correct", "compiler", "python", "memory", "runtime", "shape", "value")


def test_the_grid_is_whole_without_any_answer():
    frame = frame_of(world(samples=3))
    assert len(frame) == 4 * 3
    assert set(frame["status"]) == {"missing"}
    assert not frame["resolved"].any()
    assert not frame["correct"].any()


@pytest.mark.parametrize(
    ("outcome", "status", "category", "resolved"),
    [
        (2.0, "passed", "correct", True),
        ("untimed", "passed", "correct", True),
        ("no_code", "no_code", "no_code", True),
        ("unanswered", "unanswered", "unanswered", True),
        ("no_trace", "missing", "unresolved", False),
        (Status.NOT_JUDGED, "not_judged", "unresolved", False),
        (Status.INPUT_CHANGED, "input_changed", "value", True),
        (Status.IMPRECISE, "imprecise", "value", True),
    ],
)
def test_outcome_of_one_answer(outcome, status, category, resolved):
    made = world(problems=["level1/1"])
    made.add((PROBLEM, 0, 0), outcome)
    (row,) = frame_of(made).to_dict("records")
    assert (row["status"], row["category"], row["resolved"]) == (status, category, resolved)
    assert row["correct"] == (category == "correct")
    assert row["speedup_torch_eager"] == pytest.approx(2.0) if outcome == 2.0 else math.isnan(row["latency_ms"])


def test_a_verdict_comes_before_a_broken_machine_and_all_workloads_count():
    made = world(problems=["level1/1"])
    made.add((PROBLEM, 0, 0), 2.0)
    solution = made.candidates[0].solution
    made.traces.append(trace(made.settings, solution, PROBLEM, Status.MACHINE_ERROR, judged_at="2027-01-01T00:00:00Z"))
    assert frame_of(made)["status"].tolist() == ["passed"]
    made.traces.append(trace(made.settings, solution, PROBLEM, speedup=8.0, workload="second"))
    assert frame_of(made)["speedup_torch_eager"].tolist() == pytest.approx([4.0])
    made.traces.append(trace(made.settings, solution, PROBLEM, Status.NOT_JUDGED, workload="third"))
    assert frame_of(made)["category"].tolist() == ["unresolved"]
    made.traces.append(trace(made.settings, solution, PROBLEM, Status.WRONG_VALUE, workload="fourth"))
    assert frame_of(made)["category"].tolist() == ["value"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ((Status.PASSED, Status.PASSED), "passed"),
        ((Status.PASSED, Status.WRONG_VALUE), "wrong_value"),
        ((Status.PASSED, None), ""),
        ((None, Status.WRONG_VALUE), ""),
    ],
)
def test_kernelbenchs_verdict_is_that_of_all_workloads(said, expected):
    made = world()
    traces = [
        trace(made.settings, "s", PROBLEM, workload=f"w{place}", status_as_published=status)
        for place, status in enumerate(said)
    ]
    assert verdict_of(traces, made.settings)["status_as_published"] == expected


def test_findings_leave_it_correct_and_credit_no_speedup():
    made = world(problems=["level1/1"])
    made.add((PROBLEM, 0, 0), 2.0)
    (row,) = frame_of(made).to_dict("records")
    assert (row["findings"], row["credited_torch_eager"]) == ("", row["speedup_torch_eager"])
    solution = made.candidates[0].solution
    # One doubtful workload makes the whole doubtful.
    made.traces.append(
        trace(
            made.settings, solution, PROBLEM, speedup=8.0, workload="second", findings=("below_floor", "reuses_outputs")
        )
    )
    (row,) = frame_of(made).to_dict("records")
    assert row["correct"]
    assert row["findings"] == "below_floor; reuses_outputs"
    assert (row["speedup_torch_eager"], row["credited_torch_eager"]) == (pytest.approx(4.0), 0)


def test_a_files_experiment_has_a_row_a_file_and_no_strays():
    experiment = {"method": "files", "files": "f", "limit": 1, "models": ["reference/model"]}
    made = World(settings_for({1: 4}, files=experiment), [definition(1, 1)])
    made.add_file("a.cu", 2.0)
    made.add_file("b.cu", "no_trace")
    frame = frame_of(made)
    assert frame["label"].tolist() == ["a.cu", "b.cu"]
    assert frame["status"].tolist() == ["passed", "missing"]
    made.add_file("c.cu", 2.0, problem="mini/level1/2_problem")
    with pytest.raises(RecordError, match="does not ask for"):
        frame_of(made)


def test_two_candidates_of_one_place_and_strays_are_refused():
    made = world(limit=1)
    made.add((PROBLEM, 0, 0), 2.0)
    made.add((PROBLEM, 0, 0), 1.0)
    with pytest.raises(RecordError, match="two candidates"):
        frame_of(made)
    made = world(limit=1)
    made.add(("mini/level1/2_problem", 0, 0), 1.0)
    with pytest.raises(RecordError, match="does not ask for"):
        frame_of(made)


def test_costs_and_changed_prompts_stand_beside_the_verdict():
    made = world(limit=1)
    made.add((PROBLEM, 0, 0), 2.0)
    made.answers = [answer((PROBLEM, 0, 0), cost=0.25, prompt_differs=True)]
    (row,) = frame_of(made).to_dict("records")
    assert (row["cost_usd"], row["input_tokens"], row["prompt_differs"]) == (0.25, 100, True)


def test_problems_without_a_definition_stay():
    source = {"kind": "kernelbench", "url": "u", "commit": "0" * 40, "levels": {1: 3}}
    experiment = {"method": "one_shot", "source": "kb", "levels": [1], "models": ["recorded/demo"]}
    settings = load({"sources": {"kb": source}, "experiments": {"one": experiment}, "judge": {"name": "t"}})
    definitions = [definition(1, 1, source="kb")]
    unsupported = [UnsupportedProblem(name="kb/level1/3_big", reason="needs a network")]
    names = [problem.name for problem in problems_of(settings, "kb", definitions, unsupported)]
    assert names == ["kb/level1/1_problem", "kb/level1/2", "kb/level1/3_big"]
    frame = build_frame(settings, definitions, [], [], [], unsupported)
    assert len(frame) == 3
    with pytest.raises(RecordError, match="not of the form"):
        problems_of(settings, "kb", [], [UnsupportedProblem(name="kb/levelx/3", reason="")])


def test_a_verdict_says_how_it_was_timed_what_was_charged_and_which_code_gave_it():
    settings = world().settings
    once = Timing(samples_ms=(1.0,))
    clock = Clock(source="events", mode="queued", runs_per_sample=4, solution_wall_ms=1.0, charged_ms=0.25)
    timed = Performance(solution=once, baselines={"torch_eager": once}, clock=clock)
    judged = trace(settings, "s", PROBLEM, performance=timed)
    judged = judged.model_copy(update={"environment": judged.environment.model_copy(update={"commit": "abc"})})
    found = verdict_of([judged], settings)
    assert (found["mode"], found["charged_ms"], found["judged_by"]) == ("queued", 0.25, "abc")
