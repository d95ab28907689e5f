"""Which flags of a `load_inline` call reach the compilers: what tunes code, and nothing that names files or programs.

Flags go through nvcc to a shell, so no value may hold quotes, `$`, blanks or the like. Target architectures are
ignored, for the build's target is fixed; folders of libraries and run paths are ignored, for they are found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


class FlagError(ValueError):
    """A flag that is not let through; the message is part of the compile log."""


@dataclass(frozen=True)
class CudaFlags:
    """What is left of `extra_cuda_cflags`."""

    flags: tuple[str, ...]
    std: int
    """C++ standard that was asked for, 0 for none."""


@dataclass(frozen=True)
class HostFlags:
    """What is left of `extra_cflags`."""

    flags: tuple[str, ...]
    std: int

    @property
    def for_this_cpu(self) -> bool:
        """Whether the object may run on CPUs like the compiler's only."""
        return any(flag.startswith("-m") for flag in self.flags)


_DEFINE = r"-[DU][A-Za-z_]\w*(=[\w.+:-]*)?"
_STD = re.compile(r"--?std=(?:c|gnu)\+\+(\w+)", re.ASCII)
_HOST = re.compile(
    rf"-O|-O[0-3sg]|-Ofast|-w|-g|-pipe|-pthread|-fopenmp|-fPIC|-fpic|{_DEFINE}|-W[a-z][a-z0-9=+-]*"
    r"|-f(no-)?(fast-math|math-errno|finite-math-only|associative-math|reciprocal-math|signed-zeros|trapping-math"
    r"|unroll-loops|tree-vectorize|inline-functions|strict-aliasing|permissive|exceptions|rtti|omit-frame-pointer"
    r"|visibility-inlines-hidden|unsafe-math-optimizations|openmp-simd)"
    r"|-fvisibility=\w+|-ffp-contract=(fast|on|off)"
    r"|-m(arch|tune)=[\w.-]+|-m(avx|sse|ssse|fma|f16c|bmi|popcnt|prefer-vector-width)[\w.=-]*",
    re.ASCII,
)
_PTXAS = r"-O[0-3]|--opt-level=[0-3]|-v|--verbose|--?warn-[a-z-]+|-dlcm=\w+|-dscm=\w+|--?maxrregcount=\d+"
_PTXAS += r"|--allow-expensive-optimizations(=\w+)?"
_CUDA = re.compile(
    rf"-O[0-3]|{_DEFINE}|--?use_fast_math|-lineinfo|--generate-line-info|-g|-G|-w|--?restrict|--?res(ource)?-usage"
    rf"|--?maxrregcount=\d+|(--ptxas-options|-Xptxas)=({_PTXAS})(,({_PTXAS}))*|--?(expt-)?extended-lambda"
    r"|--?expt-relaxed-constexpr|--?(ftz|prec-div|prec-sqrt|fmad)=(true|false|0|1)|--?src-in-ptx|--?source-in-ptx"
    r"|--?diag-suppress=[\w,]+|-Xcudafe=--(diag_suppress=\w+|display_error_number)|--?(extra-device-vectorization)"
    r"|-W(no-)?[a-z-]+|--Wno-[a-z-]+",
    re.ASCII,
)
_TARGET = re.compile(r"(-gencode|--generate-code|-arch|--gpu-architecture|-code|--gpu-code)=(.*)")
_IGNORED_CUDA = re.compile(r"(--threads|-t|--split-compile)=\d+|--compiler-options=-fPIC")
_TAKES_VALUE = re.compile(
    r"-gencode|--generate-code|-arch|--gpu-architecture|-code|--gpu-code|--ptxas-options|-Xptxas|--?maxrregcount|-Xcudafe"
    r"|-Xcompiler|--compiler-options|--threads|-t|--split-compile|--?diag-suppress"
)
_TORCH_LIBRARIES = {"c10", "c10_cuda", "torch", "torch_cpu", "torch_cuda", "torch_python"}
_SYSTEM_LIBRARIES = {"m", "pthread", "rt", "dl", "gomp", "stdc++"}
_CUDA_LIBRARIES = {
    "cublas", "cublasLt", "cudnn", "cuda", "cudart", "curand", "cufft", "cusparse", "cusolver", "nvrtc", "nvidia-ml",
}  # fmt: skip
_IGNORED_LINK = re.compile(r"-L.*|-Wl,(-rpath|--rpath|--no-as-needed|--as-needed).*|-shared|-O[0-3]?|-fPIC|-s|-pthread")


