"""Errors as servers and proxies word them: the words decide, not the status alone."""

import pytest

from hone.llm.refusals import refusal, remedy


def error(message, code=None, kind=None):
    return {"error": {"message": message, "code": code, "type": kind}}


FILTERED = [
    error("The response was filtered due to the prompt triggering our content management policy.", "content_filter"),
    error("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", "invalid_prompt"),
    error("litellm.ContentPolicyViolationError: refused", "400"),
    error("This model's maximum context length is 2048 tokens, but the prompt has 5000.", "context_length_exceeded"),
    error("maximum context length is 2048, you requested 5012 (4900 in the messages, 112 in the completion)"),
    error("litellm.BadRequestError: ContextWindowExceededError: the prompt is too long", "400"),
    error("the request exceeds the available context size", 400, "exceed_context_size_error"),
    error("prompt is too long: 210000 tokens > 200000 maximum", None, "invalid_request_error"),
]


@pytest.mark.parametrize("body", FILTERED)
def test_a_prompt_that_is_filtered_or_too_long_is_refused_alone(body):
    assert refusal(400, body) == f"HTTP 400: {body['error']['message']}"
    assert refusal(500, body) == "", "another try may help"


LASTING = [
    (400, error("No connected db.", "400", "no_db_connection"), "check the key"),
    (400, error("API key not valid. Please pass a valid API key."), "check the key"),
    (401, error("Incorrect API key provided: <key>.", "invalid_api_key"), "check the key"),
    (401, "Unauthorized", "check the key"),
    (400, error("/chat/completions: Invalid model name passed in model=toy. Call `/v1/models`"), "model's name"),
    (404, error("The model `toy` does not exist.", 404, "NotFoundError"), "model's name"),
    (404, "Not Found", "base URL"),
    (403, error("no"), "may not use"),
    (400, error("Unsupported parameter: 'temperature'", "unsupported_parameter"), "sampling parameters"),
    (422, error("top_p: extra inputs are not permitted", "extra_forbidden"), "sampling parameters"),
    (400, error("'max_tokens' is too large: 5000. This model's maximum context length is 2048"), "max_tokens"),
    (400, error("maximum context length is 2048, you requested 5012 (12 in the messages, 5000 in the completion)"),
     "max_tokens"),
    (429, error("You exceeded your current quota", "insufficient_quota"), "no credit"),
    (400, error("injected 400"), "the server's words"),
    (400, None, "the server's words"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "words"), LASTING)
def test_what_no_prompt_would_survive_has_the_remedy_that_fits(status, body, words):
    assert refusal(status, body) == ""
    assert words in remedy(status, body)
    assert ("model's name" in remedy(status, body)) == (words in ("model's name", "base URL"))
