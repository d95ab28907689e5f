"""`hone trial …`: trials of the judge itself, each a command that writes one CSV and exits with 1 when it failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hone.cli_options import DEFAULT_CONFIG, RUN, ConfigFile, in_run
from hone.csv_table import Row, table_lines, write_table
from hone.errors import ConfigError
from hone.scratch import ScratchFolder

app = typer.Typer(
    no_args_is_help=True, help="Try the judge itself: containment, kills, public-harness, profiler, upstream."
)

Definitions = Annotated[Path, typer.Option(callback=in_run, help="Folder with the definitions' files.")]
Output = Annotated[Path, typer.Option(help="The CSV to write.")]
Seed = Annotated[int, typer.Option(help="Of the order, or of the moments.")]
Files = Annotated[list[str], typer.Argument(help="Kernels: files, folders or patterns.")]
DEFAULT_CHOICES = RUN / "operators/choices.jsonl"
DEFAULT_DEFINITIONS = RUN / "definitions"


@app.command()
def containment(
    good: Annotated[list[str], typer.Option(help="Files, a folder or a pattern such as 'evil/honest_*'; repeatable.")],
    bad: Annotated[list[str], typer.Option(help="The same, of hostile kernels.")],
    config: ConfigFile = DEFAULT_CONFIG,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    output: Output = Path("containment.csv"),
    seed: Seed = 0,
) -> None:
    """Judge good kernels alone, then among hostile ones: the good ones' verdicts must be the same."""
    from hone.trials import containment as trial
    from hone.trials.kernels import expand, open_bench

    rows = trial.containment(open_bench(config, definitions), expand(good), expand(bad), seed)
    _report(output, trial.COLUMNS, rows)
    _conclude(trial.not_contained(rows), "the good kernels' verdicts are the same in both runs")


@app.command()
def kills(
    files: Files,
    times: Annotated[int, typer.Option(min=1, help="How often the judge is killed.")] = 20,
    config: ConfigFile = DEFAULT_CONFIG,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    output: Output = Path("kills.csv"),
    seed: Seed = 0,
) -> None:
    """Kill -9 the judge at random moments: the same command must complete, leave nothing, and say the same."""
    from hone.trials import kills as trial
    from hone.trials.kernels import expand, open_bench

    chosen = expand(files)
    open_bench(config, definitions).kernels(chosen)  # a mistake in them is told at once
    with ScratchFolder("trial") as scratch:
        found = trial.kills(chosen, config, definitions, times=times, seed=seed, scratch=Path(scratch))
        rows = _written(output, trial.COLUMNS, found)
    _report(output, trial.COLUMNS, rows)
    _conclude(trial.failures(rows), f"{len(rows)} kills: every run completed with the same verdicts and left nothing")


@app.command(name="public-harness")
def public_harness(
    checkout: Annotated[Path, typer.Option(help="A checkout of github.com/ScalingIntelligence/KernelBench.")],
    problems: Annotated[str, typer.Option(help="By comma: level1/19,level1/21")],
    candidates: Annotated[Path, typer.Option(help="Folder with <level>_<number>.py.")] = Path(
        "resources/kernels/public_harness"
    ),
    config: ConfigFile = DEFAULT_CONFIG,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    output: Output = Path("public_harness.csv"),
    timeout_s: Annotated[float, typer.Option(min=1, help="Limit of each process.")] = 600.0,
    correct_trials: Annotated[int, typer.Option(min=1, help="Of the public evaluation.")] = 5,
    perf_trials: Annotated[int, typer.Option(min=1, help="Of the public evaluation.")] = 100,
    build_first: Annotated[
        bool, typer.Option("--build-first", help="Compile all kernels side by side, then evaluate.")
    ] = False,
) -> None:
    """Evaluate the same kernels with the public KernelBench code and with Hone, in turns. Runs them unconfined, too."""
    from hone.trials import harness as trial
    from hone.trials.kernels import open_bench

    bench = open_bench(config, definitions)
    chosen = trial.problems(bench, checkout, candidates, trial.problem_names(problems))
    with ScratchFolder("trial") as scratch:
        setting = trial.Setting(
            bench, config, definitions, checkout, Path(scratch), timeout_s, correct_trials, perf_trials, build_first
        )
        rows = _written(output, trial.COLUMNS, trial.compare(setting, chosen))
    _report(output, trial.COLUMNS, rows)


