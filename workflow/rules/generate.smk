# Prompts, answers and solutions. Turns are unrolled: a later turn's prompt depends on the last turn's trace.


def prompt_files(wildcards):
    """Everything that the prompts of a method are made of: editing one file is a change of that method alone."""
    method = settings.experiments[wildcards.experiment].method
    return sorted(
        glob(f"config/prompts/{method}/*.md") + glob("config/prompts/parts/*.md")
    )


rule render:
    input:
        definitions=definitions_of,
        templates=prompt_files,
        examples=sorted(glob("config/prompts/examples/*/*")),
        gpus="resources/hardware/gpus.yaml",
    output:
        prompts_path("{experiment}", "{batch}"),
    log:
        "results/logs/render/{experiment}/{batch}.log",
    params:
        experiment=experiment_params(*SELECTION, "language", "samples", "hardware"),
        batch=batch_numbers,
        tolerance=tolerance,
        code=code_digest("methods", "launcher", "records"),
    script:
        "../scripts/render.py"


rule render_next:
    input:
        definitions=definitions_of,
        templates=prompt_files,
        examples=sorted(glob("config/prompts/examples/*/*")),
        gpus="resources/hardware/gpus.yaml",
        candidates=lambda wildcards: shard("candidates", int(wildcards.turn) - 1),
        solutions=lambda wildcards: shard("solutions", int(wildcards.turn) - 1),
        builds=lambda wildcards: shard("builds", int(wildcards.turn) - 1),
        traces=lambda wildcards: shard("traces", int(wildcards.turn) - 1),
    output:
        shard("feedback"),
    log:
        "results/logs/render_next/{experiment}/{model}/turn{turn}/{batch}.log",
    params:
        experiment=experiment_params(
            *SELECTION, "language", "samples", "hardware", "feedback", "turns"
        ),
        batch=batch_numbers,
        tolerance=tolerance,
        code=code_digest("methods", "launcher", "records"),
    script:
        "../scripts/render_next.py"


def prompts_of_turn(wildcards):
    first = wildcards.turn == "0"
    return (
        prompts_path(wildcards.experiment, wildcards.batch)
        if first
        else shard("feedback").format(**wildcards)
    )


def transcript(wildcards):
    """The committed transcript behind a `recorded` model."""
    provider, _, name = wildcards.model.partition("--")
    return f"{settings.paths.recorded}/{name}.jsonl" if provider == "recorded" else []


if PROMPTED:

    rule generate:
        # The paid step. What was asked before is in the ledger and is never asked again.
        input:
            prompts=prompts_of_turn,
            transcript=transcript,
        output:
            shard("answers"),
        log:
            "results/logs/generate/{experiment}/{model}/turn{turn}/{batch}.log",
        wildcard_constraints:
            experiment="|".join(PROMPTED),
        resources:
            llm=1,
        params:
            sampling=lambda wildcards: settings.experiments[
                wildcards.experiment
            ].sampling.model_dump(mode="json"),
            model=model_name,
            batch_file=lambda wildcards: shard("pending").format(**wildcards),
        script:
            "../scripts/generate.py"

    rule extract:
        input:
            shard("answers"),
        output:
            candidates=shard("candidates"),
            solutions=shard("solutions"),
        log:
            "results/logs/extract/{experiment}/{model}/turn{turn}/{batch}.log",
        wildcard_constraints:
            experiment="|".join(PROMPTED),
        params:
            experiment=experiment_params("method", "language"),
            code=code_digest("methods", "records"),
        script:
            "../scripts/extract.py"


if GOLD:

    rule gold:
        # The reference as its own candidate: checks the judge and the problems, not a model.
        input:
            definitions=definitions_of,
        output:
            candidates=shard("candidates"),
            solutions=shard("solutions"),
        log:
            "results/logs/gold/{experiment}/{model}/turn{turn}/{batch}.log",
        wildcard_constraints:
            experiment="|".join(GOLD),
        params:
            experiment=experiment_params(*SELECTION),
            batch=batch_numbers,
            model=model_name,
            code=code_digest("judge/gold", "records"),
        script:
            "../scripts/gold.py"


checkpoint gate:
    # Jobs behind the gate are planned after generation, so that their inputs' checksums decide: a prompt edit that
    # gives the same kernels builds and judges nothing.
    input:
        lambda wildcards: [
            shard("solutions", wildcards.turn, batch).format(**wildcards)
            for batch in settings.batches(wildcards.experiment)
        ],
    output:
        touch("results/gates/{experiment}/{model}/turn{turn}.done"),
    localrule: True


def solutions_behind_gate(wildcards):
    checkpoints.gate.get(
        **{key: wildcards[key] for key in ("experiment", "model", "turn")}
    )
    return shard("solutions").format(**wildcards)
