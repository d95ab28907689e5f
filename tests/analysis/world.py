"""A small made-up run: records of every kind and status, without models, compilers or clocks."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hone.analysis.provenance import Provenance
from hone.analysis.run import RunRecords
from hone.config.settings import Settings, load
from hone.records import (
    Answer,
    Build,
    Candidate,
    Claim,
    Completion,
    Definition,
    Environment,
    FailedAttempt,
    LLMRequest,
    Performance,
    Sampling,
    Solution,
    SoundnessFlag,
    Status,
    Timing,
    Trace,
    Upstream,
    Usage,
    digest,
)
from hone.tables.stages import make_tables, run_of

RESOURCES = Path(__file__).parents[2] / "resources"
PUBLISHED, GPUS = RESOURCES / "published", RESOURCES / "hardware" / "gpus.yaml"


def settings_for(levels=None, model_names=None, baselines=("torch_eager",), archives=None, **experiments) -> Settings:
    """A config with one local source `mini`, the given experiments, and archives if any."""
    levels = levels or {1: 4}
    defaults = {"method": "one_shot", "source": "mini", "levels": list(levels), "models": ["recorded/demo"]}
    published = {name: values for name, values in defaults.items() if name != "models"}
    made = {name: (published if "archive" in values else defaults) | values for name, values in experiments.items()}
    return load(
        {
            "archives": archives or {},
            "sources": {"mini": {"kind": "local", "path": "problems", "levels": levels}},
            "experiments": made,
            "judge": {"name": "test"},
            "baselines": list(baselines),
            "analysis": {"model_names": model_names or {}},
        }
    )


def definition(level: int, number: int, sound: bool = True, source: str = "mini") -> Definition:
    flag = SoundnessFlag(flag="constant_output", detail="", source="test")
    return Definition(
        name=f"{source}/level{level}/{number}_problem",
        source=source,
        level=level,
        number=number,
        title="problem",
        axes={},
        inputs=(),
        parameters=(),
        outputs=(),
        reference="",
        compulsory_bytes=1,
        flops=0,
        soundness=() if sound else (flag,),
        upstream=Upstream(repository="local", commit="local", path="p", sha256="0"),
    )


def trace(
    settings,
    solution,
    problem,
    status=Status.PASSED,
    speedup=None,
    workload="w",
    findings=(),
    **changes,
) -> Trace:
    """`speedup` None: judged but not timed."""
    performance = None
    if status is Status.PASSED and speedup is not None:
        baselines = {name: Timing(samples_ms=(2.0, 2.1, 1.9)) for name in settings.baselines}
        own = Timing(samples_ms=tuple(sample / speedup for sample in (2.0, 2.1, 1.9)))
        performance = Performance(solution=own, baselines=baselines, findings=findings)
    values = {
        "solution": solution,
        "definition": problem,
        "workload": workload,
        "status": status,
        "detail": "" if status is Status.PASSED else f"why | <b>{status}</b>",
        "performance": performance,
        "environment": Environment(host="h", device="Test CPU", cores=2, python="3.11", torch="2.13.0"),
        "protocol": settings.judge,
        "phase_s": {"load": 0.1, "correctness": 0.4, "timing": 0.5},
        "judged_at": "2026-01-01T00:00:00Z",
    }
    return Trace(**(values | changes))


def answer(place, experiment="one", model="recorded/demo", cost=0.0, prompt="hello", **changes) -> Answer:
    """An answer at (definition, turn, sample)."""
    name, turn, sample = place
    request = LLMRequest(provider="recorded", base_url="", model=model, messages=(), sampling=Sampling(), sample=sample)
    completion = Completion(
        key=digest([model, name, turn, sample, prompt]),
        request=request,
        response="",
        finish_reason="stop",
        model_returned=model,
        usage=Usage(input_tokens=100, output_tokens=20),
        cost_usd=cost,
        price_source="test prices",
        latency_s=1.0,
        failed_attempts=(FailedAttempt(reason="429", seconds=0.1),),
        created_at="2026-01-01T00:00:00Z",
    )
    values = {"experiment": experiment, "model": model, "definition": name, "role": "writer", "turn": turn}
    return Answer(**(values | {"sample": sample, "prompt_digest": digest(prompt), "completion": completion} | changes))


@dataclass
class World:
    """Records of a run that is put together answer by answer."""

    settings: Settings
    definitions: list[Definition]
    candidates: list[Candidate] = field(default_factory=list)
    solutions: list[Solution] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def add(self, place, outcome, experiment="one", model="recorded/demo", **changes):
        """`outcome`: speedup, Status, `untimed`, `no_code`, `unanswered`, `no_trace`; at (definition, turn, sample)."""
        name, turn, sample = place
        solution = None if outcome in ("no_code", "unanswered") else digest([experiment, model, name, turn, sample])
        self._add_candidate(place, experiment, model, solution, unanswered=outcome == "unanswered")
        if self.settings.experiments[experiment].method != "gold":
            self.answers.append(answer(place, experiment, model, cost=0.01))
        self._add_trace(solution, name, outcome, **changes)

    def add_file(self, label, outcome, *lines, problem="mini/level1/1_problem", experiment="files", **changes):
        """A file of a `files` experiment whose comments are `lines`; `outcome` as in `add`."""
        source = "".join(f"// {line}\n" for line in lines) + f"void launch(); // {label}\n"
        solution = Solution(definition=problem, language="cuda", entry_point="launch", source=source)
        sample = sum(item.experiment == experiment and item.definition == problem for item in self.candidates)
        self.solutions.append(solution)
        self._add_candidate((problem, 0, sample), experiment, "reference/model", solution.id, label=label)
        self._add_trace(solution.id, problem, outcome, **changes)

    def add_published(
        self, verdict, outcomes, problem="mini/level1/1_problem", model="a-model", archive="a", **claimed
    ):
        """An answer of an archive; `outcomes`: experiment -> outcome as in `add`, under its own protocol."""
        sample = sum((item.definition, item.model) == (problem, model) for item in self.claims)
        solution = digest([archive, model, problem, sample])
        place = {"archive": archive, "commit": "0" * 40, "run": "r", "path": "p", "model": model, "definition": problem}
        self.claims.append(Claim(**place, sample=sample, solution=solution, verdict=verdict, **claimed))
        for name, outcome in outcomes.items():
            self._add_candidate((problem, 0, sample), name, model, solution, label="p")
            self._add_trace(solution, problem, outcome, protocol=self.settings.protocol(name))

    def _add_candidate(self, place, experiment, model, solution, label="", unanswered=False):
        name, turn, sample = place
        self.candidates.append(
            Candidate(
                experiment=experiment,
                method=self.settings.experiments[experiment].method,
                model=model,
                definition=name,
                turn=turn,
                sample=sample,
                prompt_digest="p",
                completion_key="k",
                solution=solution,
                problem="" if solution else "no code block",
                unanswered=unanswered,
                label=label,
            )
        )

    def _add_trace(self, solution, name, outcome, **changes):
        if isinstance(outcome, Status):
            self.traces.append(trace(self.settings, solution, name, outcome, **changes))
        elif outcome not in ("no_code", "unanswered", "no_trace"):
            speedup = None if outcome == "untimed" else outcome
            self.traces.append(trace(self.settings, solution, name, speedup=speedup, **changes))

    def make(self, folder: Path) -> Path:
        """Write the tables and return their folder."""
        provenance = Provenance.of(self.settings, "abc123")
        known = {"published_dir": PUBLISHED, "gpus": GPUS}
        make_tables(run_of(self.settings, self.records(), provenance, **known), folder, folder / "pages")
        return folder

    def records(self) -> RunRecords:
        """All of them."""
        known = {"definitions": self.definitions, "candidates": self.candidates, "solutions": self.solutions}
        judged = {"builds": self.builds, "traces": self.traces, "claims": self.claims}
        return RunRecords(**known, **judged, answers=self.answers)


ARCHIVE = {"kind": "leaderboard", "url": "u", "commit": "0" * 40}
COMPARED = {
    "public": {"method": "archive", "archive": "a", "judge": {"name": "public", "rule": "kernelbench"}},
    "own": {"method": "archive", "archive": "a"},
}
"""Two experiments on one archive, one under each rule."""


def big_world(models=("recorded/demo", "openai/o4-mini"), levels=None) -> World:
    """All methods, several levels, models and baselines, every status; deterministic."""
    levels = levels or {1: 10, 2: 6}
    refine = {"method": "refine", "turns": 4, "feedback": ["execution"], "published_as": "refine_ge"}
    settings = settings_for(
        levels,
        {"openai/o4-mini": "DeepSeek R1"},
        ("torch_eager",),
        {"a": ARCHIVE},
        one={"models": list(models), "published_as": "one_shot"},
        repeated={"models": list(models), "samples": 5, "published_as": "repeated_10"},
        refine={"models": list(models)} | refine,
        gold={"method": "gold", "models": ["reference/model"]},
        files={"method": "files", "models": ["reference/model"], "files": "evil"},
        **COMPARED,
    )
    definitions = [
        definition(level, number, sound=number != 2) for level in levels for number in range(1, levels[level] + 1)
    ]
    world, rng = World(settings, definitions), np.random.default_rng(1)
    others = [status for status in Status if status.resolved and status is not Status.PASSED]
    world.add_file("honest.cu", 2.0, "group: honest", "expected: passed", "earns: fast")
    world.add_file("default_stream.cu", 1.5, "way: default_stream", "expected: passed")
    world.add_file("replay.cu", Status.WRONG_VALUE, "group: 3", "expected: wrong_value | runtime_error", "earns: none")
    world.add_file("tanh.cu", 1.5)
    world.add_published("correct", {"public": 2.0, "own": Status.IMPRECISE}, speedup=1.5, runtime_ms=0.3)
    world.add_published(
        "wrong_value", {"public": Status.WRONG_VALUE, "own": Status.WRONG_VALUE}, error="Output mismatch"
    )
    for name, experiment in settings.experiments.items():
        if experiment.method in ("files", "archive"):
            continue
        for model in experiment.models:
            for item in definitions:
                for sample in range(experiment.samples):
                    for turn in range(experiment.turns):
                        wrong = ["no_code", *others][rng.integers(1 + len(others))]
                        speed = float(np.exp(rng.normal(0.1 * turn, 0.6)))
                        good = name == "gold" or rng.random() < 0.4 + 0.1 * turn
                        outcome = (1.0 if name == "gold" else speed) if good else wrong
                        if name == "repeated" and model == models[-1] and item.level == 2 and rng.random() < 0.1:
                            outcome = Status.MACHINE_ERROR
                        world.add((item.name, turn, sample), outcome, name, model)
    return world
