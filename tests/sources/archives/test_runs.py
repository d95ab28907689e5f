"""Archives of runs: KernelBench's own folders, and two layouts that forks have."""

import pytest

from hone.core.errors import SourceError

from .conftest import SOURCE, problem, reasons, result, verdicts

CONFIG = "model_name: vendor/model-1\nlevel: 1\ntemperature: 0.0\nmax_tokens: 8192\nprompt_option: one_shot\n"


def kernel(repository, place, source=SOURCE, run="one"):
    level, number, sample = place
    repository.write(f"runs/{run}/level_{level}_problem_{number}_sample_{sample}_kernel.py", source)


def kernelbench(repository, results=None, config=CONFIG, **fields):
    repository.problems((1, 1), (1, 2), (2, 1))
    if config is not None:
        repository.write("runs/one/generation_config.yaml", config)
    if results is not None:
        repository.write("runs/one/eval_results.json", results)
    return repository.fetch("kernelbench_runs", **{"runs": ["one"], **fields})


def test_a_run_says_who_answered_how_and_with_what_result(repository):
    kernel(repository, (1, 1, 0))
    kernel(repository, (1, 2, 0))
    listed = {"1": [{"sample_id": 0, **result()}], "2": {"sample_id": 0, **result(ref_runtime=4)}}
    answers, skipped = kernelbench(repository, listed)
    assert not skipped
    assert verdicts(answers) == {(1, 1, 0): "correct", (1, 2, 0): "correct"}
    origin, claimed = answers[0].origin, answers[0].claimed
    assert (origin.run, origin.model, origin.prompt) == ("one", "vendor/model-1", "one_shot")
    assert (origin.sampling.temperature, origin.sampling.max_tokens) == (0.0, 8192)
    assert origin.path == "runs/one/level_1_problem_1_sample_0_kernel.py"
    assert (claimed.runtime_ms, claimed.hardware) == (2.0, "a GPU")


def test_samples_go_by_their_own_number(repository):
    for sample in (0, 1):
        kernel(repository, (1, 1, sample))
    results = {
        "1": [{"sample_id": 1, **result()}, {"sample_id": 0, **result(False, correctness_issue="Output mismatch")}]
    }
    answers, _ = kernelbench(repository, results)
    assert verdicts(answers) == {(1, 1, 0): "wrong_value", (1, 1, 1): "correct"}


def test_a_link_to_another_runs_answer_is_left_out(repository):
    kernel(repository, (1, 1, 0))
    name = "level_1_problem_2_sample_0_kernel.py"
    kernel(repository, (1, 2, 0), run="other")
    repository.link(f"runs/one/{name}", f"../other/{name}")
    answers, skipped = kernelbench(repository, {"2": result()})
    assert list(verdicts(answers)) == [(1, 1, 0)]
    assert reasons(skipped) == [(1, 2, "link")]


def test_results_of_another_level_are_not_taken_for_a_kernels_own(repository):
    kernel(repository, (2, 1, 0))
    answers, skipped = kernelbench(repository, {"1": result()})
    assert verdicts(answers) == {(2, 1, 0): "not_run"}
    assert reasons(skipped) == [(1, 1, "no_source")]


def test_a_result_without_kernel_is_counted(repository):
    kernel(repository, (1, 1, 0))
    answers, (skipped,) = kernelbench(repository, {"2": result(False, False, error="Kernel not found")})
    assert verdicts(answers) == {(1, 1, 0): "not_run"}
    assert (str(skipped.reason), skipped.number, skipped.detail) == ("no_source", 2, "Kernel not found")


@pytest.mark.parametrize(
    ("results", "config", "model"), [("{", CONFIG, None), ({}, ": : [", "m"), ([], CONFIG, None)]
)  # fmt: skip
def test_unreadable_results_or_settings_leave_the_answers_without_them(repository, results, config, model):
    kernel(repository, (1, 1, 0))
    answers, (skipped,) = kernelbench(repository, results, config, model=model)
    assert verdicts(answers) == {(1, 1, 0): "not_run"}
    assert str(skipped.reason) == "broken_results"
    assert answers[0].origin.model == (model or "vendor/model-1")


