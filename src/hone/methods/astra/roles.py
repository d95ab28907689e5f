"""The prompts of the roles: each is a template of `config/prompts/<method>/` and what the role gets to see.

`astra`: testing (turn 0), then profiling, planning and coding in each round, and experience after the last one. Each
role gets one message and remembers nothing; what it needs of the other roles stands in it. `astra_single`: one
conversation for each kernel, whose every message stays in it, with the same evidence and the same rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hone import launcher
from hone.config.experiments import UPSTREAM, Experiment
from hone.core.errors import ConfigError
from hone.machine.hardware import gpu
from hone.methods.astra.evidence import evidence, failures, overview
from hone.methods.astra.history import History, Version
from hone.methods.astra.strategy import Branch
from hone.methods.astra.suite import MOST_WORKLOADS, Limits
from hone.methods.feedback import cut
from hone.methods.hardware import facts
from hone.methods.render import FENCES, LANGUAGE_NAMES
from hone.methods.templates import Templates
from hone.records import Answer, Argument, Definition, Message, Prompt, Record, Workload
from hone.records.layout import FLOAT8
from hone.teams import TEAMS

TESTING, CODING = "testing", "coding"
"""Templates of what is asked first, and of a conversation's rounds."""


class RoleAnswer(Record):
    """What a role said before, as a prompt quotes it."""

    definition: str
    turn: int
    text: str
    sample: int = 0
    """Branch of the round."""

    @classmethod
    def of(cls, answers: Iterable[Answer]) -> list[RoleAnswer]:
        """The answers by definition, turn and branch, each cut to what a prompt has room for."""
        ordered = sorted(answers, key=lambda answer: (answer.definition, answer.turn, answer.sample))
        return [
            cls(
                definition=answer.definition,
                turn=answer.turn,
                sample=answer.sample,
                text=cut(answer.completion.response),
            )
            for answer in ordered
        ]


def require_kernel(definition: Definition, experiment: Experiment, name: str) -> None:
    """Raise ConfigError unless the definition has an existing kernel in the language of the experiment `name`."""
    where, wanted = f"experiments.{name}", experiment.language
    if UPSTREAM not in definition.kernels:
        remedy = f"name problems that bring a kernel '{UPSTREAM}' with them"
        raise ConfigError(f"{definition.name} has no existing kernel to improve", where=where, remedy=remedy)
    if definition.kernel_language is not wanted:
        problem = f"{definition.name} is written in {definition.kernel_language}, not {wanted}"
        remedy = f"set language: {definition.kernel_language}"
        raise ConfigError(problem, where=f"{where}.language", remedy=remedy)


def _results(definition: Definition) -> list[Argument]:
    return [*definition.outputs, *(item for item in definition.inputs if item.in_place)]


class RoleRenderer:
    """Renders the prompts of one experiment's roles; raises ConfigError for a broken template."""

    def __init__(self, name: str, experiment: Experiment, prompts: Path, gpus: Path) -> None:
        """`prompts` is the folder of templates, `gpus` the table of hardware facts."""
        self.name = name
        self.experiment = experiment
        self.team = TEAMS[experiment.method]
        self.hardware = facts(gpu(experiment.hardware, gpus)) if experiment.hardware else []
        self.templates = Templates(prompts)

    def testing(self, definition: Definition, visible: Sequence[Workload]) -> Prompt:
        """Ask for the suite, before the first round."""
        require_kernel(definition, self.experiment, self.name)
        context = {
            **self._base(definition, visible, 0),
            "label": "the existing kernel",
            "source": definition.kernels[UPSTREAM],
            "limits": Limits(definition, visible),
            "most_workloads": MOST_WORKLOADS,
        }
        return self._prompt(definition, self.team.first, 0, (0,), self._message(TESTING, context))

    def role(
        self, role: str, history: History, branch: Branch, visible: Sequence[Workload], turn: int,
        **said: str | Sequence[RoleAnswer],
    ) -> Prompt:  # fmt: skip
        """One role's prompt for a branch of a round; `said` is what it is told of the others, by its template's names.

        The coder is asked for all candidates of the branch, every other role once.
        """
        samples = branch.samples if role == self.team.coder else (branch.number,)
        context = {**self._of_round(history, branch.start, visible, turn), **said}
        return self._prompt(history.definition, role, turn, samples, self._message(role, context))

    def converse(
        self, history: History, branch: Branch, visible: Sequence[Workload], turn: int, before: Sequence[Message]
    ) -> Prompt:
        """The single agent's next prompt: its conversation so far, its last answer included, and the new evidence."""
        message = self._message(CODING, self._of_round(history, branch.start, visible, turn))
        return self._prompt(history.definition, self.team.coder, turn, branch.samples, *before, message)

    def _base(self, definition: Definition, visible: Sequence[Workload], turn: int) -> dict[str, Any]:
        language = self.experiment.language
        return {
            "definition": definition,
            "workloads": visible,
            "language": language.value,
            "language_name": LANGUAGE_NAMES[language],
            "fence": FENCES[language],
            "signatures": launcher.signatures(definition, language),
            "flags": definition.compiler_flags,
            "eight_bits": [item.name for item in _results(definition) if item.dtype in FLOAT8],
            "tolerances": {item.dtype: item.tolerance for item in reversed(visible)},
            "hardware": self.hardware,
            "hardware_name": self.experiment.hardware,
            "round": turn,
        }

    def _of_round(self, history: History, start: Version, visible: Sequence[Workload], turn: int) -> dict[str, Any]:
        assert start.solution is not None, "a round starts from code"
        return {
            **self._base(history.definition, visible, turn),
            "label": start.label,
            "source": start.solution.source,
            "target": history.target,
            "failures": failures(history, start),
            "evidence": evidence(history, start, self.experiment.astra),
            "overview": overview(history, start, self.experiment.astra),
        }

    def _message(self, template: str, context: dict[str, Any]) -> Message:
        text = self.templates.render(f"{self.experiment.method}/{template}.md", context)
        return Message(role="user", content=text)

    def _prompt(
        self, definition: Definition, role: str, turn: int, samples: tuple[int, ...], *messages: Message
    ) -> Prompt:
        return Prompt(
            experiment=self.name,
            definition=definition.name,
            role=role,
            turn=turn,
            samples=samples,
            messages=messages,
        )
