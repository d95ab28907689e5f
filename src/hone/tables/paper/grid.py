"""A table of a paper as a small description, and how it is laid out: a line as printed, and one with our numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hone.analysis.paper_numbers import Key
from hone.tables.paper.numbers import NOT_ASKED, NOT_PRINTED, WORDS, Data, Found
from hone.tables.words import listed, plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

PAPER, HERE = "paper", "here"
Labels = tuple[str, ...]
Part = Mapping[str, Mapping[str, Any]]
"""Label -> the fields of a Key that it settles: one way in which the lines of a table differ."""
MODELS: Part = {}
"""In the place of a part: a line for each model."""


@dataclass(frozen=True)
class Section:
    """A table as text, ready to be written."""

    title: str
    stub: Labels
    """Headings of the columns that say what a line is."""
    columns: tuple[Labels, ...]
    """Headings of the others, the outermost first."""
    lines: tuple[tuple[Labels, Labels], ...]
    """What each line is, and its cells."""
    notes: tuple[str, ...] = ()


class Layout(Protocol):
    """What a page says in numbers."""

    def sections(self, data: Data) -> Iterator[Section]:
        """Tables to stand below each other."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A table or a figure of a paper."""

    place: str
    """`Table 1`: where the paper has it."""
    title: str
    said: str
    """What is to be read off it, in sentences."""
    layout: Layout
    draw: Callable[[Data], Drawn] | None = None
    """The figure, of the rows of all runs; may raise plotting.NothingToShow."""

    @property
    def name(self) -> str:
        """Of its files."""
        return f"kernelbench_{self.place.lower().replace(' ', '_')}"


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Shares by rows and columns: the paper's models first, each as printed and as found here, then other models."""

    rows: tuple[Part, ...]
    """The outermost first; lines are all combinations."""
    columns: tuple[Part, ...]
    stub: Labels
    """A heading for each part of the rows."""
    fixed: Mapping[str, Any]
    """What all cells share."""
    tables: Labels
    """Tables of the paper whose numbers count here, the first first."""
    at_most: bool = False
    """Whether fewer samples or turns than the paper's stand in their place, marked `@<how many>`."""

    def sections(self, data: Data) -> Iterator[Section]:
        """One with the paper's models, one with those of the runs alone."""
        known = [model for model in PAPER_MODELS if any(self._printed(data, key) for key in self.keys([model]))]
        yield self._beside(data, known)
        counted = {key.model: None for key, _ in self.ours(data)}
        others = [model for model in counted if model not in known]
        if others:
            yield self._alone(data, others)

    def ours(self, data: Data) -> Iterator[tuple[Key, Found]]:
        """All numbers of ours on the page."""
        models = list(dict.fromkeys([*PAPER_MODELS, *(key.model for key in data.found)]))
        for key in self.keys(models):
            found = self._find(data, key)
            if found is not None and found.text not in WORDS:
                yield key, found

    def sources(self, data: Data) -> list[str]:
        """Where the paper prints the numbers of the page."""
        found = (data.printed.find(key, self.tables) for key in self.keys(PAPER_MODELS))
        return sorted({number.source for number in found if number is not None})

    def _find(self, data: Data, key: Key) -> Found | None:
        return data.find(key, at_most=self.at_most)

    def keys(self, models: Sequence[str]) -> Iterator[Key]:
        """What each cell is about."""
        for (_, row), (_, column) in itertools.product(_lines(self.rows, models), _lines(self.columns, models)):
            yield Key(**{**self.fixed, **row, **column})

    def _printed(self, data: Data, key: Key) -> str:
        number = data.printed.find(key, self.tables)
        return "" if number is None else f"{'' if number.precision == 'exact' else '≈ '}{100 * number.value:.0f}"

    def _beside(self, data: Data, models: Sequence[str]) -> Section:
        lines: list[tuple[Labels, Labels]] = []
        missing: list[tuple[Labels, str]] = []
        for labels, keys in self._cells(models):
            if any(printed := [self._printed(data, key) for key in keys]):
                lines.append(((*labels, PAPER), tuple(text or NOT_PRINTED for text in printed)))
            ours = self._ours(data, keys)
            if any(text not in WORDS for text in ours):
                lines.append(((*labels, HERE), ours))
            else:
                missing.append((labels, _reason(ours)))
        stub, columns = (*self.stub, "numbers"), self._headings(models)
        return Section("", stub, columns, tuple(lines), tuple(_missing(missing, [labels for labels, _ in lines])))

    def _alone(self, data: Data, models: Sequence[str]) -> Section:
        lines: list[tuple[Labels, Labels]] = []
        missing: list[tuple[Labels, str]] = []
        for labels, keys in self._cells(models):
            ours = self._ours(data, keys)
            if any(text not in WORDS for text in ours):
                lines.append((labels, ours))
            else:
                missing.append((labels, _reason(ours)))
        columns, lines, unfilled = _filled(self._headings(models), lines)
        notes = (*_missing(missing, [labels for labels, _ in lines]), *unfilled)
        return Section("Models without a printed number here", self.stub, columns, tuple(lines), notes)

    def _ours(self, data: Data, keys: Sequence[Key]) -> Labels:
        """Our number of each cell, or why there is none."""
        found = [self._find(data, key) for key in keys]
        return tuple(
            data.why_not(key) if number is None else number.text for key, number in zip(keys, found, strict=True)
        )

    def _cells(self, models: Sequence[str]) -> Iterator[tuple[Labels, list[Key]]]:
        columns = list(_lines(self.columns, models))
        for labels, row in _lines(self.rows, models):
            yield labels, [Key(**{**self.fixed, **row, **column}) for _, column in columns]

    def _headings(self, models: Sequence[str]) -> tuple[Labels, ...]:
        return tuple(labels for labels, _ in _lines(self.columns, models))


