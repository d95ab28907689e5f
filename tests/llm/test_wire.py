import copy

import pytest

from hone.llm.provider import TransientError
from hone.llm.wire import body_of, parse_body, reply_of
from hone.records import Completion, Sampling, Usage

from .server import completion_body

GOOD = completion_body("ab" * 32, {"model": "toy", "messages": [{"content": "12345"}]})


def test_only_parameters_that_are_set_are_sent(make_request):
    body = body_of(make_request(sampling=Sampling(temperature=0.5)))
    assert body == {"model": "toy", "messages": [{"role": "user", "content": "Write a kernel."}], "temperature": 0.5}


@pytest.mark.parametrize(
    ("provider", "model", "name"),
    [
        ("openai", "gpt-4o", "max_completion_tokens"),
        ("fake", "o4-mini", "max_completion_tokens"),
        ("openrouter", "openai/o3", "max_completion_tokens"),
        ("fake", "gpt-5-mini", "max_completion_tokens"),
        ("fake", "gpt-4o", "max_tokens"),
        ("fake", "olmo-2", "max_tokens"),
        ("fake", "deepseek/deepseek-r1", "max_tokens"),
    ],
)
def test_the_output_limit_has_the_name_that_the_model_knows(make_request, provider, model, name):
    body = body_of(make_request(provider=provider, model=model))
    assert [key for key in body if key.startswith("max")] == [name]
    assert body[name] == 100


def test_a_good_body_gives_text_reason_model_and_usage():
    reply = reply_of(GOOD, 0.5)
    usage = GOOD["usage"]
    assert reply.response == GOOD["choices"][0]["message"]["content"]
    assert (reply.finish_reason, reply.model_returned, reply.latency_s) == ("stop", "toy-2025-01-01", 0.5)
    assert reply.usage == Usage(
        input_tokens=5,
        cached_input_tokens=usage["prompt_tokens_details"]["cached_tokens"],
        output_tokens=usage["completion_tokens"],
        reasoning_tokens=usage["completion_tokens_details"]["reasoning_tokens"],
    )


@pytest.mark.parametrize("content", [None, ""])
def test_an_empty_text_that_ran_out_of_tokens_is_an_answer(content):
    body = copy.deepcopy(GOOD)
    body["choices"][0] = {"finish_reason": "length", "message": {"content": content}}
    reply = reply_of(body, 0.0)
    assert (reply.response, reply.finish_reason) == ("", "length")


def test_a_refusal_is_an_answer():
    body = copy.deepcopy(GOOD)
    body["choices"][0]["message"] = {"content": None, "refusal": "I will not."}
    assert reply_of(body, 0.0).response == "I will not."


def test_details_of_usage_may_be_absent():
    body = {**GOOD, "usage": {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": None}}
    assert reply_of(body, 0.0).usage == Usage(input_tokens=3, output_tokens=4)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": 1},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": "many", "completion_tokens": 1},
    ],
)
def test_an_answer_whose_tokens_nobody_counted_is_kept_with_unknown_ones(usage):
    reply = reply_of({**GOOD, "usage": usage}, 0.0)
    assert reply.response == GOOD["choices"][0]["message"]["content"]
    assert reply.usage is None
    assert reply_of({name: value for name, value in GOOD.items() if name != "usage"}, 0.0).usage is None


@pytest.mark.parametrize(
    "changes",
    [
        {"choices": []},
        {"choices": None},
        {"choices": ["text"]},
        {"choices": [{"message": {"content": "x"}}]},
        {"choices": [{"finish_reason": "stop"}]},
        {"choices": [{"finish_reason": "stop", "message": {"content": ["part"]}}]},
    ],
)
def test_an_incomplete_body_is_a_failed_try(changes):
    with pytest.raises(TransientError, match="malformed body"):
        reply_of({**GOOD, **changes}, 0.0)


@pytest.mark.parametrize("content", [b"", b"<html>", b'{"choices": [', b"\xff\xfe", b"[]", b"null"])
def test_what_is_not_a_json_object_is_a_failed_try(content):
    with pytest.raises(TransientError, match="malformed body"):
        parse_body(content, 0.0)


def test_an_error_with_status_200_is_quoted():
    with pytest.raises(TransientError, match="upstream is down"):
        reply_of({"error": {"message": "upstream is down"}}, 0.0)


def test_half_a_surrogate_pair_becomes_text_that_can_be_kept(make_completion):
    body = copy.deepcopy(GOOD)
    body["choices"][0]["message"]["content"] = "a\ud83db \U0001f600"
    text = reply_of(body, 0.0).response
    assert text == "a\ufffdb \U0001f600"
    kept = make_completion(response=text)
    assert Completion.model_validate_json(kept.model_dump_json()) == kept
