import pytest

from hone.config.llm import Price
from hone.core.errors import ProviderError
from hone.llm.cost import DEFAULT_OUTPUT_TOKENS, ConfigTariff, find_tariff, most_usd
from hone.records import Message, Sampling, Usage

OWN = Price(input_usd_per_mtok=2.0, output_usd_per_mtok=8.0, cached_input_usd_per_mtok=0.5)
USAGE = Usage(input_tokens=1_000_000, cached_input_tokens=400_000, output_tokens=100_000, reasoning_tokens=50_000)


@pytest.fixture
def openai_request(make_request):
    return make_request(provider="openai", base_url="https://api.openai.com/v1", model="o4-mini")


def test_a_price_of_the_config_counts_cached_input_apart_and_reasoning_as_output():
    assert ConfigTariff(OWN).cost_usd(USAGE) == pytest.approx(0.6 * 2.0 + 0.4 * 0.5 + 0.1 * 8.0)


def test_without_a_cached_price_cached_input_costs_as_other_input():
    tariff = ConfigTariff(Price(input_usd_per_mtok=2.0, output_usd_per_mtok=8.0))
    assert tariff.cost_usd(USAGE) == pytest.approx(2.0 + 0.8)


def test_the_list_prices_a_known_model_with_cached_input_cheaper(openai_request):
    tariff = find_tariff(openai_request, {})
    plain = tariff.cost_usd(Usage(input_tokens=1000, output_tokens=10))
    cached = tariff.cost_usd(Usage(input_tokens=1000, cached_input_tokens=1000, output_tokens=10))
    assert 0 < cached < plain
    assert tariff.source().startswith("genai-prices ")


def test_a_listed_batch_price_is_used_and_named(openai_request):
    tariff = find_tariff(openai_request, {})
    assert tariff.cost_usd(USAGE, batch=True) < tariff.cost_usd(USAGE)
    assert tariff.source(batch=True).endswith("batch")


def test_without_a_batch_price_the_full_one_is_used_and_named():
    tariff = ConfigTariff(OWN)
    assert tariff.cost_usd(USAGE, batch=True) == tariff.cost_usd(USAGE)
    assert "full price" in tariff.source(batch=True)


def test_the_config_overrides_the_list(openai_request):
    tariff = find_tariff(openai_request, {"openai/o4-mini": OWN})
    assert tariff.cost_usd(USAGE) == ConfigTariff(OWN).cost_usd(USAGE)
    assert "llm.prices" in tariff.source()


def test_a_known_service_is_priced_by_its_address(make_request):
    request = make_request(provider="ds", base_url="https://api.deepseek.com/v1", model="deepseek-chat")
    assert find_tariff(request, {}).cost_usd(Usage(input_tokens=1000, output_tokens=1000)) > 0


@pytest.mark.parametrize("model", ["toy", "o4-mini"])
def test_a_missing_price_is_loud_and_names_the_setting(make_request, model):
    with pytest.raises(ProviderError, match="no price") as error:
        find_tariff(make_request(model=model), {})
    assert f"llm.prices.openai-api/fake/{model}" in error.value.remedy


def test_a_misspelt_model_has_the_nearest_listed_name(make_request):
    with pytest.raises(ProviderError, match="did you mean 'openai/gpt-4o'") as error:
        find_tariff(make_request(provider="openai", base_url="https://api.openai.com/v1", model="gpt4o"), {})
    assert "llm.prices.openai/gpt4o in the config: {input_usd_per_mtok: …, output_usd_per_mtok: …} (0" in str(
        error.value
    )
    with pytest.raises(ProviderError, match="no price for this model, nothing was sent\n"):
        find_tariff(make_request(model="o4-minii"), {})


def test_the_upper_bound_counts_bytes_and_the_output_limit(make_request):
    text = "\U0001f600" * 100
    request = make_request(messages=(Message(role="user", content=text),), sampling=Sampling(max_tokens=50))
    bound = most_usd(request, ConfigTariff(OWN))
    assert bound >= ConfigTariff(OWN).cost_usd(Usage(input_tokens=len(text.encode()), output_tokens=50))
    unlimited = most_usd(make_request(sampling=Sampling()), ConfigTariff(OWN))
    assert unlimited >= DEFAULT_OUTPUT_TOKENS * 8.0 / 1e6
