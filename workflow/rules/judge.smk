# Correctness and time of every distinct solution of a batch. What was judged before, anywhere, is taken from the store.


rule judge:
    input:
        solutions=solutions_behind_gate,
        builds=shard("builds"),
        definitions=definitions_of,
    output:
        shard("traces"),
    log:
        "results/logs/judge/{experiment}/{model}/turn{turn}/{batch}.log",
    benchmark:
        "results/benchmarks/judge/{experiment}/{model}/turn{turn}/{batch}.tsv"
    conda:
        "../../envs/hone.yaml"
    # A job that takes times has the machine to itself: nothing else is scheduled beside it.
    threads: workflow.cores if settings.judge.timing and workflow.cores else settings.judge.threads
    params:
        protocol=settings.judge.model_dump(mode="json"),
        baselines=settings.baselines,
        store=settings.paths.store,
        tolerance=tolerance,
        code=code_digest(
            "judge", "launcher", "records", "sources/workloads", "syscalls"
        ),
    script:
        "../scripts/judge.py"
