"""One problem in KernelBench's format: its file, its name, and what can be said without running it.

A problem is a Python file `level<l>/<number>_<title>.py` with a class `Model` and the functions `get_inputs` and
`get_init_inputs` (arXiv 2502.10517, section 3.1).
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import warnings

from hone.core.errors import SourceError
from hone.records import Upstream, Versioned

REQUIRED = ("Model", "get_inputs", "get_init_inputs")
HELD_OUT = "held_out_sizes"
NAME = re.compile(r"level(?P<level>\d+)/(?P<number>\d+)_(?P<title>[^/]+)\.py")


class ProblemFile(Versioned):
    """One problem file as it was fetched, not yet executed."""

    source: str
    """Name of the entry of `sources` in the config."""
    level: int
    number: int
    title: str
    """The file's name without number and extension."""
    path: str
    """Within the repository or the source's folder."""
    sha256: str
    """Digest of the file's bytes."""
    repository: str
    """Address or folder that it was read from."""
    commit: str
    """40 hexadecimal digits, or `local`."""
    text: str

    @property
    def name(self) -> str:
        """Name of the definition: `<source>/level<level>/<number>_<title>`."""
        return f"{self.source}/level{self.level}/{self.number}_{self.title}"

    @property
    def upstream(self) -> Upstream:
        """The origin, as a definition keeps it."""
        return Upstream(repository=self.repository, commit=self.commit, path=self.path, sha256=self.sha256)


def parse_name(path: str) -> tuple[int, int, str] | None:
    """(level, number, title) of a path that ends in `level1/19_ReLU.py`; None when it is not a problem's name."""
    match = NAME.fullmatch("/".join(path.split("/")[-2:]))
    return (int(match["level"]), int(match["number"]), match["title"]) if match else None


def read_problem(source: str, path: str, content: bytes, *, repository: str, commit: str) -> ProblemFile:
    """A checked record from a file's bytes; raises SourceError when name, encoding or content are not a problem's."""
    where = f"{repository}: {path}"
    parsed = parse_name(path)
    if parsed is None:
        raise SourceError("is not named like level1/19_ReLU.py", where=where, remedy="rename the file")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(f"is not UTF-8 text: {error}", where=where, remedy="save the file as UTF-8") from None
    check(text, where)
    level, number, title = parsed
    return ProblemFile(
        source=source,
        level=level,
        number=number,
        title=title,
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        repository=repository,
        commit=commit,
        text=text,
    )


def parse(text: str) -> ast.Module:
    """Syntax tree of a problem; raises SyntaxError or ValueError (null bytes)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubtful escapes in upstream docstrings are not ours to report
        return ast.parse(text)


def check(text: str, where: str) -> None:
    """Raise SourceError unless the text parses and defines Model, get_inputs and get_init_inputs. Runs nothing."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError) as error:
        raise SourceError(f"is not valid Python: {error}", where=where, remedy="fix or remove the file") from None
    missing = [name for name in REQUIRED if name not in _top_level_names(tree)]
    if missing:
        raise SourceError(
            f"does not define {' and '.join(missing)}",
            where=where,
            remedy="define class Model, get_inputs() and get_init_inputs() at the top level, or move the file out of "
            "the level's folder",
        )
    if any(isinstance(node, ast.Name) and node.id == HELD_OUT for node in ast.walk(parse(without_held_out(text)))):
        raise SourceError(
            f"uses {HELD_OUT}, which is cut out of what is shown",
            where=where,
            remedy=f"assign {HELD_OUT} at the top level of the module, and use it nowhere",
        )


def without_held_out(text: str) -> str:
    """The problem without its held-out sizes, as it may be shown to whoever writes a solution. Other text is kept."""
    lines = text.encode("utf-8").splitlines(keepends=True)
    for node in reversed(parse(text).body):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or HELD_OUT not in _assigned(node):
            continue
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        alone = not before.strip() and not after.strip()
        lines[first : last + 1] = [] if alone else [before + b"pass" + after]  # others stand on the same line
    return b"".join(lines).decode("utf-8")


def _assigned(node: ast.Assign | ast.AnnAssign) -> set[str]:
    """Names that are bound: of an assignment to several, each."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and _is_target(part)}


def _top_level_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names.update(_assigned(node))
    return names


def _is_target(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def packages(text: str) -> tuple[str, ...]:
    """Top-level packages that the text imports beside torch and the standard library, sorted."""
    found: set[str] = set()
    for node in ast.walk(parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return tuple(sorted(found - set(sys.stdlib_module_names) - {"torch"}))


def pretrained_weights(text: str) -> tuple[str, ...]:
    """Names of the models whose weights the text downloads with `from_pretrained`, sorted; empty when it does not.

    A name is the call's first argument: a literal, or a variable that holds a text constant of the module.
    """
    tree = parse(text)
    firsts = [node.args[0] for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_download(node)]
    constants = _text_constants(tree)
    names = {first.value for first in firsts if isinstance(first, ast.Constant) and isinstance(first.value, str)}
    names |= {constants[first.id] for first in firsts if isinstance(first, ast.Name) and first.id in constants}
    return tuple(sorted(names)) if names or not firsts else ("unknown",)


def _text_constants(tree: ast.Module) -> dict[str, str]:
    assignments = [node for node in tree.body if isinstance(node, ast.Assign)]
    return {
        target.id: node.value.value
        for node in assignments
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _is_download(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained" and bool(call.args)
