"""Made-up runs with whole records, sources included, and the sites that are made of them."""

import numpy as np

from hone.analysis.provenance import Provenance
from hone.analysis.run import RunRecords
from hone.records import Build, BuildStatus, Candidate, Message, Solution, Status, Tolerance, Workload, digest
from hone.site.run import SiteRun
from hone.site.stages import make_site
from hone.tables.stages import make_tables, run_of
from tests.analysis.world import GPUS, PUBLISHED, answer, definition, settings_for, trace

HOSTILE = (
    '</script><script>document.title = "owned"</script><img src=x onerror="document.title = \'owned\'">'
    "\u2028{{ 7 * 7 }}<!--<a href=\"javascript:document.title='owned'\">x</a>"
)
"""What a page must show as it is."""
STATUSES = (Status.COMPILE_ERROR, Status.WRONG_VALUE, Status.RUNTIME_ERROR, Status.TIMEOUT)
PLACES = ("candidates", "builds", "traces", "suite_traces", "evaluations", "answers", "claims")


class Answers:
    """A run of one experiment, put together answer by answer."""

    def __init__(self, models=("recorded/demo", "openai/o4-mini"), problems=3, samples=1, turns=1, **experiment):
        method = "refine" if turns > 1 else "one_shot"
        self.settings = settings_for(
            {1: problems},
            one={"method": method, "models": list(models), "samples": samples, "turns": turns, "language": "cpp"}
            | ({"feedback": ["execution"]} if turns > 1 else {})
            | experiment,
        )
        self.definitions = [
            definition(1, number).model_copy(update={"reference": f"def forward(x):\n    return x * {number}\n"})
            for number in range(1, problems + 1)
        ]
        self.workloads = [
            Workload(definition=item.name, name="as_given", axes={"n": 8}, tolerance=Tolerance(atol=1e-4, rtol=1e-4))
            for item in self.definitions
        ]
        self.lists = {name: [] for name in ("candidates", "solutions", "builds", "traces", "answers")}

    def add(self, model, problem, outcome, *, turn=0, sample=0, source="", reply="", log="", findings=(), **changes):
        """`outcome`: a speedup, a Status or `no_code`; `problem` counts from 1."""
        name = self.definitions[problem - 1].name
        place = (name, turn, sample)
        text = source or f"// {model}, {place}\nvoid launch(const float* x, float* y) {{\n    y[0] = x[{turn}];\n}}\n"
        solution = Solution(definition=name, language="cpp", entry_point="launch", source=text)
        known = None if outcome == "no_code" else solution.id
        self.lists["candidates"].append(
            Candidate(
                experiment="one", method=self.settings.experiments["one"].method, model=model, definition=name,
                turn=turn, sample=sample, prompt_digest="p", completion_key="k", solution=known,
                problem="" if known else "no code block",
            )
        )  # fmt: skip
        self.lists["answers"].append(_spoken(answer(place, "one", model, cost=0.01), reply or text, **changes))
        if known is None:
            return
        self.lists["solutions"].append(solution)
        built = outcome is not Status.COMPILE_ERROR
        status = BuildStatus.BUILT if built else BuildStatus.REJECTED
        self.lists["builds"].append(
            Build(solution=known, status=status, artifact="x.so" if built else None, log=log, command=("g++", "x.cpp"))
        )
        given = {"status": outcome} if isinstance(outcome, Status) else {"speedup": outcome, "findings": findings}
        self.lists["traces"].append(trace(self.settings, known, name, workload=self.workloads[problem - 1].id, **given))

    def records(self):
        return RunRecords(definitions=self.definitions, workloads=self.workloads, **self.lists)

    def make(self, folder):
        """Write the site and return its folder."""
        return make_site_of(self.settings, self.records(), folder)


def _spoken(item, reply, prompt="Write a kernel.", **changes):
    """An answer with what was asked and said."""
    request = item.completion.request.model_copy(update={"messages": (Message(role="user", content=prompt),)})
    completion = item.completion.model_copy(update={"response": reply, "request": request})
    return item.model_copy(update={"completion": completion} | changes)


def site_run(settings, records):
    """A run whose records stand on made-up lines."""
    known = {"published_dir": PUBLISHED, "gpus": GPUS}
    run = run_of(settings, records, Provenance.of(settings, "abc123"), **known)
    places = {name: [f"{name}.jsonl:{at}" for at in range(1, len(getattr(records, name)) + 1)] for name in PLACES}
    return SiteRun(run, places)


def make_site_of(settings, records, folder, name="made-up"):
    site = site_run(settings, records)
    make_tables(site.run, folder / "tables", folder / "pages")
    (folder / "papers").mkdir(exist_ok=True)
    (folder / "papers/kernelbench_table_1.html").write_text("<p>as printed</p>")
    make_site(site, folder / "tables", folder / "site", name, ["config/made_up.yaml"], papers=folder / "papers")
    return folder / "site"


def many(problems=50, samples=4):
    """Answers of ten models, most of them right; deterministic."""
    models = [f"openai/model-{number}" for number in range(10)]
    world, rng = Answers(models, problems, samples), np.random.default_rng(7)
    body = "\n".join(f"    y[{line}] = x[{line}] * {line}.5f;  // step {line}" for line in range(60))
    for at, model in enumerate(models):
        for problem in range(1, problems + 1):
            for sample in range(samples):
                right = rng.random() < 0.3 + 0.06 * at
                outcome = float(np.exp(rng.normal(0.1 * at, 0.5))) if right else STATUSES[rng.integers(len(STATUSES))]
                key = digest([model, problem, sample])[:8]
                source = f"// {key}\nvoid launch(const float* x, float* y) {{\n{body}\n}}\n"
                world.add(model, problem, outcome, sample=sample, source=source)
    return world


def small():
    """Two models on three problems in two turns: right, wrong, doubtful, hostile, unresolved."""
    world = Answers(problems=3, turns=2)
    for model, gain in (("recorded/demo", 1.0), ("openai/o4-mini", 1.5)):
        world.add(model, 1, 0.8 * gain, turn=0)
        world.add(model, 1, 2.0 * gain, turn=1, prompt_differs=model == "recorded/demo")
        world.add(model, 2, Status.COMPILE_ERROR, turn=0, log="x.cpp:1: error: expected ';'\n" * 60)
        world.add(model, 2, 1.5 * gain, turn=1, findings=("below_floor",))
        source = f"// {HOSTILE}\n// {model}\nvoid launch(const float* x, float* y) {{ y[0] = x[0]; }}\n"
        world.add(model, 3, "no_code", turn=0, reply=HOSTILE, prompt=HOSTILE)
        outcome = Status.MACHINE_ERROR if gain == 1.0 else 3.0
        world.add(model, 3, outcome, turn=1, source=source, reply=HOSTILE, prompt=HOSTILE, log=HOSTILE)
    return world
