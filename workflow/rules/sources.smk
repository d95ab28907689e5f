# A benchmark's repository at its pinned commit, or a folder of our own -> problem files -> definitions and workloads.
# Existing kernels: packages -> headers that they need -> stand-alone sources, definitions and workloads.


rule fetch:
    """Get a source's problems or existing kernels, from a repository at its pinned commit or a folder."""
    input:
        lambda wildcards: files.experiments.source_files(wildcards.source),
    output:
        paths.problems(),
    log:
        paths.log("fetch/{source}"),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        source=lambda wildcards: settings.sources[wildcards.source].model_dump(
            mode="json"
        ),
        code=code_digest("sources"),
    message:
        "Read the problems of {wildcards.source}."
    script:
        "../scripts/fetch.py"


rule define:
    """Write definitions and workloads: shapes, sizes, FLOPs. Runs nothing; seconds for 100 problems."""
    input:
        problems=paths.problems(),
        soundness="resources/soundness.csv",
        versions="resources/kernelbench_versions.csv",
    output:
        definitions=paths.level("definitions"),
        workloads=paths.level("workloads"),
        unsupported=paths.unsupported(),
    log:
        paths.log("define/{source}/level{level}"),
    conda:
        "../../envs/hone.yaml"
    params:
        tolerance=lambda wildcards: settings.sources[
            wildcards.source
        ].tolerance.model_dump(),
        baselines=settings.baselines,
        kind=lambda wildcards: settings.sources[wildcards.source].kind,
        code=code_digest("sources", "records", "launcher"),
    message:
        "Write the definitions of {wildcards.source}, level {wildcards.level}."
    script:
        "../scripts/define.py"
