"""What can be read off CUDA and C++ text: kernels, launches and their streams, libraries, synchronisation, formats.

Comments are taken out first; beyond that text is searched, not parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAUNCH_CHARACTERS = 2_000
"""More than any launch's configuration holds: a text that never closes one is not searched to its end."""
MOST_NAMES = 100
_DEFAULT_STREAM = re.compile(
    r"(\(\s*cudaStream_t\s*\)\s*)?(0|NULL|nullptr|\{\}|cudaStreamLegacy|cudaStreamDefault|static_cast<cudaStream_t>\(0\))"
)
_LIBRARIES = {
    "cublas": r"cublas\w*\.h", "cudnn": r"cudnn\w*\.h", "cub": r"cub/", "thrust": r"thrust/",
    "cutlass": r"(cutlass|cute)/", "cufft": r"cufft\w*\.h", "cusparse": r"cusparse\w*\.h", "curand": r"curand\w*\.h",
    "cooperative_groups": r"cooperative_groups", "wmma": r"mma\.h",
}  # fmt: skip
_OWN_STREAM = re.compile(r"\b(cudaStreamCreate\w*|getStreamFromPool)\b")
_OWN_GRAPH = re.compile(r"\b(cudaStreamBeginCapture\w*|cudaGraphLaunch|CUDAGraph)\b")
_SYNCHRONISES = re.compile(r"\b(cudaDeviceSynchronize|cudaStreamSynchronize|cudaEventSynchronize)\s*\(|\.item\s*<")
_SIXTEEN_BIT = re.compile(
    r"\b(__half2?|__nv_bfloat162?|nv_bfloat162?|__float2half\w*|__float2bfloat16\w*|(at|c10)::(Half|BFloat16)"
    r"|kHalf|kFloat16|kBFloat16|half2|half\s*\*)\W"
)
_TF32 = re.compile(r"\b(setAllowTF32\w*|precision::tf32|CUBLAS_TF32\w*|CUBLAS_COMPUTE_32F_FAST_TF32|\w*\.tf32\b)")
_STATIC_TENSOR = re.compile(r"\bstatic\s+(?:(?:thread_local|const)\s+)?(?:torch|at)::Tensor\s+(\w+)")
_BINDINGS = re.compile(r"\bPYBIND11_MODULE\s*\(\s*(\w+)\s*,")
_BOUND = re.compile(r"\bdef\s*\(\s*\"(\w+)")
_REGISTERED = re.compile(r"\bTORCH_LIBRARY(_FRAGMENT|_IMPL)?\s*\(")


@dataclass(frozen=True)
class CudaText:
    """What a module's CUDA and C++ texts show."""

    kernels: int
    """Functions marked `__global__`."""
    launches: int
    """Places that launch with `<<<…>>>`."""
    default_stream_launches: int
    libraries: tuple[str, ...]
    own_stream: bool
    own_graph: bool
    synchronises: bool
    sixteen_bit: bool
    tf32: bool
    returns_static: bool
    """A function returns a tensor that it keeps in a static variable."""


def read_cuda(texts: Iterable[str]) -> CudaText:
    """All texts of one module taken together."""
    code = "\n".join(without_comments(text) for text in texts)
    streams = [_stream(configuration) for configuration in _configurations(code)]
    return CudaText(
        kernels=len(re.findall(r"__global__", code)),
        launches=len(streams),
        default_stream_launches=sum(_DEFAULT_STREAM.fullmatch(stream) is not None for stream in streams),
        libraries=tuple(
            name for name, pattern in _LIBRARIES.items() if re.search(rf"#\s*include\s*[<\"]{pattern}", code)
        ),
        own_stream=_OWN_STREAM.search(code) is not None,
        own_graph=_OWN_GRAPH.search(code) is not None,
        synchronises=_SYNCHRONISES.search(code) is not None,
        sixteen_bit=_SIXTEEN_BIT.search(code) is not None,
        tf32=_TF32.search(code) is not None,
        returns_static=any(
            re.search(rf"\breturn\s+{name}\s*;", code) for name in _STATIC_TENSOR.findall(code)[:MOST_NAMES]
        ),
    )


def without_comments(text: str) -> str:
    """The text with a blank in place of each comment; comment signs inside a text constant count as comments, too."""
    return _COMMENT.sub(" ", text)


def looks_like_cuda(text: str) -> bool:
    """Whether a text constant is C++ or CUDA."""
    return (
        "__global__" in text or "<<<" in text or "#include" in text or "torch::Tensor" in text or "at::Tensor" in text
    )


def module_bindings(text: str) -> tuple[str, ...]:
    """Names of the Python modules that a text defines with PYBIND11_MODULE, comments left out."""
    return tuple(_BINDINGS.findall(without_comments(text)))


def bound_functions(text: str) -> tuple[str, ...]:
    """Names under which a text's own bindings show functions to Python."""
    return tuple(_BOUND.findall(without_comments(text)))


def registers_operators(text: str) -> bool:
    """Whether it has a TORCH_LIBRARY."""
    return _REGISTERED.search(without_comments(text)) is not None


def mentions(text: str, name: str) -> bool:
    """Whether a C++ name stands in the code, comments left out; of `ns::name` the last part."""
    last = name.rpartition("::")[2].strip()
    return re.search(rf"\b{re.escape(last)}\b", without_comments(text)) is not None


def _configurations(code: str) -> Iterator[str]:
    """What stands between `<<<` and `>>>` of each launch."""
    start = code.find("<<<")
    while start >= 0:
        end = code.find(">>>", start + 3, start + _LAUNCH_CHARACTERS)
        if end >= 0:
            yield code[start + 3 : end]
        start = code.find("<<<", start + 3)


def _stream(configuration: str) -> str:
    """The fourth argument of a launch, `0` where it has fewer."""
    arguments, depth = [""], 0
    for character in configuration:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += character
    return arguments[3].strip() if len(arguments) > 3 else "0"
