"""Rounds by strategy: branches from the fastest kernels, and budgets that are kept to."""

from dataclasses import replace
from pathlib import Path

import pytest

from hone.config.experiments import Experiment
from hone.config.strategy import Linear
from hone.core.files import read_records, write_records
from hone.file_map import FileMap
from hone.methods.astra.stages import ask_role
from hone.methods.astra.strategy import Spent, ending, round_of, spent, start_of, starts, why_not_asked
from hone.records import Prompt, Status
from tests.methods.astra.conftest import SUITE, code
from tests.methods.astra.test_options import settings
from tests.methods.astra.test_stages import VISIBLE, answer

OLD = (0, 0, (1.0, 1.0))


def experiment(strategy=None, method="astra", **changes):
    given = {"strategy": strategy} if strategy else {}
    values = {"method": method, "source": "tiny", "levels": (1,), "language": "cpp", "turns": 6, **given, **changes}
    return Experiment.model_validate(values)


def beam(width, **changes):
    return experiment({"kind": "beam", "width": width}, **changes)


def place(version):
    return version.turn, version.attempt.sample


def shape(branches):
    return [(branch.number, place(branch.start), branch.samples) for branch in branches]


def test_an_experiment_without_a_strategy_is_written_as_before():
    assert "strategy" not in experiment().model_dump()
    assert "strategy" not in experiment({"kind": "linear"}).model_dump()
    assert experiment().strategy == Linear()


def test_a_linear_round_has_one_branch_with_all_samples(history):
    found = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, (0.4, 0.4)))
    assert shape(round_of(found, experiment(samples=2))) == [(0, (1, 1), (0, 1))]


def test_a_beam_starts_from_the_fastest_by_measured_time(history):
    found = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, (0.1, Status.WRONG_VALUE)), (2, 0, (0.9, 0.9)), (2, 1, (0.4, 0.4)))
    assert shape(round_of(found, beam(2))) == [(0, (2, 1), (0,)), (1, (1, 0), (1,))]
    assert [place(item) for item in starts(found, beam(4))] == [(2, 1), (1, 0), (2, 0), (0, 0)]


def test_while_there_are_fewer_kernels_than_branches_they_take_turns(history):
    assert shape(round_of(history(OLD), beam(2, samples=2))) == [(0, (0, 0), (0, 1)), (1, (0, 0), (2, 3))]


def test_without_a_right_kernel_a_beam_starts_from_the_existing_one(history):
    broken = history((0, 0, (Status.RUNTIME_ERROR,) * 2), (1, 0, (Status.WRONG_VALUE,) * 2))
    assert [place(item) for item in starts(broken, beam(3))] == [(0, 0)] * 3


def test_equal_kernels_are_one_start(history):
    found = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, (0.5, 0.5)))
    first, second = found.versions[1:]
    same = type(second)(
        second.attempt.model_copy(update={"solution": first.solution.id}), first.solution, first.build, first.traces
    )
    twice = type(found)(found.definition, found.suite, (found.versions[0], first, same))
    assert [place(item) for item in twice.fastest(3)] == [(1, 0), (0, 0)]


def test_what_was_spent_counts_answers_of_all_roles_and_verdicts_of_kernels_that_compile(history):
    found = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, "no code block"), (2, 0, (Status.COMPILE_ERROR,) * 2))
    # Suite; profiling, planning and two candidates; profiling, planning and one.
    assert spent(found, experiment(samples=2)) == Spent(evaluations=len(SUITE), answers=1 + 4 + 3)
    # As two branches, round 1 asked the other roles twice.
    assert spent(found, beam(2)) == Spent(evaluations=len(SUITE), answers=1 + 6 + 3)
    assert spent(found, experiment(method="astra_single", samples=2)).answers == 1 + 2 + 1


def test_a_verdict_on_another_experiments_suite_costs_nothing(history):
    found = history(OLD, (1, 0, (0.5, 0.5)))
    first = found.versions[1]
    elsewhere = replace(first, traces={**first.traces, "another suite's": next(iter(first.traces.values()))})
    shared = replace(found, versions=(found.versions[0], elsewhere))
    assert spent(shared, experiment()) == spent(found, experiment())


