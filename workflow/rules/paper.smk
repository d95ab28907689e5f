# Tidy tables, figures drawn from the tables alone, and one page that lists them.
TABLES = [
    "kernelbench_fast_p",
    "kernelbench_errors",
    "kernelbench_sampling",
    "kernelbench_refinement",
    "kernelbench_speedups",
    "judge_gold",
    "judge_exploits",
    "judge_cost",
    "llm_cost",
]
FIGURES = [
    "kernelbench_fast_p",
    "kernelbench_errors",
    "kernelbench_sampling",
    "kernelbench_refinement",
    "kernelbench_speedups",
    "llm_cost",
    "judge_cost",
]


rule tables:
    input:
        definitions=[
            f"results/definitions/{source}/level{level}.jsonl"
            for source, level in LEVELS
        ],
        unsupported=[
            f"results/definitions/{source}/level{level}.unsupported.jsonl"
            for source, level in LEVELS
        ],
        candidates=every_shard("candidates", settings.experiments),
        solutions=every_shard("solutions", FILES),  # their comments say what is expected
        builds=every_shard("builds", settings.experiments),
        traces=every_shard("traces", settings.experiments),
        answers=every_shard("answers", PROMPTED),
        published=sorted(glob("resources/published/*.csv")),
    output:
        csv=report(
            expand("results/tables/{table}.csv", table=TABLES),
            category="Tables",
            caption="../report/table.rst",
        ),
        md=expand("results/tables/{table}.md", table=TABLES),
    log:
        "results/logs/tables.log",
    conda:
        "../../envs/hone.yaml"
    params:
        settings=settings.model_dump(
            mode="json", include={"sources", "experiments", "analysis", "baselines"}
        ),
        code=code_digest("analysis", "methods/files", "records"),
    script:
        "../scripts/tables.py"


rule figures:
    input:
        expand("results/tables/{table}.csv", table=TABLES),
    output:
        report(
            expand("results/figures/{figure}.svg", figure=FIGURES),
            category="Figures",
            caption="../report/figure.rst",
        ),
    log:
        "results/logs/figures.log",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=code_digest("analysis"),
    script:
        "../scripts/figures.py"


rule summary:
    input:
        tables=rules.tables.output.md,
        figures=rules.figures.output,
    output:
        report("results/summary.md", category="Summary"),
    log:
        "results/logs/summary.log",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=code_digest("analysis"),
    script:
        "../scripts/summary.py"
