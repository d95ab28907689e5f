"""The log of measurements: an index with one row an entry, entries short enough to read, links that lead somewhere."""

import re
from pathlib import Path

import pytest

INDEX = Path("docs/log.md")
ENTRIES = sorted(Path("docs/log").glob("*.md"))
ROW = re.compile(r"\| (\d{4}-\d\d-\d\d) \| (.+) \| (.+) \| (.+) \| (yes)? ?\| \[entry\]\(log/(.+\.md)\) \|")
WORDS = 200


def rows():
    """What the index says, an entry each: date, question, answer, number, yes or None, file's name."""
    lines = [line for line in INDEX.read_text().splitlines() if line.startswith("| 2")]
    matches = [ROW.fullmatch(line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if not match]
    return [match.groups() for match in matches]


def prose(text):
    """Without tables and code blocks; of a link what is read."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", text)


def name(file):
    return file.name


def test_the_index_lists_each_entry_once():
    assert sorted(row[-1] for row in rows()) == [entry.name for entry in ENTRIES]


def test_the_index_begins_with_the_newest():
    dates = [row[0] for row in rows()]
    assert dates == sorted(dates, reverse=True)


def test_the_index_says_what_its_entries_say():
    for date, question, answer, _, _, file in rows():
        text = Path("docs/log", file).read_text()
        assert file.startswith(f"{date}-")
        assert text.startswith(f"# {question}\n\n**Answer.** {answer}\n"), file
        assert "**Machine.**" in text, file


@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_an_entry_is_short(entry):
    words = prose(entry.read_text()).split()
    assert len(words) <= WORDS, f"{len(words)} words outside tables: shorten it, or ask one question an entry"


@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_its_sentences_are_short(entry):
    parts = re.split(r"(?<=[.!?])\s+|\n\n+|\n- ", prose(entry.read_text()))
    lengths = [len(part.split()) for part in parts if part.strip()]
    assert sum(lengths) / len(lengths) < 25


@pytest.mark.parametrize("page", [INDEX, *ENTRIES], ids=name)
def test_its_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page} links to {target}"
