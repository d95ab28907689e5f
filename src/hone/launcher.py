"""The launcher: the C function that a `cpp` or `cuda` solution exports, derived from its definition.

    extern "C" void launch(const float* x, const float* weight, float* out, int64_t batch_size, int64_t dim);

Inputs of `forward` come first, then parameters, then outputs (allocated by the harness), then the sizes of all
named axes in the definition's order; a `cuda` launcher ends with the stream. Tensors are contiguous; inputs and
parameters are const but for inputs that are written in place. Where the definition names data types there is one
launcher for each (`launch_float16`), with pointers of that type.
"""

from __future__ import annotations

from hone.records import Argument, Definition, Language

ENTRY_POINT = "launch"
ENTRY_POINTS = {
    Language.PYTHON: "ModelNew",
    Language.TRITON: "ModelNew",
    Language.CPP: ENTRY_POINT,
    Language.CUDA: ENTRY_POINT,
}
"""What a solution defines, by its language."""

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
NARROW_TYPES = {
    Language.CPP: {"float16": "_Float16", "bfloat16": "__bf16"},
    Language.CUDA: {
        "float16": "__half",
        "bfloat16": "__nv_bfloat16",
        "float8_e4m3fn": "__nv_fp8_e4m3",
        "float8_e5m2": "__nv_fp8_e5m2",
    },
}
"""Floating-point types of 16 and 8 bits; C++ has no name for those of 8."""


def c_type(dtype: str, language: Language) -> str:
    """C name of a PyTorch data type; raises KeyError for one that has none (complex, quantised)."""
    return C_TYPES.get(dtype) or NARROW_TYPES[language][dtype]


def entry_point(definition: Definition, dtype: str, stem: str = ENTRY_POINT) -> str:
    """Name of the launcher for workloads of a data type: `launch`, or `launch_float16` where types are named."""
    return f"{stem}_{dtype}" if definition.dtypes else stem


def signature(definition: Definition, language: Language, dtype: str | None = None) -> str:
    """Declaration of the launcher for a data type, without the semicolon.

    Without `dtype` it is that of the definition's first type, or of the arguments' own where it names none.
    """
    chosen = dtype or next(iter(definition.dtypes), None)

    def pointer(argument: Argument, const: str) -> str:
        of = c_type(argument.dtype_at(chosen) if chosen else argument.dtype, language)
        if argument.kind == "scalar":
            return f"{of} {argument.name}"
        return f"{'' if argument.in_place else const}{of}* {argument.name}"

    arguments = [pointer(argument, "const ") for argument in (*definition.inputs, *definition.parameters)]
    arguments += [pointer(argument, "") for argument in definition.outputs]
    arguments += [f"int64_t {axis}" for axis in definition.axes]
    if language is Language.CUDA:
        arguments.append("cudaStream_t stream")
    name = entry_point(definition, chosen) if chosen else ENTRY_POINT
    return f'extern "C" void {name}({", ".join(arguments)})'


def signatures(definition: Definition, language: Language) -> list[str]:
    """Declarations of all launchers that a solution exports, one for each data type."""
    return [signature(definition, language, dtype) for dtype in definition.dtypes or (None,)]
