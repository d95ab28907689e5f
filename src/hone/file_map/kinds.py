"""Experiments by what they need: the rules of rounds, for instance, take part in experiments with rounds alone."""

from __future__ import annotations

from dataclasses import dataclass

from hone.config.experiments import ASTRA, UNPROMPTED
from hone.config.settings import Settings
from hone.teams import TEAMS


@dataclass(frozen=True)
class Kinds:
    """Names of experiments, in the config's order."""

    prompted: list[str]
    """They ask a model."""
    rounds: list[str]
    """Of these: they improve existing kernels round by round."""
    from_scratch: list[str]
    """Of those prompted: they write kernels from a prompt alone."""
    several_roles: list[str]
    """Of rounds: each role is asked by itself."""
    one_agent: list[str]
    """Of rounds: one conversation does all roles."""
    winner_alone: list[str]
    """Of rounds: the existing kernel and the winner alone are judged on all workloads."""
    evaluated: list[str]
    """Of rounds: every version is."""
    not_rounds: list[str]
    """All others, those that ask no model included."""
    gold: list[str]
    files: list[str]
    tuned: list[str]
    """Of files: their parameters are searched."""
    archived: list[str]

    @classmethod
    def of(cls, settings: Settings) -> Kinds:
        """Those of a config."""
        items = settings.experiments
        rounds = [name for name, item in items.items() if item.method in ASTRA]
        winner_alone = [name for name in rounds if items[name].astra.evaluate == "winner"]
        prompted = [name for name, item in items.items() if item.method not in UNPROMPTED]
        by_method = {
            method: [name for name, item in items.items() if item.method == method]
            for method in ("gold", "files", "archive")
        }
        return cls(
            prompted=prompted,
            rounds=rounds,
            from_scratch=[name for name in prompted if name not in rounds],
            several_roles=[name for name in rounds if TEAMS[items[name].method].roles],
            one_agent=[name for name in rounds if not TEAMS[items[name].method].roles],
            winner_alone=winner_alone,
            evaluated=[name for name in rounds if name not in winner_alone],
            not_rounds=[name for name in items if name not in rounds],
            gold=by_method["gold"],
            files=by_method["files"],
            tuned=[name for name in by_method["files"] if items[name].strategy.kind == "tuned"],
            archived=by_method["archive"],
        )
