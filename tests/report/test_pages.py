"""Pages of the report: each stands alone, says what its Markdown says, and runs nothing that a model wrote."""

import re

import pytest

from hone.core.errors import RecordError
from hone.report.pages import page, title_of, write_report

SUMMARY = """# Results

- 3 of 4 kernels are right.

## Tables

| table | rows | holds |
|:---|---:|:---|
| [full](tables/full.md) ([CSV](tables/full.csv)) | 1 | Rows &lt; many |
| [empty](tables/empty.md) ([CSV](tables/empty.csv)) | 0 | None |

## Figures

### A &lt; B

![A &lt; B](figures/full.svg)

What it shows,
in two lines. [PDF](figures/full.pdf)

### Nothing

![Nothing](figures/empty.svg)

Nothing. [PDF](figures/empty.pdf)
"""


@pytest.fixture
def results(tmp_path):
    """A finished run's results: one table with a row, an empty one, their figures, and pages of one experiment."""
    for folder in ("tables", "figures", "pages/one"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "summary.md").write_text(SUMMARY)
    for name, rows in (("full", "1\n"), ("empty", "")):
        (tmp_path / f"tables/{name}.csv").write_text("a\n" + rows)
        (tmp_path / f"tables/{name}.md").write_text(f"# The {name} one\n\n| a |\n|:---|\n| {rows.strip()} |\n")
        (tmp_path / f"figures/{name}.svg").write_text("<svg/>")
    (tmp_path / "pages/one/softmax.md").write_text("# softmax: the versions\n")
    return tmp_path


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_what_has_rows_has_a_page_and_nothing_else(results):
    write_report(results / "summary.md", [results / "pages/one"], results / "report")
    assert files(results / "report") == {
        "summary.html", "tables/full.html", "csv/full.csv", "figures/full.html", "trajectories/one/softmax.html",
    }  # fmt: skip


def test_a_second_report_forgets_the_pages_of_the_first(results):
    write_report(results / "summary.md", [results / "pages/one"], results / "report")
    (results / "tables/full.csv").write_text("a\n")
    write_report(results / "summary.md", [], results / "report")
    assert files(results / "report") == {"summary.html"}


def test_pages_have_titles_and_figures_their_captions(results):
    write_report(results / "summary.md", [], results / "report")
    assert title_of(results / "report/tables/full.html") == "The full one"
    assert title_of(results / "report/figures/full.html") == "A < B"
    text = (results / "report/figures/full.html").read_text()
    assert "What it shows,\nin two lines." in text
    assert "PDF" not in text


def test_a_page_needs_no_other_file(results):
    write_report(results / "summary.md", [results / "pages/one"], results / "report")
    for file in (results / "report").rglob("*.html"):
        assert all(link.startswith("data:") for link in re.findall(r'(?:src|href)="([^"]*)"', file.read_text())), file


def test_a_link_to_the_web_stays(tmp_path):
    assert 'href="https://example.org/a"' in page("[a](https://example.org/a) and [b](b.md)", tmp_path)
    assert "b.md" not in page("[a](https://example.org/a) and [b](b.md)", tmp_path)


def test_markup_of_a_model_is_text_and_details_of_our_own_fold(tmp_path):
    text = page("# x\n\n<script>alert(1)</script>\n\n```\n</details>\n```\n", tmp_path)
    assert "<script" not in text
    assert "</details>" not in text
    folded = page("<details><summary>All of it</summary>\n\n```\nx\n```\n\n</details>\n", tmp_path)
    assert "<details><summary>All of it</summary>" in folded
    assert folded.count("</details>") == 1


def test_a_missing_file_is_named(results):
    (results / "tables/full.md").unlink()
    with pytest.raises(RecordError, match=r"full\.md"):
        write_report(results / "summary.md", [], results / "report")
