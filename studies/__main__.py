"""`python -m studies …`: each study is a command that writes one CSV and exits with 1 when its claim does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hone.cli.options import (
    DEFAULT_CHOICES,
    DEFAULT_CONFIG,
    DEFAULT_DEFINITIONS,
    DEFAULT_EVALUATIONS,
    DEFAULT_WORKLOADS,
    RUN,
    Choices,
    ConfigFile,
    Definitions,
    Evaluations,
    Output,
    Workloads,
    in_run,
    run_app,
)
from hone.core.csv_table import Row, table_lines, write_table
from hone.core.errors import ConfigError
from hone.core.scratch import ScratchFolder

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Questions about the judge and about existing kernels that the pipeline does not ask. Run in the repository.",
)

Seed = Annotated[int, typer.Option(help="Of the order, or of the moments.")]
Files = Annotated[list[str], typer.Argument(help="Kernels: files, folders or patterns.")]


@app.command()
def containment(
    good: Annotated[list[str], typer.Option(help="Files, a folder or a pattern such as 'evil/honest_*'; repeatable.")],
    bad: Annotated[list[str], typer.Option(help="The same, of hostile kernels.")],
    config: ConfigFile = DEFAULT_CONFIG,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    output: Output = RUN / "studies/containment.csv",
    seed: Seed = 0,
) -> None:
    """Judge good kernels alone, then among hostile ones: the good ones' verdicts must be the same."""
    from studies.judge import containment as study
    from studies.judge.kernel_files import expand, open_bench

    rows = study.containment(open_bench(config, definitions), expand(good), expand(bad), seed)
    _report(output, study.COLUMNS, rows)
    _conclude(study.not_contained(rows), "the good kernels' verdicts are the same in both runs")


@app.command()
def kills(
    files: Files,
    times: Annotated[int, typer.Option(min=1, help="How often the judge is killed.")] = 20,
    config: ConfigFile = DEFAULT_CONFIG,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    output: Output = RUN / "studies/kills.csv",
    seed: Seed = 0,
) -> None:
    """Kill -9 the judge at random moments: the same command must complete, leave nothing, and say the same."""
    from studies.judge import kills as study
    from studies.judge.kernel_files import expand, open_bench

    chosen = expand(files)
    open_bench(config, definitions).kernels(chosen)  # a mistake in them is told at once
    with ScratchFolder("study") as scratch:
        found = study.kills(chosen, config, definitions, times=times, seed=seed, scratch=Path(scratch))
        rows = _written(output, study.COLUMNS, found)
    _report(output, study.COLUMNS, rows)
    _conclude(study.failures(rows), f"{len(rows)} kills: every run completed with the same verdicts and left nothing")


@app.command(name="public-harness")
def public_harness(
    checkout: Annotated[Path, typer.Option(help="A checkout of github.com/ScalingIntelligence/KernelBench.")],
    problems: Annotated[str, typer.Option(help="By comma: level1/19,level1/21")],
    candidates: Annotated[Path, typer.Option(help="Folder with <level>_<number>.py.")] = Path(
        "resources/kernels/public_harness"
    ),
    config: ConfigFile = DEFAULT_CONFIG,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    output: Output = RUN / "studies/public_harness.csv",
    timeout_s: Annotated[float, typer.Option(min=1, help="Limit of each process.")] = 600.0,
    correct_trials: Annotated[int, typer.Option(min=1, help="Of the public evaluation.")] = 5,
    perf_trials: Annotated[int, typer.Option(min=1, help="Of the public evaluation.")] = 100,
    build_first: Annotated[
        bool, typer.Option("--build-first", help="Compile all kernels side by side, then evaluate.")
    ] = False,
) -> None:
    """Evaluate the same kernels with the public KernelBench code and with Hone, in turns. Runs them unconfined, too."""
    from studies.judge import public_harness as study
    from studies.judge.kernel_files import open_bench

    bench = open_bench(config, definitions)
    chosen = study.problems(bench, checkout, candidates, study.problem_names(problems))
    with ScratchFolder("study") as scratch:
        setting = study.Setting(
            bench, config, definitions, checkout, Path(scratch), timeout_s, correct_trials, perf_trials, build_first
        )
        rows = _written(output, study.COLUMNS, study.compare(setting, chosen))
    _report(output, study.COLUMNS, rows)


