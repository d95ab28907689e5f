# What rules share: experiments by their kind, the paths of the pipeline's files, and the functions that give rules their inputs.
from functools import cache
from glob import glob

from hone.code import code_digest, text_digest
from hone.config import ASTRA, UNPROMPTED, model_slug
from hone.llm.names import parse_model
from hone.methods.files import source_files
from hone.methods.render import prompt_files
from hone.methods.templates import PROMPTS

PROMPTED = [
    name for name, item in settings.experiments.items() if item.method not in UNPROMPTED
]
# Those that improve existing kernels round by round; the others write theirs from a prompt alone.
ROUNDS = [name for name in PROMPTED if settings.experiments[name].method in ASTRA]
FROM_SCRATCH = [name for name in PROMPTED if name not in ROUNDS]
SEVERAL_ROLES = [
    name for name in ROUNDS if settings.experiments[name].method == "astra"
]
ONE_AGENT = [name for name in ROUNDS if name not in SEVERAL_ROLES]
# Rounds of which the existing kernel and the winner alone are judged on all workloads.
WINNER_ALONE = [
    name for name in ROUNDS if settings.experiments[name].astra.evaluate == "winner"
]
GOLD = [name for name, item in settings.experiments.items() if item.method == "gold"]
FILES = [name for name, item in settings.experiments.items() if item.method == "files"]
ARCHIVED = [
    name for name, item in settings.experiments.items() if item.method == "archive"
]
LEVELS = sorted(
    {
        (item.source, level)
        for item in settings.experiments.values()
        for level in item.levels
    }
)
SELECTION = (
    "method",
    "source",
    "levels",
    "problems",
    "limit",
)  # which problems take part


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


# Paths.
SUITES = "results/suites/{experiment}/{model}/{batch}.jsonl"
# What is evaluated of a batch where not all versions are.
WINNERS = "results/winners/{experiment}/{model}/{batch}.jsonl"
WINNER_BUILDS = WINNERS.replace(".jsonl", ".builds.jsonl")
EVALUATED_WINNERS = "results/evaluations/{experiment}/{model}/winner/{batch}.jsonl"
# A batch's own problems, and all workloads of theirs, held-out ones included.
DEFINITIONS = "results/batches/definitions/{experiment}/{batch}.jsonl"
WORKLOADS = "results/batches/workloads/{experiment}/{batch}.jsonl"


def shard(stage, turn="{turn}", batch="{batch}"):
    """One stage's records of a batch, for a rule's wildcards."""
    return f"results/{stage}/{{experiment}}/{{model}}/turn{turn}/{batch}.jsonl"


def role_file(kind, turn="{turn}", role="{role}", batch="{batch}"):
    """What a role of `astra` is asked (`prompts`) or says (`answers`) about a batch in a turn."""
    return (
        f"results/roles/{{experiment}}/{{model}}/turn{turn}/{role}/{batch}.{kind}.jsonl"
    )


def first_prompts(experiment, batch):
    """First prompts are the same for every model."""
    if experiment not in ROUNDS:
        return f"results/prompts/{experiment}/{batch}.jsonl"
    return [
        role_file("prompts", 0, first_role(experiment), batch).format(
            experiment=experiment, model=model_slug(model)
        )
        for model in settings.experiments[experiment].models
    ]


def first_role(experiment):
    """Who is asked for a kernel's test suite."""
    return (
        "single"
        if settings.experiments[experiment].method == "astra_single"
        else "testing"
    )


def role_places(experiment):
    """(turn, role, batch) of every question to a role that is not answered with a kernel."""
    item = settings.experiments[experiment]
    batches = settings.batches(experiment)
    asked = [(0, first_role(experiment))]
    if item.method == "astra":
        for turn in range(1, item.turns):
            asked += [(turn, "profiling"), (turn, "planning")]
    found = [(turn, role, batch) for turn, role in asked for batch in batches]
    if item.astra.notes:  # the last batch's note would be read by nobody
        found += [(item.turns, "experience", batch) for batch in batches[:-1]]
    return found


def last_turn(stage):
    return lambda wildcards: shard(stage, int(wildcards.turn) - 1)


def every_shard(stage, experiments):
    """A stage's files of all turns; `answers` includes those of the roles."""
    return [
        path.format(experiment=name, model=model_slug(model))
        for name in experiments
        for model in settings.experiments[name].models
        for path in shards_of(stage, name)
    ]


