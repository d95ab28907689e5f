# Training and inference: one job for each (training, graph, model, system, number of GPUs, seed) of the config.


rule train:
    """Train one network on cores or GPUs; an interrupted training goes on from its last whole epoch."""
    input:
        graph=prepared_graph,
        selected=selected_kernels,
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
        machine_gpu=training_gpus,
    params:
        job=training_job("inference"),
        store=settings.paths.store,
        code=training_code,
    script:
        "../scripts/train.py"


rule infer:
    """Test a trained network by each way of inference in the config; on one GPU if training used any."""
    input:
        graph=prepared_graph,
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
        machine_gpu=lambda wildcards: min(1, training_gpus(wildcards)),
    params:
        job=training_job(),
        store=settings.paths.store,
        code=code_digest("gnn", "records", without=NOT_IN_TRAINING),
    script:
        "../scripts/infer.py"


rule roofline:
    """Time the device system's kernels one by one, and its epochs: seconds of a GPU to itself."""
    input:
        graph=prepared_graph,
    output:
        "results/device/{graph}/device_roofline.csv",
    log:
        "results/logs/roofline/{graph}.log",
    wildcard_constraints:
        graph=only(MEASURED),
    conda:
        "../../envs/hone.yaml"
    threads: all_cores
    resources:
        gpu=1,
        machine_gpu=1,
    params:
        job=measured_job,
        store=settings.paths.store,
        code=code_digest("gnn", "records", without=NOT_IN_TRAINING),
    script:
        "../scripts/roofline.py"


rule trainings:
    """Train every network and run its inference, without tables; on GPUs if the config says so."""
    input:
        every_training("training"),
        every_training("inference"),
