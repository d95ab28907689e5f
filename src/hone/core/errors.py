"""The one exception type that a user is meant to read.

HoneError
├── ConfigError          a config file asks for something that does not exist
├── SourceError          a benchmark's repository or a problem file is not what was promised
├── RecordError          a file of records cannot be read
├── ProviderError        a language model cannot be asked
├── SpendingLimitError   the next request could exceed the limit set in the config
├── PendingAnswersError  requests were exported and wait for their answers
└── MachineError         compiler, disk or another part of the machine is missing or broken
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any


class HoneError(Exception):
    """An expected failure: what is wrong, where, and what the user can do about it."""

    def __init__(self, problem: str, *, where: str = "", remedy: str = "") -> None:
        """`where` names the file and field, `remedy` is an instruction; both end up in the message."""
        self.problem = problem
        self.where = where
        self.remedy = remedy
        parts = [f"{where}: {problem}" if where else problem]
        if remedy:
            parts.append(f"  remedy: {remedy}")
        super().__init__("\n".join(parts))


def closest(word: str, known: Mapping[str, Any] | Iterator[str]) -> str:
    """A hint for a message: the nearest known word, or all of them."""
    names = sorted(known)
    return nearest(word, names) or f"; known: {', '.join(names) or 'none'}"


def nearest(word: str, names: Sequence[str], like: float = 0.6) -> str:
    """A hint of the nearest name, empty where none is `like` enough (0 to 1)."""
    near = difflib.get_close_matches(word, names, n=1, cutoff=like)
    return f"; did you mean '{near[0]}'?" if near else ""


@contextmanager
def located(field: str) -> Iterator[None]:
    """Put the config's field before the place that a HoneError names."""
    try:
        yield
    except HoneError as error:
        where = f"{field}: {error.where}" if error.where else field
        raise type(error)(error.problem, where=where, remedy=error.remedy) from None


@contextmanager
def on_failure(clean_up: Callable[[], object]) -> Iterator[None]:
    """Clean up where the block raises anything, an interrupt included, which then goes on."""
    with ExitStack() as stack:
        stack.callback(clean_up)
        yield
        stack.pop_all()


class ConfigError(HoneError):
    """A config file asks for something that does not exist or has the wrong type."""


class SourceError(HoneError):
    """A benchmark's repository or a problem file is not what was promised."""


class RecordError(HoneError):
    """A file of records cannot be read."""


class ProviderError(HoneError):
    """A language model cannot be asked: no key, no such service, no price, refused request."""


class SpendingLimitError(HoneError):
    """The next request could exceed the spending limit; it was not sent."""


class PendingAnswersError(HoneError):
    """Requests were written to a batch file and wait for their answers."""


class MachineError(HoneError):
    """Compiler, disk, memory or another part of the machine is missing or broken."""
