"""`hone tables`: an unfinished run's tables are those of its finished batches."""

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from hone.cli.main import app
from hone.config.settings import read
from hone.core.csv_table import write_table
from hone.core.errors import RecordError
from hone.core.files import write_records
from hone.file_map import FileMap
from hone.gnn.device.kernel_work import KernelWork
from hone.gnn.device.roofline import COLUMNS, Machine, table_rows
from hone.records import Candidate
from hone.records.gnn import WHOLE_EPOCH
from hone.sources.gold import gold_solution

RESOURCES = Path("resources").resolve()
CONFIG = """
run: half
sources: {tiny: {kind: local, path: tiny, levels: {1: 2}}}
experiments: {gold: {method: gold, source: tiny, levels: [1]}}
batch_size: 1
judge: {name: quick}
"""


@pytest.fixture
def half(tmp_path, monkeypatch, definition, trace):
    """A run of two problems in two batches, the first of which is judged."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "resources").symlink_to(RESOURCES)
    Path("half.yaml").write_text(CONFIG)
    settings = read(Path("half.yaml"))
    files = FileMap(settings, "results/half").table_records()
    problems = [definition, definition.model_copy(update={"name": "tiny/level1/2_Bias", "number": 2})]
    write_records(Path(files["definitions"][0]), problems)
    for path, item in zip(files["candidates"], problems, strict=True):
        candidate = Candidate(
            experiment="gold", method="gold", model="reference/model", definition=item.name, turn=0, sample=0,
            solution=gold_solution(item).id, prompt_digest="", completion_key="",
        )  # fmt: skip
        write_records(Path(path), [candidate])
    verdict = trace.model_copy(update={"solution": gold_solution(definition).id, "protocol": settings.judge})
    write_records(Path(files["traces"][0]), [verdict])
    return files


def call(*arguments):
    return CliRunner().invoke(app, ["tables", "--config", "half.yaml", *arguments])


def test_what_is_judged_is_in_the_tables_and_what_is_not_says_so(half):
    done = call()
    assert done.exit_code == 0, done.exception
    found = pd.read_csv("results/half/so_far/judge_gold.csv", keep_default_na=False)
    assert dict(zip(found["definition"], found["status"], strict=True)) == {
        "tiny/level1/1_Bias": "passed",
        "tiny/level1/2_Bias": "missing",
    }
    assert "traces: 1 of 2 files" in done.output
    assert done.output.splitlines()[-3:] == [
        "tables: results/half/so_far",
        "figures: results/half/so_far/figures",
        "explorer: hone view results/half/so_far/site",
    ]


def test_the_explorer_of_what_is_judged_is_the_one_to_look_at(half, monkeypatch):
    """Until the pipeline has written that of the whole run."""
    assert call().exit_code == 0
    monkeypatch.setattr("hone.site.serve.ThreadingHTTPServer.serve_forever", lambda _: None)
    assert "results/half/so_far/site is at" in CliRunner().invoke(app, ["view", "half"]).output
    Path("results/half/so_far/site").rename("results/half/site")
    assert "results/half/site is at" in CliRunner().invoke(app, ["view", "half"]).output


def test_a_run_without_a_verdict_is_named(half):
    Path(half["traces"][0]).unlink()
    done = call("--output", "elsewhere")
    assert isinstance(done.exception, RecordError)
    assert "results/half" in str(done.exception) and not Path("elsewhere").exists()


def test_a_roofline_alone_is_enough(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "resources").symlink_to(RESOURCES)
    training = "{graphs: [small], systems: [device], device: cuda, precision: bfloat16}"
    Path("half.yaml").write_text(
        f"run: half\ngraphs: {{small: {{kind: synthetic, nodes: 600, classes: 4}}}}\ntrainings: {{epoch: {training}}}\n"
    )
    (measured,) = FileMap(read(Path("half.yaml")), "results/half").table_records()["rooflines"]
    rows = table_rows([KernelWork("adam", "step", "adam", 3e6)], [2.0], 5.0, Machine(3e6, 1e6))
    named = {"dataset": "small", "training": "epoch", "device": "NVIDIA H200", "driver": "1", "torch": "2"}
    write_table(Path(measured), COLUMNS, [{**row, **named} for row in rows])
    done = call()
    assert done.exit_code == 0, done.exception
    found = pd.read_csv("results/half/so_far/device_roofline.csv").set_index("kernel")["measured_us"]
    assert (found["adam"], found[WHOLE_EPOCH]) == (2.0, 5.0)
