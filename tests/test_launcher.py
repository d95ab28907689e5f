"""The launcher's declaration follows from the definition alone."""

import pytest

from hone.launcher import c_type, entry_point, signature, signatures
from hone.records import Argument, Definition, Language


def test_order_is_inputs_parameters_outputs_axes(definition):
    assert signature(definition, Language.CPP) == (
        'extern "C" void launch(const float* x, const float* bias, float* out, int64_t rows, int64_t columns)'
    )


def test_cuda_ends_with_the_stream(definition):
    assert signature(definition, Language.CUDA).endswith("int64_t columns, cudaStream_t stream)")


def test_scalars_go_by_value(definition):
    scalar = Argument(name="s", kind="scalar", dtype="float64")
    changed = Definition.model_validate({**definition.model_dump(), "inputs": (*definition.inputs, scalar)})
    assert "const float* x, double s, const float* bias" in signature(changed, Language.CPP)


@pytest.mark.parametrize(
    ("dtype", "cpp", "cuda"),
    [("float16", "_Float16", "__half"), ("bfloat16", "__bf16", "__nv_bfloat16"), ("int64", "int64_t", "int64_t")],
)
def test_types_have_the_name_of_their_language(dtype, cpp, cuda):
    assert (c_type(dtype, Language.CPP), c_type(dtype, Language.CUDA)) == (cpp, cuda)


def test_types_of_eight_bits_are_cudas_alone():
    assert c_type("float8_e4m3fn", Language.CUDA) == "__nv_fp8_e4m3"
    assert c_type("float8_e5m2", Language.CUDA) == "__nv_fp8_e5m2"


@pytest.mark.parametrize("dtype", ["complex64", "float8_e4m3fn"])
def test_a_type_without_a_c_name_is_an_error(dtype):
    with pytest.raises(KeyError):
        c_type(dtype, Language.CPP)


def typed(definition):
    x, bias = definition.inputs[0], Argument(name="lse", shape=("rows",), dtype="float32", fixed_dtype=True)
    changed = {"dtypes": ("float16", "float32"), "inputs": (x.model_copy(update={"in_place": True}), bias)}
    return Definition.model_validate({**definition.model_dump(), **changed})


def test_each_type_has_a_launcher_and_what_is_written_is_not_const(definition):
    half, single = signatures(typed(definition), Language.CUDA)
    assert half.startswith(
        'extern "C" void launch_float16(__half* x, const float* lse, const __half* bias, __half* out,'
    )
    assert single.startswith(
        'extern "C" void launch_float32(float* x, const float* lse, const float* bias, float* out,'
    )
    assert signature(typed(definition), Language.CUDA) == half
    assert signature(typed(definition), Language.CUDA, dtype="float32") == single
    assert entry_point(typed(definition), "float16") == "launch_float16"


def test_without_types_there_is_one_launcher(definition):
    assert signatures(definition, Language.CPP) == [signature(definition, Language.CPP)]
    assert entry_point(definition, "float32") == "launch"
