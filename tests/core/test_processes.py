"""A process ends in time, and nothing that it started outlives it."""

import subprocess

import pytest

from hone.core.processes import ending_within, status_within


@pytest.mark.parametrize(("script", "status"), [("sleep 99 & exit 3", 3), ("sleep 99 & wait", None)])
def test_what_a_process_started_ends_with_it(script, status):
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert status_within(process, 5 if status else 0.1) == status
        assert process.stdout.read() == b"", "returns once nobody can write any more"


@pytest.mark.parametrize(
    ("script", "timeout_s", "said"),
    [("true", 5, ""), ("exit 3", 5, "ended with status 3"), ("kill -9 $$", 5, "ended with status -9"),
     ("sleep 99", 0.05, "stopped after 0.05 s")],
)  # fmt: skip
def test_an_ending_is_told_in_words(script, timeout_s, said):
    with subprocess.Popen(["sh", "-c", script], start_new_session=True) as process:
        assert ending_within(process, timeout_s) == said
