"""Names of models as users of LLM evaluations write them, and where each is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hone.config.llm import LLM
from hone.core.errors import ProviderError, closest
from hone.records import LLMRequest, Prompt, Sampling
from hone.records.answer import ADDRESSED

OPENAI_URL = "https://api.openai.com/v1"
FORMS = "write openai/<model>, openai-api/<service>/<model> or recorded/<transcript>"


@dataclass(frozen=True)
class Target:
    """Where a model is asked."""

    name: str
    """As the config writes it."""
    provider: str
    """`openai`, `recorded`, or the service."""
    base_url: str
    """Empty for a transcript."""
    model: str
    """The server's name of the model, or the transcript's name."""
    key_variable: str
    """Environment variable that holds the key; empty for a transcript."""

    @property
    def keyed_url(self) -> str:
        """The address where it is part of the ledger's key; of a service its name is."""
        return self.base_url if self.provider in ADDRESSED else ""

    def request(self, prompt: Prompt, sample: int, sampling: Sampling) -> LLMRequest:
        """What is sent for a sample of a prompt."""
        return LLMRequest(
            provider=self.provider,
            base_url=self.base_url,
            model=self.model,
            messages=prompt.messages,
            sampling=sampling,
            sample=sample,
            repeat=prompt.repeat,
        )


def environment(folder: Path | None = None) -> Mapping[str, str]:
    """The environment, completed by `.env` of the working directory; what is set in the environment wins.

    `os.environ` is left alone, so that a key of `.env` is never inherited by the processes that run solutions.
    """
    from dotenv import dotenv_values

    stored = dotenv_values((folder or Path.cwd()) / ".env")
    return {**{name: value for name, value in stored.items() if value is not None}, **os.environ}


def parse_model(name: str, llm: LLM, env: Mapping[str, str] | None = None) -> Target:
    """Find out where `name` is asked; raises ProviderError for a malformed name, service or address."""
    env = environment() if env is None else env
    provider, _, rest = name.partition("/")
    if provider == "recorded" and rest:
        return Target(name, "recorded", "", rest, "")
    if provider == "openai" and rest:
        url = llm.base_url or env.get("OPENAI_BASE_URL") or OPENAI_URL
        where = "llm.base_url" if llm.base_url else "OPENAI_BASE_URL"
        return Target(name, "openai", _checked_url(url, where), rest, "OPENAI_API_KEY")
    service, _, remote = rest.partition("/")
    if provider != "openai-api" or not service or not remote:
        raise ProviderError("not a model's name", where=name, remedy=FORMS)
    return _service(name, service, remote, llm, env)


def _service(name: str, service: str, remote: str, llm: LLM, env: Mapping[str, str]) -> Target:
    if service in ("openai", "recorded"):
        raise ProviderError(f"'{service}' cannot be the name of a service", where=name, remedy=FORMS)
    variable = service.upper().replace("-", "_")
    url = llm.base_url or env.get(f"{variable}_BASE_URL") or llm.services.get(service, "")
    if not url:
        hint = closest(service, llm.services)
        raise ProviderError(
            f"service '{service}' has no address{hint}",
            where=name,
            remedy=f"set llm.services.{service} in the config, or {variable}_BASE_URL in the environment or .env; for "
            "one run: hone run --model-base-url http://<host>:<port>/v1",
        )
    where = "llm.base_url" if llm.base_url else f"{variable}_BASE_URL or llm.services.{service}"
    return Target(name, service, _checked_url(url, where), remote, f"{variable}_API_KEY")


def _checked_url(url: str, where: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ProviderError(f"'{url}' is not a web address", where=where, remedy="write https://<host>/v1")
    return url.rstrip("/")


def api_key(target: Target, env: Mapping[str, str] | None = None) -> str:
    """The key for `target`; raises ProviderError naming the variable where there is none or it cannot be sent."""
    env = environment() if env is None else env
    key = env.get(target.key_variable, "").strip()
    if not key:
        raise ProviderError(
            f"{target.key_variable} is not set, nothing was sent",
            where=target.name,
            remedy=f"export {target.key_variable}=<key> or write it into .env (any word where the server asks for no "
            "key); or set llm.mode: replay, or use a recorded/<transcript> model",
        )
    if not (key.isascii() and key.isprintable()):
        raise ProviderError(
            f"{target.key_variable} holds characters that no key has",
            where=target.name,
            remedy="copy the key again: letters, digits and punctuation on one line",
        )
    return key


def config_name(request: LLMRequest) -> str:
    """The name under which the config knows the model of a request; inverse of `parse_model`."""
    if request.provider in ("openai", "recorded"):
        return f"{request.provider}/{request.model}"
    return f"openai-api/{request.provider}/{request.model}"
