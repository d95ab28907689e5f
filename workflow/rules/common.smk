# What rules share: the map of their files, and the functions that need a job's wildcards or Snakemake itself.
from functools import cache
from glob import glob

from hone.core.code import code_digest, stage_digest, text_digest
from hone.config.settings import model_slug
from hone.file_map import FileMap
from hone.machine.hardware import gpu
from hone.llm.names import parse_model
from hone.methods.render import prompt_files
from hone.methods.templates import PROMPTS
from hone.report.pages import title_of

files = FileMap(settings, str(RUN))
paths, kinds = files.paths, files.kinds
SHARD, TURN0 = paths.shard(), paths.shard(turn=0)
# A batch's own problems, and all workloads of theirs, held-out ones included.
DEFINITIONS, WORKLOADS = paths.batch("definitions"), paths.batch("workloads")
RECORDS = files.table_records()
# Which problems take part.
SELECTION = ("method", "source", "levels", "problems", "limit")


def only(names):
    """Wildcard constraint: one of these names; matches nothing where there are none."""
    return "|".join(names) or "(?!)"


wildcard_constraints:
    source=only(settings.sources),
    experiment=only(settings.experiments),
    model="[^/]+",
    level=r"\d+",
    turn=r"\d+",
    batch=r"\d{3}",


# How messages name a batch, and what is made of it in a turn.
THIS_BATCH = "{wildcards.experiment}, {wildcards.model}, batch {wildcards.batch}"
THIS_SHARD = "{wildcards.experiment}, {wildcards.model}, turn {wildcards.turn}, batch {wildcards.batch}"

# What a job takes of the machine.


def all_cores(wildcards):
    """Cores of this run; 1 where nothing runs, as with --summary and --dag, which are given none.

    A function of a job: which of the two it is, Snakemake knows once the rules have been read.
    """
    return workflow.cores if workflow.scheduling_settings else 1


