# Operators of training loops: their share of the work, and the fastest kernel that a campaign found for each machine.


rule operator_shares:
    """Measure each operator's share of preparing a training's own batches, on one CPU thread."""

    # What a faster operator can gain. A CPU's operators alone: those of the device system have their shares in
    # device_roofline.
    input:
        graph=prepared_graph,
        definitions=lambda wildcards: f"results/definitions/{training_of(wildcards).kernels_from}/level1.jsonl",
    output:
        SHARES,
    log:
        "results/logs/operator_shares/{training}/{graph}/{model}.log",
    wildcard_constraints:
        **TRAINED,
    conda:
        "../../envs/hone.yaml"
    params:
        job=share_job,
        store=settings.paths.store,
        code=code_digest("gnn", "records", without=("gnn/datasets", "gnn/prepare")),
    script:
        "../scripts/operator_shares.py"


rule select:
    """Choose an operator's fastest solution that passed, of all experiments, and write the reasons."""

    # What is executed stands apart from its times.
    input:
        definitions="results/definitions/{source}/level1.jsonl",
        workloads="results/workloads/{source}/level1.jsonl",
        solutions=of_operator("solutions", settings.experiments),
        traces=of_operator("traces", NOT_ROUNDS),
        evaluations=of_operator("evaluations", ROUNDS),
        builds=of_operator("builds", settings.experiments),
    output:
        selection=SELECTED,
        reasons=SELECTED.replace(".json", ".reasons.jsonl"),
    log:
        "results/logs/select/{source}/{operator}.log",
    wildcard_constraints:
        source=only(SELECTING),
        operator=r"[A-Za-z]\w*",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=code_digest(
            "operators/select",
            "operators/choose",
            "analysis/metrics",
            "records",
            "sources/workloads",
        ),
    script:
        "../scripts/select_kernel.py"


checkpoint selection_gate:
    """Wait for an operator's choice, then plan trainings: an equal choice trains nothing again."""
    input:
        SELECTED,
    output:
        touch("results/gates/selected/{source}/{operator}.done"),
    wildcard_constraints:
        source=only(SELECTING),
        operator=r"[A-Za-z]\w*",
    localrule: True
