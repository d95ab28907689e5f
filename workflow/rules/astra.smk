# Existing kernels, improved round by round by several roles or by one agent (Astra). Turn 0 is the existing kernel.
#
#   upstream, testing -> suite -> [build, judge] -> profiling -> planning -> coding -> extract_round -> [build, judge] -> …
#
# What a round is told comes from attempts, solutions, builds and traces over the agents' own suite. Evaluations, on all
# workloads, are read by tables alone.
ROUND = (*SELECTION, "language", "samples", "turns", "hardware", "astra")
ROLE_CODE = ("campaign", "methods", "launcher", "records", "sources/workloads")


rule show_workloads:
    # The workloads that prompts may speak of: what is held out is in no file that a prompt is made from.
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
        code=code_digest("records", "sources/workloads"),
    script:
        "../scripts/show_workloads.py"


rule upstream:
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
        code=code_digest("campaign", "build/kernels", "methods", "records"),
    script:
        "../scripts/upstream.py"


rule testing:
    # Asks for the suite: the first prompt of both methods.
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
    # After the last round; asked only where a later batch reads it.
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
    # The single agent's next prompt: its whole conversation and the same evidence.
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
        code=code_digest("campaign", "methods", "records"),
    script:
        "../scripts/extract_round.py"


if ROUNDS:

    use rule generate as answer_role with:
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
    # Who won, as tables say it, by the suite alone: what is evaluated of a batch where not all versions are.
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
        code=code_digest("campaign", "methods/astra", "records", "winners"),
    script:
        "../scripts/winner.py"


checkpoint winner_gate:
    # As `round_gate`, for the evaluation of what was chosen.
    input:
        WINNERS,
        WINNER_BUILDS,
    output:
        touch("results/gates/{experiment}/{model}/winner/{batch}.done"),
    wildcard_constraints:
        experiment=only(WINNER_ALONE),
    localrule: True


use rule judge as evaluate with:
    # Every version on all workloads, held-out ones included: for tables, never for a prompt.
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
    # As `evaluate`, of the existing kernel and the winner alone.
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
