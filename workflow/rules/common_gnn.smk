# What the rules of graphs and trainings share: paths, and the functions that give them their inputs.
from hone.config_trainings import OPERATORS, TrainingKey, training_keys
from hone.gnn.job import TrainingJob
from hone.sources.kernels.names import numbers_in

GRAPH_ARRAYS = ("indptr", "indices", "features", "labels", "train", "valid", "test")
GRAPH = "results/graphs/{graph}/graph.json"
NOT_IN_TRAINING = ("gnn/datasets", "gnn/kernels", "gnn/prepare", "gnn/study")


def graph_entry(wildcards):
    return settings.graphs[wildcards.graph]


def graph_gpus(wildcards):
    """Of its preparation."""
    return int(getattr(graph_entry(wildcards), "device", "cpu") == "cuda")


def graph_inputs(wildcards):
    """What a graph is made of: files of a folder, a download, or nothing."""
    entry = graph_entry(wildcards)
    if not hasattr(entry, "raw_dir"):
        return []
    if entry.raw_dir is None:
        return "results/graphs/{graph}.downloaded"
    return sorted(
        str(path) for path in Path(entry.raw_dir).rglob("*") if path.is_file()
    )


def prepared_graph(wildcards):
    """A graph behind its gate. Its record has the checksum of each array, so that an equal graph trains nothing."""
    checkpoints.graph_gate.get(graph=wildcards.graph)
    return GRAPH


TRAINING = "{training}/{graph}/{model}/{system}/gpus{gpus}/seed{seed}"
TRAINING_KEYS = list(training_keys(settings.trainings))
TRAINED = {
    "graph": only(settings.graphs),
    "training": only(settings.trainings),
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


def every_inference():
    """Those of trainings that ask for any."""
    return [
        f"results/inference/{TRAINING}.json".format(**key._asdict())
        for key in TRAINING_KEYS
        if settings.trainings[key.training].inference.splits
    ]


def compared_graphs():
    """Graphs on which systems are compared: there batch preparation is measured alone, too."""
    return sorted(
        {
            graph
            for item in settings.trainings.values()
            if len(item.systems) > 1
            for graph in item.graphs
        }
    )


# Kernels that trainings take from campaigns. Source -> operator -> number, by the names of its entries.
SELECTED = "results/selected/{source}/{operator}.json"
SELECTING = sorted({item.kernels_from for item in settings.trainings.values()} - {None})
NUMBERS = {
    source: numbers_in(Path(settings.sources[source].path)) for source in SELECTING
}
SHARES = "results/shares/{training}/{graph}/{model}.jsonl"


def selected_kernels(wildcards):
    """What a training's operators were given, behind their gates: an equal choice trains nothing."""
    item = training_of(wildcards)
    names = OPERATORS[wildcards.system] if item.kernels == "selected" else ()
    for name in names:
        checkpoints.selection_gate.get(source=item.kernels_from, operator=name)
    return [SELECTED.format(source=item.kernels_from, operator=name) for name in names]


def of_operator(stage, experiments):
    """A stage's files of all experiments that may have a solution for an operator."""

    def files(wildcards):
        place = (1, NUMBERS[wildcards.source][wildcards.operator])
        return [
            path.format(experiment=name, model=model_slug(model))
            for name in experiments
            if settings.experiments[name].source == wildcards.source
            and settings.experiments[name].selects(*place)
            for model in settings.experiments[name].models
            for path in shards_of(stage, name)
            if settings.batch_of(name, *place) == Path(path).stem
        ]

    return files


def training_code(wildcards):
    """What a training runs: for selected kernels also what finds and tries them."""
    parts = ("gnn", "records")
    if training_of(wildcards).kernels == "builtin":
        return code_digest(*parts, without=NOT_IN_TRAINING)
    without = [part for part in NOT_IN_TRAINING if part != "gnn/kernels"]
    return code_digest(*parts, "operators", without=tuple(without))


def share_job(wildcards):
    """The job of a training's first system that prepares batches on a CPU, number of GPUs and seed."""
    item = training_of(wildcards)
    system = next(name for name in item.systems if name != "device")
    values = {"system": system, "gpus": item.gpus[0], "seed": item.seeds[0]}
    return TrainingJob.of(TrainingKey(**wildcards, **values), item).model_dump(
        mode="json"
    )


# Graph -> the last training of a SAGE that the device system does there: its kernels are measured.
MEASURED = {
    key.graph: key
    for key in TRAINING_KEYS
    if key.system == "device" and key.model == "sage" and key.gpus == 1
}


def measured_job(wildcards):
    key = MEASURED[wildcards.graph]
    return TrainingJob.of(key, settings.trainings[key.training]).model_dump(mode="json")


RECORDS |= {
    "selections": [
        SELECTED.replace(".json", ".reasons.jsonl").format(source=source, operator=name)
        for source in SELECTING
        for name in NUMBERS[source]
    ],
    "shares": sorted(
        {
            SHARES.format(**key._asdict())
            for key in TRAINING_KEYS
            if settings.trainings[key.training].kernels == "selected"
            and key.system != "device"
        }
    ),
    "graphs": sorted({GRAPH.format(graph=key.graph) for key in TRAINING_KEYS}),
    "trainings": every_training("training"),
    "inferences": every_inference(),
    "preparations": [
        f"results/sampler/{graph}/salient_threads.csv" for graph in compared_graphs()
    ],
    "rooflines": [f"results/device/{graph}/device_roofline.csv" for graph in MEASURED],
}
