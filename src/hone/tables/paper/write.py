"""Pages of a paper's tables on disk: Markdown, HTML that opens by itself, and the figures."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hone.analysis.paper_numbers import FOLDER, read_published
from hone.analysis.render import escape, pipe_table
from hone.config.experiments import UNPROMPTED
from hone.config.settings import Settings
from hone.core.files import write_text
from hone.machine.hardware import GPUS, load_gpus
from hone.report.pages import document, rendered
from hone.tables.files import read_table
from hone.tables.paper.grid import HERE, PAPER, Grid, Labels, Page, Section, behind
from hone.tables.paper.kernelbench import PAGES
from hone.tables.paper.numbers import Data, Printed, RunTables
from hone.tables.paper.speeds import NOT_STATED, WORDS_OF_SPEEDS, Hardware
from hone.tables.registry import TABLES

if TYPE_CHECKING:
    from great_tables import GT

DOCUMENT = "arXiv 2502.10517v1"
PAPER_TITLE = "KernelBench, [arXiv 2502.10517](https://arxiv.org/abs/2502.10517)"
READ = tuple(name for name in TABLES if name.startswith("kernelbench_"))
NO_PAGE = (
    "Figures 1 and 5 draw the method and have no page here. Tables 5 to 8 quote single trajectories; the explorer "
    "shows those of this run."
)
SHARES = (
    "Numbers are percent of problems. fast_0 counts those with a correct kernel. fast_p counts those whose kernel is "
    "also more than p times as fast as the baseline."
)
SHARE_OF_ANSWERS = "Numbers are percent of answers."
TINT = "#eef4fb"
WRAPPED = "th.gt_col_heading { white-space: normal; vertical-align: bottom; } td.gt_left { white-space: nowrap; }"
NOT_NUMBERS = {*WORDS_OF_SPEEDS, NOT_STATED}
NUMBER = re.compile(r"≈ |\?|\d+")


def read_run(name: str, settings: Settings, tables: Path) -> RunTables:
    """The tables of a run that the pages need; raises RecordError for one that is missing or is not that table."""
    return RunTables(name, settings, {table: read_table(TABLES[table], tables) for table in READ})


def data_of(runs: Sequence[RunTables], published: Path = FOLDER, gpus: Path = GPUS) -> Data:
    """Those runs beside the printed numbers; raises RecordError or ConfigError for damaged files of ours."""
    numbers = [number for number in read_published(published) if number.paper == "KernelBench"]
    return Data(runs, Printed(numbers), load_gpus(gpus))


def write_pages(data: Data, folder: Path) -> list[Path]:
    """Write every page as `<name>.md` and `<name>.html`, its figure if it has one, and an index; returns the paths.

    Nothing is written where no run has an answer to count.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not any(len(run.frames["kernelbench_fast_p"]) for run in data.runs):
        return []
    paths, counts = [], []
    for page in PAGES:
        figure = _drawn(page, data, folder)
        sections = list(page.layout.sections(data))
        notes = list(_notes(page, sections, data))
        write_text(folder / f"{page.name}.md", _markdown(page, sections, notes, figure))
        counts.append(sum(labels[-1] != PAPER for section in sections for labels, _ in section.lines))
        paths.append(folder / f"{page.name}.html")
        write_text(paths[-1], _web_page(page, sections, notes, figure))
    index = list(_index(data, counts))
    write_text(folder / "index.md", "\n".join(index).replace(".html)", ".md)"))
    write_text(folder / "index.html", document("The paper's tables and figures", rendered("\n".join(index))))
    return [*paths, folder / "index.html"]


def _drawn(page: Page, data: Data, folder: Path) -> Path | None:
    """The SVG file of a page; None for a page without, or where there would be nothing to see."""
    from hone.analysis.plotting import NothingToShow, save, titled

    draw = page.draw
    if draw is None:
        return None
    with suppress(NothingToShow):
        path = folder / f"{page.name}.svg"
        save(titled(page.title, lambda: draw(data)), path)
        return path
    return None


