"""One kernel judged by hand, through the pipeline's own stages."""

from __future__ import annotations

from pathlib import Path

from hone.config import closest, read
from hone.errors import ConfigError
from hone.methods.extract import ENTRY_POINTS
from hone.methods.files import SUFFIXES, header, language_of
from hone.records import Definition, Solution, Trace

LEAST_ID = 8
"""Digits of a solution's id that name it: tables show twelve."""


def judge_solution(solution: Solution, config: Path, *, again: bool = False) -> Trace:
    """Build and judge with the config's protocol; `again`: also what has a trace. Raises ConfigError."""
    from hone.build import build_all
    from hone.judge.judging import judge_all
    from hone.sources.workloads import workload_of

    settings, name = read(config), solution.definition
    definition, source = find_definition(name), name.partition("/")[0]
    if source not in settings.sources:
        hint = closest(source, settings.sources)
        raise ConfigError(f"the config has no source '{source}'{hint}", where=str(config))
    store, definitions = Path(settings.paths.store), {name: definition}
    timeout_s, extensions = settings.judge.build_timeout_s, settings.judge.device == "cuda"
    (build,) = build_all(
        [solution], definitions, store=store, timeout_s=timeout_s, workers=1, extensions=extensions, progress=False
    )
    workloads = {name: workload_of(definition, settings.sources[source].tolerance)}
    (trace,) = judge_all(
        [solution], {solution.id: build}, definitions, workloads, settings.judge,
        baselines=settings.baselines, store=store, again=again, progress=False,
    )  # fmt: skip
    return trace


def find_solution(start: str, folder: Path = Path("results/solutions")) -> Solution:
    """The solution whose id begins with these digits, as tables and traces show them; raises ConfigError."""
    from hone.files import read_records

    if len(start) < LEAST_ID or set(start) - set("0123456789abcdef"):
        remedy = f"name a file, or give {LEAST_ID} or more digits of a solution's id"
        raise ConfigError("neither a file nor the id of a solution", where=start, remedy=remedy)
    for file in sorted(folder.rglob("*.jsonl")):
        for solution in read_records(file, Solution):
            if solution.id.startswith(start):
                return solution
    raise ConfigError(f"no solution under {folder} has this id", where=start, remedy="run the pipeline that makes it")


def read_solution(file: Path, name: str) -> Solution:
    """A source file as a solution of a definition; without a name its comment `definition:` counts."""
    language = language_of(file)
    if language is None:
        raise ConfigError(f"the name ends in none of {', '.join(SUFFIXES)}", where=str(file))
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        remedy = "name a text file with the kernel's source"
        raise ConfigError(f"cannot read the kernel: {error}", where=str(file), remedy=remedy) from None
    name = name or header(source, language).get("definition", "")
    if not name:
        remedy = "give --definition, or a comment `definition: <name>` in the file"
        raise ConfigError("no definition is named", where=str(file), remedy=remedy)
    return Solution(definition=name, language=language, entry_point=ENTRY_POINTS[language], source=source)


def find_definition(name: str, folder: Path = Path("results/definitions")) -> Definition:
    """A definition that the pipeline has made; raises ConfigError naming what is there."""
    from hone.files import read_records

    known: dict[str, Definition] = {}
    for file in sorted(folder.glob("*/level*.jsonl")):
        if not file.name.endswith(".unsupported.jsonl"):
            known.update({item.name: item for item in read_records(file, Definition)})
    if name not in known:
        remedy = "definitions are made by `snakemake definitions --cores 2`, with the config that has the source"
        raise ConfigError(f"no definition '{name}'{closest(name, known)}", where="--definition", remedy=remedy)
    return known[name]
