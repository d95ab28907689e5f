"""Kernels under compute-sanitizer, which a script stands in for: what counts as clean, and what does not."""

import csv
import ctypes
import json
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from hone.core.errors import ConfigError, MachineError, RecordError
from hone.core.files import write_records
from hone.operators.choice import KernelChoice
from hone.records import Language
from hone.sanitizer import child as sanitize_child
from hone.sanitizer.run import argument_bytes
from hone.sanitizer.tool import TOOLS, Said, read_log
from studies.__main__ import app
from studies.operators.sanitize import COLUMNS, sanitize, unclean
from studies.operators.upstream_child import WorkloadRun
from tests.operators.kernels import (
    DEFINITIONS,
    MERGE_DEFINITION,
    NORM_DEFINITION,
    SILU_DEFINITION,
    SILU_WORKLOADS,
    solution,
    workload,
)

FAKE = """#!/bin/sh
echo "$PYTORCH_NO_CUDA_MEMORY_CACHING $*" >> "$FAKE/calls"
tool=$2
shift 6
[ -e "$FAKE/run" ] && { "$@" || exit $?; }
[ -e "$FAKE/slow" ] && sleep 60
cat "$FAKE/says_$tool" 2>/dev/null || cat "$FAKE/says"
exit "$(cat "$FAKE/status")"
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
NO_RACES = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
WRITE = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at run(float *)+0x70
=========     by thread (8,0,0) in block (0,0,0)
=========     Address 0x7f is out of bounds
=========
========= ERROR SUMMARY: 3 errors
========= ERROR SUMMARY: 2 errors were not printed. Use --print-limit option to adjust the number of printed errors
"""
RACE = """========= COMPUTE-SANITIZER
========= Warning: Race reported between Write access at run(float *)+0x70
=========     and Read access at run(float *)+0x90 [12 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Sets what the stand-in says and with which status it ends, and whether it runs the rest of its command line."""
    folder = tmp_path / "fake"
    folder.mkdir()
    program = folder / "compute-sanitizer"
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("COMPUTE_SANITIZER", str(program))
    monkeypatch.setenv("FAKE", str(folder))

    def behave(says=CLEAN, status=0, run=False, slow=False, **by_tool):
        (folder / "says").write_text(says)
        (folder / "status").write_text(str(status))
        for tool, text in by_tool.items():
            (folder / f"says_{tool}").write_text(text)
        for name, wanted in (("run", run), ("slow", slow)):
            (folder / name).touch() if wanted else (folder / name).unlink(missing_ok=True)
        return folder / "calls"

    return behave


@pytest.fixture
def place(tmp_path, monkeypatch, small_store):
    """A folder as `hone operator choose` leaves it: SiLU won, the others are there as upstream has them."""
    store, builds = small_store
    monkeypatch.chdir(tmp_path)
    write_records(tmp_path / "definitions.jsonl", DEFINITIONS)
    items = [*SILU_WORKLOADS, workload(NORM_DEFINITION), workload(MERGE_DEFINITION)]
    write_records(tmp_path / "workloads.jsonl", items)
    sets = {SILU_DEFINITION.name: "winner", NORM_DEFINITION.name: "upstream", MERGE_DEFINITION.name: "current"}
    chosen = [
        KernelChoice(kernel_set=sets[item.name], solution=solution(item), build=builds[item.name])
        for item in DEFINITIONS
    ]
    write_records(tmp_path / "choices.jsonl", chosen)
    package = {"kind": "folder", "path": "include"}
    config = {
        "sources": {"small": {"kind": "kernels", "path": ".", "levels": {1: 3}, "packages": {"own": package}}},
        "experiments": {"gold": {"method": "gold", "source": "small", "levels": [1]}},
        "judge": {"name": "quick"}, "paths": {"store": str(store)},
    }  # fmt: skip
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    return tmp_path


@pytest.fixture
def check(place, small_store):
    """Rows of the small kernels."""

    def run(kernel_set="winner", tools=("memcheck",), most_mib=32, **more):
        files = [place / "definitions.jsonl"], [place / "workloads.jsonl"]
        return sanitize(
            place / "choices.jsonl", *files, store=small_store[0], kernel_sets=[kernel_set], tools=tools,
            most_mib=most_mib, output=place / "out" / "table.csv", **more,
        )  # fmt: skip

    return run


def study(*words):
    files = ["--config", "config.yaml", "--choices", "choices.jsonl"]
    files += ["--definitions", "definitions.jsonl", "--workloads", "workloads.jsonl", "--output", "out/table.csv"]
    return CliRunner().invoke(app, ["sanitize", *words, *files])


