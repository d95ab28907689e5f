# The validated config, and what is to be known before anything runs.
import os
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from hone.preflight.cluster import cancel_orphans
from hone.config.files import check_files
from hone.core.errors import HoneError
from hone.core.files import require_writable
from hone.core.locks import forget_dead_runs
from hone.preflight.requirements import PlannedJob, check_needs
from hone.preflight.references import checked
from hone.config.runs import RESULTS, made_with_others, remember, run_name

CONFIGS = [os.path.relpath(path) for path in workflow.configfiles]

try:
    if workflow.is_main_process:
        check_files(map(Path, CONFIGS))
    settings = checked(config, where=", ".join(CONFIGS) or "config")
    RUN = RESULTS / run_name(settings, CONFIGS)
    for folder in (RUN, settings.paths.ledger, settings.paths.store):
        require_writable(Path(folder))
except HoneError as error:
    raise WorkflowError(str(error))

if workflow.is_main_process and (warning := made_with_others(CONFIGS, RUN)):
    logger.warning(warning)

# Held until this process ends, so that a run that was killed does not lock out the next, nor do jobs that outlive it.
run_lock = forget_dead_runs(Path(".snakemake")) if workflow.is_main_process else None


def check_planned_jobs():
    """Stop before the first job where keys, compilers, packages or a GPU are missing that the planned jobs need."""
    planned = [
        PlannedJob(
            job.rule.name,
            job.wildcards_dict.get("experiment", ""),
            job.wildcards_dict.get("model", ""),
            job.wildcards_dict.get("training", ""),
            job.wildcards_dict.get("system", ""),
            int(job.resources.get("gpu", 0)),
            int(job.resources.get("nodes", 1)),
        )
        for job in workflow.dag.needrun_jobs()
    ]
    try:
        here = workflow.local_exec
        check_needs(settings, planned, config=", ".join(CONFIGS), here=here)
    except HoneError as error:
        raise WorkflowError(str(error))
