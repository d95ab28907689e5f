"""`hone`: every stage by hand on files, and what people need around the pipeline.

Options are also read from `HONE_<COMMAND>_<OPTION>`.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from hone.cli.export import app as export
from hone.cli.operators import app as operators
from hone.cli.options import DEFAULT_CONFIG, DEFAULT_DEFINITIONS, RUN, ConfigFile, Definitions, in_run, run_app
from hone.cli.screen import screen
from hone.cli.site import papers, site, view
from hone.cli.status import status
from hone.cli.tables import tables
from hone.config.runs import DEFAULT_RUN, RESULTS, known_run

RUNS, JUDGE, ANSWERS, PROJECT = "Run and look", "Judge kernels", "Answers of models", "Work on Hone"
EXAMPLES = """
Examples:

hone run --model openai/o4-mini --experiment one_shot --limit 3 --mode live

hone status --configfile config/paper.yaml

hone judge kernel.cpp --definition miniature/level1/1_Swish

Each option is also read from HONE_<COMMAND>_<OPTION>, such as HONE_RUN_MODEL.
"""

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"auto_envvar_prefix": "HONE"},
    help="Hone: kernels written by language models, built, judged and timed.",
    epilog=EXAMPLES,
)
app.add_typer(operators, name="operator", help="Use winning kernels as PyTorch operators.", rich_help_panel=JUDGE)
app.add_typer(export, name="export", help="Write a run in the forms of other tools.", rich_help_panel=RUNS)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from hone.core.code import commit

        known = commit()
        typer.echo(f"hone {version('hone')}" + (f" (commit {known})" if known else ""))
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            allow_from_autoenv=False,  # where a script sets HONE_VERSION, commands still run
            help="Print the version, with the commit where it is known.",
        ),
    ] = False,
) -> None:
    """Options that stand before a command."""


@app.command(rich_help_panel=RUNS)
def run(
    context: typer.Context,
    config: ConfigFile = DEFAULT_CONFIG,
    experiment: Annotated[str, typer.Option(help="Only these experiments, by comma, and no trainings.")] = "",
    model: Annotated[str, typer.Option(help="Ask these models instead, by comma: openai/o4-mini, …")] = "",
    limit: Annotated[int | None, typer.Option(help="Only the first so many problems of each level.")] = None,
    sample_id: Annotated[str, typer.Option(help="Only these problems, by comma: level1/19, …")] = "",
    epochs: Annotated[int | None, typer.Option(help="Answers to the same prompt.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Of the sampling.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Of the sampling.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Most tokens of an answer.")] = None,
    reasoning_effort: Annotated[str | None, typer.Option(help="minimal, low, medium or high.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the sampling.")] = None,
    mode: Annotated[str | None, typer.Option(help="live, replay or export.")] = None,
    spending_limit_usd: Annotated[float | None, typer.Option(help="No request goes out that could exceed it.")] = None,
    model_base_url: Annotated[str | None, typer.Option(help="Ask all models at http://<host>:<port>/v1.")] = None,
    max_connections: Annotated[int | None, typer.Option(help="Requests in flight per job.")] = None,
    max_retries: Annotated[int | None, typer.Option(min=0, help="Tries after a failed one.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds of silence that end a try.")] = None,
    cores: Annotated[int, typer.Option(min=1, help="CPU cores for all jobs together.")] = 2,
    run: Annotated[str, typer.Option(help="Name of the folder in results/; else that of the config.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="List what would run.")] = False,
) -> None:
    """Run the pipeline, with options for experiments, models and sampling.

    Without options this is plain `snakemake`.
    """
    from hone.config.files import read_values
    from hone.config.overrides import override
    from hone.config.runs import options_file, run_name
    from hone.config.settings import load
    from hone.preflight.references import checked

    values = read_values(config)
    name = run or run_name(load(values, where=str(config)), [config])
    sampling = {
        "temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "reasoning_effort": reasoning_effort,
        "seed": seed,
    }  # fmt: skip
    asking = {
        "mode": mode, "spending_limit_usd": spending_limit_usd, "base_url": model_base_url,
        "concurrency": max_connections, "timeout_s": timeout,
        "max_attempts": None if max_retries is None else max_retries + 1,
    }  # fmt: skip
    changed = override(
        values,
        experiments=_words(experiment),
        fields={"models": _words(model), "limit": limit, "problems": _words(sample_id), "samples": epochs},
        sampling=sampling,
        llm=asking,
    )
    target = config
    if changed != values or run:
        changed["run"] = name
        checked(changed, where=f"{config} with {_given(context)}")
        target = options_file(RESULTS / name)
        _write_yaml(target, changed)
    command = [str(Path(sys.executable).parent / "snakemake"), "--cores", str(cores), "--configfile", str(target)]
    os.execv(command[0], command + (["--dry-run"] if dry_run else []))


app.command(rich_help_panel=RUNS)(status)


@app.command(name="import", rich_help_panel=ANSWERS)
def import_(
    answers: Annotated[list[Path], typer.Argument(help="Output files of the OpenAI Batch API, or in their form.")],
    config: ConfigFile = DEFAULT_CONFIG,
    requests: Annotated[Path, typer.Option(callback=in_run, help="Folder with the exported requests.")] = RUN
    / "pending",
) -> None:
    """Put the answers to exported requests into the ledger.

    Then run the pipeline again: it finds them there.
    """
    from hone.config.settings import read
    from hone.llm.batch import import_answers
    from hone.llm.ledger import Ledger

    settings = read(config)
    report = import_answers(answers, [requests], Ledger(Path(settings.paths.ledger)), settings.llm.prices)
    typer.echo(str(report))
    raise typer.Exit(0 if report.ok else 1)


@app.command(rich_help_panel=ANSWERS)
def pending(
    output: Annotated[Path, typer.Argument(help="The one batch file to write.")],
    config: ConfigFile = DEFAULT_CONFIG,
    model: Annotated[str, typer.Option(help="Only this model's, as the config names it.")] = "",
    requests: Annotated[Path, typer.Option(callback=in_run, help="Folder with the exported requests.")] = RUN
    / "pending",
) -> None:
    """Join the exported requests without an answer into one OpenAI Batch file."""
    from hone.config.settings import read
    from hone.llm.batch import export_requests, unanswered
    from hone.llm.ledger import Ledger

    found = unanswered([requests], Ledger(Path(read(config).paths.ledger)), model)
    export_requests(found, output)
    typer.echo(f"{len(found)} requests in {output}")


@app.command(rich_help_panel=ANSWERS)
def ledger(
    config: ConfigFile = DEFAULT_CONFIG,
    check: Annotated[bool, typer.Option(help="Read every entry and name the damaged ones.")] = False,
) -> None:
    """Sum up the ledger of answers by model: calls, tokens, cost."""
    from hone.config.settings import read
    from hone.llm.ledger import Ledger, describe

    settings = read(config)
    book = Ledger(Path(settings.paths.ledger))
    if check:
        damaged = book.check()
        for problem in damaged:
            typer.echo(problem)
        typer.echo(f"{book.count()} entries in {book.folder}, {len(damaged)} of them damaged")
        raise typer.Exit(1 if damaged else 0)
    for line in describe(book.entries()):
        typer.echo(line)


@app.command(rich_help_panel=ANSWERS)
def transcript(
    answers: Annotated[list[Path], typer.Argument(help="Files of results/<run>/answers.")],
    output: Annotated[Path, typer.Option(help="The transcript to write.")],
    label: Annotated[str, typer.Option(help="Who answered, in free words.")],
) -> None:
    """Make a transcript for `recorded/<name>` from the answers of a run."""
    from hone.core.files import read_all, write_records
    from hone.llm.transcript import record
    from hone.records import Answer

    rows = record(read_all(answers, Answer))
    write_records(output, [row.model_copy(update={"model_label": label}) for row in rows])


@app.command(rich_help_panel=JUDGE)
def judge(
    kernels: Annotated[list[str], typer.Argument(help="Source files, or ids of solutions in results/.")],
    definition: Annotated[str, typer.Option(help="The files' definition, such as miniature/level1/1_Swish.")] = "",
    config: ConfigFile = DEFAULT_CONFIG,
    again: Annotated[bool, typer.Option("--again", help="Judge also what has been judged before.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the traces, a line of JSON each.")] = False,
) -> None:
    """Build and judge kernels, and print a verdict for each. What cannot be judged is said, and the others go on.

    The exit status is 0 if all of them pass.
    """
    from hone.config.settings import read
    from hone.solutions.by_hand import judge_solutions, named_solutions
    from hone.solutions.verdict import verdict_lines

    settings, begun = read(config), datetime.now(UTC).isoformat(timespec="seconds")
    known, refused = named_solutions(kernels, definition, config)
    for error in refused:
        typer.echo(f"error: {error}", err=True)
    traces = judge_solutions(list(known.values()), config, again=again) if known else []
    for name, trace in zip(known, traces, strict=True):
        if json:
            typer.echo(trace.model_dump_json())
            continue
        typer.echo("\n".join(verdict_lines(trace, name, settings.analysis.confidence)))
        if trace.judged_at < begun:
            typer.echo("                from the store: --again takes new times")
    raise typer.Exit(1 if refused or any(trace.status.value != "passed" for trace in traces) else 0)


@app.command(rich_help_panel=JUDGE)
def launcher(
    definition: Annotated[str, typer.Argument(help="Such as miniature/level1/1_Swish.")],
    config: ConfigFile = DEFAULT_CONFIG,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    cuda: Annotated[bool, typer.Option("--cuda", help="That of a .cu file; else of a .cpp file.")] = False,
) -> None:
    """Print the first lines of a kernel's file: its definition, and the function that it must export."""
    from hone.launcher import signatures
    from hone.records import Language
    from hone.solutions.by_hand import find_definition

    item = find_definition(definition, definitions, config)
    typer.echo(f"// definition: {item.name}\n#include <cstdint>\n")
    for line in signatures(item, item.kernel_language or (Language.CUDA if cuda else Language.CPP)):
        typer.echo(line)


