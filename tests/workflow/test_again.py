"""A run that was killed, or whose results are gone, goes on. The tests of this file build on one another."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from tests.workflow.test_pipeline import TABLES, traces

pytestmark = pytest.mark.slow  # the whole DAG, three times


def test_after_a_kill_the_same_command_goes_on(pipeline):
    """Killed while it judges: what was judged before is kept, and Snakemake's own lock is in nobody's way."""
    traces_folder = pipeline.folder / ".hone/store/traces"
    with subprocess.Popen(
        pipeline.command(*TABLES), cwd=pipeline.folder, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        while not list(traces_folder.rglob("*.json")):
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    kept = {file: file.read_bytes() for file in traces_folder.rglob("*.json")}
    pipeline.run(*TABLES)
    assert all(file.read_bytes() == content for file, content in kept.items())
    assert len(list(traces_folder.rglob("*.json"))) > len(kept)


def test_deleted_results_come_back_from_the_store(pipeline):
    """And Snakemake looks for jobs to start when one has ended, not by the clock: that takes the cores that time."""
    before = {trace.solution: trace.judged_at for trace in traces(pipeline, "one")}
    shutil.rmtree(pipeline.folder / "results")
    output = pipeline.run("--verbose", *TABLES)
    assert {trace.solution: trace.judged_at for trace in traces(pipeline, "one")} == before
    jobs = sum(pipeline.jobs(output).values())
    assert jobs > 20
    assert output.count("Ready jobs: ") <= 2 * jobs
