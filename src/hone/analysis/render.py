"""Numbers and tables as Markdown that people read."""

from __future__ import annotations

import html
from collections.abc import Sequence


def number(value: float) -> str:
    """Three decimals, or three digits where that would lose more."""
    if value and abs(value) < 0.1:
        return f"{value:.3g}"
    return f"{value:.3f}".rstrip("0").rstrip(".")


def escape(text: str) -> str:
    """Text that neither Markdown tables nor a browser take for markup."""
    return "".join(f"&#{ord(mark)};" if mark in "|*`[]\\" else mark for mark in html.escape(text, quote=False))


def pipe_table(header: Sequence[str], cells: Sequence[Sequence[str]], align: Sequence[str]) -> str:
    """A Markdown table; `align` says `left` or `right` for each column."""
    rules = ["---:" if side == "right" else ":---" for side in align]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rules, *cells])
