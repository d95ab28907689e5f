"""The pages of `snakemake --report`: what the summary lists, each as one HTML file that needs no other."""

from __future__ import annotations

import base64
import csv
import html
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hone.core.errors import RecordError
from hone.core.files import write_text

if TYPE_CHECKING:
    from markdown_it.token import Token

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; margin: 2em auto; padding: 0 1.5em; }
body > p, body > ul, body > h1, body > h2, body > h3 { max-width: 46em; }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #d9dee3; padding: 0.3em 0.8em; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #9aa5b1; white-space: nowrap; }
pre { background: #f4f6f8; padding: 0.8em; overflow-x: auto; font-size: 12px; }
code { font-family: ui-monospace, monospace; font-size: 0.92em; }
img { max-width: 100%; }
"""
DETAILS = (
    (re.compile(r"<p>&lt;details&gt;&lt;summary&gt;(.*?)&lt;/summary&gt;</p>"), r"<details><summary>\1</summary>"),
    (re.compile(r"<p>&lt;/details&gt;</p>"), "</details>"),
)
TITLE = re.compile(r"<title>(.*?)</title>")
LISTED_TABLE = re.compile(r"\((tables/(\w+)\.md)\)")
LISTED_FIGURE = re.compile(r"^!\[([^\]]*)\]\((figures/(\w+)\.svg)\)\n\n((?:.+\n)+)", re.MULTILINE)
OTHER_FILE = re.compile(r" \(?\[(?:CSV|PDF|table)\]\([^)]*\)\)?")
"""Links to files that the report has no page of."""


def write_report(summary: Path, trajectories: Sequence[Path], folder: Path) -> None:
    """Write `summary.html`, and below `tables`, `csv`, `figures` and `trajectories` the pages that the summary lists.

    Links of the summary count from its own folder. Tables without rows, and figures of such tables, are left out.
    `trajectories` are folders of Markdown pages. Raises RecordError where a listed file is missing.
    """
    text, results = _read(summary), summary.parent
    for name in ("tables", "csv", "figures", "trajectories"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    text = OTHER_FILE.sub("", text)
    write_text(folder / "summary.html", page(text, results))
    for path, name in dict.fromkeys(LISTED_TABLE.findall(text)):
        if not _is_empty(results / f"tables/{name}.csv"):
            write_text(folder / f"tables/{name}.html", page(_read(results / path), results / "tables"))
            shutil.copyfile(results / f"tables/{name}.csv", folder / f"csv/{name}.csv")
    for title, path, name, caption in LISTED_FIGURE.findall(text):
        if not _is_empty(results / f"tables/{name}.csv"):
            figure = f"# {html.unescape(title)}\n\n![{title}]({path})\n\n{caption}"
            write_text(folder / f"figures/{name}.html", page(figure, results))
    for pages in trajectories:
        for file in sorted(pages.glob("*.md")):
            write_text(folder / "trajectories" / pages.name / f"{file.stem}.html", page(_read(file), pages))


def page(markdown: str, base: Path) -> str:
    """Markdown as an HTML page: images below `base` inside it, links to other files as plain text, no foreign markup.

    The report shows each page alone, so that a relative link would lead nowhere. The title is the first heading.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.children:
            token.children = list(_self_contained(token.children, base))
    body = parser.renderer.render(tokens, parser.options, {})
    for pattern, replacement in DETAILS:
        body = pattern.sub(replacement, body)
    heading = re.search(r"^# (.*)$", markdown, re.MULTILINE)
    return document(html.unescape(heading[1]) if heading else "", body)


def document(title: str, body: str) -> str:
    """A whole HTML page of the report's looks; `title` is plain text, `body` HTML."""
    head = f'<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n<style>{STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}</body>\n</html>\n'


def rendered(markdown: str) -> str:
    """Markdown as a piece of HTML, links kept, no foreign markup."""
    from markdown_it import MarkdownIt

    found: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    return found


def title_of(file: Path) -> str:
    """The title of a page that `page` has made."""
    found = TITLE.search(_read(file))
    return html.unescape(found[1]) if found else file.stem


def _self_contained(tokens: Sequence[Token], base: Path) -> Iterator[Token]:
    """The tokens of a line with images inside their tags, and without links to other files."""
    local = False
    for token in tokens:
        if token.type == "link_open":
            local = not _is_remote(str(token.attrs["href"]))
        if token.type in ("link_open", "link_close") and local:
            continue
        if token.type == "image" and not _is_remote(str(token.attrs["src"])):
            data = base64.b64encode(_read(base / str(token.attrs["src"])).encode()).decode()
            token.attrs["src"] = f"data:image/svg+xml;base64,{data}"
        yield token


def _is_remote(address: str) -> bool:
    return address.startswith(("http://", "https://"))


def _is_empty(table: Path) -> bool:
    """Whether a CSV file has no rows; a figure may have another table's rows and counts as not empty."""
    if not table.exists():
        return False
    with table.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows, None)
        return next(rows, None) is None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RecordError("the summary lists it, and it is missing", where=str(file)) from None
