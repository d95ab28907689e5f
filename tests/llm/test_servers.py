"""Servers that nobody here wrote answer, refuse and limit in their own ways; each is understood."""

from contextlib import ExitStack

import pytest

from hone.config.llm import LLM
from hone.config.settings import Paths
from hone.core.errors import ProviderError
from hone.llm.answer import answer_prompts
from hone.llm.ledger import Ledger
from hone.records import Message, Prompt, Sampling

from . import servers
from .campaign import WAITS

pytestmark = pytest.mark.slow


def prompt(text, samples=(0,), **changes):
    messages = (Message(role="user", content=text),)
    values = {"experiment": "e", "definition": "d", "role": "coder", "turn": 0, "samples": samples}
    return Prompt(**{**values, "messages": messages, **changes})


def ask(url, ledger, model, *prompts, **changes):
    name = f"openai-api/there/{model}"
    values = {
        "mode": "live", "services": {"there": url}, "timeout_s": 120,
        "prices": {name: {"input_usd_per_mtok": 0, "output_usd_per_mtok": 0}},
    }  # fmt: skip
    llm, paths = LLM.model_validate({**values, **changes}), Paths(ledger=str(ledger))
    return answer_prompts(prompts, model=name, sampling=Sampling(max_tokens=24), llm=llm, paths=paths, waits=WAITS)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("THERE_API_KEY", servers.KEY)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    """A server of ours, and the address of LiteLLM's proxy before it."""
    with ExitStack() as stack:
        upstream = stack.enter_context(servers.Writer(lambda text: f"to: {text}", retry_after_ms=None))
        yield upstream, stack.enter_context(servers.litellm(tmp_path_factory.mktemp("litellm"), upstream))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of `transformers serve`, and the name of a tiny model there."""
    folder = tmp_path_factory.mktemp("transformers")
    model = servers.tiny_model(folder)
    with servers.transformers(folder) as url:
        yield url, str(model)


def test_the_proxy_answers_with_counts(proxied, tmp_path):
    _, url = proxied
    answers = ask(url, tmp_path, "writer", prompt("one", (0, 1)), prompt("two", definition="e"))
    assert [answer.completion.response for answer in answers] == ["to: one", "to: one", "to: two"]
    for answer in answers:
        assert answer.completion.usage is not None
        assert (answer.completion.finish_reason, answer.completion.failed_attempts) == ("stop", ())


def test_an_answer_without_usage_comes_through_the_proxy_once(proxied, tmp_path):
    upstream, url = proxied
    before = len(upstream.prompts)
    upstream.script.append("no_usage")
    (answer,) = ask(url, tmp_path, "writer", prompt("silent about tokens"))
    assert answer.completion.response == "to: silent about tokens"
    assert answer.completion.usage is None, "the proxy writes zeros, which are no counts"
    assert len(upstream.prompts) == before + 1


@pytest.mark.parametrize(("key", "model", "words"), [("sk-wrong", "writer", "check the key"), ("", "riter", "name")])
def test_the_proxys_refusal_has_the_fitting_remedy(proxied, tmp_path, monkeypatch, key, model, words):
    monkeypatch.setenv("THERE_API_KEY", key or servers.KEY)
    with pytest.raises(ProviderError) as error:
        ask(proxied[1], tmp_path, model, prompt("one"))
    assert words in error.value.remedy
    assert ("model" in error.value.remedy) == (words == "name")


@pytest.mark.parametrize("code", ["content_filter", "context_length_exceeded"])
def test_a_prompt_that_the_upstream_refuses_is_unanswered_and_the_rest_goes_on(proxied, tmp_path, code):
    upstream, url = proxied
    upstream.script += ["ok", f"400:{code}"]
    asked = [prompt(f"{code} {number}", definition=str(number)) for number in range(3)]
    answers = ask(url, tmp_path, "writer", *asked, concurrency=1)
    assert [bool(answer.completion.refusal) for answer in answers] == [False, True, False]
    assert f"injected {code}" in answers[1].completion.refusal


def test_the_upstreams_limit_is_waited_for(proxied, tmp_path):
    upstream, url = proxied
    upstream.script += ["429"] * 3
    (answer,) = ask(url, tmp_path, "writer", prompt("limited"), max_attempts=1)
    assert answer.completion.response == "to: limited"
    assert all("429" in attempt.reason for attempt in answer.completion.failed_attempts)


def test_a_model_of_random_weights_is_asked(served, tmp_path):
    url, model = served
    answers = ask(url, tmp_path, model, prompt("Write a kernel.", (0, 1)))
    for answer in answers:
        assert answer.completion.failed_attempts == ()
        assert answer.completion.finish_reason
        assert answer.completion.known_cost_usd == 0
    assert ask("http://127.0.0.1:9/v1", tmp_path, model, prompt("Write a kernel.", (0, 1)), mode="replay") == answers
    assert Ledger(tmp_path).check() == []


def test_each_turn_asks_it_anew(served, tmp_path):
    url, model = served
    turns = [prompt("The same.", turn=turn, repeat=turn) for turn in range(3)]
    ask(url, tmp_path, model, *turns)
    assert Ledger(tmp_path).count() == 3


def test_a_model_that_it_does_not_have_is_named(served, tmp_path):
    with pytest.raises(ProviderError, match=r"nobody/nothing at .*: (HTTP|no answer after 1 try.* HTTP)"):
        ask(served[0], tmp_path, "nobody/nothing", prompt("one"), max_attempts=1)
