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
        paths.log("select_batch/{experiment}/{batch}"),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        batch=batch_numbers,
        code=stage_digest("sources.stages"),
    message:
        "Pick the problems of a batch: {wildcards.experiment}, batch {wildcards.batch}."
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
        paths.prompts(),
    log:
        paths.log("render/{experiment}/{batch}"),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(*SELECTION, "language", "samples", "hardware"),
        batch=batch_numbers,
        code=stage_digest("methods.stages"),
    message:
        "Write the first prompts: {wildcards.experiment}, batch {wildcards.batch}."
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
        earlier=earlier_candidates,
    output:
        SHARD.records("feedback"),
    log:
        paths.log("render_next/{experiment}/{model}/turn{turn}/{batch}"),
    wildcard_constraints:
        experiment=only(kinds.from_scratch),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(
            *SELECTION, "language", "samples", "hardware", "feedback", "turns"
        ),
        batch=batch_numbers,
        code=stage_digest("methods.stages"),
    message:
        f"Write the next prompts: {THIS_SHARD}."
    script:
        "../scripts/render_next.py"


if kinds.prompted:

    rule generate:
        """Ask a model for kernels: new questions cost money, the ledger answers the others for free."""
        input:
            prompts=prompts_of_turn,
            transcript=transcript,
        output:
            SHARD.records("answers"),
        log:
            paths.log("generate/{experiment}/{model}/turn{turn}/{batch}"),
        wildcard_constraints:
            experiment="|".join(kinds.prompted),
        localrule: True
        conda:
            "../../envs/hone.yaml"
        resources:
            llm=1,  # profiles limit how many such jobs run at once; each has its own requests in flight
        params:
            sampling=sampling,
            model=model_name,
            base_url=base_url,  # as far as it is part of the ledger's key: another server, other answers
            batch_file=lambda wildcards: SHARD.records("pending").format(**wildcards),
        message:
            f"Ask the model: {THIS_SHARD}."
        script:
            "../scripts/generate.py"

    rule extract:
        """Take the kernels out of the answers: candidates, and the distinct solutions among them."""
        input:
            SHARD.records("answers"),
        output:
            candidates=SHARD.records("candidates"),
            solutions=SHARD.records("solutions"),
        log:
            paths.log("extract/{experiment}/{model}/turn{turn}/{batch}"),
        wildcard_constraints:
            experiment=only(kinds.from_scratch),
        localrule: True
        conda:
            "../../envs/hone.yaml"
        params:
            experiment=experiment_params("method", "language"),
            code=stage_digest("methods.stages"),
        message:
            f"Take the kernels out of the answers: {THIS_SHARD}."
        script:
            "../scripts/extract.py"


if kinds.gold:

    rule gold:
        """Take each problem's reference as its own candidate: checks judge and problems, not a model."""
        input:
            definitions=[DEFINITIONS],
        output:
            candidates=SHARD.records("candidates"),
            solutions=SHARD.records("solutions"),
        log:
            paths.log("gold/{experiment}/{model}/turn{turn}/{batch}"),
        wildcard_constraints:
            experiment="|".join(kinds.gold),
        localrule: True
        conda:
            "../../envs/hone.yaml"
        params:
            experiment=experiment_params(*SELECTION),
            batch=batch_numbers,
            model=model_name,
            code=stage_digest("methods.stages"),
        message:
            f"Take the references as kernels: {THIS_SHARD}."
        script:
            "../scripts/gold.py"


if set(kinds.files) - set(kinds.tuned):

    rule files:
        """Take solutions from a folder: your own, or exploits and honest kernels that try the judge."""
        input:
            definitions=[DEFINITIONS],
            files=lambda wildcards: files.experiments.solution_files(
                wildcards.experiment
            ),
        output:
            candidates=SHARD.records("candidates"),
            solutions=SHARD.records("solutions"),
        log:
            paths.log("files/{experiment}/{model}/turn{turn}/{batch}"),
        wildcard_constraints:
            experiment=only([name for name in kinds.files if name not in kinds.tuned]),
        localrule: True
        conda:
            "../../envs/hone.yaml"
        params:
            experiment=experiment_params(*SELECTION, "files"),
            batch=batch_numbers,
            model=model_name,
            code=stage_digest("methods.stages"),
        message:
            f"Read the kernels of a folder: {THIS_SHARD}."
        script:
            "../scripts/files.py"


checkpoint gate:
    """Wait for a turn's kernels, then plan what uses them: equal kernels are not judged again."""

    # Jobs behind the gate are planned after generation, so that their inputs' checksums decide: a prompt edit that
    # gives the same kernels builds and judges nothing.
    input:
        solutions_of_turn,
    output:
        touch(paths.gate("{experiment}/{model}/turn{turn}")),
    localrule: True
    message:
        "The kernels are known: {wildcards.experiment}, {wildcards.model}, turn {wildcards.turn}."