def _notes(page: Page, sections: Sequence[Section], data: Data) -> Iterator[str]:
    """What the numbers are, where ours are from, and what the words in their place mean."""
    cells = [cell for section in sections for _, line in section.lines for cell in line]
    who = {labels[-1] for section in sections for labels, _ in section.lines}
    if isinstance(page.layout, Grid):
        yield SHARE_OF_ANSWERS if "level" in page.layout.fixed and "p" not in page.layout.fixed else SHARES
        if PAPER in who:
            sources = "; ".join(page.layout.sources(data)).replace(f"; {DOCUMENT}, ", "; ")
            yield f"`{PAPER}`: {sources}. It measured on an L40S where no other GPU is named."
        if any(cell.startswith("≈") for cell in cells):
            yield "`≈`: read off a figure, to one or two points."
        yield from behind(page.layout.ours(data))
        share = data.runs[0].settings.analysis.confidence
        if any("(" in cell for cell in cells):
            yield f"Brackets hold our {100 * share:g} % interval."
        if any("@" in cell for cell in cells):
            yield "`@3`: the best of 3 samples or turns, where the experiment has no more."
        if any(cell.startswith("? (") for cell in cells):
            yield "`?`: some answers have no verdict; brackets say what it would be if all of them failed or succeeded."
    elif not isinstance(page.layout, Hardware):
        yield "Numbers are speedups: how many times as fast as PyTorch eager."
        yield from _judged(data)
    said = " ".join(note for section in sections for note in section.notes)
    for word, meaning in WORDS_OF_SPEEDS.items():
        if word in cells or f"({word})" in said:
            yield f"`{word}`: {meaning}."
    if isinstance(page.layout, Hardware):
        return
    labels = [label for section in sections for labels in (*section.columns, *_labels(section)) for label in labels]
    if any(label.startswith("recorded/") for label in labels):
        yield "`recorded/…` are committed transcripts: what they reach is no model's result."
    yield from _archives(data)


def _labels(section: Section) -> list[Labels]:
    return [labels for labels, _ in section.lines]


def _judged(data: Data) -> Iterator[str]:
    for run in data.runs:
        devices = sorted(set(run.frames["kernelbench_speedups"]["device"]))
        yield f"Our lines are of the run `{run.name}`, judged on {', '.join(devices) or 'no machine yet'}."


def _archives(data: Data) -> Iterator[str]:
    for run in data.runs:
        names = [name for name, item in run.settings.experiments.items() if item.method == "archive"]
        if names:
            yield (
                f"Answers out of archives ({', '.join(f'`{name}`' for name in names)}) stand in no cell: an archive "
                "holds answers to some problems, often the best ones only, and is no random sample. The table "
                "`published_fast_p` has their shares of all problems, beside the paper's where it asked the same model."
            )


def _index(data: Data, counts: Sequence[int]) -> Iterator[str]:
    yield "# The paper's tables and figures"
    yield ""
    runs = ", ".join(f"`{run.name}`" for run in data.runs)
    yield f"{PAPER_TITLE}, in its own shapes: printed numbers, and beside them those of {runs}."
    yield ""
    yield from _compared(data)
    yield ""
    yield "| in the paper | what it shows | lines of ours |"
    yield "| :--- | :--- | ---: |"
    for page, count in zip(PAGES, counts, strict=True):
        yield f"| [{page.place}]({page.name}.html) | {page.title} | {count or 'none yet'} |"
    yield ""
    yield f"{NO_PAGE} The tables' CSV files have every number in full."
    yield ""


def _compared(data: Data) -> Iterator[str]:
    """Which of our models the paper has."""
    both: dict[str, None] = {}
    other: dict[str, None] = {}
    for run in data.runs:
        for item in run.settings.experiments.values():
            if item.method in UNPROMPTED:
                continue
            names = run.settings.analysis.model_names
            for model in item.models:
                (both if item.published_as and model in names else other)[model] = None
    asked = f"Also in the paper: {', '.join(f'`{name}`' for name in both)}." if both else ""
    yield asked or (
        "No model here is compared with the paper's. For that an experiment names the paper's with `published_as`, "
        "and `analysis.model_names` its model."
    )


