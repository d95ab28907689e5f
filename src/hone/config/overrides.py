"""Command-line options over a config: the options that users of LLM evaluations know, as fields of every experiment."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from hone.config.experiments import UNPROMPTED
from hone.core.errors import ConfigError, closest


def override(
    values: Mapping[str, Any],
    *,
    experiments: Sequence[str] = (),
    fields: Mapping[str, Any] | None = None,
    sampling: Mapping[str, Any] | None = None,
    llm: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A copy of a config's values with the given ones in place; None and empty lists leave the config's own.

    Where experiments are named, these alone are left, without trainings.
    Raises ConfigError for an experiment that the config does not have. Validation of the values comes after.
    """
    changed = copy.deepcopy(dict(values))
    known = changed.get("experiments", {})
    for name in experiments:
        if name not in known:
            remedy = "name experiments of the config, by comma"
            raise ConfigError(f"no experiment '{name}'{closest(name, known)}", where="--experiment", remedy=remedy)
    if experiments:
        changed["experiments"] = {name: known[name] for name in experiments}
        changed.pop("trainings", None)
    for experiment in changed.get("experiments", {}).values():
        if experiment.get("method") in UNPROMPTED:
            continue
        experiment.update(_given(fields))
        if _given(sampling):
            experiment["sampling"] = {**experiment.get("sampling", {}), **_given(sampling)}
    if _given(llm):
        changed["llm"] = {**changed.get("llm", {}), **_given(llm)}
    return changed


def _given(options: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (options or {}).items() if value is not None and value != []}
