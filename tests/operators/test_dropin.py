"""Replacing functions of an installed package: which calls are taken, and that everything is put back."""

import importlib
import inspect
import sys
import threading

import pytest
import torch

from hone.operators import OperatorError, Replacement, replaced
from hone.sources.extraction.replacement import Limit
from tests.operators.kernels import MERGE_DEFINITION, NORM_DEFINITION, SILU_DEFINITION, SILU_WORKLOADS

PACKAGE = """
import torch
calls = []

def silu_and_mul(input, out=None, enable_pdl=None):
    calls.append("silu")
    half = input.shape[-1] // 2
    result = torch.nn.functional.silu(input[..., :half]) * input[..., half:]
    return result if out is None else out.copy_(result)

def fused_add_rmsnorm(input, residual, weight, eps=1e-6, scale=1.0):
    calls.append("norm")
    residual += input
    input.copy_(residual * torch.rsqrt(residual.pow(2).mean(-1, keepdim=True) + eps) * weight)

def merge_state(v_a, s_a, v_b, s_b, v_merged=None, s_merged=None):
    calls.append("merge")
    return v_a, s_a

def anything(*arguments):
    return arguments
"""
SILU = Replacement(functions=("package.silu_and_mul",), arguments={"x": "input"}, ignored=("enable_pdl",))
NORM = Replacement(functions=("package.fused_add_rmsnorm",))
MERGE = Replacement(functions=("package.ops.merge_state",), arguments={"v": "v_merged", "s": "s_merged"})


