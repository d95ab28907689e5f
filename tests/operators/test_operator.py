"""Registered operators: schema, fake form, compilation, and what they refuse."""

import pytest
import torch
from torch.library import opcheck

from hone.operators import Contract, Operator, OperatorError
from hone.records import Build, BuildStatus
from tests.operators.kernels import (
    MERGE_DEFINITION,
    NORM_DEFINITION,
    SILU_DEFINITION,
    SILU_WORKLOADS,
    solution,
    workload,
)


def rms_norm(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def silu_and_mul(x):
    gate, up = x.chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * up


def test_schemas_follow_the_definition(silu, norm, merge):
    assert silu.contract.schema() == "(Tensor x) -> Tensor"
    assert silu.contract.schema(out=True) == "(Tensor x, Tensor(o0!) out) -> ()"
    assert norm.contract.schema() == "(Tensor(a0!) input, Tensor(a1!) residual, float eps, Tensor weight) -> ()"
    assert merge.contract.schema() == "(Tensor v_a, Tensor s_a, Tensor v_b, Tensor s_b) -> (Tensor, Tensor)"
    arguments = norm.overloads[0]._schema.arguments
    written = [item.name for item in arguments if item.alias_info and item.alias_info.is_write]
    assert written == ["input", "residual"]
    assert str(silu.overloads[1]._schema).startswith(f"{silu.qualified_name}_out(")


def test_results_are_those_of_the_kernel(silu, norm, merge):
    x = torch.randn(7, 40)
    torch.testing.assert_close(silu(x), silu_and_mul(x))
    half = torch.randn(7, 40).half()
    torch.testing.assert_close(silu(half), silu_and_mul(half), atol=1e-2, rtol=1e-2)
    hidden, residual, weight = torch.randn(4, 16), torch.randn(4, 16), torch.rand(16)
    total = hidden + residual
    assert norm(hidden, residual, 1e-5, weight=weight) is None
    torch.testing.assert_close(residual, total)
    torch.testing.assert_close(hidden, rms_norm(total, weight, 1e-5))
    v_a, s_a, v_b, s_b = torch.randn(2, 3, 8).half(), torch.randn(2, 3), torch.randn(2, 3, 8).half(), torch.randn(2, 3)
    merged, lse = merge(v_a, s_a, v_b, s_b)
    assert (merged.dtype, lse.dtype) == (torch.float16, torch.float32)
    torch.testing.assert_close(lse, torch.logaddexp(s_a, s_b))


def test_out_writes_to_the_callers_buffer(silu, norm):
    x, out = torch.randn(3, 16), torch.full((3, 8), torch.nan)
    assert silu.out(x, out) is None
    torch.testing.assert_close(out, silu_and_mul(x))
    with pytest.raises(OperatorError, match="no outputs"):
        norm.out(x)


@pytest.mark.parametrize("out", [False, True])
def test_opcheck_of_returned_values(silu, out):
    arguments = (torch.randn(3, 16), torch.empty(3, 8))
    opcheck(silu.overloads[out], arguments[: 1 + out])


def test_opcheck_of_arguments_written_in_place(norm):
    opcheck(norm.overloads[0], (torch.randn(3, 16), torch.randn(3, 16), 1e-5, torch.rand(16)))


def test_opcheck_of_two_outputs(merge):
    opcheck(merge.overloads[0], (torch.randn(2, 3, 8), torch.randn(2, 3), torch.randn(2, 3, 8), torch.randn(2, 3)))


def test_a_compiled_function_gives_the_same(silu, norm):
    weight = torch.rand(16)

    def layer(hidden, residual):
        hidden = hidden * 2
        norm(hidden, residual, 1e-5, weight)
        return silu(hidden) + 1

    hidden, residual = torch.randn(4, 16), torch.randn(4, 16)
    expected_residual = residual.clone()
    expected = layer(hidden, expected_residual)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True)
    torch.testing.assert_close(compiled(hidden, residual), expected)
    torch.testing.assert_close(residual, expected_residual)
    torch.testing.assert_close(compiled(hidden[:2], residual[:2].clone()).shape, (2, 8))


