# A benchmark's repository at its pinned commit, or a folder of our own -> problem files -> definitions.


def local_files(wildcards):
    source = settings.sources[wildcards.source]
    return sorted(glob(f"{source.path}/level*/*.py")) if source.kind == "local" else []


rule fetch:
    input:
        local_files,
    output:
        "results/sources/{source}.jsonl",
    log:
        "results/logs/fetch/{source}.log",
    localrule: True
    params:
        source=lambda wildcards: settings.sources[wildcards.source].model_dump(
            mode="json"
        ),
        code=code_digest("sources"),
    script:
        "../scripts/fetch.py"


rule define:
    # Shapes, sizes and FLOPs without running anything: a few seconds for a hundred problems.
    input:
        problems="results/sources/{source}.jsonl",
        soundness="resources/soundness.csv",
        versions="resources/kernelbench_versions.csv",
    output:
        definitions="results/definitions/{source}/level{level}.jsonl",
        unsupported="results/definitions/{source}/level{level}.unsupported.jsonl",
    log:
        "results/logs/define/{source}/level{level}.log",
    params:
        code=code_digest("sources", "records"),
    script:
        "../scripts/define.py"
