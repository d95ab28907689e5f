"""The trusted process on the GPU: expected outputs, and whether a solution's are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hone.judge.child.cuda.yardsticks import Yardstick, Yardsticks
from hone.judge.child.models import (
    UnexpectedOutput,
    flatten,
    seed_all,
)
from hone.judge.device.cuda import driver
from hone.judge.device.cuda.checks import DeviceTally, changed_inputs, scale_of, widened
from hone.judge.device.cuda.memory import DeviceArena

ASIDE_BYTES = 4 << 30
"""Results up to this size are copied before they are looked at."""


FEW_WRONG, FEW_WRONG_SHARE = 8, 0.01
"""So many elements of a set may be wrong because the reference is off at them."""


AHEAD_BYTES, AHEAD_SHARE = 8 << 30, 0.125
"""Of expected results that are kept for trials to come: at most so many bytes, and this share of the free memory."""
WITH_EXACT = 3
"""Times the bytes of results: in float32, and in float64."""


@dataclass(frozen=True)
class Expected:
    """What a trial's results are compared with."""

    results: list[torch.Tensor]
    yardstick: Yardstick | None
    answer: dict[str, Any]
    """To `trial`."""


class ReferenceChecks(Yardsticks):
    """Answers `trial`, `ahead` and `compare`."""

    _yardstick: Yardstick | None = None
    """Of the last trial, until its results are compared."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead_of: dict[tuple[Any, ...], Expected] = {}
        """By trial: computed before there was a solution, it serves all of them. Inputs follow from the seed alone."""

    def _ahead(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Compute what a trial expects and keep it; `kept`: false where that takes too much memory."""
        free, _ = torch.cuda.mem_get_info()
        needed = (len(self._ahead_of) + 1) * WITH_EXACT * self._outputs.region.layout.nbytes
        if needed > min(AHEAD_BYTES, AHEAD_SHARE * free):
            return {"kept": False}
        scalars = self._fill(self._hidden.sets[0], message["seed"], message["distribution"])
        self._ahead_of[_key(message)] = self._make(message, scalars)
        driver.synchronize()
        return {"kept": True}

    def _trial(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Inputs in set 0, poisoned outputs, expected results; `usable`: the reference gives numbers for them."""
        scalars = self._fill(self._hidden.sets[0], message["seed"], message["distribution"])
        for name, tensor in self._hidden.sets[0].items():  # not what lies between: a mark there stays
            self._inputs.sets[0][name].copy_(tensor)
        self._poison_outputs()
        known = self._ahead_of.get(_key(message)) or self._make(message, scalars)
        self._expected, self._yardstick = known.results, known.yardstick
        driver.synchronize()
        return known.answer

    def _make(self, message: Mapping[str, Any], scalars: dict[str, Any]) -> Expected:
        """From the inputs in the hidden set 0."""
        self._expect(0, scalars, message["forward_seed"])
        usual = message["distribution"] == "as_given"
        finite = self._finite()
        wanted, alike = message["exact"] and finite, True
        yardstick = None
        if wanted:
            yardstick, alike = self._find_yardstick(scalars, message["forward_seed"])
        if yardstick is not None:
            self._slacks[message["distribution"]] = yardstick.slacks
            if yardstick.kind == "exact":
                self._exact.add(message["distribution"])
        answer = {
            "scalars": scalars,
            "usable": usual or (finite and alike),
            "baseline_error": yardstick.own_error if yardstick else None,
            "yardstick": (yardstick.kind if yardstick else "none") if wanted else None,
        }
        return Expected(self._expected, yardstick, answer)

    def _finite(self) -> bool:
        """Whether all that is expected are numbers."""
        return all(bool(widened(out).isfinite().all()) for out in self._expected if out.is_floating_point())

    def _expect(
        self, index: int, scalars: Mapping[str, Any], forward_seed: int, before: Sequence[int] = ()
    ) -> None:  # fmt: skip
        """`before`: the runs of the batch whose share of chance comes first."""
        self._expected = []
        arguments = self._arguments_of(index, scalars, fresh=True)
        seed_all(forward_seed)
        for earlier in before:
            self._models["torch_eager"](*self._arguments_of(earlier, self._scalars[earlier], fresh=True))
        returned = flatten(self._models["torch_eager"](*arguments))
        places = self._outputs.sets[index]
        if [(out.dtype, out.shape) for out in returned] != [(place.dtype, place.shape) for place in places.values()]:
            raise UnexpectedOutput("the reference's outputs are not the definition's")
        self._expected = [out.contiguous() for out in (*returned, *self._written_of(arguments))]

    def _compare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Check the outputs of set 0 against the last trial's, or of some sets against what the reference gives now."""
        tally = DeviceTally()
        audited = message.get("audit", ())
        # At once: work that still goes on somewhere finds them gone. Making expected results takes milliseconds.
        aside = {index: self._set_aside(index) for index in audited} if self._have_room(len(audited)) else {}
        answer: dict[str, Any] = {"guards": self._guards_hold(), "changed": []}
        if "audit" not in message:
            known = self._yardstick if self._yardstick is not None and self._yardstick.kind == "exact" else None
            self._add(tally, 0, message, exact=known.values if known else None)
            if self._yardstick is not None:
                answer["exact_error"] = self._yardstick.error_of(list(self._results(0).values()))
            answer["changed"] = self._changed(0)
            self._expected, self._yardstick = [], None
        for index in audited:
            answer["changed"] += self._changed(index)
            self._expect(index, self._scalars[index], self._seed, before=range(index) if message.get("random") else ())
            if message["distribution"] != "as_given" and not self._finite():
                continue  # as in a trial: what the reference has no numbers for is asked of nobody
            exactly = not tally.wrong  # of a batch that is wrong already no more is wanted
            tally.merge(self._audited(index, message, aside.get(index), exactly=exactly).message())
        return answer | tally.message()

    def _audited(
        self, index: int, message: Mapping[str, Any], aside: dict[str, torch.Tensor] | None, *, exactly: bool
    ) -> DeviceTally:  # fmt: skip
        """One set's tally; float64, where it was the yardstick, is only asked about what is wrong here and there.

        Results that a graph did not make are wrong everywhere, and float64 would take its time to say so.
        """
        tally = DeviceTally()
        self._add(tally, index, message, aside)
        few = 0 < tally.wrong <= max(FEW_WRONG, FEW_WRONG_SHARE * tally.elements)
        if few and exactly and message["distribution"] in self._exact:
            exact = self._exact_results(index, self._scalars[index], self._seed)
            tally = DeviceTally()
            self._add(tally, index, message, aside, exact)
        return tally

    def _set_aside(self, index: int) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self._results(index).items()}

    def _have_room(self, sets: int) -> bool:
        return sets * self._outputs.region.layout.nbytes <= ASIDE_BYTES

    def _changed(self, index: int) -> list[str]:
        """Inputs of a set that are no longer as they were made, though the reference leaves them alone.

        Mapping memory read-only in the other process is no protection: its host code can lift that.
        """
        made = self._hidden.sets[index]
        kept = {name: tensor for name, tensor in made.items() if name not in self._written}
        return changed_inputs(kept, self._inputs.sets[index])

    def _add(
        self, tally: DeviceTally, index: int, message: Mapping[str, Any],
        aside: dict[str, torch.Tensor] | None = None, exact: Sequence[torch.Tensor] | None = None,
    ) -> None:  # fmt: skip
        """All results of a set, or what was set aside of them, against what is expected."""
        tolerance, scaled = message["tolerance"], message["scaled"]
        results = self._results(index) if aside is None else aside
        slacks = self._slacks.get(message["distribution"], [0.0] * len(self._expected))
        figures = "audit" not in message
        exacts: Sequence[torch.Tensor | None] = exact or [None] * len(slacks)
        for (name, have), want, slack, best in zip(results.items(), self._expected, slacks, exacts, strict=True):
            atol = tolerance["atol"] * (scale_of(want) if scaled else 1.0)
            tally.add(name, want, have, atol=atol, rtol=tolerance["rtol"], slack=slack, exact=best, figures=figures)

    def _results(self, index: int) -> dict[str, torch.Tensor]:
        """What a solution has left in a set: the outputs, then the inputs that the reference writes to."""
        places = self._inputs.sets[index]
        return self._outputs.sets[index] | {name: places[name] for name in self._written}

    def _guards_hold(self) -> bool:
        """Whether nothing was written between the tensors of any set."""
        return _gaps_hold(self._outputs, self._poison) and _gaps_hold(self._inputs, 0)


def _key(message: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(message[name] for name in ("seed", "forward_seed", "distribution", "exact"))


def _gaps_hold(arena: DeviceArena, byte: int) -> bool:
    """Whether every byte between the tensors is this one."""
    rows = arena.rows()
    return all(bool((rows[:, start:end] == byte).all()) for start, end in arena.region.layout.gaps())
