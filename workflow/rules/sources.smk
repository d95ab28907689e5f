# A benchmark's repository at its pinned commit, or a folder of our own -> problem files -> definitions and workloads.
# Existing kernels: packages -> headers that they need -> stand-alone sources, definitions and workloads.


rule fetch:
    """Get a source's problems or existing kernels, from a repository at its pinned commit or a folder."""
    input:
        local_problems,
    output:
        "results/sources/{source}.jsonl",
    log:
        "results/logs/fetch/{source}.log",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        source=lambda wildcards: settings.sources[wildcards.source].model_dump(
            mode="json"
        ),
        code=code_digest("sources"),
    script:
        "../scripts/fetch.py"


rule define:
    """Write definitions and workloads: shapes, sizes, FLOPs. Runs nothing; seconds for 100 problems."""
    input:
        problems="results/sources/{source}.jsonl",
        soundness="resources/soundness.csv",
        versions="resources/kernelbench_versions.csv",
    output:
        definitions="results/definitions/{source}/level{level}.jsonl",
        workloads="results/workloads/{source}/level{level}.jsonl",
        unsupported="results/definitions/{source}/level{level}.unsupported.jsonl",
    log:
        "results/logs/define/{source}/level{level}.log",
    conda:
        "../../envs/hone.yaml"
    params:
        tolerance=lambda wildcards: settings.sources[
            wildcards.source
        ].tolerance.model_dump(),
        baselines=settings.baselines,
        kind=lambda wildcards: settings.sources[wildcards.source].kind,
        code=code_digest("sources", "records", "launcher", "judge/layout"),
    script:
        "../scripts/define.py"