@app.command()
def union(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `hone tables` wrote, oldest first.")],
    output: Annotated[Path, typer.Option(help="The folder to write.")],
) -> None:
    """Put verdicts together that several machines gave: of each answer, problem or kernel the newest counts."""
    from studies.judge import union as study

    for name, count in study.unite(folders, output).items():
        typer.echo(f"{output / name}.csv: {count} rows")


@app.command()
def decoder(
    config: ConfigFile = DEFAULT_CONFIG,
    choices: Choices = DEFAULT_CHOICES,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    workloads: Workloads = DEFAULT_WORKLOADS,
    evaluations: Evaluations = DEFAULT_EVALUATIONS,
    store: Annotated[Path, typer.Option(help="Folder with the builds.")] = Path(".hone/store"),
    layer: Annotated[str, typer.Option(help="llama_7b, or small to run the code only.")] = "llama_7b",
    tokens: Annotated[str, typer.Option(help="By comma.")] = "1,16,256,1024,4096",
    dtype: Annotated[str, typer.Option(help="float16 or bfloat16; on a CPU float32, too.")] = "float16",
    device: Annotated[str, typer.Option(help="cuda or cpu.")] = "cuda",
    turns: Annotated[int, typer.Option(min=1, help="Samples of each kernel set.")] = 50,
    output: Output = RUN / "studies/decoder.csv",
) -> None:
    """Time a decoder layer with upstream's kernels and the winners; <output>_kernels.csv has each kernel's part."""
    from hone.operators.stages import record_files
    from studies.decoder.rows import LAYER_COLUMNS
    from studies.decoder.stages import decoder_layer

    rows, problems = decoder_layer(
        choices, record_files(definitions), record_files(workloads), record_files(evaluations),
        store=store, layer=layer, tokens=_numbers(tokens), dtype=dtype, device=device, turns=turns,
        layers=output, kernels=output.with_name(f"{output.stem}_kernels.csv"),
    )  # fmt: skip
    for line in table_lines(LAYER_COLUMNS, rows):
        typer.echo(line)
    _conclude(problems, "every kernel set gives the layer that PyTorch's operators give")


@app.command()
def profiler(
    files: Files,
    config: ConfigFile = DEFAULT_CONFIG,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    output: Output = RUN / "studies/profiler.csv",
) -> None:
    """Compare the judge's latencies of plain .cu files with PyTorch's profiler. Runs them unconfined, too."""
    from studies.judge import profiler as study
    from studies.judge.kernel_files import expand, open_bench

    bench = open_bench(config, definitions)
    with ScratchFolder("study") as scratch:
        rows = _written(output, study.COLUMNS, study.compare(bench, expand(files), Path(scratch)))
    _report(output, study.COLUMNS, rows)


@app.command()
def upstream(
    config: ConfigFile,
    source: Annotated[str, typer.Option(help="A source of existing kernels in the config.")] = "sglang",
    kernels: Annotated[str, typer.Option(help="Only these titles, by comma; empty: all.")] = "",
    workers: Annotated[int, typer.Option(min=1, help="Compilers at a time.")] = 4,
    cache: Annotated[Path, typer.Option(help="Folder with the packages' files.")] = Path(".hone/packages"),
    output: Output = RUN / "studies/upstream.csv",
) -> None:
    """Compare stand-alone kernels with the packages' own compiled functions, workload by workload. Needs a GPU."""
    from hone.config.settings import read
    from hone.config.sources import KernelsSource
    from studies.operators import upstream as study

    chosen = read(config).sources.get(source)
    if not isinstance(chosen, KernelsSource):
        raise ConfigError(f"'{source}' is no source of kind: kernels", where=str(config))
    with ScratchFolder("study") as scratch:
        found = study.compare(source, chosen, Path(scratch), kernels=_words(kernels), workers=workers, cache=cache)
        rows = _written(output, study.COLUMNS, found)
    _report(output, study.COLUMNS, rows)
    _conclude(study.mismatches(rows), f"{len(rows)} workloads: the same results as the packages' own functions")


