"""Agreement with the reference and with a package's own function; replacements read from config entries."""

import sys
import types

import pytest
import torch

from hone.core.errors import ConfigError
from hone.operators import Operator, Replacement, read_replacements
from hone.operators.check import COLUMNS, check, compare, compiled_function, disagreements
from hone.operators.values import ReferenceCalls
from hone.records import Tolerance
from hone.sources.extraction.replacement import CompiledFunction, read_compiled
from tests.operators.kernels import (
    MERGE_DEFINITION,
    NORM_DEFINITION,
    SILU_DEFINITION,
    SILU_WORKLOADS,
    solution,
    workload,
)


def silu_and_mul(out, input):
    """As a C++ binding has it: the output is an argument that must be given."""
    gate, up = input.chunk(2, dim=-1)
    out.copy_(torch.nn.functional.silu(gate) * up)


def fused_add_rmsnorm(input, residual, weight, eps=1e-6):
    if input.shape[0] > 3:
        raise ValueError("more rows than I like\nand more")
    residual += input
    input.copy_(residual * torch.rsqrt(residual.pow(2).mean(-1, keepdim=True) + eps) * weight)


def wrong_merge(v_a, s_a, v_b, s_b):
    return v_a, s_a


@pytest.fixture
def package(monkeypatch):
    module = types.ModuleType("small_package")
    vars(module).update(silu=silu_and_mul, same=silu_and_mul, norm=fused_add_rmsnorm, merge=wrong_merge)
    monkeypatch.setitem(sys.modules, "small_package", module)
    return module


def test_every_workload_is_compared_with_reference_and_package(load, package):
    replaces = Replacement(functions=("small_package.silu", "small_package.same", "absent.f"), arguments={"x": "input"})
    rows = list(check(load(SILU_DEFINITION, SILU_WORKLOADS, (replaces,)), SILU_WORKLOADS, "upstream"))
    assert [(row["workload"], row["against"]) for row in rows] == [
        (item.name, against) for item in SILU_WORKLOADS for against in ("reference", "small_package.silu", "absent.f")
    ], "a function of two names is compared once"
    assert all(set(row) <= set(COLUMNS) for row in rows)
    compared = [row for row in rows if row["against"] != "absent.f"]
    assert all(row["agrees"] for row in compared) and disagreements(rows) == []
    assert [row["max_abs_error"] <= 1e-2 for row in compared] == [True] * 6
    assert [row["held_out"] for row in compared] == [False] * 4 + [True] * 2
    assert "cannot be imported" in rows[2]["detail"] and "agrees" not in rows[2]


def test_what_is_written_in_place_is_compared(load, package):
    replaces = (Replacement(functions=("small_package.norm",)),)
    workloads = [workload(NORM_DEFINITION), workload(NORM_DEFINITION, "more", rows=4)]
    first, second, _, refused = check(load(NORM_DEFINITION, (), replaces), workloads, "winner")
    assert (first["agrees"], second["agrees"], first["max_abs_error"] < 1e-5) == (True, True, True)
    assert refused["detail"] == "the function refuses the call: more rows than I like" and "agrees" not in refused


def test_disagreement_is_told(load, package):
    replaces = (Replacement(functions=("small_package.merge",)),)
    rows = list(check(load(MERGE_DEFINITION, (), replaces), [workload(MERGE_DEFINITION)], "upstream"))
    assert [row["agrees"] for row in rows] == [True, False]
    assert "outside the tolerance" in rows[1]["detail"]
    assert len(disagreements(rows)) == 1


def test_a_packages_compiled_function_is_called_with_its_arguments_in_order(silu, load):
    declared = torch.library.Library("hone_test_upstream", "DEF")
    declared.define("silu_and_mul(Tensor(a!) _0, Tensor _1, bool _2) -> ()")
    declared.impl("silu_and_mul", lambda out, input, flag: silu_and_mul(out, input) if flag else None, "CPU")
    function = CompiledFunction(name="silu_and_mul", arguments=("out", "x", True))
    label, call = compiled_function("hone_test_upstream", function)
    rows = list(check(silu, SILU_WORKLOADS, "winner", compiled={label: call}))
    assert [row["against"] for row in rows] == ["reference", "hone_test_upstream.silu_and_mul"] * 3
    assert all(row["agrees"] for row in rows)
    wrong = CompiledFunction(name="silu_and_mul", arguments=("out", "x", False))
    rows = list(check(silu, SILU_WORKLOADS, "winner", compiled=dict([compiled_function("hone_test_upstream", wrong)])))
    assert [row["agrees"] for row in rows] == [True, False] * 3, "an output that was never written is no agreement"


