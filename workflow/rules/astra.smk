# Existing kernels, improved round by round by several roles or by one agent (Astra). Turn 0 is the existing kernel.
#
#   upstream, testing -> suite -> [build, judge] -> profiling -> planning -> coding -> extract_round -> [build, judge] -> …
#
# Profiling, planning and coding are roles of a team (hone.teams): `ask_role` writes what each is asked,
# `answer_role` and `generate` the answers.
#
# What a round is told comes from attempts, solutions, builds and traces over the agents' own suite. Evaluations, on all
# workloads, are read by tables alone.
from hone.teams import TEAMS

ROUND = (
    *SELECTION,
    "language",
    "samples",
    "turns",
    "hardware",
    "astra",
    "strategy",
)
FIRST = {team.first for team in TEAMS.values()}
ASKED = {role for team in TEAMS.values() for role in team.asked}
CODERS = {team.coder for team in TEAMS.values() if team.roles}


rule show_workloads:
    """Copy a level's workloads without those held out: prompts are made from this copy alone."""
    input:
        paths.level("workloads"),
    output:
        paths.level("visible_workloads"),
    log:
        paths.log("show_workloads/{source}/level{level}"),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=stage_digest("sources.stages"),
    message:
        "Set held-out workloads aside: {wildcards.source}, level {wildcards.level}."
    script:
        "../scripts/show_workloads.py"


rule upstream:
    """Take the existing kernels as turn 0 of the rounds that improve them."""
    input:
        definitions=[DEFINITIONS],
    output:
        attempts=TURN0.records("attempts"),
        candidates=TURN0.records("candidates"),
        solutions=TURN0.records("solutions"),
    log:
        paths.log("upstream/{experiment}/{model}/turn0/{batch}"),
    wildcard_constraints:
        experiment=only(kinds.rounds),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(*ROUND),
        batch=batch_numbers,
        model=model_name,
        code=stage_digest("methods.astra.stages"),
    message:
        f"Take the existing kernels as a start: {THIS_BATCH}."
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
        TURN0.role("prompts"),
    log:
        paths.log("testing/{experiment}/{model}/turn0/{role}/{batch}"),
    wildcard_constraints:
        experiment=only(kinds.rounds),
        role=only(sorted(FIRST)),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(*ROUND),
        batch=batch_numbers,
        code=stage_digest("methods.astra.stages"),
    message:
        f"Write the prompt that asks for a test suite: {THIS_BATCH}."
    script:
        "../scripts/testing.py"


rule suite:
    """Make the suite from the model's answer: the workloads on which the rounds try each kernel."""
    input:
        definitions=[DEFINITIONS],
        workloads=level_files("visible_workloads"),
        answers=lambda wildcards: TURN0.role(
            "answers", files.experiments.team(wildcards.experiment).first
        ),
    output:
        suites=SHARD.suites,
        origins=SHARD.suite_origins,
    log:
        paths.log("suite/{experiment}/{model}/{batch}"),
    wildcard_constraints:
        experiment=only(kinds.rounds),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=stage_digest("methods.astra.stages"),
    message:
        f"Make the test suite: {THIS_BATCH}."
    script:
        "../scripts/suite.py"


checkpoint round_gate:
    """Wait for a round's kernels, then plan what uses them: equal kernels are not judged again."""

    # As `gate`, for each batch alone: with notes, a batch waits for the rounds of those before.
    input:
        SHARD.records("attempts"),
        SHARD.records("solutions"),
        SHARD.suites,
    output:
        touch(paths.gate("{experiment}/{model}/turn{turn}/{batch}")),
    wildcard_constraints:
        experiment=only(kinds.rounds),
    localrule: True
    message:
        f"The kernels are known: {THIS_SHARD}."


rule ask_role:
    """Write the prompt of one role of a round, from all rounds so far and what other roles answered."""

    # A coder's prompts are answered by the rule `generate`, as those of every method that writes kernels.
    input:
        unpack(turns_before),
        unpack(told_role),
        suites=SHARD.suites,
        definitions=[DEFINITIONS],
        workloads=level_files("visible_workloads"),
        templates=prompt_parts(),
        gpus="resources/hardware/gpus.yaml",
    output:
        SHARD.role("prompts"),
    log:
        paths.log("ask_role/{experiment}/{model}/turn{turn}/{role}/{batch}"),
    wildcard_constraints:
        experiment=only(kinds.several_roles),
        role=only(sorted(ASKED)),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(*ROUND),
        code=stage_digest("methods.astra.stages"),
    message:
        f"Write the prompt of the role {{wildcards.role}}: {THIS_SHARD}."
    script:
        "../scripts/role.py"