@app.command()
def decoder(
    config: ConfigFile = DEFAULT_CONFIG,
    choices: Annotated[
        Path, typer.Option(callback=in_run, help="The file that `hone operator choose` writes.")
    ] = DEFAULT_CHOICES,
    definitions: Annotated[
        Path, typer.Option(callback=in_run, help="File or folder of definitions.")
    ] = DEFAULT_DEFINITIONS,
    workloads: Annotated[Path, typer.Option(callback=in_run, help="File or folder of workloads.")] = RUN / "workloads",
    evaluations: Annotated[Path, typer.Option(callback=in_run, help="File or folder of traces.")] = RUN / "evaluations",
    store: Annotated[Path, typer.Option(help="Folder with the builds.")] = Path(".hone/store"),
    layer: Annotated[str, typer.Option(help="llama_7b, or small to run the code only.")] = "llama_7b",
    tokens: Annotated[str, typer.Option(help="By comma.")] = "1,16,256,1024,4096",
    dtype: Annotated[str, typer.Option(help="float16 or bfloat16; on a CPU float32, too.")] = "float16",
    device: Annotated[str, typer.Option(help="cuda or cpu.")] = "cuda",
    turns: Annotated[int, typer.Option(min=1, help="Samples of each kernel set.")] = 50,
    output: Output = Path("decoder.csv"),
) -> None:
    """Time a decoder layer with upstream's kernels and the winners; <output>_kernels.csv has each kernel's part."""
    from hone.operators.stage import record_files
    from hone.trials.decoder_rows import LAYER_COLUMNS
    from hone.trials.decoder_stage import decoder_layer

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
    output: Output = Path("profiler.csv"),
) -> None:
    """Compare the judge's latencies of plain .cu files with PyTorch's profiler. Runs them unconfined, too."""
    from hone.trials import profiler as trial
    from hone.trials.kernels import expand, open_bench

    bench = open_bench(config, definitions)
    with ScratchFolder("trial") as scratch:
        rows = _written(output, trial.COLUMNS, trial.compare(bench, expand(files), Path(scratch)))
    _report(output, trial.COLUMNS, rows)


@app.command()
def upstream(
    config: ConfigFile,
    source: Annotated[str, typer.Option(help="A source of existing kernels in the config.")] = "sglang",
    kernels: Annotated[str, typer.Option(help="Only these titles, by comma; empty: all.")] = "",
    workers: Annotated[int, typer.Option(min=1, help="Compilers at a time.")] = 4,
    cache: Annotated[Path, typer.Option(help="Folder with the packages' files.")] = Path(".hone/packages"),
    output: Output = Path("upstream.csv"),
) -> None:
    """Compare stand-alone kernels with the packages' own compiled functions, workload by workload. Needs a GPU."""
    from hone.config import read
    from hone.config_sources import KernelsSource
    from hone.trials import upstream as trial

    chosen = read(config).sources.get(source)
    if not isinstance(chosen, KernelsSource):
        raise ConfigError(f"'{source}' is no source of kind: kernels", where=str(config))
    titles = [title.strip() for title in kernels.split(",") if title.strip()]
    with ScratchFolder("trial") as scratch:
        found = trial.compare(source, chosen, Path(scratch), kernels=titles, workers=workers, cache=cache)
        rows = _written(output, trial.COLUMNS, found)
    _report(output, trial.COLUMNS, rows)
    _conclude(trial.mismatches(rows), f"{len(rows)} workloads: the same results as the packages' own functions")


def _numbers(text: str) -> list[int]:
    """Whole numbers by comma; raises ConfigError."""
    words = [word.strip() for word in text.split(",") if word.strip()]
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
