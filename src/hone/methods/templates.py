"""Templates of `config/prompts/`, rendered with strict undefined names and errors that name file and line."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
from jinja2 import nodes

from hone.core.errors import ConfigError

PROMPTS = Path("config/prompts")
"""The folder of templates and examples, relative to the repository's root, where the pipeline runs."""


class Templates:
    """A folder of Jinja templates; they may include each other by their paths in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )

    def render(self, file: str, context: Mapping[str, Any]) -> str:
        """The text of a template; raises ConfigError for a missing or broken one, naming its file and line."""
        try:
            return self._environment.get_template(file).render(context)
        except jinja2.TemplateNotFound as error:
            where = str(self.folder / str(error.name))
            raise ConfigError("no such prompt file", where=where, remedy="restore it from the repository") from None
        except jinja2.TemplateSyntaxError as error:
            where = f"{error.filename or self.folder / file}:{error.lineno}"
            remedy = "correct that line; braces that are meant as text go into {% raw %} … {% endraw %}"
            raise ConfigError(f"not a valid template: {error.message}", where=where, remedy=remedy) from None
        except (jinja2.UndefinedError, ArithmeticError, TypeError, ValueError) as error:
            # A template computes what it likes; a file that is not UTF-8 is a ValueError as well.
            where = self._line(error) or str(self.folder / file)
            remedy = f"names that a prompt may use: {', '.join(sorted(context))}; the file must be UTF-8"
            raise ConfigError(f"cannot be rendered: {error}", where=where, remedy=remedy) from None

    def files(self, file: str) -> list[str]:
        """Paths of a template and of all that it includes, as far as they can be read; `file` itself always."""
        found: dict[str, None] = {file: None}
        waiting = [file]
        while waiting:
            for name in self._included(waiting.pop()):
                if name not in found:
                    found[name] = None
                    waiting.append(name)
        return [str(self.folder / name) for name in found if name == file or (self.folder / name).is_file()]

    def listed(self, file: str, variable: str) -> list[str]:
        """The texts of each list that a template sets a variable to: what `{% set variable = ["text"] %}` says."""
        assigned = self._parsed(file).find_all(nodes.Assign)
        lists = [item.node for item in assigned if isinstance(item.target, nodes.Name) and item.target.name == variable]
        return [text.value for found in lists for text in found.find_all(nodes.Const)]

    def _included(self, file: str) -> list[str]:
        return sorted(name for name in jinja2.meta.find_referenced_templates(self._parsed(file)) if name)

    def _parsed(self, file: str) -> nodes.Template:
        """Without content where it cannot be read: rendering says what is wrong."""
        try:
            return self._environment.parse((self.folder / file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, jinja2.TemplateSyntaxError):
            return nodes.Template([])

    def _line(self, error: Exception) -> str:
        """`file:line` of the template that the error came from, included ones too; empty where it has none."""
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f"{frame.filename}:{frame.lineno}" for frame in frames if frame.filename.startswith(str(self.folder))]
        return lines[-1] if lines else ""
