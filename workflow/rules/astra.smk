# Existing kernels, improved round by round by several roles or by one agent (Astra). Turn 0 is the existing kernel.
#
#   upstream, testing -> suite -> [build, judge] -> profiling -> planning -> coding -> extract_round -> [build, judge] -> …
#
# What a round is told comes from attempts, solutions, builds and traces over the agents' own suite. Evaluations, on all
# workloads, are read by tables alone.
ROUND = (*SELECTION, "language", "samples", "turns", "hardware", "astra")
ROLE_CODE = ("methods", "launcher", "records", "sources/workloads")


rule show_workloads:
    """Copy a level's workloads without those held out: prompts are made from this copy alone."""
    input:
        "results/workloads/{source}/level{level}.jsonl",
    output:
        "results/visible_workloads/{source}/level{level}.jsonl",
    log:
        "results/logs/show_workloads/{source}/level{level}.log",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=code_digest("records", "sources/stages", "sources/workloads"),
    script:
        "../scripts/show_workloads.py"


rule upstream:
    """Take the existing kernels as turn 0 of the rounds that improve them."""
    input:
        definitions=[DEFINITIONS],
    output:
        attempts=shard("attempts", 0),
        candidates=shard("candidates", 0),
        solutions=shard("solutions", 0),
    log:
        "results/logs/upstream/{experiment}/{model}/turn0/{batch}.log",
    wildcard_constraints:
        experiment=only(ROUNDS),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(*ROUND),
        batch=batch_numbers,
        model=model_name,
        code=code_digest("build/kernels", "methods", "records"),
    script:
        "../scripts/upstream.py"


rule testing:
    """Write the first prompt of both round methods. It asks for the suite: workloads to try kernels on."""
    input:
        definitions=[DEFINITIONS],
        workloads=level_files("visible_workloads"),
        templates=prompt_parts("testing"),
        gpus="resources/hardware/gpus.yaml",
    output:
        role_file("prompts", 0),
    log:
        "results/logs/testing/{experiment}/{model}/turn0/{role}/{batch}.log",
    wildcard_constraints:
        experiment=only(ROUNDS),
        role="testing|single",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(*ROUND),
        batch=batch_numbers,
        code=code_digest(*ROLE_CODE),
    script:
        "../scripts/testing.py"


rule suite:
    """Make the suite from the model's answer: the workloads on which the rounds try each kernel."""
    input:
        definitions=[DEFINITIONS],
        workloads=level_files("visible_workloads"),
        answers=lambda wildcards: role_file(
            "answers", 0, first_role(wildcards.experiment)
        ),
    output:
        suites=SUITES,
        origins=SUITES.replace(".jsonl", ".origin.jsonl"),
    log:
        "results/logs/suite/{experiment}/{model}/{batch}.log",
    wildcard_constraints:
        experiment=only(ROUNDS),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=code_digest(*ROLE_CODE),
    script:
        "../scripts/suite.py"


checkpoint round_gate:
    """Wait for a round's kernels, then plan what uses them: equal kernels are not judged again."""

    # As `gate`, for each batch alone: with notes, a batch waits for the rounds of those before.
    input:
        shard("attempts"),
        shard("solutions"),
        SUITES,
    output:
        touch("results/gates/{experiment}/{model}/turn{turn}/{batch}.done"),
    wildcard_constraints:
        experiment=only(ROUNDS),
    localrule: True


rule profiling:
    """Write the prompt that asks what slows a kernel down, from all rounds so far."""
    input:
        unpack(turns_before),
        suites=SUITES,
        definitions=[DEFINITIONS],
        workloads=level_files("visible_workloads"),
        templates=prompt_parts("profiling"),
        gpus="resources/hardware/gpus.yaml",
    output:
        role_file("prompts", role="profiling"),
    log:
        "results/logs/profiling/{experiment}/{model}/turn{turn}/{batch}.log",
    wildcard_constraints:
        experiment=only(SEVERAL_ROLES),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        role="profiling",
        experiment=experiment_params(*ROUND),
        code=code_digest(*ROLE_CODE),
    script:
        "../scripts/role.py"


rule planning:
    """Write the prompt that asks for a plan, from the profiling answer and all rounds so far."""
    input:
        unpack(turns_before),
        suites=SUITES,
        definitions=[DEFINITIONS],
        workloads=level_files("visible_workloads"),
        analysis=role_file("answers", role="profiling"),
        plans=plans_before,
        notes=notes_before,
        templates=prompt_parts("planning"),
        gpus="resources/hardware/gpus.yaml",
    output:
        role_file("prompts", role="planning"),
    log:
        "results/logs/planning/{experiment}/{model}/turn{turn}/{batch}.log",
    wildcard_constraints:
        experiment=only(SEVERAL_ROLES),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        role="planning",
        experiment=experiment_params(*ROUND),
        code=code_digest(*ROLE_CODE),
    script:
        "../scripts/role.py"


rule coding:
    """Write the prompt that asks for a kernel's next version, from the plan and all rounds so far."""

    # Its prompts stand where those of a later turn stand for every method, and are answered by the rule `generate`.
    input:
        unpack(turns_before),
        suites=SUITES,
        definitions=[DEFINITIONS],
        workloads=level_files("visible_workloads"),
        plan=role_file("answers", role="planning"),
        templates=prompt_parts("coding"),
        gpus="resources/hardware/gpus.yaml",
    output:
        shard("feedback"),
    log:
        "results/logs/coding/{experiment}/{model}/turn{turn}/{batch}.log",
    wildcard_constraints:
        experiment=only(SEVERAL_ROLES),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        role="coding",
        experiment=experiment_params(*ROUND),
        code=code_digest(*ROLE_CODE),
    script:
        "../scripts/role.py"


