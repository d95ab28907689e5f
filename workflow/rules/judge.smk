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
    threads: settings.judge.threads
    resources:
        clock=int(settings.judge.timing),  # one timed job at a time on a machine
    params:
        protocol=settings.judge.model_dump(mode="json"),
        baselines=settings.baselines,
        store=settings.paths.store,
        tolerance=tolerance,
        code=code_digest("judge", "launcher", "records"),
    script:
        "../scripts/judge.py"