def test_what_the_kernel_does_not_take_is_said(silu, norm, merge):
    x = torch.randn(4, 16)
    for wrong, words in (
        (x.double(), "float64 is not among float32, float16"),
        (x.t(), "not contiguous"),
        (x.reshape(-1), "1 dimensions, not 2"),
    ):
        with pytest.raises(OperatorError, match=words):
            silu(wrong)
    with pytest.raises(OperatorError, match="weight has 8 where width is 16"):
        norm(x, x.clone(), 1e-5, torch.rand(8))
    with pytest.raises(OperatorError, match="s_b is float16, not float32"):
        merge(torch.randn(2, 3, 8), torch.randn(2, 3), torch.randn(2, 3, 8), torch.randn(2, 3).half())
    with pytest.raises(OperatorError, match="out has 7 where width is 8"):
        silu.out(x, torch.empty(4, 7))
    assert "not a tensor" in silu.complaint([1.0])
    assert "not a number" in norm.complaint([x, x, torch.rand(1), torch.rand(16)])
    assert "2 arguments, the kernel takes 1: x" in silu.complaint([x, x])
    assert "on meta" in silu.complaint([x.to("meta")])
    with pytest.raises(OperatorError, match="multiple of 16 bytes"):
        silu(torch.randn(17)[1:].reshape(1, 16))


def test_nothing_is_launched_for_empty_tensors(silu, norm):
    assert silu(torch.empty(0, 16)).shape == (0, 8)
    norm(torch.empty(0, 16), torch.empty(0, 16), 1e-5, torch.rand(16))


def test_the_same_kernel_is_registered_once(load, silu):
    again = load(SILU_DEFINITION, SILU_WORKLOADS)
    assert again.overloads == silu.overloads


def test_a_missing_launcher_or_object_is_named(load, norm, tmp_path):
    item = NORM_DEFINITION.model_copy(update={"dtypes": ("float32", "float16")})
    operator = load(item)
    hidden = torch.randn(2, 8).half()
    with pytest.raises(OperatorError, match="launch_float16"):
        operator(hidden, hidden.clone(), 1e-5, torch.rand(8).half())
    with pytest.raises(OperatorError, match="cannot be loaded"):
        Operator(NORM_DEFINITION, solution(NORM_DEFINITION), tmp_path / "absent.so")
    rejected = Build(solution="x", status=BuildStatus.REJECTED)
    with pytest.raises(OperatorError, match="no shared object: rejected"):
        Operator.load(NORM_DEFINITION, solution(NORM_DEFINITION), rejected, tmp_path)
    with pytest.raises(OperatorError, match="solution is for"):
        Operator(NORM_DEFINITION, solution(SILU_DEFINITION), tmp_path)


def test_axes_of_outputs_alone_are_learnt_from_all_sizes():
    def derived(*workloads):
        return Contract.of(SILU_DEFINITION, workloads).derived["width"]

    assert str(derived(*SILU_WORKLOADS).share) == "1/2"
    assert derived().axis == "double_width", "the simplest rule is taken where several hold"
    constant = derived(workload(SILU_DEFINITION, rows=5, double_width=64))
    assert (constant.axis, constant.share) == ("", 8)
    with pytest.raises(OperatorError, match="no rule gives its size"):
        derived(workload(SILU_DEFINITION, rows=5, width=9, double_width=64))


def test_a_word_of_python_gets_an_underscore():
    first = MERGE_DEFINITION.inputs[0].model_copy(update={"name": "lambda"})
    item = MERGE_DEFINITION.model_copy(update={"inputs": (first, *MERGE_DEFINITION.inputs[1:])})
    assert Contract.of(item).schema().startswith("(Tensor lambda_,")
