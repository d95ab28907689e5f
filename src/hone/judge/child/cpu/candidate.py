"""The runner of `ModelNew` solutions. The candidate's code shares this interpreter: nothing here is to be relied on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from hone.core.modules import load_module
from hone.judge.child.models import (
    Arenas,
    build_model,
    check_and_copy,
    describe_error,
    flatten,
    profile_table,
    seed_all,
    set_sizes,
    silence,
    tensors_over,
)


class CandidateHost:
    """`load` builds the model, `prepare` seeds, `run` calls forward and copies the outputs to the arena."""

    def __init__(self, arenas: Arenas) -> None:
        silence()
        self._inputs = tensors_over(*arenas["inputs"])
        outputs = tensors_over(*arenas["outputs"])
        self._names, self._places = list(outputs), list(outputs.values())
        self._arguments: list[Any] = []
        self._returned: Any = None
        self._model: Any = None

    def act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one message; whatever the candidate raises becomes an answer too."""
        loading = message["do"] == "load"
        try:
            answer: dict[str, Any] = getattr(self, f"_{message['do']}")(message)
        except BaseException as error:  # noqa: BLE001  the boundary to code that may raise anything
            return describe_error(error, "load" if loading else "run")
        return answer

    def _load(self, message: Mapping[str, Any]) -> dict[str, Any]:
        torch.set_num_threads(message["threads"])
        reference = load_module("hone_reference", message["reference"])
        set_sizes(reference, message["sizes"])
        candidate = load_module("hone_candidate", message["source"], reference)
        model_class = getattr(candidate, message["entry_point"])
        with torch.no_grad():
            self._model = build_model(
                reference, model_class, message["seed"], message["dtype"], mode=message["model_mode"], own_types=True
            )
        self._order = message["arguments"]
        return {"ok": True}

    def _prepare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._returned = None  # free the last outputs outside the timed region
        scalars = message["scalars"]
        self._arguments = [scalars[name] if name in scalars else self._inputs[name] for name in self._order]
        seed_all(message["seed"])
        return {"ok": True}

    def _run(self, message: Mapping[str, Any]) -> dict[str, Any]:
        with torch.no_grad():
            self._returned = self._model(*self._arguments)
            check_and_copy(flatten(self._returned), self._places, self._names)
        return {"done": message["nonce"]}

    def _profile(self, _: Mapping[str, Any]) -> dict[str, Any]:
        with torch.no_grad():
            return {"table": profile_table(lambda: self._model(*self._arguments))}