def test_an_answer_of_nobody_is_left_out(repository):
    kernel(repository, (1, 1, 0))
    answers, (skipped,) = kernelbench(repository, {}, config=None)
    assert not answers
    assert (str(skipped.reason), "write model: <name>" in skipped.detail) == ("no_model", True)


def test_what_a_setting_cannot_be_counts_as_unknown(repository):
    kernel(repository, (1, 1, 0))
    config = "model_name: m\nlevel: 1\ntemperature: hot\nmax_tokens: -1\ntop_p: 0.5\nreasoning_effort: low\n"
    ((answer,), _) = kernelbench(repository, {}, config)
    assert answer.origin.sampling.model_dump(exclude_none=True) == {"top_p": 0.5}
    ((answer,), _) = kernelbench(repository, {}, config + "is_reasoning_model: true\n")
    assert answer.origin.sampling.reasoning_effort == "low"


def test_a_run_that_is_not_there_is_an_error_with_the_nearest(repository):
    kernel(repository, (1, 1, 0))
    with pytest.raises(SourceError, match="has no folder runs/onne; there: one"):
        kernelbench(repository, {}, runs=["onne"])


def test_an_archive_without_problems_needs_a_commit_of_them(repository):
    kernel(repository, (1, 1, 0))
    with pytest.raises(SourceError, match="has no problems in KernelBench/level<n>") as caught:
        repository.fetch("kernelbench_runs", runs=["one"])
    assert "problems_commit" in caught.value.remedy


def test_a_detailed_run_says_its_level_and_what_failed(repository):
    repository.problems((2, 1), (2, 2), (2, 3), (2, 4))
    for number in (1, 2, 3):
        repository.write(f"runs/big/problem_{number}_kernel.py", SOURCE)
    shape = {"correctness_issue": "Output shape mismatch: Expected [1]"}
    repository.write(
        "runs/big/detailed_results.json",
        {
            "run_info": {"level": 2, "model": "big-1"},
            "config": {"temperature": 0.5},
            "results": [
                {"problem_id": 1, "success": True, "eval_result": result(False, **shape)},
                {"problem_id": 2, "success": False, "error": "broke"},
                {"problem_id": 4, "success": False, "error": "no answer"},
                "not a row",
            ],
        },
    )
    answers, skipped = repository.fetch("detailed_runs", runs=["big"])
    assert verdicts(answers) == {(2, 1, 0): "wrong_shape", (2, 2, 0): "not_run", (2, 3, 0): "not_run"}
    assert answers[1].claimed.error == "broke"
    assert {(item.origin.model, item.origin.sampling.temperature) for item in answers} == {("big-1", 0.5)}
    assert reasons(skipped) == [(2, 4, "no_source")]


@pytest.mark.parametrize("content", ["{", {"results": []}, {"run_info": {"level": "2"}}])
def test_a_detailed_run_without_level_is_an_error(repository, content):
    repository.problems((2, 1))
    repository.write("runs/big/detailed_results.json", content)
    with pytest.raises(SourceError, match=r"runs/big/detailed_results\.json: has no run_info\.level"):
        repository.fetch("detailed_runs", runs=["big"])


def per_problem(repository, **rows):
    """Rows by the problem's number; `evaluated` where a row is a result. All but number 3 have a kernel."""
    for name, row in rows.items():
        number = int(name.removeprefix("p"))
        repository.problems((1, number))
        evaluated = isinstance(row, dict) and "compiled" in row
        content = {"status": "evaluated", "eval_result": row} if evaluated else row
        repository.write(f"runs/r/per_problem/level_1/problem_{number}.json", content)
        if number != 3:
            repository.write(f"runs/r/generated_kernels/level_1/problem_{number}.py", SOURCE)
    settings = {"codex_model": "gpt-x", "model_name": "local", "temperature": 0.0, "precision": "fp32"}
    repository.write("runs/r/config_snapshot.json", settings)