def _markdown(page: Page, sections: Sequence[Section], notes: Sequence[str], figure: Path | None) -> str:
    lines = [f"# {page.place}: {page.title}", "", page.said, ""]
    lines += [f"![{page.title}]({figure.name})", ""] if figure else []
    for section in sections:
        lines += [f"## {section.title}", ""] if section.title else []
        lines += [_pipes(section), ""] if section.lines else []
        lines += [text for note in section.notes for text in (note, "")]
    return "\n".join([*lines, *(f"- {note}" for note in notes), ""])


def _pipes(section: Section) -> str:
    header = [*section.stub, *(", ".join(labels) for labels in section.columns)]
    cells = [[escape(text) for text in (*labels, *line)] for labels, line in section.lines]
    sides = ["right" if _of_numbers(section, at) else "left" for at in range(len(section.columns))]
    return pipe_table(header, cells, [*["left"] * len(section.stub), *sides])


def _of_numbers(section: Section, at: int) -> bool:
    """Whether a column holds numbers, or words that stand in their place."""
    return all(NUMBER.match(line[at]) or line[at] in NOT_NUMBERS for _, line in section.lines)


def _web_page(page: Page, sections: Sequence[Section], notes: Sequence[str], figure: Path | None) -> str:
    body = [rendered(f"# {page.place}: {page.title}\n\n{page.said}")]
    if figure:
        data = base64.b64encode(figure.read_bytes()).decode()
        body.append(f'<p><img alt="" src="data:image/svg+xml;base64,{data}"></p>')
    for number, section in enumerate(sections):
        if section.title:
            body.append(rendered(f"## {section.title}"))
        if section.lines:
            body.append(_great_table(section, f"{page.name}_{number}").as_raw_html())
        body += [rendered(note) for note in section.notes]
    body.append(rendered("\n".join(f"- {note}" for note in notes)))
    return document(f"{page.place}: {page.title}", "\n".join(body))


def _great_table(section: Section, name: str) -> GT:
    """Outer headings over the columns they hold, outer labels over the lines they hold, our lines tinted."""
    import pandas as pd
    from great_tables import GT, loc, style

    stub = [f"s{at}" for at in range(len(section.stub))]
    cells = [f"c{at}" for at in range(len(section.columns))]
    rows = [[*_unrepeated(section, at), *line] for at, (_, line) in enumerate(section.lines)]
    frame = pd.DataFrame(rows, columns=[*stub, *cells], dtype="object")
    headings = dict(zip(stub, section.stub, strict=True)) | {
        cell: labels[-1] for cell, labels in zip(cells, section.columns, strict=True)
    }
    table = GT(frame, id=name).cols_label({**headings}).cols_align("left")
    table = table.tab_options(table_margin_left="0", table_font_size="14px").opt_css(WRAPPED)
    numbers = [cell for at, cell in enumerate(cells) if _of_numbers(section, at)]
    table = table.cols_align("right", columns=numbers)
    for label, held in _spans(section.columns, cells).items():
        table = table.tab_spanner(label, columns=held)
    ours = [at for at, (labels, _) in enumerate(section.lines) if labels[-1] == HERE]
    return table.tab_style([style.fill(TINT), style.text(weight="bold")], loc.body(rows=ours)) if ours else table


def _spans(columns: Sequence[Labels], cells: Sequence[str]) -> Mapping[str, list[str]]:
    """Outer heading -> the columns below it."""
    found: dict[str, list[str]] = {}
    for labels, cell in zip(columns, cells, strict=True):
        if len(labels) > 1:
            found.setdefault(labels[0], []).append(cell)
    return found


def _unrepeated(section: Section, at: int) -> list[str]:
    """The labels of a line; those that the line above has, too, are left out until the first that differs."""
    labels = section.lines[at][0]
    above = section.lines[at - 1][0] if at else ()
    same = 0
    while same < len(labels) - 1 and same < len(above) and labels[same] == above[same]:
        same += 1
    return ["", *[""] * (same - 1), *labels[same:]] if same else list(labels)
