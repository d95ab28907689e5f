"""From an answer to a solution: the first fenced code block that defines the entry point.

KernelBench takes the first fenced block (`src/utils.py`); models that show a fragment first would be judged on the
fragment, so a block counts here only if it defines what was asked for. Every other answer is a candidate without a
solution, with the reason: it stays in every denominator.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from hone.config.experiments import Method
from hone.launcher import ENTRY_POINT, ENTRY_POINTS
from hone.records import Answer, Candidate, Language, Solution
from hone.tunables import BadDeclarationError, with_first_values

ANSWER_LIMIT_BYTES = 1_000_000
"""A kernel of a megabyte is not an answer; the longest in KernelBench's released samples has some 30 kB."""

DEFINES = {
    "ModelNew": re.compile(r"^\s*class\s+ModelNew\b", re.MULTILINE),
    # With its body: an answer may quote the declaration that the prompt gave before it defines it.
    ENTRY_POINT: re.compile(rf"\b{ENTRY_POINT}\s*\([^;{{}}]*\)\s*\{{"),
}
# A launcher for each data type, written out or by a macro that pastes the type's name.
TYPED_LAUNCHER = re.compile(rf"\b{ENTRY_POINT}_(?:\w|##)+\s*\([^;{{}}]*\)[\s\\]*\{{")
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


class NoSolution(Exception):
    """The answer holds no usable code; the message says why."""


def extract(text: str, language: Language, *, typed: bool = False) -> str:
    """The code of the answer; raises NoSolution. `typed`: of a definition with one launcher for each data type."""
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise NoSolution("answer is not UTF-8 text") from None
    if size > ANSWER_LIMIT_BYTES:
        raise NoSolution(f"answer of {size / 1e6:.1f} MB is over the limit of {ANSWER_LIMIT_BYTES / 1e6:.0f} MB")
    if not text.strip():
        raise NoSolution("answer is empty")
    entry_point = ENTRY_POINTS[language]
    defines = TYPED_LAUNCHER if typed and entry_point == ENTRY_POINT else DEFINES[entry_point]
    found = False
    for block, closed in fenced_blocks(text):
        found = True
        if not defines.search(block):
            continue
        if not closed:
            raise NoSolution("code block is not closed: the answer was cut off")
        return block
    raise NoSolution(f"no code block defines {entry_point}" if found else "no code block")


def _untuned(source: str) -> str:
    """With the first values of parameters that it declares; what cannot be read is a comment like any other."""
    with suppress(BadDeclarationError):
        return with_first_values(source)
    return source


def fenced_blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Fenced blocks in order: content, and whether the fence was closed."""
    lines: list[str] | None = None
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        match = FENCE.match(line)
        if lines is None:
            if match:
                lines, fence = [], match.group(1)
        elif match and match.group(1).startswith(fence) and not line.strip().strip(fence[0]):
            yield "\n".join(lines) + "\n", True
            lines = None
        else:
            lines.append(line)
    if lines is not None:
        yield "\n".join(lines) + "\n", False


def candidates(
    answers: Iterable[Answer], method: Method, language: Language, typed: Collection[str] = ()
) -> tuple[list[Candidate], list[Solution]]:
    """One candidate for each answer, and the distinct solutions sorted by id.

    `typed`: names of definitions whose solutions export one launcher for each data type.
    """
    rows: list[Candidate] = []
    solutions: dict[str, Solution] = {}
    for answer in answers:
        solution, problem, refusal = None, "", answer.completion.refusal
        try:
            if refusal:
                raise NoSolution(f"unanswered: {refusal}")
            source = extract(answer.completion.response, language, typed=answer.definition in typed)
            solution = Solution(
                definition=answer.definition,
                language=language,
                entry_point=ENTRY_POINTS[language],
                source=_untuned(source) if ENTRY_POINTS[language] == ENTRY_POINT else source,
            )
            solutions[solution.id] = solution
        except NoSolution as reason:
            problem = str(reason)
        rows.append(
            Candidate(
                experiment=answer.experiment,
                method=method,
                model=answer.model,
                definition=answer.definition,
                turn=answer.turn,
                sample=answer.sample,
                prompt_digest=answer.prompt_digest,
                completion_key=answer.completion.key,
                solution=solution.id if solution else None,
                problem=problem,
                unanswered=bool(refusal),
            )
        )
    return rows, [solutions[key] for key in sorted(solutions)]