@pytest.mark.parametrize(
    ("tool", "log", "findings", "clean"),
    [
        ("memcheck", CLEAN, 0, True),
        ("racecheck", NO_RACES, 0, True),
        ("memcheck", WRITE, 3, False),
        ("initcheck", WRITE.replace("3 errors", "1 error"), 2, False),
        ("racecheck", RACE, 1, False),
        ("racecheck", RACE + CLEAN, 1, False),
        ("memcheck", CLEAN + WRITE, 3, False),
        ("racecheck", CLEAN, None, False),
        ("synccheck", NO_RACES, None, False),
        ("memcheck", "", None, False),
        ("memcheck", "ERROR SUMMARY: 0 errors", None, False),
        ("memcheck", "========= Device not supported. Please refer to the documentation\n" + CLEAN, 0, False),
        ("memcheck", "========= Error: Target application terminated before first instrumented API call\n" + CLEAN,
         0, False),
    ],
)  # fmt: skip
def test_the_tools_own_summary_decides(tool, log, findings, clean):
    said = read_log(tool, log, "", 2, 2)
    assert (said.findings, said.clean, bool(said.detail)) == (findings, clean, not clean)


def test_a_clean_summary_does_not_outweigh_how_the_run_ended():
    assert read_log("memcheck", CLEAN, "", 2, 2) == Said(0, True, "")
    assert not read_log("memcheck", CLEAN, "stopped after 300 s", 2, 2).clean
    assert read_log("memcheck", CLEAN, "", 1, 2) == Said(0, False, "1 of 2 workloads finished")
    detail = read_log("memcheck", WRITE, "ended with status 86: ERROR SUMMARY", 2, 2).detail
    first = "Invalid __global__ write of size 4 bytes, at run(float *)+0x70, by thread (8,0,0) in block (0,0,0)"
    assert detail == f"{first}; ended with status 86"


def test_every_workload_of_a_clean_kernel_runs_under_each_tool(place, fake):
    calls = fake(run=True, racecheck=NO_RACES)
    result = study("--tools", "memcheck, racecheck")
    assert result.exit_code == 0, (result.output, result.exception)
    assert "held: no tool found anything in 2 runs, see" in result.output and "failed" not in result.output
    rows = list(csv.DictReader((place / "out/table.csv").read_text().splitlines()))
    assert [tuple(row) for row in rows] == [COLUMNS] * 2
    assert [(row["tool"], row["workloads"], row["left_out"], row["findings"], row["clean"]) for row in rows] == [
        ("memcheck", "3", "0", "0", "yes"), ("racecheck", "3", "0", "0", "yes"),
    ]  # fmt: skip
    assert {row["solution"] for row in rows} == {solution(SILU_DEFINITION).id[:12]}
    for line, tool in zip(calls.read_text().splitlines(), ("memcheck", "racecheck"), strict=True):
        assert line.startswith(f"1 --tool {tool} --error-exitcode 86 --target-processes all /"), "1: no cache"
        assert "-P -m hone.sanitizer.child /" in line
    fake(run=False)
    result = study("--tools", "memcheck")
    assert result.exit_code == 1
    said = f"failed: {SILU_DEFINITION.name} (winner) under memcheck: 0 of 3 workloads finished"
    assert said in result.output, "the earlier run's report says nothing about this one"


def test_findings_and_crashes_are_not_clean(check, fake):
    fake(WRITE, 86)
    [row] = check()
    assert (row["findings"], row["clean"]) == (3, False)
    assert row["detail"].startswith("Invalid __global__ write of size 4 bytes, at run(float *)+0x70")
    fake("Segmentation fault\n", 139)
    [row] = check()
    assert (row["findings"], row["clean"]) == (None, False)
    assert row["detail"] == (
        "memcheck gave no summary; ended with status 139: Segmentation fault; 0 of 3 workloads finished"
    )
    fake(slow=True)
    [row] = check(timeout_s=0.5)
    assert row["clean"] is False and "stopped after 0.5 s" in row["detail"]


def test_a_kernel_that_the_child_cannot_run_is_not_clean(check, fake):
    fake(run=True)
    [row] = check("upstream")
    assert row["clean"] is False and "takes a model's parameters" in row["detail"]
    assert "ended with status 1" in row["detail"] and unclean([row])[0].startswith(f"{NORM_DEFINITION.name} (upstream)")