@pytest.fixture
def package(tmp_path, monkeypatch, request):
    """An importable package with the three functions, the last one in a module of its own."""
    name = f"small_upstream_{abs(hash(request.node.name))}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "ops.py").write_text(PACKAGE)
    (folder / "__init__.py").write_text("from .ops import *\nfrom .ops import calls\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield importlib.import_module(name)
    for module in [item for item in sys.modules if item.startswith(name)]:
        del sys.modules[module]


@pytest.fixture
def bound(load, package):
    """Loads an operator whose replacement's names are in the package."""

    def operator(definition, replacement, **changed):
        names = changed.pop("functions", replacement.functions)
        names = tuple(name.replace("package", package.__name__, 1) for name in names)
        replacement = replacement.model_copy(update={"functions": names, **changed})
        return load(definition, SILU_WORKLOADS if definition is SILU_DEFINITION else (), (replacement,))

    return operator


def test_calls_go_to_the_kernel_and_the_original_comes_back(bound, package):
    original, x, out = package.silu_and_mul, torch.randn(4, 16), torch.empty(4, 8)
    expected = original(x)
    package.calls.clear()
    with replaced(bound(SILU_DEFINITION, SILU)) as swap:
        assert inspect.signature(package.silu_and_mul) == inspect.signature(original)
        torch.testing.assert_close(package.silu_and_mul(x), expected)
        torch.testing.assert_close(package.silu_and_mul(input=x, enable_pdl=True), expected)
        assert package.silu_and_mul(x, out) is out
    torch.testing.assert_close(out, expected)
    assert (package.calls, package.silu_and_mul) == ([], original)
    assert swap.names == (f"{package.__name__}.silu_and_mul",)
    assert swap.counts[swap.names[0]].replaced == 3


def test_what_the_kernel_does_not_take_goes_to_the_original(bound, package):
    hidden, residual, weight = torch.randn(2, 8), torch.randn(2, 8), torch.rand(8)
    with replaced(bound(NORM_DEFINITION, NORM), bound(SILU_DEFINITION, SILU)) as swap:
        package.fused_add_rmsnorm(hidden, residual, weight)
        package.fused_add_rmsnorm(hidden, residual, weight, 1e-6, scale=2.0)
        package.fused_add_rmsnorm(hidden.double(), residual.double(), weight.double())
        package.silu_and_mul(torch.randn(2, 3, 16))
        package.silu_and_mul(torch.randn(33)[1:].reshape(2, 16))
        both = torch.randn(2, 16)
        package.silu_and_mul(both, both.view(-1)[:16].view(2, 8))
        with pytest.raises(TypeError):
            package.fused_add_rmsnorm(hidden)
        with pytest.raises(TypeError):
            package.fused_add_rmsnorm(hidden, hidden, hidden, 1, 1, 1, 1)
    assert package.calls == ["norm", "norm", "silu", "silu", "silu"]
    norm, silu = swap.counts.values()
    assert (norm.replaced, silu.replaced) == (1, 0)
    assert dict(norm.fallbacks) == {
        "scale is not 1.0": 1,
        "data type float64 is not among float32": 1,
        "its signature does not allow the call": 2,
    }
    assert {reason.partition(" ")[2] for reason in silu.fallbacks} == {
        "has 3 dimensions, not 2",
        "tensor does not begin at a multiple of 16 bytes",
        "output is an input, too",
    }


def test_a_value_that_is_built_in_is_the_only_one_that_is_taken(bound, package):
    operator = bound(SILU_DEFINITION, SILU, ignored=(), fixed={"enable_pdl": True})
    with replaced(operator) as swap:
        package.silu_and_mul(torch.randn(2, 16))
        package.silu_and_mul(torch.randn(2, 16), enable_pdl=True)
    (counts,) = swap.counts.values()
    assert (counts.replaced, dict(counts.fallbacks)) == (1, {"enable_pdl is not True": 1})


def test_sizes_beyond_the_limits_go_to_the_original(bound, package):
    limits = {"width": Limit(multiple_of=4, at_most=16), "rows * width": Limit(one_of=(8, 16, 32))}
    with replaced(bound(SILU_DEFINITION, SILU, limits=limits)) as swap:
        for rows, columns in ((1, 16), (2, 12), (2, 40), (3, 16)):
            package.silu_and_mul(torch.randn(rows, columns))
    (counts,) = swap.counts.values()
    assert counts.replaced == 1
    assert set(counts.fallbacks) == {
        "width is not a multiple of 4", "width is more than 16", "rows * width is not one of 8, 16, 32",
    }  # fmt: skip


def test_a_launch_that_is_refused_goes_to_the_original(bound, package, monkeypatch):
    operator = bound(SILU_DEFINITION, SILU)

    def refuse(*_):
        raise OperatorError("the launch failed: invalid configuration argument")

    monkeypatch.setattr(operator, "_call", refuse)
    with replaced(operator) as swap:
        package.silu_and_mul(torch.randn(2, 16))
    (counts,) = swap.counts.values()
    assert counts.replaced == 0
    assert dict(counts.fallbacks) == {"the launch failed: invalid configuration argument": 1}
    assert package.calls == ["silu"]


def test_two_outputs_are_given_both_or_none(bound, package):
    v, s = torch.randn(2, 3, 8), torch.randn(2, 3)
    with replaced(bound(MERGE_DEFINITION, MERGE)) as swap:
        merged, lse = package.ops.merge_state(v, s, v, s)
        torch.testing.assert_close((merged, lse), (v, s + torch.tensor(2.0).log()))
        buffers = torch.empty_like(v), torch.empty_like(s)
        assert package.ops.merge_state(v, s, v, s, *buffers)[0] is buffers[0]
        torch.testing.assert_close(buffers, (merged, lse))
        package.ops.merge_state(v, s, v, s, buffers[0])
    (counts,) = swap.counts.values()
    assert dict(counts.fallbacks) == {"some outputs are given and some are not": 1}
    assert counts.replaced == 2


def test_everything_is_put_back_after_an_exception(bound, package):
    originals = package.silu_and_mul, package.fused_add_rmsnorm
    with pytest.raises(KeyError), replaced(bound(NORM_DEFINITION, NORM), bound(SILU_DEFINITION, SILU)):
        raise KeyError
    assert (package.silu_and_mul, package.fused_add_rmsnorm) == originals


def test_contexts_may_be_nested_entered_again_and_left_in_any_order(bound, package):
    original, x = package.silu_and_mul, torch.randn(2, 16)
    outer, inner = replaced(bound(SILU_DEFINITION, SILU)), replaced(bound(SILU_DEFINITION, SILU))
    name = f"{package.__name__}.silu_and_mul"
    with outer, outer:
        with inner:
            package.silu_and_mul(x)
        package.silu_and_mul(x)
    assert (outer.counts[name].replaced, inner.counts[name].replaced) == (1, 1)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    package.silu_and_mul(x)
    inner.__exit__(None, None, None)
    assert inner.counts[name].replaced == 2
    assert package.silu_and_mul is original


def test_threads_that_come_and_go_leave_the_original(bound, package):
    operator, original, x = bound(SILU_DEFINITION, SILU), package.silu_and_mul, torch.randn(2, 16)
    start, swap, taken = threading.Barrier(8), replaced(operator), []

    def work():
        start.wait()
        for _ in range(50):
            with swap:
                taken.append(package.silu_and_mul(x).shape)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert package.silu_and_mul is original
    (counts,) = swap.counts.values()
    assert (counts.replaced, len(taken), package.calls) == (400, 400, [])


def test_what_was_imported_meanwhile_is_the_original_afterwards(bound, package):
    x = torch.randn(2, 16)
    with replaced(bound(SILU_DEFINITION, SILU)):
        kept = package.silu_and_mul
        kept(x)
    assert package.calls == []
    kept(x)
    assert package.calls == ["silu"]


def test_what_others_put_there_stays(bound, package):
    with replaced(bound(SILU_DEFINITION, SILU)):
        package.silu_and_mul = len
    assert package.silu_and_mul is len


def test_absent_names_are_listed_with_the_reason(bound, package, tmp_path):
    (tmp_path / "broken_upstream.py").write_text("raise OSError('no driver')\n")
    name = package.__name__
    functions = ("not_there.f", f"{name}.ops.absent", f"{name}.absent.f", "broken_upstream.f")
    with replaced(bound(SILU_DEFINITION, SILU, functions=functions)) as swap:
        assert swap.names == ()
    assert swap.absent == {
        "not_there.f": "cannot be imported: No module named 'not_there'",
        f"{name}.ops.absent": f"{name}.ops has no absent",
        f"{name}.absent.f": f"{name} has no absent",
        "broken_upstream.f": "cannot be imported: no driver",
    }


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"arguments": {}}, "has no parameter x"),
        ({"arguments": {"x": "input", "out": "result"}}, "has no parameter result"),
        ({"fixed": {"eps": 1.0}}, "has no parameter eps"),
        ({"limits": {"width * depth": Limit()}}, "name depth; axes are rows, width, double_width"),
        ({"functions": ("package.merge_state",)}, "has no parameter input"),
        ({"functions": ("package.anything",)}, "any number of arguments"),
        ({"functions": ("package.fused_add_rmsnorm",)}, "needs residual, weight, too"),
    ],
)
def test_a_signature_that_does_not_fit_is_an_error_before_anything_is_replaced(bound, package, changed, words):
    original = package.silu_and_mul
    with pytest.raises(OperatorError, match=words):
        replaced(bound(SILU_DEFINITION, SILU, **changed))
    assert package.silu_and_mul is original


def test_a_compiled_caller_reaches_the_kernel(bound, package):
    x = torch.randn(4, 16)
    expected = package.silu_and_mul(x) + 1
    package.calls.clear()

    def caller(x):
        return package.silu_and_mul(x) + 1

    with replaced(bound(SILU_DEFINITION, SILU)):
        torch.testing.assert_close(torch.compile(caller, backend="aot_eager")(x), expected)
    assert package.calls == []
