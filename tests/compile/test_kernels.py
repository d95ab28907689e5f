"""Existing kernels of a definition: built like solutions, with its flags; what the compiler says of them."""

import pytest

from hone.compile import build_all
from hone.compile.kernels import kernel_solution, kernels_for, with_kernels
from hone.compile.resources import split_resources
from hone.compile.toolchain import flags_for, toolchain_for
from hone.core.errors import ConfigError
from hone.records import BuildStatus, KernelResources, Language
from tests.judge.conftest import scale_definition, solution_of

EMPTY = 'extern "C" void launch() {}\n'
ITEM = scale_definition(kernels={"upstream": EMPTY, "current": f"{EMPTY}// newer\n"}, kernel_language="cpp")
CUDA_ITEM = scale_definition(kernels={"upstream": EMPTY}, kernel_language="cuda", compiler_flags=("-use_fast_math",))


def build(store, item, *solutions):
    return build_all(solutions, {item.name: item}, store=store, timeout_s=60, workers=2, progress=False)


# ------------------------------------------------------------------------------------------------- as solutions


def test_a_kernel_is_the_same_solution_wherever_it_is_made():
    kernel = kernel_solution(ITEM, "upstream")
    assert kernel == solution_of(ITEM, EMPTY, Language.CPP)
    assert kernels_for(ITEM, "cpu") == {"upstream": kernel, "current": kernel_solution(ITEM, "current")}
    assert kernels_for(ITEM, "cuda") == kernels_for(scale_definition(), "cpu") == {}


def test_kernels_come_after_the_solutions_and_none_twice():
    upstream, current = kernel_solution(ITEM, "upstream"), kernel_solution(ITEM, "current")
    other = solution_of(ITEM, "other")
    assert with_kernels([other], {ITEM.name: ITEM}, "cpu") == [other, upstream, current]
    assert with_kernels([current, other], {ITEM.name: ITEM}, "cpu") == [current, other, upstream]
    assert with_kernels([other], {ITEM.name: ITEM}, "cuda") == [other]
    assert with_kernels([], {ITEM.name: ITEM}, "cpu") == []


def test_a_kernel_and_an_equal_solution_share_their_build(tmp_path):
    known = with_kernels([solution_of(ITEM, EMPTY)], {ITEM.name: ITEM}, "cpu")
    upstream, current = build(tmp_path, ITEM, *known)
    assert [item.status for item in (upstream, current)] == [BuildStatus.BUILT] * 2
    assert upstream.solution == kernel_solution(ITEM, "upstream").id
    assert upstream.command == current.command


# ------------------------------------------------------------------------------------------------------- flags


def test_the_definitions_flags_reach_its_solutions_and_their_builds_keys(tmp_path):
    flagged = ITEM.model_copy(update={"compiler_flags": ("-std=c++20", "-funroll-loops")})
    (plain,) = build(tmp_path, ITEM, solution_of(ITEM, EMPTY))
    (other,) = build(tmp_path, flagged, solution_of(ITEM, EMPTY))
    assert other.command[-2:] == flagged.compiler_flags
    assert [word for word in other.command if word.startswith("-std")] == ["-std=c++20"]
    assert "-std=c++17" in plain.command
    assert plain.artifact != other.artifact


def test_flags_are_for_the_kernels_language_alone():
    assert flags_for(CUDA_ITEM, Language.CUDA) == ("-use_fast_math",)
    assert flags_for(CUDA_ITEM, Language.CPP) == ()
    assert toolchain_for(Language.CUDA).with_flags(()) == toolchain_for(Language.CUDA)


@pytest.mark.parametrize(
    "flag",
    ["-use_fast_math", "--expt-relaxed-constexpr", "-std=c++20", "-maxrregcount=64", "-DFAST=1", "--fmad=false"],
)
def test_flags_that_tune_code_are_allowed(flag):
    item = CUDA_ITEM.model_copy(update={"compiler_flags": (flag,)})
    assert flags_for(item, Language.CUDA) == (flag,)


@pytest.mark.parametrize(
    "flag", ["-I/etc", "-include=/etc/passwd", "-ccbin=evil", "-o", "-arch=sm_80", "--threads=4", "-DX=`id`", "x.cu"]
)
def test_other_flags_are_named_with_their_definition(tmp_path, flag):
    item = CUDA_ITEM.model_copy(update={"compiler_flags": ("-w", flag)})
    with pytest.raises(ConfigError, match="not let through") as caught:
        build(tmp_path, item, solution_of(item, EMPTY, Language.CUDA))
    assert (caught.value.where, flag in caught.value.problem) == (item.name, True)


# -------------------------------------------------------------------------------------------------- resources

SAID = """solution.cu(3): warning #177-D: variable "x" was declared but never referenced
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4siluI6__halfLi8EEvPKT_PS1_i' for 'sm_90'
ptxas info    : Function properties for _Z4siluI6__halfLi8EEvPKT_PS1_i
    256 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 34 registers, used 1 barriers, 256 bytes cumulative stack size, 256 bytes smem
ptxas info    : Compile time = 104.697 ms
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
ptxas info    : Function properties for _Z6helperv
    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas warning : something else
"""
PLAIN = KernelResources(kernel="plain", registers=10, shared_bytes=0, spill_store_bytes=0, spill_load_bytes=0)
SILU = KernelResources(
    kernel="silu<__half, 8>", registers=34, shared_bytes=256, spill_store_bytes=8, spill_load_bytes=12
)


def test_resources_leave_the_log():
    log, resources = split_resources(SAID)
    assert resources == (PLAIN, SILU)
    assert log.splitlines() == [SAID.splitlines()[0], "ptxas warning : something else"]
    assert split_resources("error: no\n") == ("error: no\n", ())


@pytest.mark.parametrize(
    ("mangled", "short"),
    [
        ("_ZN12_GLOBAL__N_15scaleI6float4EEvPKT_S3_PS2_ll", "scale<float4>"),
        (
            "_ZN10flashinfer4norm13RMSNormKernelILj8E6__halfEEvPT0_S4_S4_jjf",
            "flashinfer::norm::RMSNormKernel<8u, __half>",
        ),
        ("_Z1fPFviE", "f"),
        ("plain", "plain"),
        ("_Zbroken", "_Zbroken"),
    ],
)
def test_names_of_kernels_are_short(mangled, short):
    lines = f"ptxas info    : Compiling entry function '{mangled}' for 'sm_90'\nptxas info    : Used 8 registers\n"
    ((found,)) = split_resources(lines)[1]
    assert (found.kernel, found.registers) == (short, 8)


def test_without_a_demangler_names_stay_as_they_are(monkeypatch):
    monkeypatch.setattr("hone.compile.resources.DEMANGLER", "no-such-program")
    assert split_resources(SAID)[1][0].kernel.startswith("_Z4silu")


def test_a_build_keeps_what_the_compiler_said(tmp_path, monkeypatch):
    compiler = tmp_path / "nvcc"
    said = SAID.replace("'", "'\\''")
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo release 13.0 && exit\n'
        f"for word; do last=$word; done; cp solution.cu $last; echo '{said}'\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("NVCC", str(compiler))
    for _ in range(2):  # compiled, then from the store
        (found,) = build(tmp_path / "store", CUDA_ITEM, kernel_solution(CUDA_ITEM, "upstream"))
        assert found.resources == (PLAIN, SILU)
        assert "Used 34" not in found.log
        assert {"-Xptxas", "-v", "-use_fast_math"} <= set(found.command)
