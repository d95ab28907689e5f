# Compilers: CPU only, wherever the kernels will run.
# Facts of the GPU that the config names; else the machine that compiles says which it has.
BUILD_GPU = gpu(settings.gpu).model_dump(mode="json") if settings.gpu else None


rule build:
    """Compile a batch's solutions: solutions in, builds out. Takes a quarter of the cores and no GPU."""
    input:
        solutions=solutions_behind_gate,
        definitions=[DEFINITIONS],
    output:
        SHARD.records("builds"),
    log:
        paths.log("build/{experiment}/{model}/turn{turn}/{batch}"),
    conda:
        "../../envs/hone.yaml"
    # All jobs of a machine share its compilers (hone.compile.slots): this says how many batches are built side by side.
    threads: build_threads
    params:
        store=settings.paths.store,
        timeout_s=lambda wildcards: settings.protocol(
            wildcards.experiment
        ).build_timeout_s,
        device=settings.judge.device,
        gpu=BUILD_GPU,
        code=code_digest(
            "compile",
            "core/modules",
            "launcher",
            "machine",
            "records",
        ),
    message:
        f"Compile kernels: {THIS_SHARD}."
    script:
        "../scripts/build.py"


rule build_existing:
    """Compile a source's existing kernels: needs neither an answer nor a GPU."""
    input:
        paths.level("definitions"),
    output:
        paths.existing(),
    log:
        paths.log("build_existing/{source}/level{level}"),
    conda:
        "../../envs/hone.yaml"
    threads: compilers
    params:
        store=settings.paths.store,
        timeout_s=settings.judge.build_timeout_s,
        gpu=BUILD_GPU,
        code=code_digest(
            "compile",
            "core/modules",
            "launcher",
            "machine",
            "records",
        ),
    message:
        "Compile the existing kernels of {wildcards.source}."
    script:
        "../scripts/build_existing.py"