def test_of_a_run_by_problem_only_evaluated_answers_have_a_verdict(repository):
    per_problem(
        repository, p1=result(), p2={"status": "static_failed", "static_errors": ["no kernel"]},
        p3={"status": "generation_error", "error": "no space"}, p4="{",
        p5={"status": "static_failed", "eval_result": result()},
    )  # fmt: skip
    answers, skipped = repository.fetch("per_problem_runs", runs=["r"])
    assert verdicts(answers) == {(1, n, 0): "correct" if n == 1 else "not_run" for n in (1, 2, 4, 5)}
    assert answers[1].claimed.error == "static_failed: ['no kernel']"
    assert {(item.origin.model, item.origin.precision) for item in answers} == {("gpt-x", "fp32")}
    assert sorted(reasons(skipped), key=str) == [(1, 3, "no_source"), (None, None, "broken_results")]
    assert {item.detail for item in skipped} == {"generation_error: no space", "cannot be read"}


def test_times_come_from_a_later_run_where_both_say_correct(repository):
    per_problem(repository, p1=result(runtime=-1.0), p2=result(runtime=-1.0), p4=result(False, runtime_error="x"))
    repository.write(
        "runs/again/eval_results.json",
        {"1": [result(runtime=0.7)], "2": [{**result(False), "runtime": 9.0}], "4": [result()]},
    )
    answers, _ = repository.fetch("per_problem_runs", runs=["r"], times={1: "again"})
    assert [item.claimed.runtime_ms for item in answers] == [0.7, None, None]
    with pytest.raises(SourceError, match=r"has no file runs/agian/eval_results\.json"):
        repository.fetch("per_problem_runs", runs=["r"], times={1: "agian"})


def test_a_models_name_can_be_put_right(repository):
    per_problem(repository, p1=result())
    answers, _ = repository.fetch("per_problem_runs", runs=["r"], model="Known-1")
    assert [item.origin.model for item in answers] == ["Known-1"]


def test_a_copied_problem_is_no_answer(repository):
    kernel(repository, (1, 1, 0), problem(1, 1))
    kernel(repository, (1, 2, 0), b"\xff\xfe")
    assert reasons(kernelbench(repository, {})[1]) == [(1, 1, "same_as_reference"), (1, 2, "not_text")]


def printed(number, own, reference, correct=True):
    """As KernelBench's harness prints one result."""
    return (
        f"\r 2%| | 1/54 [00:01<00:02]----\n[Eval Result] Problem ID: {number}, Sample ID: 0\n"
        f"compiled=True correctness={correct} metadata={{'n': 1}} runtime={own} runtime_stats={{'mean': 1}} "
        f"ref_runtime={reference} ref_runtime_stats={{'mean': 1}}\n"
    )


def test_a_log_gives_the_references_times_to_results_of_its_own_run_and_time(repository):
    for place in ((1, 1, 0), (1, 2, 0)):
        kernel(repository, place)
    start = "Starting Batch Eval with config: EvalConfig({{'run_name': '{}', 'level': 1, 'x': [None]}})\n"
    log = start.format("one") + printed(1, 2.0, 5.0) + printed(2, 7.5, 1.0) + printed(2, -1.0, 3.0, correct=False)
    repository.write("log.txt", log + start.format("other") + printed(2, 2.0, 9.0))
    answers, _ = kernelbench(repository, {"1": result(), "2": result()}, logs=["log.txt"])
    # Of problem 2 the log has another time, and the same time of another run: neither is this result's.
    assert [item.claimed.speedup for item in answers] == [2.5, None]
    assert [item.claimed.reference_ms for item in answers] == [5.0, None]
    with pytest.raises(SourceError, match="correct logs"):
        kernelbench(repository, logs=["log"])
