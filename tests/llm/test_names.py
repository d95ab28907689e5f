import os

import pytest

from hone.config import llm
from hone.core.errors import ProviderError
from hone.llm.names import api_key, config_name, environment, parse_model
from hone.records import LLMRequest, Sampling

LLM = llm.LLM(services={"my-lab": "http://lab/v1"})


def test_openai_goes_to_openai_unless_the_environment_says_otherwise():
    target = parse_model("openai/o4-mini", LLM, {})
    assert (target.provider, target.base_url, target.model) == ("openai", "https://api.openai.com/v1", "o4-mini")
    assert target.key_variable == "OPENAI_API_KEY"
    assert parse_model("openai/o4-mini", LLM, {"OPENAI_BASE_URL": "http://proxy/v1/"}).base_url == "http://proxy/v1"


def test_a_service_is_upper_cased_in_the_names_of_its_variables():
    target = parse_model("openai-api/my-lab/vendor/model", LLM, {})
    assert (target.provider, target.base_url, target.model) == ("my-lab", "http://lab/v1", "vendor/model")
    assert target.key_variable == "MY_LAB_API_KEY"
    assert parse_model("openai-api/my-lab/m", LLM, {"MY_LAB_BASE_URL": "http://x"}).base_url == "http://x"


def test_an_address_for_all_models_goes_before_those_of_their_services():
    everywhere = LLM.model_copy(update={"base_url": "http://here:8000/v1"})
    env = {"OPENAI_BASE_URL": "http://proxy/v1", "MY_LAB_BASE_URL": "http://x"}
    for name in ("openai/o4-mini", "openai-api/my-lab/m", "openai-api/unheard-of/m"):
        assert parse_model(name, everywhere, env).base_url == "http://here:8000/v1"
    with pytest.raises(ProviderError, match="base_url: 'here:8000' is not a web address"):
        parse_model("openai/m", LLM.model_copy(update={"base_url": "here:8000"}), env)


@pytest.mark.parametrize("name", ["openai/o4-mini", "openai-api/my-lab/vendor/model", "recorded/mini"])
def test_the_config_name_of_a_request_is_the_name_that_was_parsed(name):
    target = parse_model(name, LLM, {})
    request = LLMRequest(
        provider=target.provider,
        base_url=target.base_url,
        model=target.model,
        messages=(),
        sampling=Sampling(),
        sample=0,
    )
    assert config_name(request) == name


@pytest.mark.parametrize("name", ["o4-mini", "openai/", "openai-api/my-lab", "openai-api//m", "hf/x", "recorded/"])
def test_a_malformed_name_says_how_names_are_written(name):
    with pytest.raises(ProviderError, match="write openai/<model>"):
        parse_model(name, LLM, {})


def test_an_unknown_service_names_both_remedies():
    with pytest.raises(ProviderError, match="did you mean 'my-lab'") as error:
        parse_model("openai-api/my-lap/m", LLM, {})
    assert "llm.services.my-lap" in error.value.remedy
    assert "MY_LAP_BASE_URL" in error.value.remedy


def test_a_service_may_not_take_a_providers_name():
    with pytest.raises(ProviderError, match="cannot be the name"):
        parse_model("openai-api/openai/m", llm.LLM(services={"openai": "http://x"}), {})


def test_an_address_without_scheme_is_refused_before_it_is_tried():
    with pytest.raises(ProviderError, match="not a web address"):
        parse_model("openai/m", LLM, {"OPENAI_BASE_URL": "localhost:8000"})


def test_dotenv_is_read_and_the_environment_wins(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("OPENAI_API_KEY=from-file\nFAKE_API_KEY=from-file\n")
    monkeypatch.setenv("FAKE_API_KEY", "from-environment")
    assert environment()["OPENAI_API_KEY"] == "from-file"
    assert environment()["FAKE_API_KEY"] == "from-environment"
    assert "OPENAI_API_KEY" not in os.environ, "a key of .env must not reach the processes that run solutions"


@pytest.mark.parametrize("key", ["", "  ", "sk-…", "two\nlines"])
def test_a_missing_or_impossible_key_names_its_variable(key):
    target = parse_model("openai-api/my-lab/m", LLM, {})
    with pytest.raises(ProviderError, match="MY_LAB_API_KEY"):
        api_key(target, {"MY_LAB_API_KEY": key})
