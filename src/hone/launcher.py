"""The launcher: the one C function that a `cpp` or `cuda` solution exports, derived from its definition.

    extern "C" void launch(const float* x, const float* weight, float* out, int64_t batch_size, int64_t dim);

Inputs of `forward` come first, then parameters, then outputs (allocated by the harness), then the sizes of all
named axes in the definition's order; a `cuda` launcher ends with the stream. Tensors are contiguous.
"""

from __future__ import annotations

from hone.records import Argument, Definition, Language

ENTRY_POINT = "launch"

C_TYPES = {
    "float32": "float",
    "float64": "double",
    "int64": "int64_t",
    "int32": "int32_t",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "bool",
}
HALF_TYPES = {
    Language.CPP: {"float16": "_Float16", "bfloat16": "__bf16"},
    Language.CUDA: {"float16": "__half", "bfloat16": "__nv_bfloat16"},
}


def c_type(dtype: str, language: Language) -> str:
    """C name of a PyTorch data type; raises KeyError for one that has none (complex, quantised)."""
    return C_TYPES.get(dtype) or HALF_TYPES[language][dtype]


def signature(definition: Definition, language: Language) -> str:
    """Declaration of the launcher, without the semicolon."""

    def pointer(argument: Argument, const: str) -> str:
        if argument.kind == "scalar":
            return f"{c_type(argument.dtype, language)} {argument.name}"
        return f"{const}{c_type(argument.dtype, language)}* {argument.name}"

    arguments = [pointer(argument, "const ") for argument in (*definition.inputs, *definition.parameters)]
    arguments += [pointer(argument, "") for argument in definition.outputs]
    arguments += [f"int64_t {axis}" for axis in definition.axes]
    if language is Language.CUDA:
        arguments.append("cudaStream_t stream")
    return f'extern "C" void {ENTRY_POINT}({", ".join(arguments)})'
