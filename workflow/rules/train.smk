# Training and inference: one job for each (training, graph, model, system, number of GPUs, seed) of the config.


rule train:
    """Train one network on one host or several; an interrupted training goes on from its last epoch."""
    input:
        graph=prepared_graph,
        selected=selected_kernels,
    output:
        run=paths.training("training"),
        checkpoint=paths.training("training", suffix="pt"),
    log:
        paths.log(f"train/{TRAINING}"),
    benchmark:
        paths.benchmark(f"train/{TRAINING}")
    wildcard_constraints:
        **TRAINED,
    conda:
        "../../envs/hone.yaml"
    threads: training_cores
    resources:
        gpu=on_one_host(training_gpus),
        machine_gpu=training_gpus,
        nodes=training_nodes,
        # The job itself starts a task on each host (hone.gnn.distributed), which the Slurm plugin calls MPI.
        mpi=on_several_hosts(lambda wildcards: "srun"),
        tasks=on_several_hosts(training_nodes),
        tasks_per_gpu=on_several_hosts(lambda wildcards: 0),
        gres=on_several_hosts(gpus_of_each_host),
    params:
        job=training_params("inference"),
        store=settings.paths.store,
        code=training_code,
    message:
        "Train {wildcards.model} on {wildcards.graph}: {wildcards.training}, {wildcards.system}, seed {wildcards.seed}, processes: {wildcards.gpus}."
    script:
        "../scripts/train.py"


rule infer:
    """Test a trained network by each way of inference in the config; on one GPU if training used any."""
    input:
        graph=prepared_graph,
        checkpoint=paths.training("training", suffix="pt"),
    output:
        paths.training("inference"),
    log:
        paths.log(f"infer/{TRAINING}"),
    wildcard_constraints:
        **TRAINED,
    conda:
        "../../envs/hone.yaml"
    threads: lambda wildcards: training_cores({**wildcards, "gpus": 1})
    resources:
        gpu=lambda wildcards: min(1, training_gpus(wildcards)),
        machine_gpu=lambda wildcards: min(1, training_gpus(wildcards)),
    params:
        job=training_params(),
        store=settings.paths.store,
        code=code_digest("gnn", "records", without=NOT_IN_TRAINING),
    message:
        "Test {wildcards.model} on {wildcards.graph}: {wildcards.training}, {wildcards.system}, seed {wildcards.seed}, processes: {wildcards.gpus}."
    script:
        "../scripts/infer.py"


rule roofline:
    """Time the device system's kernels one by one, and its epochs: seconds of a GPU to itself."""
    input:
        graph=prepared_graph,
    output:
        paths.roofline(),
    log:
        paths.log("roofline/{graph}"),
    wildcard_constraints:
        graph=only(files.trainings.measured),
    conda:
        "../../envs/hone.yaml"
    threads: all_cores
    resources:
        gpu=1,
        machine_gpu=1,
    params:
        job=measured_params,
        store=settings.paths.store,
        code=code_digest("gnn", "records", without=NOT_IN_TRAINING),
    message:
        "Time the device system's kernels on {wildcards.graph}."
    script:
        "../scripts/roofline.py"


rule trainings:
    """Train every network and run its inference, without tables; on GPUs if the config says so."""
    input:
        files.trainings.every("training"),
        files.trainings.every("inference"),
    message:
        "All networks are trained and tested."
