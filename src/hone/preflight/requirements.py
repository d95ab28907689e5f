"""What a run needs beside its config, asked before its first job: keys, prices, Slurm, compilers, packages, a GPU."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from hone.config.experiments import UNPROMPTED
from hone.config.settings import Settings, model_slug
from hone.core.errors import HoneError, MachineError, located
from hone.records import Language


@dataclass(frozen=True)
class PlannedJob:
    """A job that will run, as far as its needs go."""

    rule: str
    experiment: str = ""
    model: str = ""
    """As paths have it; empty where the rule has no such wildcard."""
    training: str = ""
    system: str = ""
    """Of a training or its inference."""
    gpus: int = 0
    nodes: int = 1


ASKING = ("generate", "answer_role")
"""Rules that ask models."""


def check_needs(settings: Settings, jobs: Collection[PlannedJob], *, config: str, here: bool) -> None:
    """Raise the first thing that the planned jobs lack: ProviderError for a key or price, MachineError for all else.

    `config` names the config's files. `here`: jobs run on this machine, not on a cluster's, whose tools are unknown.
    """
    with located(config):
        _check_models(settings, jobs)
        if here:
            _check_hosts(jobs)
            _check_compilers(settings, jobs)
            _check_packages(jobs)
            _check_gpu(jobs)


def _check_models(settings: Settings, jobs: Iterable[PlannedJob]) -> None:
    """Models that are asked have a key and a price."""
    asked = {(job.experiment, job.model) for job in jobs if job.rule in ASKING}
    for experiment, slug in sorted(asked):
        for name in settings.experiments[experiment].models:
            if model_slug(name) == slug:
                _check_model(settings, experiment, name)


def _check_model(settings: Settings, experiment: str, name: str) -> None:
    """A misspelt name has no price. Nothing is missing unless the config is to ask."""
    from hone.llm.cost import tariff_of
    from hone.llm.names import api_key, environment, parse_model

    if settings.llm.mode != "live":
        return
    known = environment()
    with located(f"experiments.{experiment}.models"):
        target = parse_model(name, settings.llm, known)
        if target.key_variable:
            api_key(target, known)
            tariff_of(target, settings.llm.prices)


def lacking_models(settings: Settings) -> Iterator[HoneError]:
    """Why some of the config's models cannot be asked: no key, or no price; the same reason once."""
    told = set()
    for experiment, item in settings.experiments.items():
        for name in () if item.method in UNPROMPTED else item.models:
            try:
                _check_model(settings, experiment, name)
            except HoneError as error:
                if error.problem not in told:
                    told.add(error.problem)
                    yield error


def _check_compilers(settings: Settings, jobs: Iterable[PlannedJob]) -> None:
    from hone.compile.toolchain import toolchain_for

    for experiment in sorted({job.experiment for job in jobs if job.rule == "build"}):
        for language in _compiled(settings, experiment):
            if missing := toolchain_for(language).missing:
                problem, _, remedy = missing.partition("; ")
                raise MachineError(problem, where=f"experiments.{experiment}", remedy=remedy)


def _compiled(settings: Settings, experiment: str) -> Iterator[Language]:
    """Languages that the experiment's own answers are compiled from, with its judge's device."""
    item = settings.experiments[experiment]
    if item.method in ("gold", "files", "archive"):
        return  # gold compiles nothing, and files are of several languages: the build says what it lacks
    if item.language is Language.CPP:
        yield Language.CPP
    if item.language is Language.CUDA and settings.judge.device == "cuda":
        yield Language.CUDA


def _check_hosts(jobs: Iterable[PlannedJob]) -> None:
    several = sorted({job.rule for job in jobs if job.nodes > 1})
    if several:
        where, remedy = f"rules {', '.join(several)}", "add --profile slurm, or write nodes: [1]"
        raise MachineError("several hosts need Slurm", where=where, remedy=remedy)


def _check_packages(jobs: Iterable[PlannedJob]) -> None:
    from hone.gnn.packages import check_packages

    for training, system in sorted({(job.training, job.system) for job in jobs if job.system}):
        check_packages(system, where=f"trainings.{training}")


def _check_gpu(jobs: Iterable[PlannedJob]) -> None:
    from hone.machine.gpus import visible_gpus

    wanting = sorted({job.rule for job in jobs if job.gpus})
    if not wanting:
        return
    try:
        visible_gpus()
    except HoneError as error:
        where, remedy = f"rules {', '.join(wanting)}", "run this where there is a GPU, or choose a config for CPUs"
        raise MachineError(error.problem, where=where, remedy=remedy) from None
