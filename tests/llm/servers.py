"""Servers that nobody here wrote, started for a test: `transformers serve`, and LiteLLM's proxy before one of ours.

Their programs are looked for beside this Python, in $HONE_TEST_SERVERS/bin and on the PATH.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from .server import FakeServer, completion_body

START_S = 240
KEY = "sk-of-the-test"
OFFLINE = {
    "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False", "NO_PROXY": "127.0.0.1", "NO_DOCS": "True",
}  # fmt: skip


class Writer(FakeServer):
    """Answers with what `write` makes of a prompt."""

    def __init__(self, write, **options):
        super().__init__(**options)
        self.write = write
        self.prompts = []

    def complete(self, key, request):
        body, prompt = completion_body(key, request), request["messages"][-1]["content"]
        self.prompts.append(prompt)
        body["choices"][0]["message"]["content"] = self.write(prompt)
        return body


def program(name):
    """Path of a server's program; skips the test where there is none."""
    folders = [
        str(Path(sys.executable).parent),
        str(Path(os.environ.get("HONE_TEST_SERVERS", "/nowhere")).absolute() / "bin"),
    ]
    found = shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    if found is None:
        wanted = "in an environment of its own, `pip install --group servers`, then HONE_TEST_SERVERS=<its folder>"
        pytest.skip(f"no program `{name}`: {wanted}")
    return Path(found)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serving(command, port, path, log):
    """Run a server until the block ends; gives its base URL once `path` answers."""
    url = f"http://127.0.0.1:{port}"
    command = [*map(str, command), "--host", "127.0.0.1", "--port", str(port)]
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **OFFLINE}, cwd=log.parent, start_new_session=True
        )
        try:
            deadline_s = time.monotonic() + START_S
            while not answers(f"{url}{path}"):
                assert process.poll() is None, log.read_text()[-3000:]
                assert time.monotonic() < deadline_s, log.read_text()[-3000:]
                time.sleep(0.5)
            yield f"{url}/v1"
        finally:
            process.terminate()
            process.wait(30)


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


@contextmanager
def litellm(folder, upstream):
    """LiteLLM's proxy before `upstream`, with a master key and one model, `writer`; gives its base URL."""
    config = {
        "model_list": [
            {
                "model_name": "writer",
                "litellm_params": {"model": "openai/toy", "api_base": upstream.url, "api_key": "of the upstream"},
            }
        ],
        "litellm_settings": {"num_retries": 0},
        "general_settings": {"master_key": KEY},
    }
    (folder / "litellm.yaml").write_text(yaml.safe_dump(config))
    command = [program("litellm"), "--config", folder / "litellm.yaml"]
    with serving(command, free_port(), "/health/liveliness", folder / "litellm.log") as url:
        yield url


def tiny_model(folder):
    """A model of random weights, made by the Python that serves it."""
    python = program("transformers").with_name("python")
    made = folder / "tiny"
    command = [python, Path(__file__).with_name("tiny_model.py"), made]
    subprocess.run(command, check=True, env={**os.environ, **OFFLINE}, timeout=300)
    return made


@contextmanager
def transformers(folder):
    """`transformers serve`; gives its base URL."""
    command = ["env", f"HF_HOME={folder / 'cache'}", program("transformers"), "serve"]
    with serving(command, free_port(), "/health", folder / "transformers.log") as url:
        yield url