app.command(rich_help_panel=JUDGE)(screen)


@app.command(rich_help_panel=RUNS)
def show(
    run: Annotated[str, typer.Argument(help="A folder of results/.")] = DEFAULT_RUN.name,
) -> None:
    """Print the table of fast_p of a run."""
    from hone.tables.show import show as show_tables

    show_tables(known_run(run) / "tables")


app.command(rich_help_panel=RUNS)(tables)
app.command(rich_help_panel=RUNS)(view)
app.command(rich_help_panel=RUNS)(site)
app.command(rich_help_panel=RUNS)(papers)


@app.command(rich_help_panel=RUNS)
def compare(
    first: Annotated[str, typer.Argument(help="A folder of results/.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
) -> None:
    """Compare two runs: problems solved, speedups and epochs, paired by name."""
    from rich.console import Console

    from hone.tables.run_comparison import comparison

    console = Console(width=None if sys.stdout.isatty() else 140)
    found = list(comparison(known_run(first) / "tables", known_run(second) / "tables"))
    for table in found:
        console.print(table)
    if not found:
        console.print(f"results/{first} and results/{second} have no experiment and no training of the same name")


@app.command(rich_help_panel=PROJECT)
def repeatability(
    first: Annotated[Path, typer.Argument(help="The folder of a run, such as results/paper.")],
    second: Annotated[Path, typer.Argument(help="That of a second run, with a store of its own.")],
    output: Annotated[Path, typer.Option(help="The table to write; its .md twin comes beside it.")],
) -> None:
    """Compare the speedups of the same solutions judged twice."""
    from hone.core.code import commit
    from hone.tables.judge_repeatability import compare, write

    found = compare(first, second, commit())
    write(found, output)
    for line in found.summary():
        typer.echo(line)


@app.command(rich_help_panel=PROJECT)
def generated() -> None:
    """Write what is generated from the code: the config's JSON schema, docs/records and docs/tables.md."""
    from hone.cli.docs import write_pages
    from hone.config.settings import json_schema
    from hone.core.errors import ConfigError
    from hone.core.files import write_text
    from hone.tables.docs import tables_page

    if not Path("Snakefile").is_file():
        raise ConfigError("no checkout of Hone", where=str(Path.cwd()), remedy="go to the folder with the Snakefile")
    write_text(Path("config/schema/config.schema.json"), json_schema())
    write_pages(Path("docs/records"))
    write_text(Path("docs/tables.md"), tables_page())


def main() -> None:
    """Run a command."""
    run_app(app)


def _given(context: typer.Context) -> str:
    """The options that were given, on the command line or in the environment, and change a config."""
    changing = [name for name in context.params if name not in ("config", "cores", "dry_run")]
    given = [name for name in changing if context.params[name] not in (None, "")]
    return ", ".join(f"--{name.replace('_', '-')}" for name in given)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _write_yaml(path: Path, values: dict[str, Any]) -> None:
    import json

    from hone.core.files import write_text

    # JSON is YAML: no anchors, no surprises.
    write_text(path, json.dumps(values, indent=2) + "\n")