@app.command()
def sanitize(
    config: ConfigFile = DEFAULT_CONFIG,
    choices: Choices = DEFAULT_CHOICES,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    workloads: Workloads = DEFAULT_WORKLOADS,
    kernels: Annotated[str, typer.Option(help="Which, by comma: upstream, current, winner.")] = "winner",
    tools: Annotated[str, typer.Option(help="By comma.")] = "memcheck,racecheck,synccheck,initcheck",
    most_mib: Annotated[
        float, typer.Option(help="Workloads whose inputs and outputs together are larger are left out.")
    ] = 32,
    output: Annotated[
        Path, typer.Option(callback=in_run, help="The CSV to write; logs go to a folder of its name.")
    ] = RUN / "studies/operator_sanitizer.csv",
) -> None:
    """Run chosen kernels under NVIDIA's compute-sanitizer on their workloads: bad accesses, races, unwritten memory."""
    from hone.config.settings import read
    from hone.operators.stages import record_files
    from studies.operators import sanitize as study

    rows = study.sanitize(
        choices, record_files(definitions), record_files(workloads), store=Path(read(config).paths.store),
        kernel_sets=_words(kernels), tools=_words(tools), most_mib=most_mib, output=output,
    )  # fmt: skip
    _report(output, study.COLUMNS, rows)
    left_out = sum(int(row["left_out"] or 0) for row in rows)
    besides = f", {left_out} runs of workloads above {most_mib:g} MiB left out" if left_out else ""
    _conclude(study.unclean(rows), f"no tool found anything in {len(rows)} runs{besides}, see {output}")


@app.command()
def epoch(
    graph: Annotated[str, typer.Option(help="As the config names it; the system device trains a sage on it.")],
    config: ConfigFile = DEFAULT_CONFIG,
    evaluations: Annotated[int, typer.Option(min=2, help="Timings of an epoch or of a part of one.")] = 96,
    finalists: Annotated[int, typer.Option(min=1, help="Choices that train whole epochs in the end.")] = 3,
    output: Output = RUN / "studies/epoch.csv",
    seed: Seed = 0,
) -> None:
    """Search constants of the device system's kernels and streams for the shortest epoch."""
    from studies.epoch import search as study
    from studies.epoch.stages import bench_for, device_source

    bench = bench_for(config, graph)
    rows = study.searched(
        bench, device_source(), evaluations=evaluations, finalists=finalists, seed=seed,
        note=lambda rows: write_table(output, study.COLUMNS, rows),
    )  # fmt: skip
    last = [row for row in rows if row["rung"] is None]
    for line in table_lines(study.COLUMNS, last):
        typer.echo(line)
    _conclude([] if last else ["no choice learns the same as today's"], f"all {len(rows)} timings are in {output}")


def _words(text: str) -> list[str]:
    """What stands between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[int]:
    """Whole numbers by comma; raises ConfigError."""
    words = _words(text)
    if not all(word.isdecimal() for word in words):
        raise ConfigError(f"not whole numbers: {text}", remedy="write 1,16,256")
    return [int(word) for word in words]


def _written(output: Path, columns: Sequence[str], found: Iterable[Row]) -> list[Row]:
    """All rows; the file is written again after each, so that an interrupt loses only what was running."""
    rows: list[Row] = []
    for row in found:
        rows.append(row)
        write_table(output, columns, rows)
    return rows


def _report(output: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    write_table(output, columns, rows)
    for line in table_lines(columns, rows):
        typer.echo(line)


def _conclude(problems: Sequence[str], otherwise: str) -> None:
    for problem in problems:
        typer.echo(f"failed: {problem}")
    if not problems:
        typer.echo(f"held: {otherwise}")
    raise typer.Exit(1 if problems else 0)


if __name__ == "__main__":
    run_app(app)
