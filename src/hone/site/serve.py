"""A site on the loopback address: what `hone view` starts."""

from __future__ import annotations

import functools
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hone.core.errors import ConfigError, MachineError


class _Handler(SimpleHTTPRequestHandler):
    """Says nothing about each request, and has the browser ask for files that were made again."""

    def log_message(self, *arguments: Any) -> None:
        """Nothing."""

    def end_headers(self) -> None:
        """With how long a file may be kept."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of a site's folder for this machine alone; port 0 takes any free one.

    Raises ConfigError where there is no site, MachineError where the port is taken.
    """
    if not (folder / "index.html").is_file():
        remedy = "run the pipeline first with the config of that run: `snakemake --cores 2 --configfile <config>`"
        raise ConfigError("no site", where=str(folder), remedy=remedy)
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), functools.partial(_Handler, directory=str(folder)))
    except OSError as error:
        raise MachineError(f"cannot listen: {error.strerror}", where=f"port {port}", remedy="name another") from None
