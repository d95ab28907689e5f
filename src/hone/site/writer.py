"""A static site on disk: pages out of templates, data in scripts that register themselves, libraries out of packages.

A browser does not fetch JSON from a disk, so data stand in scripts: `hone.put("answers/1f3a…", {…})`.
"""

from __future__ import annotations

import json
import math
import re
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from hone.core.errors import MachineError
from hone.core.files import disk_errors

PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "index": ("Overview", ()),
    "leaderboard": ("Leaderboard", ("table", "plot")),
    "answers": ("Answers", ("table",)),
    "answer": ("Answer", ("source", "plot", "evidence")),
    "problems": ("Problems", ("table",)),
    "problem": ("Problem", ("table", "source")),
    "trajectories": ("Trajectories", ("table",)),
    "trajectory": ("Trajectory", ("plot",)),
    "compare": ("Compare", ("table", "plot")),
    "training": ("Training", ("plot", "table")),
    "claims": ("Claims", ("table", "plot")),
    "cases": ("Cases", ()),
    "tables": ("Tables", ("table",)),
}
"""Page -> its title, and the scripts that it shares with others."""
MENU = (
    "index",
    "leaderboard",
    "answers",
    "problems",
    "trajectories",
    "compare",
    "training",
    "claims",
    "cases",
    "tables",
)
LISTED = {"answer": "answers", "problem": "problems", "trajectory": "trajectories"}
"""Page of one thing -> the page of the menu that lists it."""
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; img-src 'self' file: data: "
    "blob:; font-src 'self' data:; connect-src 'none'; base-uri 'none'; form-action 'none'"
)
"""No network and no script but the site's own files. Plotly sets styles in the page; `file:` is the site on a disk."""
EXPORTS = re.compile(r"export\s*\{([^{}]*)\}\s*;?")
"""The statement that ends a JavaScript module; a browser loads no module from a disk."""


class Writer:
    """Writes one site into a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._templates = Environment(
            loader=PackageLoader("hone.site"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )

    def put(self, name: str, data: Any) -> None:
        """Write JSON data as the script `data/<name>.js`; NaN and infinity become null.

        The text is ASCII without `<`, so that nothing in it ends a script.
        """
        self._write(f"data/{name}.js", f"hone.put({as_json(name)}, {as_json(data)});\n")

    def pages(self, run: str, home: dict[str, Any]) -> None:
        """Write all pages; `home` is what the template of the first page shows."""
        for page, (title, scripts) in PAGES.items():
            template = self._templates.get_template(f"{'index' if page == 'index' else 'page'}.html")
            text = template.render(
                page=page, title=title, scripts=scripts, run=run, menu={name: PAGES[name][0] for name in MENU},
                policy=POLICY, current=LISTED.get(page, page), home=home,
            )  # fmt: skip
            self._write(f"{page}.html", text)

    def assets(self) -> None:
        """Copy our own styles and scripts, and the libraries' out of the installed packages."""
        for item in resources.files("hone.site").joinpath("static").iterdir():
            self._write(f"assets/{item.name}", item.read_text(encoding="utf-8"))
        self._write("assets/plotly.js", package_file("plotly", "plotly/package_data/plotly.min.js"))
        self._write("assets/datatables.css", package_file("itables", "itables/html/dt_bundle.css"))
        module = package_file("itables", "itables/html/dt_bundle.js")
        self._write("assets/datatables.js", classic_script(module, "itables"))

    def copy(self, file: Path, name: str) -> None:
        """A text file as it is."""
        self._write(name, file.read_text(encoding="utf-8"))

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def as_json(value: Any) -> str:
    """JSON that may stand in a script: ASCII, without `<`."""
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(finite(value), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def finite(value: Any) -> Any:
    """The same value with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def classic_script(module: str, name: str) -> str:
    """A JavaScript module as a script that leaves its exports in the global `name`; raises MachineError."""
    found = list(EXPORTS.finditer(module))
    if not found:
        raise MachineError("the script exports nothing", where=name, remedy="install the version of the lock file")
    last = found[-1]
    pairs = (item.strip().rpartition(" as ") for item in last[1].split(",") if item.strip())
    exports = ",".join(f"{json.dumps(public)}:{private or public}" for private, _, public in pairs)
    return f"(()=>{{{module[: last.start()]};window[{json.dumps(name)}]={{{exports}}};{module[last.end() :]}}})();\n"


def package_file(package: str, path: str) -> str:
    """A text file of an installed package; raises MachineError where it is not there."""
    try:
        return Path(str(metadata.distribution(package).locate_file(path))).read_text(encoding="utf-8")
    except (metadata.PackageNotFoundError, FileNotFoundError):
        remedy = "install the packages of envs/requirements.lock"
        raise MachineError(f"no file {path} is installed", where=package, remedy=remedy) from None
