# Training and inference: one job for each (training, graph, model, system, number of GPUs, seed) of the config.
from hone.config_trainings import TrainingKey, training_keys
from hone.gnn.job import TrainingJob

TRAINING = "{training}/{graph}/{model}/{system}/gpus{gpus}/seed{seed}"
TRAINING_KEYS = list(training_keys(settings.trainings))
TRAINED = {
    "graph": "|".join(settings.graphs) or "(?!)",
    "training": "|".join(settings.trainings) or "(?!)",
    "system": "[a-z_]+",
    "gpus": r"\d+",
    "seed": r"\d+",
}


def every_training(folder):
    """The records of `training` or `inference` that the config asks for."""
    return [
        f"results/{folder}/{TRAINING}.json".format(**key._asdict())
        for key in TRAINING_KEYS
    ]


def training_of(wildcards):
    return settings.trainings[wildcards.training]


def training_job(*without):
    """What a job is told, less what it does not depend on."""

    def told(wildcards):
        values = {**wildcards, "gpus": int(wildcards.gpus), "seed": int(wildcards.seed)}
        key = TrainingKey(**{name: values[name] for name in TrainingKey._fields})
        job = TrainingJob.of(key, training_of(wildcards))
        return job.model_dump(mode="json", exclude=set(without))

    return told


def training_cores(wildcards):
    """Of all processes; a machine with fewer cores trains one model at a time."""
    item = settings.trainings[wildcards["training"]]
    return int(wildcards["gpus"]) * (item.threads + item.compute_threads)


def training_gpus(wildcards):
    return int(wildcards.gpus) if training_of(wildcards).device == "cuda" else 0


rule train:
    # An interrupted training goes on from its last whole epoch.
    input:
        graph=GRAPH,
        arrays=[f"results/graphs/{{graph}}/{array}.npy" for array in GRAPH_ARRAYS],
    output:
        run=f"results/training/{TRAINING}.json",
        checkpoint=f"results/training/{TRAINING}.pt",
    log:
        f"results/logs/train/{TRAINING}.log",
    benchmark:
        f"results/benchmarks/train/{TRAINING}.tsv"
    wildcard_constraints:
        **TRAINED,
    conda:
        "../../envs/hone.yaml"
    threads: training_cores
    resources:
        gpu=training_gpus,
    params:
        job=training_job("inference"),
        store=settings.paths.store,
        code=code_digest("gnn", "records"),
    script:
        "../scripts/train.py"


rule infer:
    input:
        graph=GRAPH,
        arrays=[f"results/graphs/{{graph}}/{array}.npy" for array in GRAPH_ARRAYS],
        checkpoint=f"results/training/{TRAINING}.pt",
    output:
        f"results/inference/{TRAINING}.json",
    log:
        f"results/logs/infer/{TRAINING}.log",
    wildcard_constraints:
        **TRAINED,
    conda:
        "../../envs/hone.yaml"
    threads: lambda wildcards: training_cores({**wildcards, "gpus": 1})
    resources:
        gpu=lambda wildcards: min(1, training_gpus(wildcards)),
    params:
        job=training_job(),
        store=settings.paths.store,
        code=code_digest("gnn", "records"),
    script:
        "../scripts/infer.py"


rule trainings:
    # Every training of the config and every inference, without tables.
    input:
        every_training("training"),
        every_training("inference"),