def test_workloads_that_are_too_large_are_left_out_and_said_so(check, fake, place):
    sizes = [argument_bytes(SILU_DEFINITION, item) for item in SILU_WORKLOADS]
    assert sizes == [3 * 24 * 4, 5 * 96 * 4, 4 * 72 * 2], "rows times input and output, times bytes"
    assert argument_bytes(MERGE_DEFINITION, workload(MERGE_DEFINITION, dtype="float16")) == 3 * 6 * (8 * 2 + 4)
    fake()
    [row] = check(most_mib=sizes[0] / 2**20)
    assert row["left_out"] == 2 and "0 of 1 workloads finished" in row["detail"]
    asked = json.loads(next((place / "out/table").rglob("request.json")).read_text())
    assert [item["name"] for item in asked["workloads"]] == ["given"]
    [row] = check(most_mib=0)
    assert (row["workloads"], row["left_out"], row["clean"]) == (0, 3, False), "nothing ran, so nothing is known"
    assert row["detail"] == "no workload of at most 0 MiB"


def test_the_child_reports_what_it_finished(tmp_path, small_store):
    store, builds = small_store
    request, report = tmp_path / "request.json", tmp_path / "report.json"
    merge = workload(MERGE_DEFINITION), workload(MERGE_DEFINITION, "other", "bfloat16")
    asked = {
        "artifact": str(store / builds[MERGE_DEFINITION.name].artifact), "device": "cpu",
        "definition": MERGE_DEFINITION.model_dump(mode="json"),
        "workloads": [item.model_dump(mode="json") for item in merge],
    }  # fmt: skip
    request.write_text(json.dumps(asked))
    with pytest.raises(AttributeError, match="launch_bfloat16"):
        sanitize_child.main(request, report)
    assert json.loads(report.read_text()) == {"finished": ["given"]}


def test_the_child_passes_the_kernel_its_own_copies_and_gets_the_right_results(small_store, monkeypatch):
    store, builds = small_store
    library = ctypes.CDLL(str(store / builds[SILU_DEFINITION.name].artifact))
    run = WorkloadRun(SILU_DEFINITION, SILU_WORKLOADS[1], "cpu")
    kept = sanitize_child.placed(run, "cpu")
    monkeypatch.setattr(sanitize_child, "placed", lambda *_: kept)
    sanitize_child.launch(library, run, "cpu")
    assert kept["x"].data_ptr() != run.values["x"].data_ptr() and torch.equal(kept["x"], run.values["x"])
    assert torch.allclose(kept["out"].double(), run.exact()[0], atol=1e-5)


def test_a_launch_that_cuda_refuses_ends_the_child(monkeypatch):
    passed, waited = [], []
    kernel = SimpleNamespace(hone_last_error=lambda: 9)
    run = SimpleNamespace(workload=SILU_WORKLOADS[0], launch=lambda *given: passed.append(given))
    monkeypatch.setattr(sanitize_child, "placed", lambda *_: {})
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append(True))
    with pytest.raises(RuntimeError, match="on workload 'given' failed with CUDA error 9"):
        sanitize_child.launch(kernel, run, "cuda")
    kernel.hone_last_error = lambda: 0
    sanitize_child.launch(kernel, run, "cuda")
    assert passed == [(kernel, {}, 7)] * 2 and waited == [True]


def test_what_is_missing_is_said_before_anything_runs(check, fake, place, monkeypatch):
    calls = fake()
    with pytest.raises(ConfigError, match="no tool 'memchek'") as raised:
        check(tools=["memcheck", "memchek"])
    assert ", ".join(TOOLS) in raised.value.remedy
    with pytest.raises(ConfigError, match="no set of kernels 'best'"):
        check("best")
    monkeypatch.setenv("COMPUTE_SANITIZER", "not-there")
    with pytest.raises(MachineError, match="'not-there' cannot be run") as raised:
        check()
    assert "CUDA toolkit" in raised.value.remedy and "COMPUTE_SANITIZER" in raised.value.remedy
    [choice, *_] = [json.loads(line) for line in (place / "choices.jsonl").read_text().splitlines()]
    gone = {**choice, "build": {**choice["build"], "artifact": "gone.so"}}
    (place / "choices.jsonl").write_text(json.dumps(gone))
    with pytest.raises(MachineError, match="not in the store"):
        check()
    (place / "choices.jsonl").write_text("")
    with pytest.raises(RecordError, match="no kernel of winner was chosen"):
        check()
    (place / "choices.jsonl").unlink()
    with pytest.raises(RecordError, match="no such file"):
        check()
    assert not calls.exists()


def test_kernels_for_a_gpu_need_one(check, fake, place, monkeypatch):
    calls = fake()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    choices = place / "choices.jsonl"
    choice = KernelChoice.model_validate_json(choices.read_text().splitlines()[0])
    write_records(choices, [choice.model_copy(update={
        "solution": choice.solution.model_copy(update={"language": Language.CUDA})
    })])  # fmt: skip
    with pytest.raises(MachineError, match="need a GPU"):
        check()
    assert not calls.exists()
