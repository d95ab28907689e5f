# From problems to tables, in the order of the pipeline. `README.md` says how to run it, `config/` what is run.
from snakemake.utils import min_version

min_version("9.27")

if not {"sources", "experiments", "graphs", "trainings"} & set(config):

    # The demo, unless --configfile names another: two configs that say what to run are never merged.
    configfile: "config/config.yaml"


include: "workflow/rules/common_config.smk"
include: "workflow/rules/common.smk"
include: "workflow/rules/common_gnn.smk"
include: "workflow/rules/sources.smk"  # a benchmark's repository -> definitions
include: "workflow/rules/archives.smk"  # answers that were published -> candidates, with what their archive says
include: "workflow/rules/generate.smk"  # definitions -> prompts -> answers -> solutions, turn by turn
include: "workflow/rules/build.smk"  # solutions -> shared objects; needs no GPU
include: "workflow/rules/judge.smk"  # the verdict and the time
include: "workflow/rules/tune.smk"  # kernels that declare parameters -> the fastest values
include: "workflow/rules/astra.smk"  # existing kernels, improved round by round by several roles
include: "workflow/rules/graphs.smk"  # datasets and generators -> memory-mapped graphs
include: "workflow/rules/sampler.smk"  # how fast batches are prepared, alone and beside SALIENT's own sampler
include: "workflow/rules/select.smk"  # operators' shares of training, and the kernels that trainings take from campaigns
include: "workflow/rules/train.smk"  # graphs -> trained networks, accuracy, where the time went
include: "workflow/rules/paper.smk"  # tables and figures of the papers


# What was run and what came out: the rule report_pages writes it.
report: Path(paths.report_landing).absolute()


onstart:
    if not workflow.touch:
        check_planned_jobs()
    remember(CONFIGS, RUN)
    # Snakemake 9.27 looks for jobs to start a second after each look, and again after each finished job, for ever: some
    # 40 times a second after 100 jobs, beside kernels that are timed. Without the limit of jobs a second, it looks when
    # a job ends. A cluster keeps the limit.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
    # Where nobody else runs, jobs in Slurm's queue are those of a run that was killed.
    if run_lock:
        cancel_orphans(Path.cwd())


onerror:
    if settings.llm.mode == "export":
        logger.warning(
            "llm.mode is export: jobs that ended with `waiting:` did what they should and wrote requests to "
            f"{RUN}/pending. Import the answers with `hone import`, then run the same command again."
        )


rule all:
    """Make all tables, figures and the summary; `hone status` says first what new answers will cost."""
    default_target: True
    input:
        rules.tables.output,
        rules.figures.output,
        rules.summary.output,
        rules.report_pages.output,
        rules.site.output,
    message:
        "All tables, figures and pages are made."


rule prompts:
    """Write every first prompt. This asks no model, so it costs no money."""
    input:
        [
            prompts
            for experiment in kinds.prompted
            for prompts in files.experiments.first_prompts(experiment)
        ],
    message:
        "All first prompts are written."


rule definitions:
    """Write every definition of every source in the config."""
    input:
        [
            paths.level("definitions", source, level)
            for source in settings.sources
            for level in settings.sources[source].levels
        ],
    message:
        "All definitions are written."


rule existing_kernels:
    """Compile the kernels that rounds start from: says without an answer or a GPU that entries are right."""
    input:
        [
            paths.existing(source, level)
            for source in settings.sources
            if settings.sources[source].kind == "kernels"
            for level in settings.sources[source].levels
        ],
    message:
        "All existing kernels are compiled."


# As far as a stage: what --until cannot say, see docs/reruns.md.


rule answers:
    """Get every answer; new ones cost money. A later turn needs the verdicts of the turns before."""
    input:
        RECORDS["answers"],
    message:
        "All answers are here."


rule builds:
    """Compile every kernel. New answers cost money; compiling needs no GPU."""
    input:
        RECORDS["builds"],
    message:
        "All kernels are compiled."


rule verdicts:
    """Judge every kernel, without tables. New answers cost money; a GPU is used if the config says so."""
    input:
        RECORDS["traces"],
        RECORDS["suite_traces"],
        RECORDS["evaluations"],
    message:
        "All kernels are judged."


rule networks:
    """Train every network, without inference; on GPUs if the config says so."""
    input:
        RECORDS["trainings"],
    message:
        "All networks are trained."


# A script is an input by its text. Snakemake goes by its time, which every checkout changes: profiles/default turns that off.
for each in workflow.rules:
    if each.script:
        each.set_params(script=text_digest(Path(each.snakefile).parent / each.script))
