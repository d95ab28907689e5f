"""What a config says of language models: how they are asked, and what they cost."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hone.config.section import Section


class Price(Section):
    """The config's own price of a model that the price list does not know."""

    input_usd_per_mtok: float = Field(ge=0)
    output_usd_per_mtok: float = Field(ge=0)
    cached_input_usd_per_mtok: float | None = Field(None, ge=0)


class LLM(Section):
    """How language models are asked."""

    mode: Literal["live", "replay", "export"] = "replay"
    """`live` asks; `replay` answers from the ledger only; `export` writes what is missing as an OpenAI Batch file."""
    concurrency: int = Field(8, ge=1)
    """Requests in flight per job."""
    max_attempts: int = Field(8, ge=1)
    """Tries of one request, the first included."""
    timeout_s: float = Field(600.0, gt=0)
    """The longest silence of the server that a try waits through."""
    spending_limit_usd: float = Field(0.0, ge=0)
    """No request is sent that could bring the ledger's total above this."""
    services: dict[str, str] = Field(default_factory=dict)
    """Service of `openai-api/<service>/<model>` -> base URL, where `<SERVICE>_BASE_URL` is not set; the key is read
    from `<SERVICE>_API_KEY`. Both variables may stand in `.env`."""
    base_url: str | None = Field(None, exclude_if=lambda value: value is None)
    """Base URL of all models that are asked, in the place of their services' own."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """Model, as the experiments name it -> price, where the price list has none."""