def host_flags(given: Sequence[str]) -> HostFlags:
    """Of g++; raises FlagError."""
    flags, std = [], 0
    for flag in _joined(_words(given)):
        if match := _STD.fullmatch(flag):
            std = max(std, _standard(match[1]))
        elif _HOST.fullmatch(flag):
            flags.append(flag)
        elif not _is_library(flag):
            raise _refused("extra_cflags", flag)
    return HostFlags(tuple(flags), std)


def cuda_flags(given: Sequence[str]) -> CudaFlags:
    """Of nvcc; raises FlagError."""
    flags, std = [], 0
    for flag in _joined(_words(given)):
        name, _, value = flag.partition("=")
        if match := _STD.fullmatch(flag):
            std = max(std, _standard(match[1]))
        elif _TARGET.fullmatch(flag):
            continue
        elif name in ("-Xcompiler", "--compiler-options"):
            host = host_flags([word for word in value.strip("'\"").split(",") if word])
            flags += [f"-Xcompiler={word}" for word in host.flags]
        elif _CUDA.fullmatch(flag):
            flags.append(flag)
        elif not _IGNORED_CUDA.fullmatch(flag) and not _is_library(flag):
            raise _refused("extra_cuda_cflags", flag)
    return CudaFlags(tuple(flags), std)


def architecture(given: Sequence[str], sm: str) -> str:
    """Of nvcc's target: `sm` such as `90`, or `90a` where flags ask for that.

    Instructions of a GPU's own generation alone, such as Hopper's, are in the latter only.
    """
    targets = filter(None, map(_TARGET.fullmatch, _joined(_words(given))))
    return f"{sm}a" if any(f"{sm}a" in target[2] for target in targets) else sm


def libraries(given: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of CUDA's and of the system's libraries to link with, PyTorch's own left out; raises FlagError."""
    cuda, system = [], []
    words = iter(_words(given))
    for word in words:
        if word in ("-L", "-l"):
            word += next(words, "")  # noqa: PLW2901  the value stands in a word of its own
        name = word.removeprefix("-l") if word.startswith("-l") else "gomp" if word == "-fopenmp" else ""
        if name in _CUDA_LIBRARIES:
            cuda.append(name)
        elif name in _SYSTEM_LIBRARIES:
            system.append(name)
        elif name not in _TORCH_LIBRARIES and not _IGNORED_LINK.fullmatch(word):
            raise _refused("extra_ldflags", word)
    return tuple(dict.fromkeys(cuda)), tuple(dict.fromkeys(system))


def linked_by_compilers(*given: Sequence[str]) -> list[str]:
    """The `-l…` of known libraries among compilers' flags, which nvcc hands on to the linker."""
    return [flag for flags in given for flag in _joined(_words(flags)) if _is_library(flag)]


def _is_library(flag: str) -> bool:
    return flag.startswith("-l") and flag[2:] in _CUDA_LIBRARIES | _SYSTEM_LIBRARIES | _TORCH_LIBRARIES


def check_folders(given: Sequence[str], known: Iterable[str]) -> None:
    """Refuse include folders that are not searched anyway; raises FlagError."""
    for folder in given:
        if not any(folder.rstrip("/") == path or folder.startswith(f"{path}/") for path in known):
            raise _refused("extra_include_paths", folder)


def _words(given: Sequence[str]) -> Iterator[str]:
    """PyTorch hands flags to a shell, so one text may hold several."""
    for text in given:
        yield from text.split()


def _joined(words: Iterator[str]) -> Iterator[str]:
    """Flags with the values that stand in words of their own joined to them."""
    for word in words:
        if word in ("-D", "-U", "-l"):
            yield word + next(words, "")
        elif _TAKES_VALUE.fullmatch(word):
            yield f"{word}={next(words, '')}"
        else:
            yield word


def _standard(text: str) -> int:
    drafts = {"1y": 14, "1z": 17, "2a": 20, "2b": 23}
    return drafts.get(text, int(text) if text.isdecimal() else 0)


def _refused(argument: str, flag: str) -> FlagError:
    return FlagError(f"error: load_inline: '{flag[:200]}' in {argument} is not allowed here")
