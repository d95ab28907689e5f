# The validated config, the paths of the pipeline's files, and the functions that give rules their inputs.
from glob import glob
from pathlib import Path

from snakemake.exceptions import WorkflowError

from hone.code import code_digest
from hone.config import UNPROMPTED, load, model_slug
from hone.errors import HoneError
from hone.files import require_writable
from hone.llm.names import parse_model
from hone.locks import forget_dead_runs
from hone.methods.files import source_files
from hone.references import check_references

try:
    settings = load(config, where=", ".join(map(str, workflow.configfiles)) or "config")
    check_references(settings)
    for folder in ("results", settings.paths.ledger, settings.paths.store):
        require_writable(Path(folder))
except HoneError as error:
    raise WorkflowError(str(error))

# Held until this process ends, so that a run that was killed does not lock out the next.
run_lock = forget_dead_runs(Path(".snakemake"))

PROMPTED = [
    name for name, item in settings.experiments.items() if item.method not in UNPROMPTED
]
GOLD = [name for name, item in settings.experiments.items() if item.method == "gold"]
FILES = [name for name, item in settings.experiments.items() if item.method == "files"]
LEVELS = sorted(
    {
        (item.source, level)
        for item in settings.experiments.values()
        for level in item.levels
    }
)
SELECTION = (
    "method",
    "source",
    "levels",
    "problems",
    "limit",
)  # which problems take part


wildcard_constraints:
    source="|".join(settings.sources),
    experiment="|".join(settings.experiments),
    model="[^/]+",
    level=r"\d+",
    turn=r"\d+",
    batch=r"\d{3}",


# Paths.


def shard(stage, turn="{turn}", batch="{batch}"):
    """One stage's records of a batch, for a rule's wildcards."""
    return f"results/{stage}/{{experiment}}/{{model}}/turn{turn}/{batch}.jsonl"


def first_prompts(experiment, batch):
    """First prompts are the same for every model."""
    return f"results/prompts/{experiment}/{batch}.jsonl"


def last_turn(stage):
    return lambda wildcards: shard(stage, int(wildcards.turn) - 1)


def every_shard(stage, experiments):
    return [
        shard(stage, turn, batch).format(experiment=name, model=model_slug(model))
        for name in experiments
        for model in settings.experiments[name].models
        for turn in range(settings.experiments[name].turns)
        for batch in settings.batches(name)
    ]


def judge_threads():
    """Cores that a job of the judge takes; a GPU's judge waits most of the time for the GPU."""
    if settings.judge.device == "cuda":
        return 2
    return (
        workflow.cores
        if settings.judge.timing and workflow.cores
        else settings.judge.threads
    )


# What a rule's wildcards stand for.


def experiment_params(*fields):
    """The named fields of the experiment: a rule reruns when one of these changes, and for no other."""
    return lambda wildcards: settings.experiments[wildcards.experiment].model_dump(
        mode="json", include=set(fields)
    )


def sampling(wildcards):
    return settings.experiments[wildcards.experiment].sampling.model_dump(mode="json")


def model_name(wildcards):
    models = settings.experiments[wildcards.experiment].models
    return next(model for model in models if model_slug(model) == wildcards.model)


def base_url(wildcards):
    return parse_model(model_name(wildcards), settings.llm).base_url


def batch_numbers(wildcards):
    """The (level, number) pairs of a batch."""
    return settings.batch(
        settings.experiments[wildcards.experiment].source, wildcards.batch
    )


def tolerance(wildcards):
    return settings.sources[
        settings.experiments[wildcards.experiment].source
    ].tolerance.model_dump()


# Inputs.


def local_problems(wildcards):
    source = settings.sources[wildcards.source]
    return sorted(glob(f"{source.path}/level*/*.py")) if source.kind == "local" else []


def definitions_of(wildcards):
    """The definition files that hold a batch's problems."""
    source = settings.experiments[wildcards.experiment].source
    levels = sorted({level for level, _ in settings.batch(source, wildcards.batch)})
    return [f"results/definitions/{source}/level{level}.jsonl" for level in levels]


def templates(wildcards):
    """What a method's prompts are made of: editing one file is a change of that method alone."""
    method = settings.experiments[wildcards.experiment].method
    return sorted(
        glob(f"config/prompts/{method}/*.md") + glob("config/prompts/parts/*.md")
    )


def files_of_experiment(wildcards):
    """The solutions that lie in the experiment's folder: editing one is a change of that one alone."""
    folder = settings.experiments[wildcards.experiment].files
    return [str(path) for path in source_files(Path(folder))]


def prompts_of_turn(wildcards):
    if wildcards.turn == "0":
        return first_prompts(wildcards.experiment, wildcards.batch)
    return shard("feedback")


def transcript(wildcards):
    """The committed transcript behind a `recorded` model."""
    provider, _, name = wildcards.model.partition("--")
    return f"{settings.paths.recorded}/{name}.jsonl" if provider == "recorded" else []


def solutions_of_turn(wildcards):
    return [
        shard("solutions", wildcards.turn, batch).format(
            experiment=wildcards.experiment, model=wildcards.model
        )
        for batch in settings.batches(wildcards.experiment)
    ]


def solutions_behind_gate(wildcards):
    checkpoints.gate.get(
        experiment=wildcards.experiment, model=wildcards.model, turn=wildcards.turn
    )
    return shard("solutions")
