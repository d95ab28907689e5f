"""Prompts: templates of `config/prompts/<method>/<role>.md`, rendered with strict undefined names.

Methods of KernelBench (arXiv 2502.10517): zero-, one- and few-shot (section 3, Appendix C), hardware facts in the
prompt (section 5.2), and iterative refinement (section 5.1). A refinement shows the last answer alone (G), or also what
happened when it ran (E) and the profiler's table (P).

To add a method of one prompt, write its `coder.md` and add its name to `Method` in `hone.config.settings`. The line
`{% set examples = ["add"] %}` before `parts/examples.md` says which examples it shows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from hone import launcher
from hone.config.experiments import Experiment
from hone.machine.hardware import gpu
from hone.methods.examples import ANSWER_FILES, Example, load_example
from hone.methods.feedback import Previous
from hone.methods.hardware import facts
from hone.methods.templates import Templates
from hone.records import Definition, Language, Message, Prompt, Workload
from hone.sources.workloads import visible

LANGUAGE_NAMES = {
    Language.PYTHON: "CUDA",
    Language.CPP: "C++ (OpenMP, for a CPU)",
    Language.CUDA: "CUDA",
    Language.TRITON: "Triton",
}
FENCES = {Language.PYTHON: "python", Language.CPP: "cpp", Language.CUDA: "cuda", Language.TRITON: "python"}
ROLE = "coder"


class Renderer:
    """Renders the prompts of one experiment; raises ConfigError for a broken template, naming its file and line."""

    def __init__(
        self, name: str, experiment: Experiment, workloads: Mapping[str, Sequence[Workload]], prompts: Path, gpus: Path
    ) -> None:
        """`workloads` go by definition: a prompt speaks of the first that may be shown.

        `prompts` is the folder of templates and examples, `gpus` the table of hardware facts.
        """
        self.name = name
        self.experiment = experiment
        self.workloads = workloads
        self.hardware = facts(gpu(experiment.hardware, gpus)) if experiment.hardware else []
        self.templates = Templates(prompts)

    def first(self, definition: Definition) -> Prompt:
        """The prompt of turn 0, the same for every sample."""
        text = self._render(ROLE, definition, None)
        return self._prompt(definition, 0, tuple(range(self.experiment.samples)), text)

    def next(self, definition: Definition, turn: int, sample: int, previous: Previous) -> Prompt:
        """The prompt of a later turn of one sample; `previous` is the last answer and what became of it."""
        text = self._render(f"{ROLE}_next", definition, previous)
        return self._prompt(definition, turn, (sample,), text)

    def example_of(self, name: str) -> Example:
        """An example, as templates ask for it; raises ConfigError where there is none."""
        return load_example(name, self.experiment.language, self.templates.folder / "examples")

    def _prompt(self, definition: Definition, turn: int, samples: tuple[int, ...], text: str) -> Prompt:
        return Prompt(
            experiment=self.name,
            definition=definition.name,
            role=ROLE,
            turn=turn,
            samples=samples,
            messages=(Message(role="user", content=text),),
        )

    def _render(self, role: str, definition: Definition, previous: Previous | None) -> str:
        language = self.experiment.language
        compiled = language in (Language.CPP, Language.CUDA)
        context = {
            "definition": definition,
            "workload": visible(self.workloads[definition.name])[0],
            "language": language.value,
            "language_name": LANGUAGE_NAMES[language],
            "fence": FENCES[language],
            "signature": launcher.signature(definition, language) if compiled else "",
            "example_of": self.example_of,
            "hardware": self.hardware,
            "hardware_name": self.experiment.hardware,
            "previous": previous,
        }
        return self.templates.render(f"{self.experiment.method}/{role}.md", context)


def prompt_files(method: str, role: str, language: Language, folder: Path) -> list[str]:
    """Paths of all that a role's prompt is made of: its template, what that includes, and the examples it shows.

    Those that are there: rendering says what is missing.
    """
    templates, template = Templates(folder), f"{method}/{role}.md"
    shown = [folder / "examples" / name for name in templates.listed(template, "examples")]
    files = [str(example / file) for example in shown for file in ("problem.py", ANSWER_FILES[language])]
    files = [*templates.files(template), *files]
    return [file for file in files if Path(file).is_file()]


def selected(
    definitions: Iterable[Definition], experiment: Experiment, batch: Collection[tuple[int, int]]
) -> list[Definition]:
    """Definitions of the experiment whose (level, number) is in the batch, in order."""
    chosen = [d for d in definitions if (d.level, d.number) in batch and experiment.selects(d.level, d.number)]
    return sorted(chosen, key=lambda definition: (definition.level, definition.number))