def test_a_function_that_the_library_lacks_is_told(silu):
    torch.library.Library("hone_test_poor", "DEF").define("other(Tensor x) -> Tensor")
    label, call = compiled_function("hone_test_poor", CompiledFunction(name="silu_and_mul", arguments=("out", "x")))
    assert (label, call) == ("hone_test_poor.silu_and_mul", None)
    rows = list(check(silu, SILU_WORKLOADS, "winner", compiled={label: call}))
    assert [row["against"] for row in rows] == ["reference", label] * 3
    assert {row["detail"] for row in rows[1::2]} == {"the library has no such function"}
    assert [row.get("agrees") for row in rows] == [True, None] * 3 and disagreements(rows) == []


def test_a_call_that_falls_back_is_no_agreement(load, package):
    replaces = (Replacement(functions=("small_package.silu",), arguments={"x": "input"}),)
    operator = load(SILU_DEFINITION.model_copy(update={"dtypes": ("float16",)}), SILU_WORKLOADS, replaces)
    halves = [item for item in SILU_WORKLOADS if item.dtype == "float16"]
    assert all(row["agrees"] for row in check(operator, halves, "winner"))


def test_results_of_another_shape_or_type_do_not_agree():
    one = torch.zeros(2, 2)
    strict = Tolerance(atol=0.0, rtol=0.0)
    assert compare([one], [one], strict)["agrees"]
    assert not compare([one], [one.half()], strict)["agrees"]
    assert not compare([one], [], strict)["agrees"]
    assert not compare([one], [one + 1e-6], strict)["agrees"]
    nothing = torch.full((2,), torch.nan)
    assert compare([nothing], [nothing.clone()], strict)["agrees"]
    assert not compare([nothing], [torch.zeros(2)], strict)["agrees"]


def test_values_have_the_workloads_sizes_and_types():
    calls = ReferenceCalls(MERGE_DEFINITION, workload(MERGE_DEFINITION, dtype="float16", tokens=5), "cpu")
    v_a, s_a, *_ = calls.values(1)
    assert (v_a.shape, v_a.dtype, s_a.dtype) == ((5, 3, 8), torch.float16, torch.float32)
    assert torch.equal(v_a, calls.values(1)[0]) and not torch.equal(v_a, calls.values(2)[0])
    norm = ReferenceCalls(NORM_DEFINITION, workload(NORM_DEFINITION, width=16), "cpu")
    values = norm.values(1)
    before = values[0].clone()
    results = norm.results(values)
    assert values[-1].shape == (16,) and len(results) == 2
    assert torch.equal(values[0], before) and not torch.equal(results[0], before)


def test_replacements_stand_in_the_config_entry(tmp_path):
    entry = tmp_path / "1_silu_and_mul.yaml"
    assert read_replacements(SILU_DEFINITION, tmp_path) == ()
    entry.write_text("title: silu_and_mul\n")
    assert read_replacements(SILU_DEFINITION, tmp_path) == ()
    entry.write_text("operator: {package: p, name: silu_and_mul, arguments: [out, x, true]}\n")
    assert read_compiled(SILU_DEFINITION, tmp_path).arguments == ("out", "x", True)
    assert read_compiled(NORM_DEFINITION, tmp_path) is None
    entry.write_text("replaces:\n  - functions: [flashinfer.silu_and_mul]\n    ignored: [enable_pdl]\n")
    assert read_replacements(SILU_DEFINITION, tmp_path)[0].functions == ("flashinfer.silu_and_mul",)
    for text, words in (
        ("replaces: [{functions: []}]", "replaces.0.functions"),
        ("replaces: [{functions: [no_module]}]", "replaces.0.functions.0"),
        ("replaces: [{functions: [a.b], args: {}}]", "replaces.0.args"),
        ("replaces: [", "not YAML"),
    ):
        entry.write_text(text)
        with pytest.raises(ConfigError, match=words):
            read_replacements(SILU_DEFINITION, tmp_path)


def test_a_kernel_that_is_wrong_does_not_agree(tmp_path):
    from hone.compile import build_all

    wrong = solution(SILU_DEFINITION, SILU_DEFINITION.kernels["upstream"].replace("* up", "+ up"))
    (build,) = build_all(
        [wrong], {SILU_DEFINITION.name: SILU_DEFINITION}, store=tmp_path, timeout_s=120, workers=1, progress=False
    )
    operator = Operator.load(SILU_DEFINITION, wrong, build, tmp_path, SILU_WORKLOADS)
    assert [row["agrees"] for row in check(operator, SILU_WORKLOADS, "winner")] == [False] * 3
