"""flashinfer-bench's trace set: what its schema asks for, and by its own loader where that is installed."""

import ast
import json

import pytest

from hone.export.flashinfer import STATUSES, WITH_ERRORS, evaluation_of, export_trace_set
from hone.records import ErrorFigures, Status
from tests.analysis.rounds import big_kit
from tests.analysis.world import settings_for, trace
from tests.site.world import Answers, site_run, small


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    kit = big_kit()
    folder = tmp_path_factory.mktemp("traces")
    return kit, folder, export_trace_set(site_run(kit.settings, kit.records()), folder)


def read(folder, kind, ending="json"):
    files = sorted((folder / kind).rglob(f"*.{ending}"))
    if ending == "json":
        return [json.loads(file.read_text()) for file in files]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_every_kind_is_there_and_counted(exported):
    kit, folder, count = exported
    assert count["definitions"] == len(read(folder, "definitions")) == len(kit.definitions)
    assert count["solutions"] == len(read(folder, "solutions")) == len(kit.solutions)
    assert count["workloads"] == len(read(folder, "workloads", "jsonl"))
    assert count["traces"] == len(read(folder, "traces", "jsonl"))
    # Several experiments start from one kernel, which is judged once.
    lists = (kit.suite_traces, kit.evaluations)
    judged = {(kind, item.solution, item.workload) for kind, traces in enumerate(lists) for item in traces}
    assert count["traces"] + count["left_out"] == len(judged)
    assert len(json.loads((folder / "left_out.json").read_text())) == count["left_out"]


def test_names_join(exported):
    folder = exported[1]
    definitions = {item["name"] for item in read(folder, "definitions")}
    solutions = {item["name"]: item["definition"] for item in read(folder, "solutions")}
    workloads = {line["workload"]["uuid"] for line in read(folder, "workloads", "jsonl")}
    for line in read(folder, "traces", "jsonl"):
        assert line["definition"] in definitions
        assert solutions[line["solution"]] == line["definition"]
        assert line["workload"]["uuid"] in workloads


def test_a_reference_has_a_function_run_with_the_inputs(exported):
    for item in read(exported[1], "definitions"):
        functions = [node for node in ast.parse(item["reference"]).body if isinstance(node, ast.FunctionDef)]
        (run,) = [node for node in functions if node.name == "run"]
        assert [argument.arg for argument in run.args.args] == list(item["inputs"])
        assert not item["inputs"].keys() & item["outputs"].keys()


def test_run_computes_what_the_problem_computes(definition):
    import torch

    from hone.export.flashinfer import definition_of

    scope = {}
    exec(definition_of(definition, "d", "")["reference"], scope)
    x, bias = torch.ones(4, 8), torch.arange(8.0)
    assert torch.equal(scope["run"](x, bias), x + bias)


@pytest.mark.parametrize("status", list(Status))
def test_every_verdict_has_a_status_there_or_says_nothing(status):
    assert (status in STATUSES) == status.resolved


@pytest.mark.parametrize("status", [status for status in Status if status.resolved])
def test_errors_and_times_stand_where_the_schema_wants_them(status):
    found = evaluation_of(trace(settings_for(one={}), "s", "d", status, speedup=2.0))
    assert (found["correctness"] is not None) == (found["status"] in WITH_ERRORS)
    assert (found["performance"] is not None) == (found["status"] == "PASSED")
    assert str(status) in found["log"]


def test_the_speedup_is_that_of_the_medians():
    found = evaluation_of(trace(settings_for(one={}), "s", "d", speedup=2.0))["performance"]
    assert found["speedup_factor"] == pytest.approx(2.0)
    assert found["reference_latency_ms"] / found["latency_ms"] == pytest.approx(2.0)


def test_endless_errors_are_spelled_as_the_schema_has_them():
    errors = ErrorFigures(max_abs_error=float("inf"), max_rel_error=0.5, wrong_fraction=1.0)
    found = evaluation_of(trace(settings_for(one={}), "s", "d", Status.WRONG_VALUE, errors=errors))
    assert found["correctness"]["max_absolute_error"] == "Infinity"
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_machines_failure_is_named_among_what_is_left_out(tmp_path):
    world = small()
    count = export_trace_set(site_run(world.settings, world.records()), tmp_path)
    left = json.loads((tmp_path / "left_out.json").read_text())
    assert count["left_out"] == 1
    assert "machine_error" in left[0]["reason"]


def test_a_type_that_the_schema_lacks_leaves_the_definition_out(tmp_path):
    from hone.records import Argument

    world = Answers(models=["openai/o4-mini"], problems=1)
    odd = Argument(name="x", shape=(), dtype="uint8")
    world.definitions = [world.definitions[0].model_copy(update={"inputs": (odd,)})]
    world.add("openai/o4-mini", 1, 2.0)
    count = export_trace_set(site_run(world.settings, world.records()), tmp_path)
    assert (count["definitions"], count["left_out"]) == (0, 1)


def test_their_own_loader_reads_it(exported):
    data = pytest.importorskip("flashinfer_bench.data", reason="flashinfer-bench is not installed")
    _, folder, count = exported
    read_set = data.TraceSet.from_path(str(folder))
    assert len(read_set.definitions) == count["definitions"]
    assert sum(map(len, read_set.solutions.values())) == count["solutions"]
    assert sum(map(len, read_set.traces.values())) == count["traces"]
    passed = [line for lines in read_set.traces.values() for line in lines if line.is_successful()]
    assert passed
    assert all(line.evaluation.performance.speedup_factor > 0 for line in passed)
    for definition in read_set.definitions.values():
        for line in read_set.workloads[definition.name]:
            assert len(definition.get_input_shapes(line.workload.axes)) == len(definition.inputs)