def shards_of(stage, experiment):
    """As `every_shard`, for one experiment and any model; turn 0 of rounds has an existing kernel and no answer."""
    if stage == "evaluations" and experiment in WINNER_ALONE:
        return [
            EVALUATED_WINNERS.replace("{batch}", batch)
            for batch in settings.batches(experiment)
        ]
    asks_roles = stage == "answers" and experiment in ROUNDS
    turns = range(1 if asks_roles else 0, settings.experiments[experiment].turns)
    found = [
        shard(stage, turn, batch)
        for turn in turns
        for batch in settings.batches(experiment)
    ]
    if asks_roles:
        found += [role_file("answers", *place) for place in role_places(experiment)]
    return found


def all_cores(wildcards):
    """Cores of this run; 1 where nothing runs, as with --summary and --dag, which are given none.

    A function of a job: which of the two it is, Snakemake knows once the rules have been read.
    """
    return workflow.cores if workflow.scheduling_settings else 1


def judge_threads(wildcards):
    """Cores that a job of the judge takes; a GPU's judge waits most of the time for the GPU."""
    if settings.judge.device == "cuda":
        return 2
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
    return parse_model(model_name(wildcards), settings.llm).base_url


def batch_numbers(wildcards):
    """The (level, number) pairs of a batch."""
    return settings.batch(wildcards.experiment, wildcards.batch)


# Inputs.


def local_problems(wildcards):
    """The files of our own that a source is made of."""
    source = settings.sources[wildcards.source]
    if source.kind == "local":
        return sorted(glob(f"{source.path}/level*/*.py"))
    if source.kind != "kernels":
        return []
    packages = [item for item in source.packages.values() if item.kind == "folder"]
    folders = [Path(item.path, part) for item in packages for part in item.include]
    inside = [path for folder in folders for path in folder.rglob("*")]
    return sorted(
        [*glob(f"{source.path}/*.yaml"), *(str(p) for p in inside if p.is_file())]
    )


def level_files(stage):
    """A stage's files that hold a batch's problems."""

    def files(wildcards):
        source = settings.experiments[wildcards.experiment].source
        levels = sorted({level for level, _ in batch_numbers(wildcards)})
        return [f"results/{stage}/{source}/level{level}.jsonl" for level in levels]

    return files


def workloads_of(wildcards):
    """What a batch's solutions are judged on: all workloads of its problems, or the suite that agents chose."""
    return [SUITES if wildcards.experiment in ROUNDS else WORKLOADS]


def prompt_parts(role):
    """A role's template, what it includes and the examples it shows: editing one is a change of that role alone."""

    @cache  # read once, not by every job
    def of_method(method, language):
        return prompt_files(method, role, language, PROMPTS)

    def files(wildcards):
        item = settings.experiments[wildcards.experiment]
        return of_method(item.method, item.language)

    return files


def files_of_experiment(wildcards):
    """The solutions that lie in the experiment's folder: editing one is a change of that one alone."""
    folder = settings.experiments[wildcards.experiment].files
    return [str(path) for path in source_files(Path(folder))]


def archive_of_experiment(wildcards):
    """Answers of the archive that the experiment names."""
    return (
        f"results/archives/{settings.experiments[wildcards.experiment].archive}.jsonl"
    )


def prompts_of_turn(wildcards):
    if wildcards.turn == "0":
        return first_prompts(wildcards.experiment, wildcards.batch)
    pass_last_gate(wildcards)
    return shard("feedback")


def transcript(wildcards):
    """The committed transcript behind a `recorded` model."""
    provider, _, name = wildcards.model.partition("--")
    return f"{settings.paths.recorded}/{name}.jsonl" if provider == "recorded" else []


def solutions_of_turn(wildcards):
    return [
        shard("solutions", wildcards.turn, batch).format(
            experiment=wildcards.experiment, model=wildcards.model
        )
        for batch in settings.batches(wildcards.experiment)
    ]


def solutions_behind_gate(wildcards):
    pass_gate(wildcards, wildcards.turn)
    return shard("solutions")


def pass_gate(wildcards, turn):
    """Plan the job at hand once a turn's kernels are there, so that equal ones cut it off."""
    place = {"experiment": wildcards.experiment, "model": wildcards.model, "turn": turn}
    if wildcards.experiment in ROUNDS:
        checkpoints.round_gate.get(**place, batch=wildcards.batch)
    else:
        checkpoints.gate.get(**place)


