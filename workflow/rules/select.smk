# Operators of training loops: their share of the work, and the fastest kernel that a campaign found for each machine.


rule operator_shares:
    """Measure each operator's share of preparing a training's own batches, on one CPU thread."""

    # What a faster operator can gain. A CPU's operators alone: those of the device system have their shares in
    # device_roofline.
    input:
        graph=prepared_graph,
        definitions=lambda wildcards: paths.level(
            "definitions", training_of(wildcards).kernels_from, 1
        ),
    output:
        paths.shares(),
    log:
        paths.log("operator_shares/{training}/{graph}/{model}"),
    wildcard_constraints:
        **TRAINED,
    conda:
        "../../envs/hone.yaml"
    params:
        job=share_params,
        store=settings.paths.store,
        code=code_digest(
            "gnn", "records", "selection/loop", without=("gnn/datasets", "gnn/prepare")
        ),
    message:
        "Measure the operators' shares of {wildcards.training}: {wildcards.model} on {wildcards.graph}."
    script:
        "../scripts/operator_shares.py"


if JUDGE_GPUS:

    rule sanitize:
        """Watch the kernel that would be chosen with compute-sanitizer; kernels in, verdicts out. Takes a GPU."""
        # Where it objects, the next fastest is watched.
        input:
            definitions=paths.level("definitions", level=1),
            workloads=paths.level("workloads", level=1),
            solutions=of_operator("solutions", settings.experiments),
            traces=of_operator("traces", kinds.not_rounds),
            evaluations=of_operator("evaluations", kinds.rounds),
            builds=of_operator("builds", settings.experiments),
        output:
            paths.sanitized(),
        log:
            paths.log("sanitize/{source}/{operator}"),
        wildcard_constraints:
            source=only(files.trainings.operators),
            operator=r"[A-Za-z]\w*",
        conda:
            "../../envs/hone.yaml"
        threads: 2
        resources:
            gpu=1,
            machine_gpu=1,
        params:
            store=settings.paths.store,
            code=code_digest(
                "core/modules",
                "core/processes",
                "judge/child/models",
                "launcher",
                "machine",
                "records",
                "sanitizer",
                "selection/rank",
                "selection/sanitize",
                "selection/stages",
                "sources/workloads",
            ),
        message:
            "Watch the fastest kernel for {wildcards.operator} with compute-sanitizer."
        script:
            "../scripts/sanitize.py"


rule select:
    """Choose an operator's fastest solution that passed, of all experiments, and write the reasons."""

    # What is executed stands apart from its times.
    input:
        definitions=paths.level("definitions", level=1),
        workloads=paths.level("workloads", level=1),
        solutions=of_operator("solutions", settings.experiments),
        traces=of_operator("traces", kinds.not_rounds),
        evaluations=of_operator("evaluations", kinds.rounds),
        builds=of_operator("builds", settings.experiments),
        sanitized=[paths.sanitized()] if JUDGE_GPUS else [],
    output:
        selection=paths.selection(),
        reasons=paths.selection_reasons(),
    log:
        paths.log("select/{source}/{operator}"),
    wildcard_constraints:
        source=only(files.trainings.operators),
        operator=r"[A-Za-z]\w*",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=stage_digest("selection.stages"),
    message:
        "Choose the fastest kernel for {wildcards.operator}."
    script:
        "../scripts/select_kernel.py"


checkpoint selection_gate:
    """Wait for an operator's choice, then plan trainings: an equal choice trains nothing again."""
    input:
        paths.selection(),
    output:
        touch(paths.gate("selected/{source}/{operator}")),
    wildcard_constraints:
        source=only(files.trainings.operators),
        operator=r"[A-Za-z]\w*",
    localrule: True
    message:
        "The kernel for {wildcards.operator} is chosen."
