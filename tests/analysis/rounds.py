"""A small made-up run of Astra: kernels, suites and verdicts that are put together version by version."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hone.analysis.bandwidth import CopyBandwidths
from hone.analysis.provenance import Provenance
from hone.analysis.run import RunRecords
from hone.config.settings import Settings, load, model_slug
from hone.records import (
    Argument,
    Build,
    BuildStatus,
    Candidate,
    Definition,
    Environment,
    KernelResources,
    Performance,
    Solution,
    Status,
    Timing,
    Tolerance,
    Trace,
    Upstream,
    Workload,
    digest,
)
from hone.tables.run import Run
from hone.tables.stages import make_tables, run_of

from .world import GPUS, PUBLISHED, answer

MODEL = "recorded/demo"
UPSTREAM_MS, CURRENT_MS = 0.2, 0.16
FLOOR_MS = 0.05
"""Of every workload, by the judge."""
Outcome = float | Status | None
"""Speedup over upstream, a verdict without time, or no verdict at all."""


def settings_for(kernels: int = 1, **experiments) -> Settings:
    """A config with one source `kit` of so many kernels; experiments have two rounds unless they say otherwise."""
    defaults = {"method": "astra", "source": "kit", "levels": [1], "models": [MODEL], "language": "cpp", "turns": 3}
    packages = {"own": {"kind": "folder", "path": "kit"}}
    return load(
        {
            "sources": {"kit": {"kind": "kernels", "path": "kit", "levels": {1: kernels}, "packages": packages}},
            "experiments": {name: defaults | values for name, values in experiments.items()},
            "judge": {"name": "test"},
            "baselines": ["torch_eager", "upstream", "current"],
        }
    )


def kernel(number: int, title: str, current: bool = True) -> Definition:
    """One input and one output of `n` numbers; the source of `upstream` has three lines of code."""
    source = f'// {title}\n#include <cstdint>\n\nextern "C" void launch() {{\n}} // end\n/* a\n comment */\n'
    return Definition(
        name=f"kit/level1/{number}_{title}",
        source="kit",
        level=1,
        number=number,
        title=title,
        axes={"n": 1024},
        inputs=(Argument(name="x", shape=("n",), dtype="float32"),),
        parameters=(),
        outputs=(Argument(name="y", shape=("n",), dtype="float32"),),
        kernels={"upstream": source} | ({"current": "// now\n" + source} if current else {}),
        kernel_language="cpp",
        reference="",
        compulsory_bytes=8192,
        flops=0,
        upstream=Upstream(repository="local", commit="local", path="p", sha256="0"),
    )


def workload(
    definition: Definition, name: str, n: int = 1024, dtype: str = "float32", held_out: bool = False
) -> Workload:
    tolerance = Tolerance(atol=1e-4, rtol=1e-4)
    return Workload(
        definition=definition.name, name=name, axes={"n": n}, dtype=dtype, held_out=held_out, tolerance=tolerance
    )


def usual_workloads(definition: Definition) -> list[Workload]:
    """Two that prompts show, one of 64 MiB that is held out."""
    shown = [workload(definition, "small", 1000), workload(definition, "middle", 1_000_000)]
    return [*shown, workload(definition, "large", 2**23, held_out=True)]


def environment(device: str = "Test GPU") -> Environment:
    return Environment(host="h", device=device, cores=2, python="3.11", torch="2.13.0", driver="580.1")


@dataclass
class Kit:
    """Records of a run; every kernel has the workloads of `usual_workloads` and a suite of two of its own."""

    settings: Settings
    definitions: list[Definition]
    workloads: list[Workload] = field(default_factory=list)
    device: str = "Test GPU"
    candidates: list[Candidate] = field(default_factory=list)
    solutions: dict[str, Solution] = field(default_factory=dict)
    builds: list[Build] = field(default_factory=list)
    suite_traces: list[Trace] = field(default_factory=list)
    evaluations: list[Trace] = field(default_factory=list)
    answers: list = field(default_factory=list)

    def __post_init__(self):
        self.workloads = self.workloads or [item for found in self.definitions for item in usual_workloads(found)]

    def suite(self, definition: Definition) -> list[Workload]:
        return [workload(definition, "suite_a", 4096), workload(definition, "suite_b", 5000)]

    def of(self, definition: Definition) -> list[Workload]:
        return [item for item in self.workloads if item.definition == definition.name]

    def start(self, experiment: str, model: str = MODEL, suite=1.0, all=1.0, definition: Definition | None = None):
        """Turn 0: the existing kernel."""
        definition = definition or self.definitions[0]
        self.add(experiment, 0, suite, all, source=definition.kernels["upstream"], model=model, definition=definition)

    def add(
        self, experiment: str, turn: int, suite: Outcome | Sequence[Outcome] = None,
        all: Outcome | Sequence[Outcome] = None, *, sample: int = 0, source: str = "", model: str = MODEL,
        definition: Definition | None = None, current: bool = True, findings: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """A version with its outcomes on the suite and on all workloads: one for all of them, or one for each."""
        definition = definition or self.definitions[0]
        source = source or f"// {experiment} {model} {turn} {sample}\nvoid launch() {{}}\nint extra;\n"
        solution = Solution(definition=definition.name, language="cpp", entry_point="launch", source=source)
        self.solutions[solution.id] = solution
        self._candidate(experiment, turn, sample, model, definition, solution.id)
        resources = (
            KernelResources(kernel="k", registers=32 + turn, shared_bytes=0, spill_store_bytes=0, spill_load_bytes=0),
        )
        self.builds.append(
            Build(solution=solution.id, status=BuildStatus.BUILT, artifact="x.so", seconds=1.0, resources=resources)
        )
        for target, workloads, outcomes in (
            (self.suite_traces, self.suite(definition), suite),
            (self.evaluations, self.of(definition), all),
        ):
            each = outcomes if isinstance(outcomes, list | tuple) else [outcomes] * len(workloads)
            for item, outcome in zip(workloads, each, strict=True):
                if outcome is not None:
                    target.append(self.trace(solution.id, item, outcome, current=current, findings=findings))

    def no_code(self, experiment: str, turn: int, sample: int = 0, model: str = MODEL):
        self._candidate(experiment, turn, sample, model, self.definitions[0], None)

    def say(self, experiment: str, turn: int, role: str, text: str, model: str = MODEL, **changes):
        """An answer of a role about the first kernel."""
        made = answer((self.definitions[0].name, turn, 0), experiment, model, 0.25, prompt=role, role=role, **changes)
        completion = made.completion.model_copy(update={"response": text})
        self.answers.append(made.model_copy(update={"completion": completion}))

    def _candidate(self, experiment, turn, sample, model, definition, solution):
        self.candidates.append(
            Candidate(
                experiment=experiment,
                method=self.settings.experiments[experiment].method,
                model=model,
                definition=definition.name,
                turn=turn,
                sample=sample,
                prompt_digest="p",
                completion_key="k",
                solution=solution,
                problem="" if solution else "no code block",
            )
        )

    def trace(self, solution: str, item: Workload, outcome: float | Status, *, current=True, findings=()) -> Trace:
        performance, status = None, outcome
        if not isinstance(outcome, Status):
            status = Status.PASSED
            baselines = {"upstream": Timing(samples_ms=(UPSTREAM_MS,) * 3)}
            if current:
                baselines["current"] = Timing(samples_ms=(CURRENT_MS,) * 3)
            own = Timing(samples_ms=(UPSTREAM_MS / outcome,) * 3)
            performance = Performance(solution=own, baselines=baselines, floor_ms=FLOOR_MS, findings=tuple(findings))
        return Trace(
            solution=solution,
            definition=item.definition,
            workload=item.id,
            status=status,
            detail="" if status is Status.PASSED else f"why | <b>{status}</b>",
            performance=performance,
            environment=environment(self.device),
            protocol=self.settings.judge,
            phase_s={"load": 0.1, "timing": 0.4},
            judged_at=digest([solution, item.id])[:4],
        )

    def records(self) -> RunRecords:
        suites = [item for definition in self.definitions for item in self.suite(definition)]
        runs = [(name, model_slug(model)) for name, e in self.settings.experiments.items() for model in e.models]
        return RunRecords(
            definitions=self.definitions,
            workloads=self.workloads,
            candidates=self.candidates,
            solutions=list(self.solutions.values()),
            builds=self.builds,
            suites=dict.fromkeys(runs, suites),
            suite_traces=self.suite_traces,
            evaluations=self.evaluations,
            answers=self.answers,
        )

    def run(self, **gb_per_s: float) -> Run:
        """What the tables are made of; `gb_per_s` are measured copy bandwidths by device, `_` for a space."""
        provenance = Provenance.of(self.settings, "abc123")
        known = {"published_dir": PUBLISHED, "gpus": GPUS}
        measured = {name.replace("_", " "): value for name, value in gb_per_s.items()}
        made = run_of(self.settings, self.records(), provenance, **known)
        return replace(made, bandwidths=CopyBandwidths(measured))

    def make(self, folder: Path) -> Path:
        """Write the tables and return their folder."""
        make_tables(self.run(), folder, folder / "pages")
        return folder


def run_of_a_file(outcomes: Sequence[Outcome], *, device: str = "Test GPU", head: str = "") -> Run:
    """A `files` experiment with one file: its outcomes on `usual_workloads`; `head` are the file's comments."""
    item = kernel(1, "silu_and_mul")
    settings = settings_for(1, own={"method": "files", "files": "kernels", "models": ["reference/model"], "turns": 1})
    settings = settings.model_copy(update={"baselines": ("upstream", "torch_eager")})
    made = Kit(settings, [item], device=device)
    source = f"{head}void launch();"
    solution = Solution(definition=item.name, language="cpp", entry_point="launch", source=source)
    candidate = Candidate(
        experiment="own", method="files", model="reference/model", definition=item.name, turn=0, sample=0,
        prompt_digest="", completion_key="", solution=solution.id, problem="", label="mine.cpp",
    )  # fmt: skip
    traces = [made.trace(solution.id, item, each) for item, each in zip(made.workloads, outcomes, strict=True) if each]
    run = made.run()
    return replace(run, records=replace(run.records, candidates=[candidate], solutions=[solution], traces=traces))