rule converse:
    """Write the next prompt where one model does all roles: its conversation, and the rounds so far."""
    input:
        unpack(turns_before),
        suites=SHARD.suites,
        definitions=[DEFINITIONS],
        workloads=level_files("visible_workloads"),
        prompts=conversation_before("prompts"),
        answers=conversation_before("answers"),
        templates=prompt_parts("coding"),
        gpus="resources/hardware/gpus.yaml",
    output:
        SHARD.records("feedback"),
    log:
        paths.log("converse/{experiment}/{model}/turn{turn}/{batch}"),
    wildcard_constraints:
        experiment=only(kinds.one_agent),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(*ROUND),
        code=stage_digest("methods.astra.stages"),
    message:
        f"Write the next prompt of the conversation: {THIS_SHARD}."
    script:
        "../scripts/converse.py"


rule extract_round:
    """Take the kernels out of a round's answers: attempts, candidates and distinct solutions."""
    input:
        definitions=[DEFINITIONS],
        answers=behind_last_gate(SHARD.records("answers")),
    output:
        attempts=SHARD.records("attempts"),
        candidates=SHARD.records("candidates"),
        solutions=SHARD.records("solutions"),
    log:
        paths.log("extract_round/{experiment}/{model}/turn{turn}/{batch}"),
    wildcard_constraints:
        experiment=only(kinds.rounds),
        turn=r"[1-9]\d*",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params("method", "language"),
        code=stage_digest("methods.astra.stages"),
    message:
        f"Take the kernels out of the answers: {THIS_SHARD}."
    script:
        "../scripts/extract_round.py"


if kinds.rounds:

    use rule generate as answer_role with:
        """Get a role's answer that is no kernel: new questions cost money, the ledger answers the others."""
        input:
            prompts=behind_last_gate(SHARD.role("prompts")),
            transcript=transcript,
        output:
            SHARD.role("answers"),
        log:
            paths.log("answer_role/{experiment}/{model}/turn{turn}/{role}/{batch}"),
        wildcard_constraints:
            experiment=only(kinds.rounds),
            role=only(sorted((FIRST | ASKED) - CODERS)),
        params:
            sampling=sampling,
            model=model_name,
            base_url=base_url,
            batch_file=lambda wildcards: paths.shard(batch="{role}/{batch}")
            .records("pending")
            .format(**wildcards),
        message:
            f"Ask the role {{wildcards.role}}: {THIS_SHARD}."


rule winner:
    """Choose winners by the suite alone; only they and existing kernels are judged on all workloads."""

    # The same winners as in the tables.
    input:
        unpack(all_turns),
        suites=SHARD.suites,
        definitions=[DEFINITIONS],
    output:
        solutions=SHARD.winners,
        builds=SHARD.winner_builds,
    log:
        paths.log("winner/{experiment}/{model}/{batch}"),
    wildcard_constraints:
        experiment=only(kinds.winner_alone),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=stage_digest("methods.astra.winners"),
    message:
        f"Choose the winners: {THIS_BATCH}."
    script:
        "../scripts/winner.py"


checkpoint winner_gate:
    """Wait for the winners, then plan their judging on all workloads: an equal choice costs nothing."""
    input:
        SHARD.winners,
        SHARD.winner_builds,
    output:
        touch(paths.gate("{experiment}/{model}/winner/{batch}")),
    wildcard_constraints:
        experiment=only(kinds.winner_alone),
    localrule: True
    message:
        f"The winners are known: {THIS_BATCH}."


use rule judge as evaluate with:
    """Judge every version on all workloads, for tables and never for a prompt; on a GPU if configured."""
    input:
        solutions=solutions_behind_gate,
        builds=SHARD.records("builds"),
        definitions=[DEFINITIONS],
        workloads=[WORKLOADS],
    output:
        SHARD.records("evaluations"),
    log:
        paths.log("evaluate/{experiment}/{model}/turn{turn}/{batch}"),
    benchmark:
        paths.benchmark("evaluate/{experiment}/{model}/turn{turn}/{batch}")
    wildcard_constraints:
        experiment=only(kinds.evaluated),
    message:
        f"Judge kernels on all workloads: {THIS_SHARD}."


use rule judge as evaluate_winner with:
    """Judge the existing kernel and the winner alone on all workloads; on a GPU if configured."""
    input:
        unpack(winners_behind_gate),
        definitions=[DEFINITIONS],
        workloads=[WORKLOADS],
    output:
        SHARD.evaluated_winners,
    log:
        paths.log("evaluate_winner/{experiment}/{model}/{batch}"),
    benchmark:
        paths.benchmark("evaluate_winner/{experiment}/{model}/{batch}")
    wildcard_constraints:
        experiment=only(kinds.winner_alone),
    message:
        f"Judge the winners on all workloads: {THIS_BATCH}."
