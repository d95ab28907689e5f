"""Fetch one file of a package index with pip's client: `python pip_child.py '{"name", "version", "file"}' <target>`.

Run by its path, in a process of its own: pip's modules are no interface, and may print. They are used all the same
because they know every place where an index, a proxy, a certificate or a password can be configured.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

WHEEL = re.compile(r".+-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl")


def main(asked: dict[str, str], target: Path) -> None:
    """Write the file; ends the process with a message when the index does not have it."""
    command: Any = importlib.import_module("pip._internal.commands").create_command("download")
    options, _ = command.parse_args([])
    options.format_control.no_binary.clear()
    options.format_control.only_binary.clear()
    _aim(options, asked["file"])
    cmdoptions: Any = importlib.import_module("pip._internal.cli.cmdoptions")
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(
            options=options,
            session=session,
            target_python=cmdoptions.make_target_python(options),
            ignore_requires_python=True,
        )
        links = [found.link for found in finder.find_all_candidates(asked["name"])]
        link = next((link for link in links if link.filename == asked["file"]), None)
        if link is None:
            sys.exit(f"the index has no {asked['file']} among {len(links)} files of {asked['name']}")
        if link.is_file:
            content = Path(link.file_path).read_bytes()
        else:
            answer = session.get(link.url_without_fragment, headers={"Accept-Encoding": "identity"})
            answer.raise_for_status()
            content = answer.content
    target.write_bytes(content)


def _aim(options: Any, file: str) -> None:
    """Let pip look for wheels of the file's platform, not of this machine's."""
    match = WHEEL.fullmatch(file)
    if match is None or match["platform"] == "any":
        return
    digits = re.search(r"\d+", match["python"])
    options.python_version = (int(digits[0][0]), int(digits[0][1:] or 0)) if digits else None
    options.platforms = match["platform"].split(".")
    options.abis = match["abi"].split(".")
    options.implementation = re.sub(r"\d.*", "", match["python"])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
