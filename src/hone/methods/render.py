"""Prompts: templates of `config/prompts/<method>/<role>.md`, rendered with strict undefined names.

Methods of KernelBench (arXiv 2502.10517): zero-, one- and few-shot (section 3, Appendix C), hardware facts in the
prompt (section 5.2), and iterative refinement (section 5.1) whose context is the last answer alone (G), with what
happened when it ran (E) and the profiler's table (P).
"""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import jinja2

from hone import launcher
from hone.config import Experiment
from hone.errors import ConfigError
from hone.methods.examples import load_examples
from hone.methods.feedback import Previous
from hone.methods.hardware import gpu
from hone.records import Definition, Language, Message, Prompt, Tolerance
from hone.sources.workloads import workload_of

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "zero_shot": (),
    "one_shot": ("add",),
    "few_shot": ("fused_gelu", "tiled_matmul", "flash_attention"),
    "refine": ("add",),
}
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

    def __init__(self, name: str, experiment: Experiment, tolerance: Tolerance, prompts: Path, gpus: Path) -> None:
        """`prompts` is the folder of templates and examples, `gpus` the table of hardware facts."""
        self.name = name
        self.experiment = experiment
        self.tolerance = tolerance
        self.folder = prompts
        self.examples = load_examples(EXAMPLES[experiment.method], experiment.language, prompts / "examples")
        self.hardware = gpu(experiment.hardware, gpus) if experiment.hardware else None
        self.environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(prompts),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )

    def first(self, definition: Definition) -> Prompt:
        """The prompt of turn 0, the same for every sample."""
        text = self._render(ROLE, definition, None)
        return self._prompt(definition, 0, tuple(range(self.experiment.samples)), text)

    def next(self, definition: Definition, turn: int, sample: int, previous: Previous) -> Prompt:
        """The prompt of a later turn of one sample; `previous` is the last answer and what became of it."""
        text = self._render(f"{ROLE}_next", definition, previous)
        return self._prompt(definition, turn, (sample,), text)

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
            "workload": workload_of(definition, self.tolerance),
            "language": language.value,
            "language_name": LANGUAGE_NAMES[language],
            "fence": FENCES[language],
            "signature": launcher.signature(definition, language) if compiled else "",
            "examples": self.examples,
            "hardware": self.hardware,
            "hardware_name": self.experiment.hardware,
            "previous": previous,
        }
        file = f"{self.experiment.method}/{role}.md"
        try:
            return self.environment.get_template(file).render(context)
        except jinja2.TemplateNotFound as error:
            where = str(self.folder / str(error.name))
            raise ConfigError("no such prompt file", where=where, remedy="restore it from the repository") from None
        except jinja2.TemplateSyntaxError as error:
            where = f"{error.filename or self.folder / file}:{error.lineno}"
            remedy = "correct that line; braces that are meant as text go into {% raw %} … {% endraw %}"
            raise ConfigError(f"not a valid template: {error.message}", where=where, remedy=remedy) from None
        except (jinja2.UndefinedError, ArithmeticError, TypeError, ValueError) as error:
            # A template computes what it likes; a file that is not UTF-8 is a ValueError as well.
            where = self._line(error) or str(self.folder / file)
            remedy = f"names that a prompt may use: {', '.join(sorted(context))}; the file must be UTF-8"
            raise ConfigError(f"cannot be rendered: {error}", where=where, remedy=remedy) from None

    def _line(self, error: Exception) -> str:
        """`file:line` of the template that the error came from, included ones too; empty where it has none."""
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f"{frame.filename}:{frame.lineno}" for frame in frames if frame.filename.startswith(str(self.folder))]
        return lines[-1] if lines else ""


def selected(
    definitions: Iterable[Definition], experiment: Experiment, batch: Collection[tuple[int, int]]
) -> list[Definition]:
    """Definitions of the experiment whose (level, number) is in the batch, in order."""
    chosen = [d for d in definitions if (d.level, d.number) in batch and experiment.selects(d.level, d.number)]
    return sorted(chosen, key=lambda definition: (definition.level, definition.number))
