"""The two steps of the pipeline: records -> tables, tables -> figures; and the page that lists what they made."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path

from hone.analysis import (
    accounting,
    archives,
    astra_options,
    astra_tables,
    exploits,
    idioms,
    salient_accuracy,
    salient_tables,
    tables,
)
from hone.analysis.astra import Astra
from hone.analysis.bandwidth import COPY_BANDWIDTHS, read_copy_bandwidths
from hone.analysis.device_roofline import roofline_rows
from hone.analysis.figures import FIGURES, draw, table_of
from hone.analysis.frames import build_frame
from hone.analysis.kernels import kernel_rows
from hone.analysis.paper_numbers import FOLDER, Matcher, PaperNumbers, read_published
from hone.analysis.plotting import save
from hone.analysis.provenance import Provenance
from hone.analysis.render import caption, meaning, read_table, write_table
from hone.analysis.run import RunRecords
from hone.analysis.salient import Salient
from hone.analysis.salient_numbers import read_training_numbers
from hone.analysis.salient_threads import thread_rows
from hone.analysis.schema import COLUMNS, TABLES
from hone.config import Settings
from hone.files import write_text

TABLE_NAMES = tuple(name for name in TABLES if name != "judge_repeatability")
"""The tables of a run; that of two runs is made by `hone repeatability`."""
FIGURE_NAMES = tuple(FIGURES)


def make_tables(
    settings: Settings,
    records: RunRecords,
    provenance: Provenance,
    out_dir: Path,
    *,
    published_dir: Path = FOLDER,
    copy_bandwidths: Path = COPY_BANDWIDTHS,
) -> list[Path]:
    """Write all tables of TABLE_NAMES as `<name>.csv` and `<name>.md`; returns the paths.

    Raises ConfigError for an unknown `published_as`, RecordError for candidates that the config does not ask for.
    """
    numbers = PaperNumbers(read_published(published_dir))
    numbers.check(settings)
    kernels = {item.name: tuple(item.kernels) for item in records.definitions}
    context = tables.Context(settings, provenance, Matcher(settings, numbers), kernels)
    rows = _answer_rows(records, context) | _astra_rows(records, context, copy_bandwidths)
    rows |= _salient_rows(Salient(context, records, read_training_numbers(published_dir)))
    return [path for name in TABLE_NAMES for path in write_table(name, rows[name], out_dir, caption(name))]


def _answer_rows(records: RunRecords, context: tables.Context) -> dict[str, list[tables.Row]]:
    """Tables of single answers, and those of the judge and of the money, which all methods share."""
    known = (records.definitions, records.candidates, records.traces, records.answers, records.unsupported)
    frame = build_frame(context.settings, *known)
    agreement = archives.agreement_rows(frame, records.claims, context)
    verdicts = [*records.traces, *records.suite_traces, *records.evaluations]
    return {
        "kernelbench_fast_p": tables.fast_p_rows(frame, context),
        "kernelbench_errors": tables.error_rows(frame, context),
        "kernelbench_speedups": tables.speedup_rows(frame, context),
        "kernelbench_sampling": tables.sampling_rows(frame, context),
        "kernelbench_refinement": tables.refinement_rows(frame, context),
        "judge_gold": accounting.gold_rows(frame, context),
        "own_kernels": exploits.own_kernel_rows(frame, records.solutions, context),
        "judge_exploits": exploits.exploit_rows(frame, records.solutions, context),
        "judge_agreement": agreement,
        "judge_agreement_summary": archives.summary_rows(agreement, context),
        "published_claims": archives.claim_rows(frame, records.claims, context),
        "judge_idioms": idioms.idiom_rows(frame, records.solutions, context),
        "judge_cost": accounting.judge_cost_rows(verdicts, records.builds, context.provenance),
        "llm_cost": accounting.llm_cost_rows(records.answers, context.provenance),
    }


def _astra_rows(records: RunRecords, context: tables.Context, bandwidths: Path) -> dict[str, list[tables.Row]]:
    """Tables of the rounds in which existing kernels are improved."""
    found = Astra.of(context, records, read_copy_bandwidths(bandwidths))
    return {
        "astra_main": astra_tables.main_rows(found),
        "astra_single_vs_multi": astra_tables.single_vs_multi_rows(found),
        "astra_shapes": astra_tables.shape_rows(found),
        "astra_ablation": astra_options.ablation_rows(found),
        "astra_rounds": astra_tables.round_rows(found),
    }


def _salient_rows(found: Salient) -> dict[str, list[tables.Row]]:
    """Tables of trainings on graphs."""
    return {
        "salient_breakdown": salient_tables.breakdown_rows(found),
        "salient_ladder": salient_tables.ladder_rows(found),
        "salient_threads": thread_rows(found.records.preparations, found.context.provenance),
        "salient_inference": salient_accuracy.inference_rows(found),
        "salient_models": salient_accuracy.model_rows(found),
        "salient_scaling": salient_tables.scaling_rows(found),
        "salient_timeline": salient_tables.timeline_rows(found),
        "gnn_kernels": kernel_rows(found),
        "device_roofline": roofline_rows(found.records.rooflines, found.context.provenance),
    }


def make_figures(tables_dir: Path, figures_dir: Path) -> list[Path]:
    """Draw all figures of FIGURE_NAMES from the CSV files alone, each with a PDF beside it; returns the SVG files."""
    paths = []
    for name in FIGURE_NAMES:
        path = figures_dir / f"{name}.svg"
        save(draw(name, read_table(table_of(name), tables_dir)), path)
        paths.append(path)
    return paths


def write_summary(tables_dir: Path, figures_dir: Path, path: Path, trajectories: Sequence[Path] = ()) -> None:
    """A Markdown page that lists tables and figures, with links relative to itself and every column's meaning.

    `trajectories` are the folders of trajectory pages, each with an `index.md`.
    """
    lines = ["# Results", "", "## Tables", "", "| table | rows | holds |", "|:---|---:|:---|"]
    for name in TABLE_NAMES:
        rows = len(read_table(name, tables_dir))
        links = f"[{name}]({_link(tables_dir / f'{name}.md', path)}) ([CSV]({_link(tables_dir / f'{name}.csv', path)}))"
        lines.append(f"| {links} | {rows} | {html.escape(TABLES[name].title)} |")
    lines += ["", "## Figures", ""]
    for name in FIGURE_NAMES:
        title = html.escape(FIGURES[name].title)
        lines += [f"### {title}", "", f"![{title}]({_link(figures_dir / f'{name}.svg', path)})", ""]
        lines += [f"{caption(name)} [PDF]({_link(figures_dir / f'{name}.pdf', path)})", ""]
    if trajectories:
        lines += ["## Trajectories", "", "Every version of every kernel: what changed, why, and what it gave.", ""]
        lines += [f"- [{folder.name}]({_link(folder / 'index.md', path)})" for folder in trajectories] + [""]
    lines += ["## Columns", "", "| column | type | meaning |", "|:---|:---|:---|"]
    lines += [f"| {name} | {column.kind} | {meaning(name)} |" for name, column in COLUMNS.items()]
    write_text(path, "\n".join(lines) + "\n")


def _link(target: Path, page: Path) -> str:
    relative = Path(os.path.relpath(target, page.parent)).as_posix()
    return relative.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