rule experience:
    """Write the prompt that asks for notes after the last round, where a later batch reads them."""
    input:
        unpack(turns_before),
        suites=SUITES,
        definitions=[DEFINITIONS],
        workloads=level_files("visible_workloads"),
        plans=plans_before,
        templates=prompt_parts("experience"),
        gpus="resources/hardware/gpus.yaml",
    output:
        role_file("prompts", role="experience"),
    log:
        "results/logs/experience/{experiment}/{model}/turn{turn}/{batch}.log",
    wildcard_constraints:
        experiment=only(SEVERAL_ROLES),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        role="experience",
        experiment=experiment_params(*ROUND),
        code=code_digest(*ROLE_CODE),
    script:
        "../scripts/role.py"


rule converse:
    """Write the next prompt where one model does all roles: its conversation, and the rounds so far."""
    input:
        unpack(turns_before),
        suites=SUITES,
        definitions=[DEFINITIONS],
        workloads=level_files("visible_workloads"),
        prompts=conversation_before("prompts"),
        answers=conversation_before("answers"),
        templates=prompt_parts("coding"),
        gpus="resources/hardware/gpus.yaml",
    output:
        shard("feedback"),
    log:
        "results/logs/converse/{experiment}/{model}/turn{turn}/{batch}.log",
    wildcard_constraints:
        experiment=only(ONE_AGENT),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(*ROUND),
        code=code_digest(*ROLE_CODE),
    script:
        "../scripts/converse.py"


rule extract_round:
    """Take the kernels out of a round's answers: attempts, candidates and distinct solutions."""
    input:
        definitions=[DEFINITIONS],
        answers=behind_last_gate(shard("answers")),
    output:
        attempts=shard("attempts"),
        candidates=shard("candidates"),
        solutions=shard("solutions"),
    log:
        "results/logs/extract_round/{experiment}/{model}/turn{turn}/{batch}.log",
    wildcard_constraints:
        experiment=only(ROUNDS),
        turn=r"[1-9]\d*",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params("method", "language"),
        code=code_digest("methods", "records"),
    script:
        "../scripts/extract_round.py"


if ROUNDS:

    use rule generate as answer_role with:
        """Get a role's answer that is no kernel: new questions cost money, the ledger answers the others."""
        input:
            prompts=behind_last_gate(role_file("prompts")),
            transcript=transcript,
        output:
            role_file("answers"),
        log:
            "results/logs/answer_role/{experiment}/{model}/turn{turn}/{role}/{batch}.log",
        wildcard_constraints:
            experiment=only(ROUNDS),
            role="testing|profiling|planning|experience|single",
        params:
            sampling=sampling,
            model=model_name,
            base_url=base_url,
            batch_file=lambda wildcards: shard(
                "pending", batch="{role}/{batch}"
            ).format(**wildcards),


rule winner:
    """Choose winners by the suite alone; only they and existing kernels are judged on all workloads."""

    # The same winners as in the tables.
    input:
        unpack(all_turns),
        suites=SUITES,
        definitions=[DEFINITIONS],
    output:
        solutions=WINNERS,
        builds=WINNER_BUILDS,
    log:
        "results/logs/winner/{experiment}/{model}/{batch}.log",
    wildcard_constraints:
        experiment=only(WINNER_ALONE),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=code_digest("methods/astra", "records", "winners"),
    script:
        "../scripts/winner.py"


checkpoint winner_gate:
    """Wait for the winners, then plan their judging on all workloads: an equal choice costs nothing."""
    input:
        WINNERS,
        WINNER_BUILDS,
    output:
        touch("results/gates/{experiment}/{model}/winner/{batch}.done"),
    wildcard_constraints:
        experiment=only(WINNER_ALONE),
    localrule: True


use rule judge as evaluate with:
    """Judge every version on all workloads, for tables and never for a prompt; on a GPU if configured."""
    input:
        solutions=solutions_behind_gate,
        builds=shard("builds"),
        definitions=[DEFINITIONS],
        workloads=[WORKLOADS],
    output:
        shard("evaluations"),
    log:
        "results/logs/evaluate/{experiment}/{model}/turn{turn}/{batch}.log",
    benchmark:
        "results/benchmarks/evaluate/{experiment}/{model}/turn{turn}/{batch}.tsv"
    wildcard_constraints:
        experiment=only([name for name in ROUNDS if name not in WINNER_ALONE]),


use rule judge as evaluate_winner with:
    """Judge the existing kernel and the winner alone on all workloads; on a GPU if configured."""
    input:
        unpack(winners_behind_gate),
        definitions=[DEFINITIONS],
        workloads=[WORKLOADS],
    output:
        EVALUATED_WINNERS,
    log:
        "results/logs/evaluate_winner/{experiment}/{model}/{batch}.log",
    benchmark:
        "results/benchmarks/evaluate_winner/{experiment}/{model}/{batch}.tsv"
    wildcard_constraints:
        experiment=only(WINNER_ALONE),
