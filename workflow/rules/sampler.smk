# The compiled sampler, its throughput beside SALIENT's own, and its design study; `all` does without the study.
SAMPLER_SOURCES = sorted(glob("src/hone/gnn/sampling/cpp/*"))
# Where resources/build_fast_sampler.sh puts SALIENT's sampler; without it there is nothing to compare with.
FAST_SAMPLER = sorted(glob(".hone/fast_sampler/fast_sampler*.so"))[:1]


rule sampler_build:
    """Compile the sampler from its C++ sources; takes seconds."""

    # A machine with another processor compiles its own from the same sources.
    input:
        SAMPLER_SOURCES,
    output:
        paths.sampler_build,
    log:
        paths.log("sampler_build"),
    conda:
        "../../envs/hone.yaml"
    params:
        store=settings.paths.store,
        code=code_digest("compile", "gnn/sampling"),
    message:
        "Compile the sampler."
    script:
        "../scripts/sampler_build.py"


rule sampler_study:
    """Time 122 sampler designs on the same batches: minutes at papers100M's size; run nothing else then."""
    input:
        prepared_graph,
        SAMPLER_SOURCES,
    output:
        paths.sampler_study(),
    log:
        paths.log("sampler_study/{graph}"),
    wildcard_constraints:
        graph=only(settings.graphs),
    conda:
        "../../envs/hone.yaml"
    threads: all_cores
    params:
        store=settings.paths.store,
        code=code_digest("gnn/sampling", "gnn/study"),
    message:
        "Time sampler designs on {wildcards.graph}."
    script:
        "../scripts/sampler_study.py"


rule sampler_benchmark:
    """Measure batches a second, ours beside SALIENT's sampler, on 1, 2, 4, … threads up to all cores."""

    # Into page-locked memory beside a GPU.
    input:
        prepared_graph,
        SAMPLER_SOURCES,
        fast_sampler=FAST_SAMPLER,
    output:
        paths.preparation(),
    log:
        paths.log("sampler_benchmark/{graph}"),
    wildcard_constraints:
        graph=only(settings.graphs),
    conda:
        "../../envs/hone.yaml"
    threads: all_cores
    params:
        store=settings.paths.store,
        code=code_digest("gnn/sampling", "gnn/study"),
    message:
        "Time the samplers on {wildcards.graph}, by threads."
    script:
        "../scripts/sampler_benchmark.py"
