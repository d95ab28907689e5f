"""What a completion costs, from the price list of the `genai-prices` package or from the config's own prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol

from hone.config.llm import Price
from hone.core.errors import ProviderError
from hone.llm.names import Target, config_name
from hone.llm.provider import Reply
from hone.records import LLMRequest, Sampling, Usage

DEFAULT_OUTPUT_TOKENS = 131_072
"""Most that an answer is taken to have where max_tokens is not set: the largest output limit of current models."""

TOKENS_PER_MESSAGE = 16
"""Generous allowance for what a server adds around a message."""

BATCH = {"processing": "batch"}


class Tariff(Protocol):
    """The price of one model."""

    def cost_usd(self, usage: Usage, *, batch: bool = False) -> float:
        """Cost of `usage`; with `batch` at the Batch API's price where one is listed."""
        ...

    def source(self, *, batch: bool = False) -> str:
        """What the cost is computed with."""
        ...


@dataclass(frozen=True)
class ConfigTariff:
    """A price that the config gives, in USD per million tokens; the same for batches."""

    price: Price

    def cost_usd(self, usage: Usage, *, batch: bool = False) -> float:
        """Cached input costs as other input unless the config says otherwise."""
        cached = self.price.cached_input_usd_per_mtok
        cached = self.price.input_usd_per_mtok if cached is None else cached
        fresh_tokens = max(usage.input_tokens - usage.cached_input_tokens, 0)
        cost = fresh_tokens * self.price.input_usd_per_mtok + usage.cached_input_tokens * cached
        return (cost + usage.output_tokens * self.price.output_usd_per_mtok) / 1e6

    def source(self, *, batch: bool = False) -> str:
        """Where the price stands."""
        return "llm.prices of the config" + (" (full price, batch not known)" if batch else "")


@dataclass(frozen=True)
class ListedTariff:
    """A price of the list that is installed with `genai-prices`; it is not updated over the network."""

    model: str
    provider_id: str | None
    base_url: str

    def cost_usd(self, usage: Usage, *, batch: bool = False) -> float:
        """Raises LookupError where the list does not have the model."""
        return self._calculate(usage, batch=batch)[0]

    def source(self, *, batch: bool = False) -> str:
        """Name and version of the list, and whether it has a batch price."""
        from importlib.metadata import version

        name = f"genai-prices {version('genai-prices')}"
        if not batch:
            return name
        probe = Usage(input_tokens=1000, output_tokens=1000)
        listed = self.cost_usd(probe, batch=True) != self.cost_usd(probe)
        return f"{name} batch" if listed else f"{name} (full price, batch not listed)"

    @property
    def listed(self) -> bool:
        """Whether the list prices this model's input and output."""
        try:
            _, complete = self._calculate(Usage(input_tokens=1, output_tokens=1), batch=False)
        except LookupError:
            return False
        return complete

    @property
    def hint(self) -> str:
        """The listed model with the nearest name, for a message; empty where none is near or no provider is known."""
        from genai_prices.data_snapshot import get_snapshot

        providers = (provider for provider in get_snapshot().providers if provider.id == self.provider_id)
        near = get_close_matches(self.model, [model.id for provider in providers for model in provider.models], n=1)
        return f"; did you mean '{self.provider_id}/{near[0]}'?" if near else ""

    def _calculate(self, usage: Usage, *, batch: bool) -> tuple[float, bool]:
        """(USD, whether both input and output have a price)."""
        import genai_prices

        counts = genai_prices.Usage(
            input_tokens=max(usage.input_tokens, usage.cached_input_tokens),
            cache_read_tokens=usage.cached_input_tokens,
            output_tokens=usage.output_tokens,
        )
        context = BATCH if batch else None
        if self.provider_id is not None:
            result = genai_prices.calc_price(counts, self.model, provider_id=self.provider_id, price_context=context)
        else:
            result = genai_prices.calc_price(counts, self.model, provider_api_url=self.base_url, price_context=context)
        price = result.model_price
        return float(result.total_price), price.input_mtok is not None and price.output_mtok is not None


def find_tariff(request: LLMRequest, prices: Mapping[str, Price]) -> Tariff:
    """The price of a request's model: the config's own first, then the list's.

    A service is looked up by its address alone: a server of one's own that serves a model of a famous name has no
    price there. Raises ProviderError where there is no price.
    """
    name = config_name(request)
    if name in prices:
        return ConfigTariff(prices[name])
    listed = ListedTariff(request.model, "openai" if request.provider == "openai" else None, request.base_url)
    if listed.listed:
        return listed
    raise ProviderError(
        f"{listed.source()} has no price for this model, nothing was sent{listed.hint}",
        where=f"{name} at {request.base_url}",
        remedy=f"correct the name, or set llm.prices.{name} in the config: {{input_usd_per_mtok: …, "
        "output_usd_per_mtok: …} (0 for a server of your own)",
    )


def tariff_of(target: Target, prices: Mapping[str, Price]) -> Tariff:
    """As `find_tariff`, before there is a prompt."""
    request = LLMRequest(
        provider=target.provider, base_url=target.base_url, model=target.model, messages=(), sampling=Sampling(),
        sample=0,
    )  # fmt: skip
    return find_tariff(request, prices)


def most_usd(request: LLMRequest, tariff: Tariff, reply: Reply | None = None) -> float:
    """Upper bound of a request's cost; once there is a reply, without output where it is none.

    Tokenizers of current models work on bytes, so a text has at most as many tokens as UTF-8 bytes; the output has at
    most `max_tokens`, or DEFAULT_OUTPUT_TOKENS where that is not set.
    """
    contents = [message.content.encode("utf-8", "surrogatepass") for message in request.messages]
    input_tokens = sum(len(content) + TOKENS_PER_MESSAGE for content in contents) + TOKENS_PER_MESSAGE
    output_tokens = request.sampling.max_tokens or DEFAULT_OUTPUT_TOKENS
    if reply is not None and reply.refusal:
        output_tokens = 0
    return tariff.cost_usd(Usage(input_tokens=input_tokens, output_tokens=output_tokens))
