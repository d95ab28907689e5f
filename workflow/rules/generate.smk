# Prompts, answers and solutions. Turns are unrolled: a later turn's prompt depends on the last turn's trace.


rule select_batch:
    """Cut a batch's own definitions and workloads out of those of whole levels."""

    # What a shard depends on: with whole levels, one more problem would build and judge all shards of its level again.
    input:
        definitions=level_files("definitions"),
        workloads=level_files("workloads"),
    output:
        definitions=DEFINITIONS,
        workloads=WORKLOADS,
    log:
        "results/logs/select_batch/{experiment}/{batch}.log",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        batch=batch_numbers,
        code=code_digest("records", "sources/stages"),
    script:
        "../scripts/select_batch.py"


rule render:
    """Write a batch's first prompts from its definitions, its workloads and the method's templates."""
    input:
        definitions=[DEFINITIONS],
        workloads=workloads_of,
        templates=prompt_parts("coder"),
        gpus="resources/hardware/gpus.yaml",
    output:
        "results/prompts/{experiment}/{batch}.jsonl",
    log:
        "results/logs/render/{experiment}/{batch}.log",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(*SELECTION, "language", "samples", "hardware"),
        batch=batch_numbers,
        code=code_digest("methods", "launcher", "records", "sources/workloads"),
    script:
        "../scripts/render.py"


rule render_next:
    """Write a later turn's prompts from the last turn's solutions, builds and traces."""
    input:
        definitions=[DEFINITIONS],
        workloads=workloads_of,
        templates=prompt_parts("coder_next"),
        gpus="resources/hardware/gpus.yaml",
        candidates=last_turn("candidates"),
        solutions=last_turn("solutions"),
        builds=last_turn("builds"),
        traces=last_turn("traces"),
    output:
        shard("feedback"),
    log:
        "results/logs/render_next/{experiment}/{model}/turn{turn}/{batch}.log",
    wildcard_constraints:
        experiment=only(FROM_SCRATCH),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(
            *SELECTION, "language", "samples", "hardware", "feedback", "turns"
        ),
        batch=batch_numbers,
        code=code_digest("methods", "launcher", "records", "sources/workloads"),
    script:
        "../scripts/render_next.py"


if PROMPTED:

    rule generate:
        """Ask a model for kernels: new questions cost money, the ledger answers the others for free."""
        input:
            prompts=prompts_of_turn,
            transcript=transcript,
        output:
            shard("answers"),
        log:
            "results/logs/generate/{experiment}/{model}/turn{turn}/{batch}.log",
        wildcard_constraints:
            experiment="|".join(PROMPTED),
        localrule: True
        conda:
            "../../envs/hone.yaml"
        resources:
            llm=1,  # profiles limit how many such jobs run at once; each has its own requests in flight
        params:
            sampling=sampling,
            model=model_name,
            base_url=base_url,  # part of the ledger's key: another server, other answers
            batch_file=lambda wildcards: shard("pending").format(**wildcards),
        script:
            "../scripts/generate.py"

    rule extract:
        """Take the kernels out of the answers: candidates, and the distinct solutions among them."""
        input:
            shard("answers"),
        output:
            candidates=shard("candidates"),
            solutions=shard("solutions"),
        log:
            "results/logs/extract/{experiment}/{model}/turn{turn}/{batch}.log",
        wildcard_constraints:
            experiment=only(FROM_SCRATCH),
        localrule: True
        conda:
            "../../envs/hone.yaml"
        params:
            experiment=experiment_params("method", "language"),
            code=code_digest("methods", "records"),
        script:
            "../scripts/extract.py"


if GOLD:

    rule gold:
        """Take each problem's reference as its own candidate: checks judge and problems, not a model."""
        input:
            definitions=[DEFINITIONS],
        output:
            candidates=shard("candidates"),
            solutions=shard("solutions"),
        log:
            "results/logs/gold/{experiment}/{model}/turn{turn}/{batch}.log",
        wildcard_constraints:
            experiment="|".join(GOLD),
        localrule: True
        conda:
            "../../envs/hone.yaml"
        params:
            experiment=experiment_params(*SELECTION),
            batch=batch_numbers,
            model=model_name,
            code=code_digest(
                "judge/gold", "methods/render", "methods/stages", "records"
            ),
        script:
            "../scripts/gold.py"


if FILES:

    rule files:
        """Take solutions from a folder: your own, or exploits and honest kernels that try the judge."""
        input:
            definitions=[DEFINITIONS],
            files=files_of_experiment,
        output:
            candidates=shard("candidates"),
            solutions=shard("solutions"),
        log:
            "results/logs/files/{experiment}/{model}/turn{turn}/{batch}.log",
        wildcard_constraints:
            experiment="|".join(FILES),
        localrule: True
        conda:
            "../../envs/hone.yaml"
        params:
            experiment=experiment_params(*SELECTION, "files"),
            batch=batch_numbers,
            model=model_name,
            code=code_digest(
                "methods/files", "methods/extract", "methods/stages", "records"
            ),
        script:
            "../scripts/files.py"


checkpoint gate:
    """Wait for a turn's kernels, then plan what uses them: equal kernels are not judged again."""

    # Jobs behind the gate are planned after generation, so that their inputs' checksums decide: a prompt edit that
    # gives the same kernels builds and judges nothing.
    input:
        solutions_of_turn,
    output:
        touch("results/gates/{experiment}/{model}/turn{turn}.done"),
    localrule: True