def compilers(wildcards):
    """A quarter of the run's cores, four at least: some batches are built side by side, and there is room for judges."""
    return max(4, (all_cores(wildcards) or 0) // 4)


def build_threads(wildcards):
    """As `compilers`, but no more than two for each answer of a model: one for C++, one for CUDA."""
    if wildcards.experiment not in kinds.prompted:
        return compilers(wildcards)
    chosen = settings.experiments[wildcards.experiment]
    problems = sum(chosen.selects(*number) for number in batch_numbers(wildcards))
    return min(compilers(wildcards), 2 * problems * chosen.candidates)


def judge_threads(wildcards):
    """Cores that a job of the judge takes; a GPU's judge waits most of the time for the GPU."""
    if settings.judge.device == "cuda":
        return 1
    return all_cores(wildcards) if settings.judge.timing else settings.judge.threads


# What a rule's wildcards stand for.


def experiment_params(*fields):
    """The named fields of the experiment: a rule reruns when one of these changes, and for no other."""
    return lambda wildcards: settings.experiments[wildcards.experiment].model_dump(
        mode="json", include=set(fields), exclude={"astra": {"evaluate"}}
    )


def sampling(wildcards):
    return settings.experiments[wildcards.experiment].sampling.model_dump(mode="json")


def model_name(wildcards):
    models = settings.experiments[wildcards.experiment].models
    return next(model for model in models if model_slug(model) == wildcards.model)


def base_url(wildcards):
    return parse_model(model_name(wildcards), settings.llm).keyed_url


def batch_numbers(wildcards):
    """The (level, number) pairs of a batch."""
    return settings.batch(wildcards.experiment, wildcards.batch)


# Inputs.


def level_files(stage):
    """A stage's files that hold a batch's problems."""
    return lambda wildcards: files.experiments.level_files(
        stage, wildcards.experiment, wildcards.batch
    )


def workloads_of(wildcards):
    """What a batch's solutions are judged on: all workloads of its problems, or the suite that agents chose."""
    return [SHARD.suites if wildcards.experiment in kinds.rounds else WORKLOADS]


def prompt_parts(role=None):
    """A role's template, what it includes and the examples it shows: editing one is a change of that role alone.

    Without a role it is the job's wildcard.
    """

    @cache  # read once, not by every job
    def of_role(method, role, language):
        return prompt_files(method, role, language, PROMPTS)

    def parts(wildcards):
        item = settings.experiments[wildcards.experiment]
        return of_role(item.method, role or wildcards.role, item.language)

    return parts


def last_turn(stage):
    return lambda wildcards: paths.shard(turn=int(wildcards.turn) - 1).records(stage)


def earlier_candidates(wildcards):
    """Those of the turns before the last."""
    turns = range(int(wildcards.turn) - 1)
    return [paths.shard(turn=turn).records("candidates") for turn in turns]


def prompts_of_turn(wildcards):
    pass_last_gate(wildcards)
    return files.experiments.coder_prompts(paths.shard(**wildcards))


def transcript(wildcards):
    """The committed transcript behind a `recorded` model."""
    return files.experiments.transcript(wildcards.model)


# Gates: jobs behind one are planned once a turn's kernels are there, so that equal ones cut them off.


def pass_gate(wildcards, turn):
    """Plan the job at hand once a turn's kernels are there."""
    place = {"experiment": wildcards.experiment, "model": wildcards.model, "turn": turn}
    if wildcards.experiment in kinds.rounds:
        checkpoints.round_gate.get(**place, batch=wildcards.batch)
    else:
        checkpoints.gate.get(**place)


def pass_last_gate(wildcards):
    """As `pass_gate`, for the turn before, in rounds.

    Not in round 1, whose inputs must be known from the start: Snakemake takes all gates for passed whose jobs seem to
    have nothing to do, and an edited template would be seen too late.
    """
    if wildcards.experiment in kinds.rounds and int(wildcards.turn) > 1:
        pass_gate(wildcards, int(wildcards.turn) - 1)


def solutions_of_turn(wildcards):
    batches = settings.batches(wildcards.experiment)
    places = [paths.shard(**{**wildcards, "batch": batch}) for batch in batches]
    return [place.records("solutions") for place in places]


def solutions_behind_gate(wildcards):
    pass_gate(wildcards, wildcards.turn)
    return SHARD.records("solutions")


# Inputs of rounds.


def turns_before(wildcards):
    """What became of all turns before."""
    pass_last_gate(wildcards)
    return files.experiments.turns(int(wildcards.turn))


def all_turns(wildcards):
    """As `turns_before`, once the last round's kernels are there."""
    turns = settings.experiments[wildcards.experiment].turns
    pass_gate(wildcards, turns - 1)
    return files.experiments.turns(turns)


def winners_behind_gate(wildcards):
    """The chosen versions, once they are: an equal choice evaluates nothing again."""
    checkpoints.winner_gate.get(**wildcards)
    return {"solutions": SHARD.winners, "builds": SHARD.winner_builds}


def behind_last_gate(path):
    """A file of this turn, for a job that is planned once the last turn's kernels are there."""

    def file(wildcards):
        pass_last_gate(wildcards)
        return path

    return file


def told_role(wildcards):
    """What other roles answered, as far as the role at hand is told."""
    return files.experiments.told(
        wildcards.role, wildcards.experiment, int(wildcards.turn), wildcards.batch
    )


def conversation_before(kind):
    """The single agent's prompts or answers of the turn before."""

    def file(wildcards):
        before = paths.shard(turn=int(wildcards.turn) - 1)
        if before.turn == 0:
            return before.role(kind, files.experiments.team(wildcards.experiment).first)
        return before.records({"prompts": "feedback", "answers": "answers"}[kind])

    return file


# Of the report.


def topic(wildcards):
    """The report's category of a table or figure; the modules are imported where they are needed alone."""
    from hone.tables.registry import FIGURES, TABLES

    name = wildcards.name
    return (FIGURES[name][0] if name in FIGURES else TABLES[name]).category


def title(page, **more):
    """A label that is the title of a page, `{folder}/{name}.html` below the report's folder."""
    return lambda wildcards: {
        "title": title_of(Path(paths.report, page.format(**wildcards))),
        **more,
    }