def pass_last_gate(wildcards):
    """As `pass_gate`, for the turn before, in rounds.

    Not in round 1, whose inputs must be known from the start: Snakemake takes all gates for passed whose jobs seem to
    have nothing to do, and an edited template would be seen too late.
    """
    if wildcards.experiment in ROUNDS and int(wildcards.turn) > 1:
        pass_gate(wildcards, int(wildcards.turn) - 1)


# Inputs of rounds.


def turns_before(wildcards):
    """What became of all turns before."""
    pass_last_gate(wildcards)
    return files_of_turns(int(wildcards.turn))


def all_turns(wildcards):
    """As `turns_before`, once the last round's kernels are there."""
    turns = settings.experiments[wildcards.experiment].turns
    pass_gate(wildcards, turns - 1)
    return files_of_turns(turns)


def files_of_turns(number):
    """What the first so many turns came to."""
    stages = ("attempts", "solutions", "builds", "traces")
    return {stage: [shard(stage, turn) for turn in range(number)] for stage in stages}


def winners_behind_gate(wildcards):
    """The chosen versions, once they are: an equal choice evaluates nothing again."""
    checkpoints.winner_gate.get(**wildcards)
    return {"solutions": WINNERS, "builds": WINNER_BUILDS}


def behind_last_gate(path):
    """A file of this turn, for a job that is planned once the last turn's kernels are there."""

    def file(wildcards):
        pass_last_gate(wildcards)
        return path

    return file


def plans_before(wildcards):
    return [
        role_file("answers", turn, "planning") for turn in range(1, int(wildcards.turn))
    ]


def notes_before(wildcards):
    """What the experience role wrote about the kernels of the batches before."""
    item = settings.experiments[wildcards.experiment]
    batches = settings.batches(wildcards.experiment)
    earlier = batches[: batches.index(wildcards.batch)] if item.astra.notes else []
    return [role_file("answers", item.turns, "experience", batch) for batch in earlier]


def conversation_before(kind):
    """The single agent's prompts or answers of the turn before."""

    def file(wildcards):
        turn = int(wildcards.turn) - 1
        if turn == 0:
            return role_file(kind, 0, "single")
        return shard({"prompts": "feedback", "answers": "answers"}[kind], turn)

    return file


def every_suite(experiments):
    """The suites that the roles of rounds asked for."""
    return [
        SUITES.format(experiment=name, model=model_slug(model), batch=batch)
        for name in experiments
        for model in settings.experiments[name].models
        for batch in settings.batches(name)
    ]


# What the tables are made of, by the fields of hone.analysis.run.RunRecords.
NOT_ROUNDS = [name for name in settings.experiments if name not in ROUNDS]
RECORDS = {
    "definitions": [
        f"results/definitions/{source}/level{level}.jsonl" for source, level in LEVELS
    ],
    "unsupported": [
        f"results/definitions/{source}/level{level}.unsupported.jsonl"
        for source, level in LEVELS
    ],
    "workloads": [
        f"results/workloads/{source}/level{level}.jsonl" for source, level in LEVELS
    ],
    "candidates": every_shard("candidates", settings.experiments),
    "solutions": every_shard("solutions", [*FILES, *ROUNDS]),
    "claims": every_shard("claims", ARCHIVED),
    "builds": every_shard("builds", settings.experiments),
    "traces": every_shard("traces", NOT_ROUNDS),
    "suites": every_suite(ROUNDS),
    "suite_traces": every_shard("traces", ROUNDS),
    "evaluations": every_shard("evaluations", ROUNDS),
    "answers": every_shard("answers", PROMPTED),
}


def records_of(experiment):
    """What the pages of one experiment are made of."""
    source = settings.experiments[experiment].source
    stages = ("candidates", "solutions", "builds", "evaluations", "answers")
    of_source = ("definitions", "unsupported", "workloads")
    found = {stage: every_shard(stage, [experiment]) for stage in stages}
    found |= {
        name: [path for path in RECORDS[name] if f"/{source}/" in path]
        for name in of_source
    }
    return found | {
        "suites": every_suite([experiment]),
        "suite_traces": every_shard("traces", [experiment]),
    }
