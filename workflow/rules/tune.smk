# Kernels that declare parameters: their fastest values, found by an optimiser, compilers and the judge.
if kinds.tuned:

    rule tune:
        """Search the parameters that a folder's kernels declare. Takes cores, and a GPU if configured."""
        # Every build and every verdict of the search is in the store: a second run looks them up.
        input:
            definitions=[DEFINITIONS],
            workloads=[WORKLOADS],
            files=lambda wildcards: files.experiments.solution_files(
                wildcards.experiment
            ),
        output:
            candidates=SHARD.records("candidates"),
            solutions=SHARD.records("solutions"),
            searches=SHARD.records("searches"),
        log:
            paths.log("tune/{experiment}/{model}/turn{turn}/{batch}"),
        benchmark:
            paths.benchmark("tune/{experiment}/{model}/turn{turn}/{batch}")
        wildcard_constraints:
            experiment="|".join(kinds.tuned),
        conda:
            "../../envs/hone.yaml"
        # It compiles and times in turns, so that no compiler disturbs a time.
        threads: all_cores
        resources:
            gpu=JUDGE_GPUS,
            machine_gpu=JUDGE_GPUS,
            slurm_extra="" if JUDGE_GPUS else "--exclusive",
        params:
            experiment=experiment_params(*SELECTION, "files", "strategy"),
            batch=batch_numbers,
            model=model_name,
            protocol=rules.judge.params.protocol,
            baselines=settings.baselines,
            store=settings.paths.store,
            gpu=BUILD_GPU,
            code=code_digest(
                "compile",
                "core/modules",
                "judge",
                "launcher",
                "machine",
                "methods/files",
                "records",
                "screen",
                "selection/rank",
                "sources/solution_files",
                "sources/workloads",
                "tunables",
                "tuning",
            ),
        message:
            f"Search the parameters of kernels: {THIS_SHARD}."
        script:
            "../scripts/tune.py"
