# Tidy tables, figures drawn from the tables alone, and one page that says what came out and lists them.
from hone.tables.names import NAMES as TABLES


rule tables:
    """Write all tables as CSV and Markdown, from this run's records and the published numbers."""
    input:
        **RECORDS,
        published=sorted(glob("resources/published/*.csv")),
        gpus="resources/hardware/gpus.yaml",
    output:
        csv=[paths.table(table) for table in TABLES],
        md=[paths.table(table, "md") for table in TABLES],
        # Those with rows alone.
        pages=directory(paths.table_pages),
    log:
        paths.log("tables"),
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
            "machine/hardware",
            "methods/astra",
            "records",
            "screen",
            "selection/rank",
            "sources/solution_files",
            "sources/workloads",
            "tables",
        ),
    message:
        "Write all tables."
    script:
        "../scripts/tables.py"


if kinds.rounds:

    rule pages:
        """Write a page for each kernel of an experiment, with all versions that its rounds made."""
        # They quote the existing kernels' sources, so they are never committed.
        input:
            unpack(lambda wildcards: files.page_records(wildcards.experiment)),
        output:
            directory(paths.pages()),
        log:
            paths.log("pages/{experiment}"),
        wildcard_constraints:
            experiment="|".join(kinds.rounds),
        localrule: True
        conda:
            "../../envs/hone.yaml"
        params:
            settings=settings.model_dump(
                mode="json", include={"sources", "experiments", "baselines"}
            ),
            records=lambda wildcards: list(files.page_records(wildcards.experiment)),
            code=code_digest(
                "analysis",
                "methods/astra",
                "records",
                "selection/rank",
                "sources/workloads",
            ),
        message:
            "Write the pages of the kernels of {wildcards.experiment}."
        script:
            "../scripts/pages.py"


rule figures:
    """Draw the figures of all tables with rows, from the tables alone."""
    input:
        [paths.table(table) for table in TABLES],
    output:
        directory(paths.figures),
    log:
        paths.log("figures"),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=code_digest("analysis", "tables"),
    message:
        "Draw all figures."
    script:
        "../scripts/figures.py"


rule papers:
    """Write the paper's tables in its own shapes, our numbers beside the printed ones."""
    input:
        tables=[
            paths.table(table) for table in TABLES if table.startswith("kernelbench_")
        ],
        published=rules.tables.input.published,
        gpus=rules.tables.input.gpus,
    output:
        # Empty where no model was asked. The index links the pages; the report lists them itself.
        report(
            directory(paths.papers),
            patterns=["kernelbench_{name}.html"],
            category="KernelBench",
            subcategory="As in the paper",
            labels=lambda wildcards: {
                "title": title_of(
                    Path(paths.papers, f"kernelbench_{wildcards.name}.html")
                ),
            },
        ),
    log:
        paths.log("papers"),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        settings=settings.model_dump(
            mode="json",
            include={"sources", "archives", "experiments", "analysis", "baselines"},
        ),
        run=RUN.name,
        code=code_digest("analysis", "machine/hardware", "report/pages", "tables"),
    message:
        "Write the paper's tables in its own shapes."
    script:
        "../scripts/papers.py"


rule summary:
    """Write the run's summary.md, which says what came out and lists all tables, figures and pages."""
    input:
        tables=rules.tables.output.md,
        figures=rules.figures.output,
        papers=rules.papers.output,
        pages=[paths.pages(name) for name in kinds.rounds],
    output:
        paths.summary,
    log:
        paths.log("summary"),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        code=code_digest("analysis", "tables"),
    message:
        "Write the summary."
    script:
        "../scripts/summary.py"


rule report_pages:
    """Write the pages of `snakemake --report`: HTML of all tables and figures with rows, and of kernels."""
    input:
        summary=rules.summary.output,
        tables=rules.tables.output,
        figures=rules.figures.output,
        trajectories=rules.summary.input.pages,
    output:
        landing=paths.report_landing,
        summary=report(
            f"{paths.report}/summary.html",
            category="Summary",
            labels={"title": "All results on one page"},
        ),
        tables=report(
            directory(f"{paths.report}/tables"),
            patterns=["{name}.html"],
            category=topic,
            subcategory="Tables",
            labels=title("tables/{name}.html", format="page"),
        ),
        csv=report(
            directory(f"{paths.report}/csv"),
            patterns=["{name}.csv"],
            category=topic,
            subcategory="Tables",
            labels=title("tables/{name}.html", format="spreadsheet"),
        ),
        figures=report(
            directory(f"{paths.report}/figures"),
            patterns=["{name}.html"],
            category=topic,
            subcategory="Figures",
            labels=title("figures/{name}.html"),
        ),
        trajectories=report(
            directory(f"{paths.report}/trajectories"),
            patterns=["{experiment}/{name}.html"],
            category="Astra",
            subcategory="Kernels, version by version",
            labels=title("trajectories/{experiment}/{name}.html"),
        ),
    log:
        paths.log("report_pages"),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        settings=settings.model_dump(
            mode="json", include={"sources", "experiments", "graphs", "trainings"}
        ),
        configs=CONFIGS,
        code=code_digest("report"),
    message:
        "Write the pages of the report."
    script:
        "../scripts/report_pages.py"


rule site:
    """Write the explorer, a static site of all answers, verdicts and times."""

    # It quotes answers, prompts and existing kernels, so it is never committed.
    input:
        **RECORDS,
        tables=rules.tables.output.csv,
        papers=rules.papers.output,
        published=rules.tables.input.published,
    output:
        directory(paths.site),
    log:
        paths.log("site"),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        settings=rules.tables.params.settings,
        records=list(RECORDS),
        configs=CONFIGS,
        run=RUN.name,
        code=code_digest(
            "analysis",
            "methods/astra",
            "records",
            "report/landing",
            "screen",
            "selection/rank",
            "site",
            "solutions/verdict",
            "sources/solution_files",
            "sources/workloads",
            "tables",
        ),
    message:
        "Write the explorer: `hone view` opens it."
    script:
        "../scripts/site.py"
