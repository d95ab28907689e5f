"""Functions of other packages replaced by operators while a context lasts.

    with replaced(silu, norm) as swap:
        model(tokens)
    swap.names, swap.absent, swap.counts

What is replaced is a dotted name, such as `flashinfer.norm.fused_add_rmsnorm`, for all threads of the process. Code
that ran `from flashinfer.norm import fused_add_rmsnorm` before holds the original and is not reached; name that
module's own name for it too (`sglang.srt.layers.layernorm.fused_add_rmsnorm`), or enter the context before the import.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from hone.operators.binding import Binding
from hone.operators.contract import OperatorError
from hone.operators.operator import Operator
from hone.sources.extraction.replacement import Replacement

Function = Callable[..., Any]
_lock = threading.RLock()
_sites: dict[str, Site] = {}


@dataclass
class Counts:
    """What became of the calls to one dotted name; those of compiled functions are not counted."""

    replaced: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)
    """Why a call went to the original -> how often."""

    def add(self, reason: str = "") -> None:
        """Count one call; `reason` why it went to the original."""
        with _lock:
            if reason:
                self.fallbacks[reason] += 1
            else:
                self.replaced += 1


class Site:
    """One dotted name that is replaced by the last of those who want it, and by nobody when none is left.

    The function that stands there asks at each call, so that code which imported it while it stood there gets the
    original afterwards.
    """

    def __init__(self, name: str) -> None:
        """Raises OperatorError when the name leads nowhere."""
        self.name = name
        self._owner, self._attribute = find_owner(name)
        self.original: Function = getattr(self._owner, self._attribute)
        self._own = self._attribute in vars(self._owner)
        self._wanted: list[Function] = []

        @functools.wraps(self.original)
        def function(*arguments: Any, **named: Any) -> Any:
            wanted = self._wanted[-1:]
            return wanted[0](*arguments, **named) if wanted else self.original(*arguments, **named)

        self._function = function

    def enter(self, wanted: Function) -> None:
        """Let calls go to `wanted`."""
        self._wanted.append(wanted)
        setattr(self._owner, self._attribute, self._function)

    def leave(self, wanted: Function) -> bool:
        """Undo one `enter`, whichever order others leave in; whether nobody is left and the original is back."""
        self._wanted.remove(wanted)
        if self._wanted:
            return False
        if getattr(self._owner, self._attribute) is self._function:  # what others have put there since is theirs
            if self._own:
                setattr(self._owner, self._attribute, self.original)
            else:
                delattr(self._owner, self._attribute)
        return True


class replaced:
    """Replace the functions that the operators' `replaces` name, where their packages can be imported.

    Calls that a kernel does not take go to the original and are counted with the reason. Contexts may be nested and
    entered again, also by several threads at once: the last one entered counts, for all threads.
    """

    def __init__(self, *operators: Operator) -> None:
        """Imports the packages; raises OperatorError when one of their functions has another signature than it says."""
        self.counts: dict[str, Counts] = {}
        """Dotted name -> what became of its calls in this context."""
        self.absent: dict[str, str] = {}
        """Dotted name -> why it is not replaced."""
        self._functions: list[tuple[str, Function]] = []
        for operator in operators:
            for replacement in operator.replaces:
                for name in replacement.functions:
                    self._plan(operator, replacement, name)

    @property
    def names(self) -> tuple[str, ...]:
        """The dotted names that are replaced."""
        return tuple(self.counts)

    def __enter__(self) -> Self:
        with _lock:
            for name, function in self._functions:
                if name not in _sites:
                    _sites[name] = Site(name)
                _sites[name].enter(function)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with _lock:
            for name, function in reversed(self._functions):
                if _sites[name].leave(function):
                    del _sites[name]

    def _plan(self, operator: Operator, replacement: Replacement, name: str) -> None:
        try:
            original = original_of(name)
        except OperatorError as error:
            self.absent[name] = error.problem
            return
        binding = Binding(operator, replacement, original, name)
        self.counts[name] = Counts()
        self._functions.append((name, stand_in(binding, original, self.counts[name])))


def stand_in(binding: Binding, original: Function, counts: Counts) -> Function:
    """A function with the original's signature that calls the operator where its kernel takes the call."""
    import torch

    @functools.wraps(original)
    def function(*arguments: Any, **named: Any) -> Any:
        call, reason = binding.plan(arguments, named)
        if torch.compiler.is_compiling():
            return original(*arguments, **named) if call is None else call()
        if call is not None:
            try:
                result = call()
            except OperatorError as error:  # the GPU refused the launch, so nothing was written
                reason = error.problem
            else:
                counts.add()
                return result
        counts.add(reason)
        return original(*arguments, **named)

    return function


def original_of(name: str) -> Function:
    """The function that a dotted name has when nothing is replaced; raises OperatorError when it leads nowhere."""
    with _lock:
        if name in _sites:
            return _sites[name].original
    owner, attribute = find_owner(name)
    found: Function = getattr(owner, attribute)
    return found


def find_owner(name: str) -> tuple[Any, str]:
    """The module or class, and the attribute in it, of a dotted name; raises OperatorError when it leads nowhere."""
    parts = name.split(".")
    owner, used = _imported(parts)
    for part in parts[used:-1]:
        if not hasattr(owner, part):
            raise OperatorError(f"{'.'.join(parts[:used])} has no {part}", where=name)
        owner, used = getattr(owner, part), used + 1
    if used == len(parts) or not hasattr(owner, parts[-1]):
        raise OperatorError(f"{'.'.join(parts[:-1])} has no {parts[-1]}", where=name)
    return owner, parts[-1]


def _imported(parts: Sequence[str]) -> tuple[Any, int]:
    """The longest beginning that is a module, at least one part and not all, and its number of parts."""
    owner: Any = None
    for used in range(1, len(parts)):
        name = ".".join(parts[:used])
        try:
            owner = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if owner is not None and error.name == name:
                return owner, used - 1
            raise OperatorError(f"cannot be imported: {error}", where=name) from None
        except (ImportError, OSError, RuntimeError, AttributeError) as error:  # packages without their GPU or driver
            raise OperatorError(f"cannot be imported: {error}", where=name) from None
    return owner, len(parts) - 1
