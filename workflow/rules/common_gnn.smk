# What the rules of graphs and trainings share: the functions that need a job's wildcards.
from hone.config.trainings import TrainingKey
from hone.file_map.paths import training_job
from hone.gnn.job import TrainingJob

NOT_IN_TRAINING = ("gnn/datasets", "gnn/prepare", "gnn/study")
TRAINING = training_job()
TRAINED = {
    "graph": only(settings.graphs),
    "training": only(settings.trainings),
    "system": "[a-z_]+",
    "gpus": r"\d+",
    "seed": r"\d+",
}


def graph_entry(wildcards):
    return settings.graphs[wildcards.graph]


def graph_gpus(wildcards):
    """Of its preparation."""
    return int(getattr(graph_entry(wildcards), "device", "cpu") == "cuda")


def prepared_graph(wildcards):
    """A graph behind its gate. Its record has the checksum of each array, so that an equal graph trains nothing."""
    checkpoints.graph_gate.get(graph=wildcards.graph)
    return paths.graph()


def training_of(wildcards):
    return settings.trainings[wildcards.training]


def training_nodes(wildcards):
    """Hosts."""
    return training_of(wildcards).hosts(int(wildcards.gpus))


def training_cores(wildcards):
    """Of all processes of a host; a machine with fewer cores trains one model at a time."""
    item, gpus = settings.trainings[wildcards["training"]], int(wildcards["gpus"])
    return gpus // item.hosts(gpus) * (item.threads + item.compute_threads)


def training_gpus(wildcards):
    """Of a host."""
    on_gpu = training_of(wildcards).device == "cuda"
    return int(wildcards.gpus) // training_nodes(wildcards) if on_gpu else 0


def on_one_host(value):
    """A resource that jobs on several hosts lack."""
    return lambda wildcards: (
        value(wildcards) if training_nodes(wildcards) == 1 else None
    )


def on_several_hosts(value):
    """A resource that only jobs on several hosts have."""
    return lambda wildcards: (
        value(wildcards) if training_nodes(wildcards) > 1 else None
    )


def gpus_of_each_host(wildcards):
    """As `gres` of Slurm; a `gpu` would be of the job."""
    gpus = training_gpus(wildcards)
    return f"gpu:{gpus}" if gpus else None


def training_code(wildcards):
    """What a training runs: for selected kernels also what finds and checks them."""
    selected = training_of(wildcards).kernels == "selected"
    parts = ("core/processes", "operators", "selection/loop") if selected else ()
    return code_digest("gnn", "records", *parts, without=NOT_IN_TRAINING)


# What a job is told.


def told(key, without=()):
    job = TrainingJob.of(key, settings.trainings[key.training])
    return job.model_dump(mode="json", exclude=set(without))


def training_params(*without):
    """All of a training's job, less what the rule does not depend on."""

    def params(wildcards):
        values = {**wildcards, "gpus": int(wildcards.gpus), "seed": int(wildcards.seed)}
        key = TrainingKey(**{name: values[name] for name in TrainingKey._fields})
        return told(key, without)

    return params


def share_params(wildcards):
    """The job of a training's first system that prepares batches on a CPU, number of GPUs and seed."""
    item = training_of(wildcards)
    system = next(name for name in item.systems if name != "device")
    values = {"system": system, "gpus": item.gpus[0], "seed": item.seeds[0]}
    return told(TrainingKey(**wildcards, **values))


def measured_params(wildcards):
    return told(files.trainings.measured[wildcards.graph])


# Kernels that trainings take from campaigns.


def selected_kernels(wildcards):
    """What a training's operators were given, behind their gates: an equal choice trains nothing."""
    chosen = files.trainings.selected(wildcards.training, wildcards.system)
    for source, operator in chosen:
        checkpoints.selection_gate.get(source=source, operator=operator)
    return [paths.selection(*each) for each in chosen]


def of_operator(stage, experiments):
    """A stage's files of all experiments that may have a solution for an operator."""

    def inputs(wildcards):
        number = files.trainings.operators[wildcards.source][wildcards.operator]
        return files.experiments.of_problem(
            stage, experiments, wildcards.source, number
        )

    return inputs
