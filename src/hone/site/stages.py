"""The last step of the pipeline: records and tables -> a folder that any host or a disk can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hone.analysis.paper_numbers import FOLDER
from hone.analysis.provenance import Provenance
from hone.analysis.run import read_run
from hone.config.runs import run_folder
from hone.config.settings import Settings
from hone.core.code import commit
from hone.file_map import FileMap
from hone.preflight.references import read_checked
from hone.site.answer import AnswerPages
from hone.site.board import board
from hone.site.cases import cases
from hone.site.entries import as_columns, entries
from hone.site.home import home
from hone.site.pairs import Side, comparisons, sides
from hone.site.paths import trees
from hone.site.problems import write_problems
from hone.site.run import SiteRun, places_of
from hone.site.tables import ReadTable, as_data, read_tables
from hone.site.writer import Writer
from hone.tables.names import NAMES
from hone.tables.paper.kernelbench import PAGES
from hone.tables.stages import run_of

TRAINING = ("salient_ladder", "salient_breakdown", "salient_timeline", "device_roofline", "salient_scaling")
CLAIMS = (
    *("published_claims_summary", "published_claims", "published_fast_p"),
    *("judge_agreement_summary", "judge_agreement"),
)
FAST_P = NAMES[0]


def read_site_run(settings: Settings, files: Mapping[str, Sequence[Path]], version: str, published: Path) -> SiteRun:
    """The records of `FileMap.table_records`, with their places; raises RecordError naming file, line and field.

    `version`: commit of Hone. `published`: folder of the papers' numbers.
    """
    run = run_of(settings, read_run(files), Provenance.of(settings, version), published_dir=published)
    placed = ("candidates", "builds", "traces", "suite_traces", "evaluations", "answers", "claims")
    return SiteRun(run, places_of({name: files.get(name, ()) for name in placed}))


def open_run(config: Path) -> SiteRun:
    """The records that the pipeline has made of a config; raises RecordError for one that is missing."""
    settings = read_checked(config)
    files = FileMap(settings, str(run_folder(config))).table_records()
    records = {name: [Path(file) for file in found] for name, found in files.items()}
    return read_site_run(settings, records, commit(), FOLDER)


def make_site(
    site: SiteRun,
    tables: Path,
    folder: Path,
    name: str,
    configs: Sequence[str],
    others: Mapping[str, SiteRun] | None = None,
    papers: Path | None = None,
) -> None:
    """Write the site of a run into an empty folder.

    `tables`: folder of the run's CSV files. `name`: the run's. `configs`: the files that it was made with. `others`:
    further runs by name, whose sides the page of comparisons has, too. `papers`: folder of the paper's tables.
    """
    writer, found = Writer(folder), entries(site)
    baselines = list(site.settings.baselines)
    writer.put("answers", as_columns(found, baselines))
    by_place = {entry.place: entry for entry in found}
    pages = AnswerPages(site, configs[0] if configs else "config/config.yaml", writer.put)
    for entry in found:
        pages.write(entry, by_place.get(entry.parent) if entry.parent else None)
    writer.put("problems", write_problems(site, writer.put))
    writer.put("trajectories", trees(found, baselines))
    known_sides = sides(found, name, baselines)
    for other, run in (others or {}).items():
        known_sides += sides(entries(run), other, run.settings.baselines)
    _write_pairs(writer, known_sides, name, site.run.context.confidence)
    known = read_tables(tables)
    _write_tables(writer, known, {entry.id: entry.place.experiment for entry in found}, site)
    as_printed = _copy_papers(writer, papers) if papers else []
    writer.pages(name, home(known, found, site.settings, configs, as_printed))
    writer.assets()


def _copy_papers(writer: Writer, papers: Path) -> list[dict[str, str]]:
    """Copy the pages of a paper's tables as they are; their titles and addresses."""
    for path in papers.glob("*.html"):
        writer.copy(path, f"papers/{path.name}")
    there = [page for page in PAGES if (papers / f"{page.name}.html").is_file()]
    return [{"place": page.place, "title": page.title, "link": f"papers/{page.name}.html"} for page in there]


def make_site_of_tables(tables: Path, folder: Path, name: str) -> None:
    """Write a site of CSV files alone: figures and tables, without answers. Raises RecordError without any table."""
    writer, known = Writer(folder), read_tables(tables)
    writer.put("answers", as_columns([], []))
    writer.put("problems", [])
    writer.put("trajectories", [])
    _write_pairs(writer, [], name, 0.95)
    _write_tables(writer, known, {}, None)
    writer.pages(name, home(known, [], None, [], []))
    writer.assets()


def _write_pairs(writer: Writer, known: Sequence[Side], name: str, confidence: float) -> None:
    rows = []
    for row in comparisons(known, confidence):
        file = "pairs/" + "-".join(row["sides"])
        writer.put(file, row)
        rows.append({"sides": row["sides"], "file": file})
    writer.put("compare", {"run": name, "sides": [side.shown() for side in known], "pairs": rows})


def _write_tables(writer: Writer, known: Sequence[ReadTable], answers: Mapping[str, str], site: SiteRun | None) -> None:
    data: dict[str, dict[str, Any]] = {table.name: as_data(table, answers) for table in known}
    for table in known:
        writer.put(f"tables/{table.name}", data[table.name])
        writer.copy(table.file, f"tables/{table.name}.csv")
    writer.put("tables", [{name: data[table.name][name] for name in ("name", "title", "said")} for table in known])
    by_name = {table.name: table.frame for table in known}
    curves = board(by_name[FAST_P], site.frame if site else None, site.run.context if site else None) \
        if FAST_P in by_name else []  # fmt: skip
    writer.put("leaderboard", curves)
    writer.put("training", [name for name in TRAINING if name in data])
    writer.put("cases", cases(data["case_studies"]) if "case_studies" in data else [])
    writer.put("claims", [name for name in CLAIMS if name in data])
