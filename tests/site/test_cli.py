"""`hone site`, `hone view` and `hone export` by their commands."""

from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from hone.cli import site as commands
from hone.cli.main import app
from hone.core.errors import ConfigError, RecordError
from hone.site import serve


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)


def test_a_folder_of_tables_becomes_a_site(tmp_path):
    done = call("site", "docs/results/h200/astra", tmp_path)
    assert done.exit_code == 0
    assert done.output.strip() == str(tmp_path / "index.html")
    assert "<title>Overview · astra · Hone</title>" in (tmp_path / "index.html").read_text()


def test_a_run_that_was_not_made_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("hone.config.runs.RESULTS", tmp_path / "results")
    done = call("site", "config/config.yaml", tmp_path / "site")
    assert isinstance(done.exception, RecordError)
    assert "no such file" in str(done.exception)
    assert isinstance(call("export", "answers", tmp_path / "a.csv").exception, RecordError)


def test_view_needs_a_site(tmp_path):
    done = call("view", tmp_path)
    assert isinstance(done.exception, ConfigError)


def test_view_prints_the_address_serves_it_and_opens_the_browser(site, monkeypatch):
    seen = {}

    class Once(serve.ThreadingHTTPServer):
        """Answers one request, as if Ctrl-C came after it."""

        def serve_forever(self, poll_interval=0.5):
            raise KeyboardInterrupt

    monkeypatch.setattr(serve, "ThreadingHTTPServer", Once)
    monkeypatch.setattr("webbrowser.open", lambda address: seen.setdefault("opened", address))
    done = call("view", site, "--open")
    assert done.exit_code == 0
    assert seen["opened"].startswith("http://127.0.0.1:")
    assert seen["opened"] in done.output
    with pytest.raises(OSError, match="refused"):
        urlopen(seen["opened"])
    assert commands.view.__doc__
