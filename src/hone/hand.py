"""One kernel judged by hand, through the pipeline's own stages."""

from __future__ import annotations

from pathlib import Path

from hone.config import closest, read
from hone.errors import ConfigError
from hone.methods.extract import ENTRY_POINTS
from hone.methods.files import SUFFIXES, language_of
from hone.records import Definition, Solution, Trace


def judge_file(file: Path, name: str, config: Path) -> Trace:
    """Build and judge a source file against a definition with the config's protocol; raises ConfigError."""
    from hone.build import build_all
    from hone.judge.judging import judge_all
    from hone.sources.workloads import workload_of

    settings = read(config)
    definition, tolerance_source = find_definition(name), name.partition("/")[0]
    if tolerance_source not in settings.sources:
        hint = closest(tolerance_source, settings.sources)
        raise ConfigError(f"source '{tolerance_source}' is not in the config{hint}", where="--definition")
    language = language_of(file)
    if language is None:
        raise ConfigError(f"the name ends in none of {', '.join(SUFFIXES)}", where=str(file))
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        remedy = "name a text file with the kernel's source"
        raise ConfigError(f"cannot read the kernel: {error}", where=str(file), remedy=remedy) from None
    solution = Solution(definition=name, language=language, entry_point=ENTRY_POINTS[language], source=source)
    store = Path(settings.paths.store)
    definitions = {name: definition}
    timeout_s = settings.judge.build_timeout_s
    extensions = settings.judge.device == "cuda"
    (build,) = build_all(
        [solution], definitions, store=store, timeout_s=timeout_s, workers=1, extensions=extensions, progress=False
    )
    workload = workload_of(definition, settings.sources[tolerance_source].tolerance)
    (trace,) = judge_all(
        [solution], {solution.id: build}, definitions, {name: workload}, settings.judge,
        baselines=settings.baselines, store=store, progress=False,
    )  # fmt: skip
    return trace


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
