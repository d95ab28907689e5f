# Correctness and time of every distinct solution of a batch. What was judged before, anywhere, is taken from the store.
JUDGE_GPUS = 1 if settings.judge.device == "cuda" else 0


rule judge:
    """Check and time a batch's kernels: builds in, traces out. Takes cores, and a GPU if configured."""
    input:
        solutions=solutions_behind_gate,
        builds=SHARD.records("builds"),
        definitions=[DEFINITIONS],
        workloads=workloads_of,
    output:
        SHARD.records("traces"),
    log:
        paths.log("judge/{experiment}/{model}/turn{turn}/{batch}"),
    benchmark:
        paths.benchmark("judge/{experiment}/{model}/turn{turn}/{batch}")
    conda:
        "../../envs/hone.yaml"
    # On a CPU a job that takes times has the machine to itself. A GPU's times, where runs are graphs, do not suffer from compilers beside it.
    threads: judge_threads
    resources:
        gpu=JUDGE_GPUS,
        machine_gpu=JUDGE_GPUS,
        slurm_extra="" if JUDGE_GPUS else "--exclusive",
    params:
        protocol=lambda wildcards: settings.protocol(wildcards.experiment).model_dump(
            mode="json"
        ),
        baselines=settings.baselines,
        store=settings.paths.store,
        code=code_digest(
            "compile/extension_call",
            "compile/extension_files",
            "compile/extension_sites",
            "compile/kernels",
            "compile/outcome",
            "core/modules",
            "judge",
            "launcher",
            "records",
            "screen",
            "sources/workloads",
            "machine",
        ),
    message:
        f"Judge kernels: {THIS_SHARD}."
    script:
        "../scripts/judge.py"
