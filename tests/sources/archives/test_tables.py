"""Archives with a row an answer: rows of scores, and a leaderboard whose numbers count from 0."""

import hashlib
import json
import logging

import pytest

from hone.core.errors import SourceError

from .conftest import SOURCE, problem, reasons

FILE = "docs/assets/raw_data.json"


def row(number, code=SOURCE, score=2.5, **changes):
    fixed = {"level_id": 1, "task_id": number, "ref_code": problem(1, number), "custom_code": code}
    return json.dumps(fixed | {"score_default": score} | changes)


def lines(repository, *rows):
    repository.write("optimized_cuda_code/h100.json", "\n".join(rows))
    return repository.fetch("scored_lines", model="CUDA-X", runs=["h100"])


def entry(number, model="m", level=1, code=SOURCE, **changes):
    """As the leaderboard has it: the number counts from 0."""
    times = {"kernel_eval_time": 4.0, "torch_speedup": 0.5, "baseline_torch_time": 2.0}
    return {"level": level, "problem_id": number - 1, "model": model, "code": code, **times, **changes}


def leaderboard(repository, *entries, **fields):
    for number in (1, 2, 44):
        repository.write(f"docs/assets/problems/l1_p{number}.py", problem(1, number))
    repository.write("docs/assets/problems/notes.py", "no problem")
    repository.write(FILE, list(entries))
    return repository.fetch("leaderboard", **fields)


def test_a_scored_row_is_a_correct_answer_to_the_text_beside_it(repository):
    ((answer,), skipped) = lines(repository, row(7), "")
    assert not skipped
    assert (answer.level, answer.number, answer.sample, answer.source) == (1, 7, 0, SOURCE)
    assert answer.problem_sha256 == hashlib.sha256(problem(1, 7).encode()).hexdigest()
    origin, claimed = answer.origin, answer.claimed
    assert (origin.archive, origin.model, origin.run) == ("a", "CUDA-X", "h100")
    assert origin.path == "optimized_cuda_code/h100.json#0"
    assert (str(claimed.verdict), claimed.speedup, claimed.hardware) == ("correct", 2.5, "h100")
    assert claimed.runtime_ms is None


@pytest.mark.parametrize("code", [None, "None", " None\n", ""])
def test_a_row_without_source_is_no_answer_even_with_a_score(repository, code):
    answers, (skipped,) = lines(repository, row(8, code, 7.2))
    assert not answers
    assert (str(skipped.reason), skipped.number) == ("no_source", 8)
    assert "with a score of 7.2" in skipped.detail


def test_a_source_without_score_has_no_verdict(repository):
    ((answer,), _) = lines(repository, row(1, score=None))
    assert (str(answer.claimed.verdict), answer.claimed.speedup) == ("not_run", None)


def test_a_broken_line_is_left_out_and_the_rest_goes_on(repository):
    rows = (row(1), '{"level_id": 1', "[]", json.dumps({"level_id": 1}), row("3"), row(2))
    answers, skipped = lines(repository, *rows)
    assert [answer.number for answer in answers] == [1, 2]
    assert [(item.path.rpartition("#")[2], str(item.reason)) for item in skipped] == [
        (index, "broken_row") for index in "1234"
    ]
    assert [item.detail for item in skipped] == [
        "not a JSON object", "not a JSON object", "without task_id, ref_code, custom_code",
        "task_id: not a whole number",
    ]  # fmt: skip


def test_a_copy_of_the_reference_is_no_answer(repository):
    assert reasons(lines(repository, row(1, f"\n{problem(1, 1)}\n"))[1]) == [(1, 1, "same_as_reference")]


def test_a_source_that_is_not_text_or_too_long_is_left_out(repository):
    answers, skipped = lines(repository, row(1, "\ud800"), row(2, "x" * 1_000_001))
    assert not answers
    assert reasons(skipped) == [(1, 1, "not_text"), (1, 2, "not_text")]


def test_a_missing_file_of_a_run_is_an_error_that_names_it(repository):
    repository.write("optimized_cuda_code/a100.json", row(1))
    with pytest.raises(SourceError, match=r"has no file optimized_cuda_code/h100\.json"):
        repository.fetch("scored_lines", model="m", runs=["h100"])


def test_the_leaderboards_numbers_count_from_0(repository):
    answers, skipped = leaderboard(repository, entry(44), entry(1))
    assert not skipped
    assert [(item.number, item.problem_sha256) for item in answers] == [
        (number, hashlib.sha256(problem(1, number).encode()).hexdigest()) for number in (1, 44)
    ]
    claimed = answers[0].claimed
    assert (str(claimed.verdict), claimed.runtime_ms, claimed.speedup, claimed.reference_ms) == ("correct", 4, 0.5, 2)
    assert answers[0].origin.path == f"{FILE}#1"


def test_the_leaderboard_has_several_models_and_samples(repository):
    given = (entry(1, "m"), entry(1, "m", code="class ModelNew: pass"), entry(1, "n"))
    answers, _ = leaderboard(repository, *given, hardware="L40S")
    assert [(item.origin.model, item.sample) for item in answers] == [("m", 0), ("m", 1), ("n", 0)]
    assert {item.claimed.hardware for item in answers} == {"L40S"}
    answers, _ = leaderboard(repository, *given, models=["n"])
    assert [item.origin.model for item in answers] == ["n"]
    with pytest.raises(SourceError, match="has no answer of 'o'"):
        leaderboard(repository, *given, models=["n", "o"])


def test_a_leaderboards_answer_to_a_problem_without_text_is_left_out(repository):
    answers, skipped = leaderboard(repository, entry(3), entry(2))
    assert [item.number for item in answers] == [2]
    assert reasons(skipped) == [(1, 3, "no_problem_text")]


def test_a_broken_leaderboard_is_an_error_and_a_broken_entry_is_not(repository):
    answers, skipped = leaderboard(repository, {"level": 1}, entry(1))
    assert (len(answers), reasons(skipped)) == (1, [(None, None, "broken_row")])
    repository.write(FILE, "{")
    with pytest.raises(SourceError, match=r"raw_data\.json: is not a JSON list"):
        repository.fetch("leaderboard")


def test_texts_of_a_named_commit_take_the_place_of_stored_ones(repository, tmp_path):
    other = type(repository)(tmp_path / "problems")
    other.folder.mkdir()
    other.write("KernelBench/level1/2_title.py", "another text")
    texts = {"problems_url": str(other.folder), "problems_commit": other.commit()}
    repository.write("optimized_cuda_code/h100.json", "\n".join([row(1), row(2)]))
    answers, skipped = repository.fetch("scored_lines", model="m", runs=["h100"], **texts)
    assert [item.problem_sha256 for item in answers] == [hashlib.sha256(b"another text").hexdigest()]
    assert reasons(skipped) == [(1, 1, "no_problem_text")]
    answers, skipped = leaderboard(repository, entry(1), entry(2), **texts)
    assert [item.number for item in answers] == [2]
    with pytest.raises(SourceError, match="has no commit"):
        repository.fetch("leaderboard", problems_url=str(other.folder), problems_commit="0" * 40)


def test_one_line_says_how_many_were_left_out_and_why(repository, caplog):
    caplog.set_level(logging.WARNING)
    lines(repository, row(1), row(2, None), row(3, "None"), "{")
    assert caplog.messages == ["archive a: 1 answers; left out 3: 1 broken_row, 2 no_source"]
