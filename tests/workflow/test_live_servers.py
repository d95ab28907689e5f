"""The whole pipeline on live answers of servers that nobody here wrote: asked, built, judged and counted."""

import csv

import pytest

from hone.core.files import read_all
from hone.records import Candidate, Completion, Status, Trace
from tests.llm import servers
from tests.workflow.conftest import ADD, CONFIG, SCALE

pytestmark = pytest.mark.slow

REFINE = {**CONFIG["experiments"]["refine"], "turns": 3}


def write(prompt):
    """A sum that is right; a product that is right in the third answer, after two without code."""
    if "a + b" in prompt.split("## The module to make fast")[1]:
        return f"```cpp\n{ADD} {{ for (long i = 0; i < rows * cols; ++i) out[i] = a[i] + b[i]; }}\n```"
    return write.answers.pop(0)


write.answers = [
    "I would rather not.", "Still not.",
    f"```cpp\n{SCALE} {{ for (long i = 0; i < rows * cols; ++i) out[i] = 3 * x[i]; }}\n```",
]  # fmt: skip


def configure(pipeline, model):
    experiment = {**REFINE, "models": [model], "sampling": {"max_tokens": 24}}
    price = {"input_usd_per_mtok": 0, "output_usd_per_mtok": 0}
    pipeline.configure(experiments={"refine": experiment}, llm={"mode": "live", "prices": {model: price}})


def read(pipeline, stage, kind):
    files = sorted((pipeline.folder / f"results/tiny/{stage}/refine").rglob("*.jsonl"))
    return read_all(files, kind)


def table(pipeline, name):
    with (pipeline.folder / f"results/tiny/tables/{name}.csv").open() as file:
        return list(csv.DictReader(file))


def ledger(pipeline):
    return [
        Completion.model_validate_json(path.read_text()) for path in (pipeline.folder / ".hone/ledger").glob("??/*")
    ]


def test_kernels_that_come_through_a_proxy_are_built_and_judged(pipeline, tmp_path, monkeypatch):
    monkeypatch.setenv("PROXY_API_KEY", servers.KEY)
    configure(pipeline, "openai-api/proxy/writer")
    with servers.Writer(write) as upstream, servers.litellm(tmp_path, upstream) as url:
        monkeypatch.setenv("PROXY_BASE_URL", url)
        pipeline.run("--", "results/tiny/tables/llm_cost.csv")
    assert len(upstream.prompts) == 6
    found = {
        (row.definition.rpartition("_")[2], row.turn): row.solution for row in read(pipeline, "candidates", Candidate)
    }
    assert [found["Triple", turn] is None for turn in range(3)] == [True, True, False]
    passed = {trace.solution for trace in read(pipeline, "traces", Trace) if trace.status is Status.PASSED}
    assert {found["Add", 0], found["Triple", 2]} <= passed
    (cost,) = table(pipeline, "llm_cost")
    assert (cost["calls"], cost["failed_attempts"]) == ("6", "0")
    solved = [row for row in table(pipeline, "kernelbench_refinement") if row["p"] == "0.0" and row["subset"] == "all"]
    assert {row["turn"]: float(row["fast_p"]) for row in solved} == {"0": 0.5, "1": 0.5, "2": 1.0}


def test_a_model_of_random_weights_writes_no_kernel_and_is_asked_every_turn(pipeline, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVED_API_KEY", "any word")
    model = servers.tiny_model(tmp_path)
    configure(pipeline, f"openai-api/served/{model}")
    before = len(ledger(pipeline))
    with servers.transformers(tmp_path) as url:
        monkeypatch.setenv("SERVED_BASE_URL", url)
        pipeline.run("--", "results/tiny/tables/llm_cost.csv")
    assert len(ledger(pipeline)) == before + 6
    outcomes = [row for row in table(pipeline, "kernelbench_errors") if row["level"] == "all" and int(row["count"])]
    assert {(row["turn"], row["category"], row["count"]) for row in outcomes} == {
        (turn, "no_code", "2") for turn in "012"
    }
