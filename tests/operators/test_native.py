"""What differs on a GPU, without one: the stream is the launcher's last argument, and failed launches are told."""

import pytest
import torch

from hone.compile import build_all
from hone.operators import Contract, OperatorError
from hone.operators import native as native_module
from hone.operators.native import NativeLibrary, on_device, stream_of
from hone.records import Language
from tests.operators.kernels import SILU_DEFINITION, solution

LIKE_CUDA = """
#include <cstdint>
static int failed = 0;
extern "C" int hone_last_error() { const int code = failed; failed = 0; return code; }
extern "C" const char* hone_error_text(int code) { return code == 9 ? "invalid configuration argument" : "?"; }
extern "C" void launch_float32(const float* x, float* out, int64_t rows, int64_t width, int64_t twice, void* stream) {
    if (x[0] < 0) { failed = 9; return; }
    out[0] = float(rows); out[1] = float(width); out[2] = float(twice); out[3] = float(int64_t(stream));
}
"""
SIZES = {"rows": 2, "width": 8, "double_width": 16}


@pytest.fixture
def library(tmp_path, monkeypatch):
    kernel = solution(SILU_DEFINITION, LIKE_CUDA)
    known = {SILU_DEFINITION.name: SILU_DEFINITION}
    (build,) = build_all([kernel], known, store=tmp_path, timeout_s=120, workers=1, progress=False)
    monkeypatch.setattr(native_module, "stream_of", lambda _: (77,))
    return NativeLibrary(Contract.of(SILU_DEFINITION), Language.CUDA, tmp_path / build.artifact)


def test_the_current_stream_is_the_last_argument(library):
    out = torch.zeros(2, 8)
    library.launch([torch.ones(2, 16)], [out], SIZES, "float32", torch.device("cpu"))
    assert library.device_type == "cuda"
    assert out[0, :4].tolist() == [2.0, 8.0, 16.0, 77.0]


def test_a_failed_launch_is_told_once(library):
    out = torch.zeros(2, 8)
    with pytest.raises(OperatorError, match="the launch failed: invalid configuration argument"):
        library.launch([-torch.ones(2, 16)], [out], SIZES, "float32", torch.device("cpu"))
    library.launch([torch.ones(2, 16)], [out], SIZES, "float32", torch.device("cpu"))


def test_a_cpu_has_no_stream():
    device = torch.device("cpu")
    assert stream_of(device) == ()
    with on_device(device):
        pass
