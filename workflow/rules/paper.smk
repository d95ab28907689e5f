# Tidy tables, figures drawn from the tables alone, and one page that lists them.
TABLES = [
    "kernelbench_fast_p",
    "kernelbench_errors",
    "kernelbench_sampling",
    "kernelbench_refinement",
    "kernelbench_speedups",
    "astra_main",
    "astra_single_vs_multi",
    "astra_shapes",
    "astra_ablation",
    "astra_rounds",
    "salient_breakdown",
    "salient_ladder",
    "salient_threads",
    "salient_inference",
    "salient_models",
    "salient_scaling",
    "salient_timeline",
    "gnn_kernels",
    "device_roofline",
    "judge_gold",
    "judge_exploits",
    "judge_agreement",
    "judge_agreement_summary",
    "published_claims",
    "judge_idioms",
    "judge_cost",
    "llm_cost",
]
FIGURES = [
    "kernelbench_fast_p",
    "kernelbench_errors",
    "kernelbench_sampling",
    "kernelbench_refinement",
    "kernelbench_speedups",
    "astra_trajectory",
    "astra_shapes",
    "salient_timeline",
    "salient_breakdown",
    "salient_ladder",
    "salient_threads",
    "salient_inference",
    "salient_scaling",
    "gnn_kernels",
    "llm_cost",
    "judge_cost",
]
# Where the report shows what has a name: by the name's first word.
CATEGORY = {
    "kernelbench": "KernelBench",
    "astra": "Astra",
    "salient": "SALIENT",
    "gnn": "Kernels in training",
    "device": "SALIENT",
    "judge": "Judge",
    "published": "Judge",
    "llm": "Cost",
}


rule tables:
    """Write all tables as CSV and Markdown, from this run's records and the published numbers."""
    input:
        **RECORDS,
        published=sorted(glob("resources/published/*.csv")),
        copy_bandwidths="resources/hardware/copy_bandwidth.csv",
        captions=expand("workflow/report/{table}.rst", table=TABLES),
    output:
        csv=[
            report(
                f"results/tables/{table}.csv",
                category=CATEGORY[table.split("_")[0]],
                subcategory="Tables",
                caption=f"../report/{table}.rst",
            )
            for table in TABLES
        ],
        md=expand("results/tables/{table}.md", table=TABLES),
    log:
        "results/logs/tables.log",
    conda:
        "../../envs/hone.yaml"
    params:
        settings=settings.model_dump(
            mode="json",
            include={
                "sources",
                "archives",
                "experiments",
                "analysis",
                "baselines",
                "graphs",
                "trainings",
            },
        ),
        records=list(RECORDS),
        code=code_digest(
            "analysis",
            "judge/layout",
            "methods/astra",
            "methods/files",
            "records",
            "sources/workloads",
            "winners",
        ),
    script:
        "../scripts/tables.py"


if ROUNDS:

    rule pages:
        """Write a page for each kernel of an experiment, with all versions that its rounds made."""
        # They quote the existing kernels' sources, so they are never committed.
        input:
            unpack(lambda wildcards: records_of(wildcards.experiment)),
        output:
            report(
                directory("results/pages/astra/{experiment}"),
                patterns=["{kernel}.md"],
                category="Astra",
                subcategory="Trajectories",
                labels={"experiment": "{experiment}", "kernel": "{kernel}"},
                caption="../report/trajectory.rst",
            ),
        log:
            "results/logs/pages/{experiment}.log",
        wildcard_constraints:
            experiment="|".join(ROUNDS),
        localrule: True
        conda:
            "../../envs/hone.yaml"
        params:
            settings=settings.model_dump(
                mode="json", include={"sources", "experiments", "baselines"}
            ),
            records=lambda wildcards: list(records_of(wildcards.experiment)),
            code=code_digest(
                "analysis", "methods/astra", "records", "sources/workloads", "winners"
            ),
        script:
            "../scripts/pages.py"


rule figures:
    """Draw all figures from the tables alone."""
    input:
        expand("results/tables/{table}.csv", table=TABLES),
    output:
        [
            report(
                f"results/figures/{figure}.svg",
                category=CATEGORY[figure.split("_")[0]],
                subcategory="Figures",
                caption=f"../report/{figure}.rst",
            )
            for figure in FIGURES
        ],
        expand("results/figures/{figure}.pdf", figure=FIGURES),
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
    """Write results/summary.md, which lists all tables, figures and pages."""
    input:
        tables=rules.tables.output.md,
        figures=rules.figures.output,
        pages=expand("results/pages/astra/{experiment}", experiment=ROUNDS),
        captions=expand("workflow/report/{figure}.rst", figure=FIGURES),
    output:
        report(
            "results/summary.md",
            category="Summary",
            caption="../report/summary.rst",
        ),
    log:
        "results/logs/summary.log",
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=code_digest("analysis"),
    script:
        "../scripts/summary.py"
