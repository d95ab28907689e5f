"""From files of records to operators: which kernels are chosen, and the table of the check."""

import csv
import json
import shutil

import pytest
import torch
from typer.testing import CliRunner

from hone.cli.operators import app
from hone.core.errors import MachineError, RecordError
from hone.core.files import read_records, write_records
from hone.operators import stages
from hone.operators.choice import KernelChoice
from hone.records import Performance, SanitizerVerdict, Status, Timing
from hone.selection.choices import kernels_of
from tests.operators.kernels import (
    DEFINITIONS,
    SILU_DEFINITION,
    SILU_WORKLOADS,
    TAKE_DEFINITION,
    TAKE_WORKLOADS,
    solution,
    workload,
)

FAST = solution(SILU_DEFINITION, "// fast\n" + SILU_DEFINITION.kernels["upstream"])
FASTER = solution(SILU_DEFINITION, "// faster\n" + SILU_DEFINITION.kernels["upstream"])
WORKLOADS = [*SILU_WORKLOADS, *(workload(item) for item in DEFINITIONS[1:])]


@pytest.fixture
def traced(trace):
    """Traces of a solution on all workloads of its definition, so many times as fast as upstream."""

    def make(kernel, *speedups, **changed):
        return [
            trace.model_copy(
                update={
                    "solution": kernel.id, "definition": item.definition, "workload": item.id,
                    "performance": Performance(
                        solution=Timing(samples_ms=(1.0,)),
                        baselines={"upstream": Timing(samples_ms=(speedup,))},
                        findings=changed.get("findings", ()),
                    ),
                    "status": changed.get("status", Status.PASSED),
                }
            )
            for item, speedup in zip(SILU_WORKLOADS, speedups, strict=False)
        ]  # fmt: skip

    return make


def test_existing_kernels_come_before_the_winner(traced):
    current = SILU_DEFINITION.model_copy(update={"kernels": {"upstream": "one", "current": "two"}})
    plain = SILU_DEFINITION.model_copy(update={"name": "small/level1/9_plain", "kernels": {}})
    found = kernels_of([current, plain], {SILU_DEFINITION.name: SILU_WORKLOADS}, [FAST], traced(FAST, 2.0, 2.0, 2.0))
    assert [(name, kernel.source[:3], speedup) for name, kernel, speedup in found] == [
        ("upstream", "one", None), ("current", "two", None), ("winner", "// ", pytest.approx(2.0)),
    ]  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch, small_store, traced):
    """A folder as the pipeline leaves it, with a config, and the store of the small kernels."""
    store, _ = small_store
    monkeypatch.chdir(tmp_path)
    for name, records in (
        ("definitions", DEFINITIONS), ("workloads", WORKLOADS), ("solutions", [FAST]),
        ("evaluations", traced(FAST, 2.0, 2.0, 2.0)),
    ):  # fmt: skip
        write_records(tmp_path / "results/config" / name / "small" / "level1.jsonl", records)
    entries = tmp_path / "entries"
    entries.mkdir()
    (entries / "1_silu_and_mul.yaml").write_text("replaces: [{functions: [not_there.silu_and_mul]}]")
    config = {
        "sources": {
            "small": {
                "kind": "kernels", "path": "entries", "levels": {1: 3},
                "packages": {"own": {"kind": "folder", "path": "include"}},
            }
        },
        "experiments": {"gold": {"method": "gold", "source": "small", "levels": [1]}},
        "judge": {"name": "quick"}, "paths": {"store": str(store)},
    }  # fmt: skip
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    return tmp_path


def hone(*words):
    return CliRunner().invoke(app, [*words, "--config", "config.yaml"])


def checked(place):
    return list(csv.DictReader((place / "results/config/operators/operator_check.csv").read_text().splitlines()))


def test_choose_list_and_check_by_hand(place):
    result = hone("choose")
    assert result.exit_code == 0, (result.output, result.exception)
    assert "winner" in result.output and "2.000 times as fast" in result.output
    choices = read_records(place / "results/config/operators/choices.jsonl", KernelChoice)
    assert [choice.kernel_set for choice in choices] == ["upstream", "winner", "upstream", "upstream"]
    result = hone("list")
    assert "hone::silu_and_mul_" in result.output and "replaces not_there.silu_and_mul" in result.output
    result = hone("check", "--kernels", "upstream, winner")
    assert result.exit_code == 0 and "held" in result.output, (result.output, result.exception)
    rows = checked(place)
    assert len(rows) == 2 * 2 * 3 + 2, "reference and the absent package for both, reference alone for the others"
    assert {row["agrees"] for row in rows if row["against"] == "reference"} == {"yes"}
    assert {row["kernel_set"] for row in rows} == {"upstream", "winner"}


def test_without_answers_the_existing_kernels_are_chosen(place):
    for folder in ("solutions", "evaluations"):
        shutil.rmtree(place / "results/config" / folder)
    result = hone("choose")
    assert result.exit_code == 0, (result.output, result.exception)
    assert "no winners: there is no results/config/solutions and no results/config/evaluations" in result.output
    choices = read_records(place / "results/config/operators/choices.jsonl", KernelChoice)
    assert [choice.kernel_set for choice in choices] == ["upstream"] * 3


def test_what_compute_sanitizer_objects_to_is_no_winner(place):
    verdict = SanitizerVerdict(
        definition=FAST.definition, solution=FAST.id, where="a GPU", tool="racecheck", status="objects", detail="a race"
    )
    write_records(place / "results/config/selected/small/silu.sanitized.jsonl", [verdict])
    result = hone("choose")
    assert result.exit_code == 0, (result.output, result.exception)
    choices = read_records(place / "results/config/operators/choices.jsonl", KernelChoice)
    assert [choice.kernel_set for choice in choices] == ["upstream"] * 3


