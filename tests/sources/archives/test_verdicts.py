"""What a result of KernelBench's evaluation says, and what is not the answer's fault."""

import pytest

from hone.sources.archives.verdicts import claimed_of

from .conftest import result

OOM = "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 23.53 GiB"


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (result(), "correct"),
        (result(error_during_performance=OOM), "correct"),
        (result(False, correctness_issue="Output mismatch"), "wrong_value"),
        (result(False, correctness_issue="Output shape mismatch: Expected torch.Size([1])"), "wrong_shape"),
        (result(False, correctness_issue="Output mismatch", runtime_error=OOM), "wrong_value"),
        (result(False, False, compilation_error="Error building extension 'x'"), "compile_error"),
        (result(False, False), "compile_error"),
        (result(False, runtime_error="mat1 and mat2 shapes cannot be multiplied"), "runtime_error"),
        (result(False, False, cuda_error="CUDA Error: an illegal memory access was encountered"), "runtime_error"),
        (result(False, False, other_error="error: name 'math' is not defined"), "runtime_error"),
        (result(False, runtime_error=OOM), "not_run"),
        (result(False, False, other_error=f"error: {OOM}"), "not_run"),
        (result(False, runtime_error="CUDA error: no kernel image is available for execution"), "not_run"),
        (result(False, runtime_error="\"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for 'Float'"),
         "not_run"),
        (result(False, False, error="Kernel not found for problem 3 sample 0"), "not_run"),
        (result(False), "wrong"),
        ({}, "not_run"),
        (None, "not_run"),
        ({"correctness": "yes", "metadata": None}, "not_run"),
    ],
)  # fmt: skip
def test_the_verdict_of_a_result(given, verdict):
    assert str(claimed_of(given).verdict) == verdict


def test_a_time_of_minus_one_is_no_time():
    claimed = claimed_of({**result(runtime=3.0), "ref_runtime": 6.0})
    assert (claimed.runtime_ms, claimed.reference_ms, claimed.speedup) == (3.0, 6.0, 2.0)
    claimed = claimed_of({**result(False), "ref_runtime": -1.0})
    assert (claimed.runtime_ms, claimed.reference_ms, claimed.speedup) == (None, None, None)


def test_a_long_error_is_cut():
    assert len(claimed_of(result(False, runtime_error="x" * 900)).error) == 500
