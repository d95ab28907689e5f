# The validated config and the paths of the pipeline's files.
from snakemake.exceptions import WorkflowError

from glob import glob

from hone.code import code_digest
from hone.config import load
from hone.errors import HoneError

try:
    settings = load(config, where=", ".join(map(str, workflow.configfiles)) or "config")
except HoneError as error:
    raise WorkflowError(str(error))


def slug(model):
    """A model's name as part of a path."""
    return model.replace("/", "--")


def model_name(wildcards):
    """The model behind a path."""
    models = settings.experiments[wildcards.experiment].models
    return next(model for model in models if slug(model) == wildcards.model)


def prompts_path(experiment, batch):
    return f"results/prompts/{experiment}/{batch}.jsonl"


def shard(stage, turn="{turn}", batch="{batch}"):
    """Path of one stage's records of a batch, for a rule's wildcards."""
    return f"results/{stage}/{{experiment}}/{{model}}/turn{turn}/{batch}.jsonl"


def definitions_of(wildcards):
    """The definition files that hold a batch's problems."""
    source = settings.experiments[wildcards.experiment].source
    levels = sorted({level for level, _ in settings.batch(source, wildcards.batch)})
    return [f"results/definitions/{source}/level{level}.jsonl" for level in levels]


def experiment_params(*fields):
    """A function of the wildcards that gives the named fields of the experiment: a rule reruns for these only."""
    return lambda wildcards: settings.experiments[wildcards.experiment].model_dump(
        mode="json", include=set(fields)
    )


def batch_numbers(wildcards):
    """The (level, number) pairs of a batch."""
    return settings.batch(
        settings.experiments[wildcards.experiment].source, wildcards.batch
    )


def tolerance(wildcards):
    return settings.sources[
        settings.experiments[wildcards.experiment].source
    ].tolerance.model_dump()


SELECTION = (
    "method",
    "source",
    "levels",
    "problems",
    "limit",
)  # which problems take part
PROMPTED = [
    name for name, item in settings.experiments.items() if item.method != "gold"
]
GOLD = [name for name, item in settings.experiments.items() if item.method == "gold"]


wildcard_constraints:
    source="|".join(settings.sources),
    experiment="|".join(settings.experiments),
    model="[^/]+",
    level=r"\d+",
    turn=r"\d+",
    batch=r"\d{3}",