def test_without_definitions_the_remedy_is_the_command_that_writes_them(place):
    shutil.rmtree(place / "results/config/definitions")
    problem = hone("choose").exception
    assert isinstance(problem, RecordError) and "snakemake definitions" in problem.remedy


def test_a_disagreement_ends_the_command_with_one(place):
    wrong = solution(SILU_DEFINITION, SILU_DEFINITION.kernels["upstream"].replace("* up", "+ up"))
    changed = SILU_DEFINITION.model_copy(update={"kernels": {"upstream": wrong.source}})
    write_records(place / "results/config/definitions/small/level1.jsonl", [changed])
    assert hone("choose").exit_code == 0
    result = hone("check")
    assert result.exit_code == 1 and "failed: small/level1/1_silu_and_mul (upstream)" in result.output


def test_an_existing_kernel_that_does_not_build_ends_the_stage(place):
    broken = SILU_DEFINITION.model_copy(update={"kernels": {"upstream": "no C++"}})
    write_records(place / "results/config/definitions/small/level1.jsonl", [broken])
    result = hone("choose")
    assert isinstance(result.exception, MachineError) and "'upstream' was not built" in str(result.exception)


def test_files_of_records_leave_out_what_became_no_definition(tmp_path):
    for name in ("a/level1.jsonl", "a/level1.unsupported.jsonl", "b.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert stages.record_files(tmp_path) == [tmp_path / "a/level1.jsonl"]
    assert stages.record_files(tmp_path / "b.txt") == [tmp_path / "b.txt"]


def test_what_cannot_be_an_operator_is_left_out_of_the_list_with_the_reason(place):
    missing = hone("list").exception
    assert isinstance(missing, RecordError) and "hone operator choose" in missing.remedy
    assert hone("choose").exit_code == 0
    first, *others = WORKLOADS
    odd = first.model_copy(update={"axes": {**first.axes, "width": first.axes["width"] + 1}})
    write_records(place / "results/config/workloads/small/level1.jsonl", [odd, *others])
    result = hone("list")
    assert result.exit_code == 0, result.exception
    lines = result.output.splitlines()
    assert [line.split()[0] for line in lines] == ["upstream", "winner", "upstream", "upstream"]
    assert all(f"{SILU_DEFINITION.name}: left out, because axis width" in line for line in lines[:2])
    assert all("  hone::" in line for line in lines[2:])


@pytest.mark.parametrize("command", ["list", "check"])
def test_a_choice_without_its_definition_is_named(place, command):
    assert hone("choose").exit_code == 0
    write_records(place / "results/config/definitions/small/level1.jsonl", DEFINITIONS[1:])
    problem = hone(command).exception
    assert isinstance(problem, RecordError) and SILU_DEFINITION.name in str(problem)
    assert "--definitions" in problem.remedy


def test_what_cannot_be_an_operator_is_checked_at_the_sizes_of_each_workload(place):
    write_records(place / "results/config/definitions/small/level1.jsonl", [TAKE_DEFINITION])
    write_records(place / "results/config/workloads/small/level1.jsonl", TAKE_WORKLOADS)
    assert hone("choose").exit_code == 0
    listed = hone("list")
    assert f"upstream  {TAKE_DEFINITION.name}: left out, because axis taken is in no input" in listed.output
    result = hone("check")
    assert result.exit_code == 0 and "held" in result.output, (result.output, result.exception)
    assert [(row["workload"], row["against"], row["agrees"]) for row in checked(place)] == [
        ("given", "reference", "yes"), ("three", "reference", "yes"),
    ]  # fmt: skip


def test_a_library_need_not_have_the_functions_of_all_entries(place, small_store):
    store, builds = small_store
    library = place / "hone_test_some.so"  # any library will do, since what it would register is registered here
    shutil.copy(store / builds[SILU_DEFINITION.name].artifact, library)
    declared = torch.library.Library(library.stem, "DEF")
    declared.define("silu(Tensor x) -> Tensor")
    declared.impl("silu", lambda x: torch.nn.functional.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1], "CPU")
    for entry, text in (
        ("1_silu_and_mul", "operator: {name: silu, arguments: [x]}"),
        ("3_merge_attn_states", "operator: {name: merge, arguments: [v_a, s_a, v_b, s_b]}"),
    ):
        (place / "entries" / f"{entry}.yaml").write_text(text)
    assert hone("choose").exit_code == 0
    result = hone("check", "--kernels", "upstream", "--library", str(library))
    assert result.exit_code == 0 and "held" in result.output, (result.output, result.exception)
    found = [(row["against"], row["agrees"], row["detail"]) for row in checked(place) if row["against"] != "reference"]
    assert found == [
        *[("hone_test_some.silu", "yes", "")] * 3, ("hone_test_some.merge", "", "the library has no such function"),
    ]  # fmt: skip


def test_a_library_without_any_of_the_functions_is_a_failure(place, small_store):
    store, builds = small_store
    library = place / "hone_test_none.so"
    shutil.copy(store / builds[SILU_DEFINITION.name].artifact, library)
    (place / "entries/1_silu_and_mul.yaml").write_text("operator: {name: silu, arguments: [x]}")
    assert hone("choose").exit_code == 0
    result = hone("check", "--kernels", "upstream", "--library", str(library))
    assert result.exit_code == 1 and f"failed: {library} has none of the functions" in result.output, result.output
