"""Export and import: the DAG stops where answers are missing and goes on through the turns as they come in."""

import csv
import json
import subprocess
import sys

import pytest

from hone.core.files import read_records
from hone.records import LLMRequest
from tests.workflow.conftest import ADD, CONFIG, SCALE

pytestmark = pytest.mark.slow  # three turns, each answered from outside

MODEL = "openai-api/hand/writer"
REFINE = {**CONFIG["experiments"]["refine"], "models": [MODEL], "turns": 3}
LLM = {
    "mode": "export",
    "services": {"hand": "http://localhost:9/v1"},
    "prices": {MODEL: {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 10.0}},
}


def write_answer(request):
    """What somebody would answer: wrong at first, right once the prompt says that it was wrong."""
    prompt = request.messages[-1].content
    task = prompt.split("## The module to make fast")[1]
    if "a + b" in task:
        code = f"{ADD} {{ for (long i = 0; i < rows * cols; ++i) out[i] = a[i] + b[i]; }}"
    else:
        factor = "3 * " if "its result is wrong" in prompt or "It is correct" in prompt else ""
        code = f"{SCALE} {{ for (long i = 0; i < rows * cols; ++i) out[i] = {factor}x[i]; }}"
    return f"```cpp\n{code}\n```"


def answer_pending(pipeline, name):
    """Answer every exported request once, in the form of the Batch API's output file; returns its lines."""
    lines = []
    for file in sorted((pipeline.folder / "results/tiny/pending").rglob("*.requests.jsonl")):
        for request in read_records(file, LLMRequest):
            message = {"role": "assistant", "content": write_answer(request)}
            body = {
                "model": "writer", "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
                "choices": [{"message": message, "finish_reason": "stop"}],
            }  # fmt: skip
            response = {"status_code": 200, "body": body}
            lines.append(json.dumps({"custom_id": request.key, "response": response, "error": None}))
    (pipeline.folder / name).write_text("\n".join(lines) + "\n")
    return lines


def hone(pipeline, *arguments):
    script = "from hone.cli.main import main; main()"
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=pipeline.folder, capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stdout + done.stderr


def test_three_turns_are_answered_from_outside(pipeline):
    pipeline.configure(experiments={"refine": REFINE}, llm=LLM)
    # The sum is right at once and is answered alike again: its third prompt is its second, and is asked anew.
    known = 0
    for turn, new in enumerate([2, 2, 2]):
        output = pipeline.run(check=False)
        assert f"{new} requests wait for their answers" in output
        assert f"turn{turn}" in output
        assert "waiting: " in output
        assert "error: " not in output
        assert "did what they should" in output
        asked = answer_pending(pipeline, f"answers{turn}.jsonl")
        assert len(asked) == known + new  # what was exported before stays where it is, and imports once
        status, report = hone(pipeline, "import", f"answers{turn}.jsonl", "--config", "tiny.yaml")
        assert status == 0, report
        assert f"imported {new}, already in the ledger {known}" in report
        known += new
    pipeline.run("--", "results/tiny/tables/kernelbench_refinement.csv")
    with (pipeline.folder / "results/tiny/tables/kernelbench_refinement.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["p"] == "0.0" and row["subset"] == "all"]
    assert {row["turn"]: float(row["fast_p"]) for row in rows} == {"0": 0.5, "1": 1.0, "2": 1.0}


def test_the_costs_are_those_of_the_six_answers(pipeline):
    with (pipeline.folder / "results/tiny/tables/llm_cost.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["calls"], float(row["input_tokens"]), float(row["output_tokens"])) == ("6", 6000, 600)
    assert float(row["cost_usd"]) == pytest.approx(6 * (1000 * 1.0 + 100 * 10.0) / 1e6)


def test_a_bad_answer_file_is_named_line_by_line_and_the_good_lines_stay(pipeline):
    (pipeline.folder / "bad.jsonl").write_text('{"custom_id": "nobody", "response": {}}\n{"cut')
    status, report = hone(pipeline, "import", "bad.jsonl", "--config", "tiny.yaml")
    assert status == 1
    assert "bad.jsonl:1" in report
    assert "bad.jsonl:2" in report
