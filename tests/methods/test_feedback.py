"""Feedback: G shows the last code, E what became of it, P the profiler's table; nothing more than was asked for."""

import pytest

from hone.methods.feedback import LOG_LIMIT, TIMEOUT_SENTENCE, UNANSWERED, VERDICTS, previous_answer
from hone.records import Build, BuildStatus, Candidate, Performance, Solution, Status, Timing, Trace

SOLUTION = Solution(definition="tiny/level1/1_Bias", language="cpp", entry_point="launch", source="void launch();\n")
BUILT = Build(solution=SOLUTION.id, status=BuildStatus.BUILT, artifact="a.so")
FULL = ("execution", "profile")


@pytest.fixture
def candidate():
    return Candidate(
        experiment="e", method="refine", model="m", definition=SOLUTION.definition, turn=0, sample=0,
        prompt_digest="", completion_key="", solution=SOLUTION.id,
    )  # fmt: skip


def with_status(trace, status, **fields):
    return Trace.model_validate({**trace.model_dump(), "status": status, **fields})


def test_g_shows_the_code_alone(candidate, trace):
    shown = previous_answer(candidate, SOLUTION, BUILT, with_status(trace, Status.WRONG_VALUE, detail="off by 3"), ())
    assert (shown.code, shown.execution, shown.profile) == (SOLUTION.source, "", "")


def test_an_answer_without_code_shows_why(candidate):
    empty = candidate.model_copy(update={"solution": None, "problem": "no code block"})
    shown = previous_answer(empty, None, None, None, FULL)
    assert (shown.code, shown.problem) == ("", "no code block")


def test_a_refused_prompt_is_spoken_of_in_fixed_words(candidate):
    refused = {"solution": None, "problem": "unanswered: HTTP 400: request 17", "unanswered": True}
    shown = previous_answer(candidate.model_copy(update=refused), None, None, None, FULL)
    assert (shown.code, shown.problem) == ("", UNANSWERED)


def test_e_shows_what_the_compiler_said_cut_to_the_limit(candidate):
    log = "error: expected ';'\n" * 1000
    build = Build(solution=SOLUTION.id, status=BuildStatus.REJECTED, log=log)
    text = previous_answer(candidate, SOLUTION, build, None, ("execution",)).execution
    assert "does not compile" in text
    assert f"{len(log) - LOG_LIMIT} more characters" in text
    assert len(text) < LOG_LIMIT + 200


@pytest.mark.parametrize("status", [status for status in Status if status not in (Status.PASSED, Status.TIMEOUT)])
def test_e_shows_the_detail_of_every_failure(candidate, trace, status):
    text = previous_answer(
        candidate, SOLUTION, BUILT, with_status(trace, status, detail="element 7 is 3"), ("execution",)
    ).execution
    assert "element 7 is 3" in text


def test_every_failure_has_a_sentence_of_its_own():
    spoken = {Status.PASSED, Status.TIMEOUT, Status.COMPILE_ERROR}  # told from times, by one sentence, from the build
    assert set(VERDICTS) == set(Status) - spoken
    assert len(set(VERDICTS.values())) == len(VERDICTS)


def test_an_imprecise_kernel_is_told_so(candidate, trace):
    judged = with_status(trace, Status.IMPRECISE, detail="error 3e-3, the reference's 2e-7")
    text = previous_answer(candidate, SOLUTION, BUILT, judged, ("execution",)).execution
    assert text.startswith("It ran and is within the tolerance, but much less precise than the reference:")
    assert "the reference's 2e-7" in text


def test_a_doubtful_time_is_told_and_credits_nothing(candidate, trace):
    performance = Performance(
        solution=Timing(samples_ms=(0.5,)), baselines={"torch_eager": Timing(samples_ms=(1.25,))},
        findings=("below_floor",),
    )  # fmt: skip
    judged = with_status(trace, Status.PASSED, performance=performance)
    text = previous_answer(candidate, SOLUTION, BUILT, judged, ("execution",)).execution
    assert text.startswith("It is correct. It takes 0.5 ms")
    assert text.endswith("This time is doubtful (below_floor), so no speedup is credited.")


def test_a_timeout_is_one_fixed_sentence(candidate, trace):
    judged = with_status(trace, Status.TIMEOUT, detail="after 30 s")
    assert previous_answer(candidate, SOLUTION, BUILT, judged, ("execution",)).execution == TIMEOUT_SENTENCE


def test_e_shows_the_times_and_p_the_table(candidate, trace):
    performance = Performance(solution=Timing(samples_ms=(0.5,)), baselines={"torch_eager": Timing(samples_ms=(1.25,))})
    judged = with_status(trace, Status.PASSED, performance=performance, profile="aten::add 90 %")
    with_e = previous_answer(candidate, SOLUTION, BUILT, judged, ("execution",))
    assert "0.5 ms" in with_e.execution
    assert "torch eager takes 1.25 ms (speedup 2.50)" in with_e.execution
    assert with_e.profile == ""
    assert previous_answer(candidate, SOLUTION, BUILT, judged, FULL).profile == "aten::add 90 %"