PAPER_MODELS = (
    *("GPT-4o", "OpenAI o1", "DeepSeek V3", "DeepSeek R1", "Claude 3.5 Sonnet"),
    *("Llama 3.1-70B Inst.", "Llama 3.1-405B Inst.", "Qwen2.5-coder-32B"),
)
"""In the order of the paper's Table 1."""


def _lines(parts: Sequence[Part], models: Sequence[str]) -> Iterator[tuple[Labels, dict[str, Any]]]:
    """All combinations of the parts, the last one changing fastest."""
    each = [{model: {"model": model} for model in models} if part is MODELS else part for part in parts]
    for combination in itertools.product(*(part.items() for part in each)):
        yield tuple(label for label, _ in combination), {k: v for _, fields in combination for k, v in fields.items()}


def _filled(
    columns: Sequence[Labels], lines: Sequence[tuple[Labels, Labels]]
) -> tuple[tuple[Labels, ...], list[tuple[Labels, Labels]], list[str]]:
    """The columns in which any line has a number, the lines with these alone, and sentences about the others."""
    kept = [at for at in range(len(columns)) if any(cells[at] not in WORDS for _, cells in lines)]
    missing = [(columns[at], _reason(cells[at] for _, cells in lines)) for at in range(len(columns)) if at not in kept]
    said = [
        f"Without a column ({reason}): "
        + _ended(listed(short([labels for labels, why in missing if why == reason], columns)))
        for reason in dict.fromkeys(reason for _, reason in missing)
    ]
    return (
        tuple(columns[at] for at in kept),
        [(labels, tuple(cells[at] for at in kept)) for labels, cells in lines],
        said,
    )


def _reason(words: Iterable[str]) -> str:
    """Of several words in the place of numbers, one that says more than that nobody asked."""
    found = list(words)
    return next((word for word in found if word != NOT_ASKED), found[0])


def _missing(missing: Sequence[tuple[Labels, str]], lines: Sequence[Labels]) -> Iterator[str]:
    """Sentences about the rows without any number of ours, beside the labels of the lines that there are."""
    ours = [labels for labels in lines if labels[-1] != PAPER]
    everything = [labels for labels, _ in missing] + [labels[: len(missing[0][0])] for labels in ours if missing]
    for reason in dict.fromkeys(reason for _, reason in missing):
        of_reason = [labels for labels, why in missing if why == reason]
        if not ours and len(of_reason) == len(missing):
            yield f"No line of ours: {WORDS[reason]}."
        else:
            yield f"Without a line of ours ({reason}): {_ended(listed(short(of_reason, everything)))}"


def short(some: Sequence[Labels], everything: Sequence[Labels]) -> list[str]:
    """Some of the labels of an axis in words: one part alone where it tells them from all others."""
    for part in range(len(some[0]) - 1, -1, -1):
        named = {labels[part] for labels in some}
        if all((labels[part] in named) == (labels in some) for labels in everything):
            return list(dict.fromkeys(labels[part] for labels in some))
    found = []
    for outer in dict.fromkeys(labels[0] for labels in some):
        inner = [labels[1:] for labels in some if labels[0] == outer]
        others = [labels[1:] for labels in everything if labels[0] == outer]
        whole = all(labels in inner for labels in others)
        found.append(outer if whole else f"{outer} ({', '.join(short(inner, others))})")
    return found


def _ended(text: str) -> str:
    """With a full stop, of which the names of some models end with one."""
    return f"{text.removesuffix('.')}."


def behind(numbers: Iterable[tuple[Key, Found]]) -> Iterator[str]:
    """Sentences about the numbers of ours: run, device, problems of each level."""
    places: dict[tuple[str, str], dict[str, dict[str, Found]]] = {}
    for key, found in numbers:
        places.setdefault((found.run, found.device), {}).setdefault(key.model, {})[key.level] = found
    for (run, device), models in places.items():
        same: dict[str, list[str]] = {}
        for model, levels in models.items():
            same.setdefault(_problems(levels), []).append(model)
        of = "; ".join(f"{listed(names)}: {said}" for said, names in same.items())
        yield f"Our lines are of the run `{run}`, judged on {device or 'no machine yet'}. {of}."


def _problems(levels: Mapping[str, Found]) -> str:
    first = next(iter(levels.values()))
    if "all" in levels:
        return f"{plural(levels['all'].n, 'answer')} to problems of `{first.source}`"
    counts = [f"{plural(levels[level].n, 'problem')} of level {level}" for level in sorted(levels)]
    said = f"{listed(counts)} of `{first.source}`"
    return f"{said}, {first.statistic}" if first.statistic else said


def frame_or_nothing(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """The frame; raises plotting.NothingToShow for one without rows."""
    from hone.analysis.plotting import NothingToShow

    if not len(frame):
        raise NothingToShow(what)
    return frame