@pytest.mark.parametrize(
    ("budget", "branches"),
    [
        ({}, [(0, 1), (2, 3)]),
        ({"evaluations": 8}, [(0, 1), (2, 3)]),
        ({"evaluations": 7}, [(0, 1), (2,)]),
        ({"evaluations": 3}, [(0,)]),
        ({"evaluations": 1}, []),
        ({"answers": 1 + 8}, [(0, 1), (2, 3)]),
        ({"answers": 1 + 7}, [(0, 1), (2,)]),
        ({"answers": 1 + 6}, [(0, 1)]),
        ({"answers": 1 + 2}, []),
    ],
)
def test_a_round_is_cut_to_what_the_budget_has_left(history, budget, branches):
    item = experiment({"kind": "beam", "width": 2, "budget": budget}, samples=2)
    assert [branch.samples for branch in round_of(history(OLD), item)] == branches


def test_a_candidate_knows_what_it_was_made_from(history):
    found = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, (0.4, 0.4)), (2, 0, (0.3, 0.3)), (2, 1, (0.9, 0.9)))
    parents = {place(item): start_of(found, *place(item), beam(2)) for item in found.versions}
    assert {own: parent and place(parent) for own, parent in parents.items()} == {
        (0, 0): None, (1, 0): (0, 0), (1, 1): (0, 0), (2, 0): (1, 1), (2, 1): (1, 0),
    }  # fmt: skip
    assert start_of(found, 4, 0, beam(2)) is None


def test_what_a_budget_left_out_was_not_asked_and_the_rest_is_missing(history):
    item = experiment({"kind": "beam", "width": 2, "budget": {"evaluations": 6}})
    found = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, (0.4, 0.4)))
    asked = [not why_not_asked(found, turn, sample, item) for turn, sample in ((1, 1), (2, 0), (2, 1), (3, 0))]
    assert asked == [True, True, False, True]
    done = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, (0.4, 0.4)), (2, 0, (0.4, 0.4)))
    assert [not why_not_asked(done, turn, 0, item) for turn in (3, 4)] == [False, False]


def test_each_branch_is_asked_about_its_own_kernel_by_its_own_plan(tmp_path, kernel, history, before):
    found = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, (0.4, 0.4)))
    write_records(tmp_path / "definitions.jsonl", [kernel])
    write_records(tmp_path / "visible.jsonl", [VISIBLE])
    plans = [answer("planning", 2, f"Plan of branch {number}.", number) for number in (0, 1)]
    write_records(tmp_path / "plans.jsonl", plans)
    ask_role(
        "coding", "e", beam(2, samples=2), 2, before(found), {"plan": [tmp_path / "plans.jsonl"]},
        [tmp_path / "definitions.jsonl"], [tmp_path / "visible.jsonl"], tmp_path / "prompts.jsonl",
    )  # fmt: skip
    first, second = read_records(tmp_path / "prompts.jsonl", Prompt)
    assert (first.samples, second.samples) == ((0, 1), (2, 3))
    for prompt, number, sample in ((first, 0, 1), (second, 1, 0)):
        shown = prompt.messages[0].content
        assert code(1, sample).source in shown
        assert f"Plan of branch {number}." in shown
        assert f"Plan of branch {1 - number}." not in shown


def test_jobs_and_answers_are_counted_with_all_branches():
    item = settings(strategy={"kind": "beam", "width": 3}, samples=2, turns=3)
    questions = FileMap(item, "r").experiments.questions("a")
    asked = {(each.shard.turn, Path(each.prompts).parts[-2]): each.samples for each in questions}
    assert asked[0, "testing"] == 1
    assert asked[1, "profiling"] == asked[2, "planning"] == 3
    assert asked[2, "coding"] == 6


def test_it_is_said_why_rounds_ended(history):
    steered = {"astra": {"roofline": True}}
    near = history(OLD, (1, 0, (0.104, 0.104)), floor_ms=0.1, device="NVIDIA H200")
    assert ending(near, experiment(**steered)) == "at the floor: the least time is 96% of that of version 1"
    far = history(OLD, (1, 0, (0.106, 0.106)), floor_ms=0.1, device="NVIDIA H200")
    assert ending(far, experiment(**steered)) == "not all rounds are there"
    assert ending(far, experiment(turns=2)) == "all rounds were asked"
    assert ending(far, experiment({"kind": "beam", "width": 2, "budget": {"answers": 2}})) == "the budget was spent"