def big_kit() -> Kit:
    """Two kernels of the paper and one of today, several roles, one agent, and two options; with failures."""
    titles = ("silu_and_mul", "merge_attn_states", "rmsnorm")
    definitions = [kernel(number, title, current=number != 2) for number, title in enumerate(titles, start=1)]
    settings = settings_for(
        3,
        multi={"turns": 6, "published_as": "astra"},
        single={"method": "astra_single", "turns": 6, "published_as": "astra_single"},
        best={"turns": 6, "samples": 2, "astra": {"start_from": "best"}},
    )
    workloads = []
    for definition in definitions:
        sizes = [2**power for power in range(12, 25)]
        workloads += [
            workload(definition, f"n{n}_{dtype}", n + 8 * at, dtype, held_out=at % 3 == 2)
            for dtype in ("float16", "float32")
            for at, n in enumerate(sizes)
        ]
        workloads.append(workload(definition, "paper_32x5120_float16", 32 * 5120, "float16"))
    kit = Kit(settings, definitions, workloads)
    for name, gain in (("multi", 0.18), ("single", 0.08), ("best", 0.22)):
        for shift, definition in enumerate(definitions):
            kit.start(name, definition=definition)
            for turn in range(1, 6):
                for sample in range(settings.experiments[name].samples):
                    speed = 1 + gain * turn + 0.1 * shift - 0.3 * (turn == 3) - 0.05 * sample
                    _add_big(kit, name, definition, turn, sample, speed)
    kit.say("multi", 1, "planning", "Read 16 bytes at once.\n\n```cpp\nint x;\n```\nThat halves the instructions.")
    return kit


def _add_big(kit: Kit, name: str, definition: Definition, turn: int, sample: int, speed: float) -> None:
    """One version of `big_kit`, whose speedup falls with the workload's size."""
    fails = {("multi", 2): Status.WRONG_VALUE, ("single", 4): Status.COMPILE_ERROR}
    outcome = fails.get((name, turn)) if definition.number == 1 else None
    count = len(kit.of(definition))
    spread = [speed * (1.15 - 0.3 * (at % 13) / 13) for at in range(count)]
    evaluated = [outcome] * count if outcome else spread
    if (name, turn, definition.number) == ("single", 5, 3):
        evaluated = [*spread[:-1], Status.MACHINE_ERROR]
    common = {"sample": sample, "definition": definition, "current": definition.number != 2}
    kit.add(name, turn, outcome or speed, evaluated, **common)
