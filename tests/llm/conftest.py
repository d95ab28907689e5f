from collections.abc import Callable

import pytest

from hone.records import Completion, LLMRequest, Message, Sampling, Usage


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    """Nobody's keys, proxies or .env, and one key for the fake service."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("FAKE_API_KEY", "test-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def make_request() -> Callable[..., LLMRequest]:
    def make(sample: int = 0, **changes) -> LLMRequest:
        values = {
            "provider": "fake",
            "base_url": "http://127.0.0.1:9/v1",
            "model": "toy",
            "messages": (Message(role="user", content="Write a kernel."),),
            "sampling": Sampling(max_tokens=100),
            "sample": sample,
        }
        return LLMRequest(**{**values, **changes})

    return make


@pytest.fixture
def make_completion(make_request) -> Callable[..., Completion]:
    def make(sample: int = 0, **changes) -> Completion:
        request = make_request(sample)
        values = {
            "key": request.key,
            "request": request,
            "response": "text",
            "finish_reason": "stop",
            "model_returned": "toy-1",
            "usage": Usage(input_tokens=10, output_tokens=20),
            "cost_usd": 0.25,
            "price_source": "test",
            "latency_s": 0.1,
            "created_at": "2025-01-01T00:00:00Z",
        }
        return Completion(**{**values, **changes})

    return make
