"""Asking models as a function of files."""

from __future__ import annotations

from pathlib import Path

from hone.config.llm import LLM
from hone.config.settings import Paths
from hone.core.files import read_records, write_records
from hone.llm.answer import answer_prompts
from hone.records import Prompt, Sampling


def generate(
    prompts: Path, model: str, sampling: Sampling, *, llm: LLM, paths: Paths, batch_file: Path, output: Path
) -> None:
    """Answers to a batch's prompts, from the ledger or from the model."""
    asked = read_records(prompts, Prompt)
    answers = answer_prompts(
        asked, model=model, sampling=sampling, llm=llm, paths=paths, batch_file=batch_file, progress=True
    )
    write_records(output, answers)
