"""Kernels judged by hand, through the pipeline's own stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hone.config.runs import RESULTS, run_folder
from hone.config.settings import read
from hone.core.errors import ConfigError, closest
from hone.core.files import read_records
from hone.launcher import ENTRY_POINTS
from hone.records import Definition, Solution, Trace
from hone.solutions.bench import Bench, read_definitions, read_workloads
from hone.sources.solution_files import header, read_source

LEAST_ID = 8
"""Digits of a solution's id that name it: tables show twelve."""


def judge_solutions(solutions: Sequence[Solution], config: Path, *, again: bool = False) -> list[Trace]:
    """Build and judge with the config's protocol: one trace each; `again`: also known ones. Raises ConfigError."""
    settings, folder = read(config), run_folder(config) / "definitions"
    known = read_definitions(folder)
    definitions = {item.definition: _defined(item.definition, known, str(folder), config) for item in solutions}
    bench, store = Bench(settings, definitions, read_workloads(folder)), Path(settings.paths.store)
    return bench.judge(solutions, bench.build(solutions, store), store, again=again)


def named_solutions(
    names: Sequence[str], definition: str, config: Path
) -> tuple[dict[str, Solution], list[ConfigError]]:
    """Files, or solutions of a run by their ids, that the config has made a definition for; and what the others lack.

    `definition`: that of files which do not say so themselves.
    """
    sources, folder = read(config).sources, run_folder(config) / "definitions"
    definitions, found, refused = read_definitions(folder), dict[str, Solution](), list[ConfigError]()
    for name in names:
        file = Path(name)
        try:
            solution = _read_solution(file, definition) if definition or file.exists() else _find_solution(name)
            source = solution.definition.partition("/")[0]
            if source not in sources:
                problem = f"{name} is for the source '{source}', which the config does not have"
                remedy = "name the config that has it with --config"
                raise ConfigError(f"{problem}{closest(source, sources)}", where=str(config), remedy=remedy)
            _defined(solution.definition, definitions, f"{name}: {folder}", config)
        except ConfigError as error:
            refused.append(error)
        else:
            found[name] = solution
    return found, refused


def _find_solution(start: str) -> Solution:
    """The solution of any run whose id begins with these digits, as tables and traces show them; raises ConfigError."""
    if len(start) < LEAST_ID or set(start) - set("0123456789abcdef"):
        remedy = f"name a file, or give {LEAST_ID} or more digits of a solution's id"
        raise ConfigError("neither a file nor the id of a solution", where=start, remedy=remedy)
    for file in sorted(RESULTS.glob("*/solutions/**/*.jsonl")):
        for solution in read_records(file, Solution):
            if solution.id.startswith(start):
                return solution
    raise ConfigError(f"no solution in {RESULTS} has this id", where=start, remedy="run the pipeline that makes it")


def _read_solution(file: Path, name: str) -> Solution:
    """A source file as a solution of a definition; without a name its comment `definition:` counts."""
    language, source = read_source(file)
    name = name or header(source, language).get("definition", "")
    if not name:
        remedy = "give --definition, or a comment `definition: <name>` in the file"
        raise ConfigError("no definition is named", where=str(file), remedy=remedy)
    return Solution(definition=name, language=language, entry_point=ENTRY_POINTS[language], source=source)


def find_definition(name: str, folder: Path, config: Path) -> Definition:
    """A definition that the pipeline has made with this config; raises ConfigError naming what is there."""
    return _defined(name, read_definitions(folder), str(folder), config)


def _defined(name: str, known: Mapping[str, Definition], where: str, config: Path) -> Definition:
    if name not in known:
        remedy = f"correct the name, or make definitions: `snakemake definitions --cores 2 --configfile {config}`"
        raise ConfigError(f"no definition '{name}'{closest(name, known)}", where=where, remedy=remedy)
    return known[name]
