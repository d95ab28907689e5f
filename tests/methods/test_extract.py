"""Answers come in every shape; each ends as a solution or as a candidate with the reason, never as an abort."""

import pytest

from hone.methods.extract import ANSWER_LIMIT_BYTES, NoSolution, candidates, extract
from hone.records import Answer, Completion, Language, LLMRequest, Message, Sampling, Usage

KERNEL = 'extern "C" void launch(const float* x, float* out, int64_t n) {}\n'
MODULE = "class ModelNew:\n    pass\n"


def fenced(code, tag="cpp", fence="```"):
    return f"{fence}{tag}\n{code}{fence}\n"


def answer(text, sample=0):
    request = LLMRequest(
        provider="recorded", base_url="", model="m", messages=(Message(role="user", content="q"),),
        sampling=Sampling(), sample=sample,
    )  # fmt: skip
    completion = Completion(
        key=request.key, request=request, response=text, finish_reason="stop", model_returned="m", usage=Usage(),
        cost_usd=0.0, price_source="recorded", latency_s=0.0, created_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
    return Answer(
        experiment="e", model="recorded/m", definition="d", role="coder", turn=0, sample=sample,
        prompt_digest="p", completion=completion,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        fenced(KERNEL),
        "Some words.\n\n" + fenced(KERNEL) + "More words.",
        fenced(KERNEL, tag=""),
        fenced(KERNEL, fence="~~~"),
        fenced(KERNEL, fence="````"),
        fenced(KERNEL).replace("\n", "\r\n"),
        fenced("int helper;\n") + fenced(KERNEL),
        fenced(KERNEL.replace(" {}", ";")) + fenced(KERNEL),
        fenced(KERNEL) + fenced(KERNEL.replace("float", "double")),
    ],
    ids=[
        "bare",
        "words",
        "no tag",
        "tildes",
        "four ticks",
        "crlf",
        "fragment first",
        "declaration first",
        "two kernels",
    ],
)
def test_the_first_block_with_the_entry_point_is_the_kernel(text):
    assert extract(text, Language.CPP) == KERNEL


def test_a_fence_inside_a_longer_fence_is_code():
    inner = KERNEL + "/*\n```\n*/\n"
    assert extract(fenced(inner, fence="````"), Language.CPP) == inner


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "answer is empty"),
        ("I cannot help with that.", "no code block"),
        (fenced("int x;\n"), "no code block defines launch"),
        ("```cpp\n" + KERNEL, "not closed"),
        (fenced(KERNEL) + "\ud800", "not UTF-8"),
        (fenced(KERNEL + "/" * (10 * ANSWER_LIMIT_BYTES)), "10.0 MB is over the limit"),
    ],
    ids=["empty", "refusal", "no entry point", "cut off", "lone surrogate", "10 MB"],
)
def test_an_unusable_answer_has_a_reason(text, reason):
    with pytest.raises(NoSolution, match=reason):
        extract(text, Language.CPP)


def test_python_needs_the_class():
    assert extract(fenced(MODULE, tag="python"), Language.PYTHON) == MODULE
    with pytest.raises(NoSolution, match="ModelNew"):
        extract(fenced("class Model:\n    pass\n", tag="python"), Language.PYTHON)


def test_every_answer_is_a_candidate_and_equal_kernels_are_one_solution():
    texts = [fenced(KERNEL), "no", fenced(KERNEL), fenced(KERNEL.replace("x", "y"))]
    rows, solutions = candidates([answer(text, i) for i, text in enumerate(texts)], "one_shot", Language.CPP)
    assert [row.sample for row in rows] == [0, 1, 2, 3]
    assert [row.solution is None for row in rows] == [False, True, False, False]
    assert rows[0].solution == rows[2].solution
    assert [solution.id for solution in solutions] == sorted({row.solution for row in rows if row.solution})


def test_solutions_do_not_depend_on_where_they_came_from():
    first = candidates([answer(fenced(KERNEL))], "one_shot", Language.CPP)[1]
    other = candidates([answer("Other words.\n" + fenced(KERNEL), sample=3)], "refine", Language.CPP)[1]
    assert first == other


def test_a_refused_prompt_is_a_candidate_too():
    silent = answer("")
    refused = silent.model_copy(update={"completion": silent.completion.model_copy(update={"refusal": "HTTP 400: no"})})
    ((row,), solutions) = candidates([refused], "one_shot", Language.CPP)
    assert (row.solution, row.unanswered, row.problem, solutions) == (None, True, "unanswered: HTTP 400: no", [])
    assert not candidates([silent], "one_shot", Language.CPP)[0][0].unanswered


def test_an_answer_s_parameters_have_their_first_values_and_what_is_no_declaration_stays():
    declared = "// tune: BLOCK in 8, 16\n" + KERNEL
    words = "// tune: the block size\n" + KERNEL
    _, solutions = candidates(
        [answer(fenced(text), i) for i, text in enumerate((declared, words))], "astra", Language.CPP
    )
    sources = {item.source for item in solutions}
    assert words in sources
    (first,) = sources - {words}
    assert first.startswith("#define BLOCK 8 ") and first.endswith(KERNEL)
    (row,), _ = candidates(
        [answer(fenced(declared.replace("//", "#") + MODULE, "python"))], "one_shot", Language.PYTHON
    )
    assert row.solution is not None
