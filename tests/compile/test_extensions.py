"""Extensions of Python solutions: what a module asks for, which flags pass, what is compiled and how it is found."""

import json
import os

import pytest

from hone.compile import build_all
from hone.compile import extensions as extensions_module
from hone.compile import recording as recording_module
from hone.compile.builds import CUDA_EPILOGUE
from hone.compile.extension_call import Call, call_key, call_of, prebuilt_load_inline
from hone.compile.extension_flags import FlagError, architecture, check_folders, cuda_flags, host_flags, libraries
from hone.compile.extension_sources import FULL, plan_of
from hone.compile.extensions import build_extension, find_tools
from hone.compile.recording import record_calls
from hone.core.store import Store
from hone.machine.confinement import FULL as ALL_PARTS
from hone.machine.hardware import DEFAULT, gpu
from hone.records import BuildStatus, Language
from tests.judge.conftest import scale_definition, solution_of

ITEM = scale_definition()
IMPORTS = "import os, torch\nfrom torch.utils.cpp_extension import load_inline\n"
MODEL = "class ModelNew(torch.nn.Module):\n    def __init__(self, columns):\n        super().__init__()\n"


def record(source, timeout_s=30, name=DEFAULT):
    return record_calls(solution_of(ITEM, source, Language.PYTHON), ITEM.reference, timeout_s, gpu(name))


# ------------------------------------------------------------------------------------------------ calls and keys


def test_a_call_is_the_same_however_its_arguments_are_written():
    written = (
        call_of("scale", "int f();", "kernel", None, ["f"], extra_cflags=["-O2"]),
        call_of(
            name="scale", cpp_sources=["int f();"], cuda_sources=["kernel"], functions={"f": "f"}, extra_cflags="-O2"
        ),
        call_of("scale", ("int f();",), "kernel", functions="f", extra_cflags=["-O2"], verbose=True, with_cuda=True),
    )
    assert len({call_key(call) for call in written}) == 1
    assert call_of(**json.loads(json.dumps(written[0].message()))) == written[0]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other", "is_python_module": False}, {"cpp_sources": "int g();"}, {"cuda_sources": "x"},
        {"functions": ["g"]},
        {"functions": None}, {"extra_cflags": ["-O3"]}, {"extra_cuda_cflags": ["-O3"]}, {"extra_ldflags": ["-lm"]},
        {"with_cuda": True},
        {"no_implicit_headers": True}, {"with_pytorch_error_handling": False}, {"is_python_module": False},
        {"extra_include_paths": ["/x"]},
    ],
)  # fmt: skip
def test_whatever_changes_the_object_changes_the_key(change):
    plain = {"name": "scale", "cpp_sources": "int f();", "functions": ["f"]}
    assert call_key(call_of(**plain)) != call_key(call_of(**{**plain, **change}))


@pytest.mark.parametrize(
    "wrong",
    [{"name": 3}, {"cpp_sources": 3}, {"cuda_sources": [3]}, {"functions": {"f": 3}}, {"functions": 3}, {"unknown": 1}],
)
def test_arguments_of_wrong_types_are_refused(wrong):
    with pytest.raises(TypeError):
        call_of(**{"name": "scale", "cpp_sources": "", **wrong})


def test_module_names_are_identifiers():
    given = ("scale", "my-ext 2.0", "2fast", "ä/../x", "")
    names = [call_of(name, "", is_python_module=False).module_name for name in given]
    assert names[:3] == ["scale", "my_ext_2_0", "_2fast"]
    names += [call_of(name, "").module_name for name in given]
    assert all(name.isascii() and name.isidentifier() for name in names)


@pytest.mark.parametrize(
    ("sources", "matters"),
    [("int f();", False), ("PYBIND11_MODULE(my_ext, m) {}", True), ("TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) {}", True)],
)
def test_a_name_counts_only_where_the_object_holds_it(sources, matters):
    first, second = call_of("my-ext", sources), call_of(f"my-ext{os.getpid()}", sources)
    assert (call_key(first) != call_key(second)) == matters
    assert (first.module_name != second.module_name) == matters
    assert (first.module_name == "my_ext") == matters


def test_a_call_that_was_not_recorded_says_so():
    with pytest.raises(RuntimeError, match="'scale' was not built ahead of time"):
        prebuilt_load_inline({}, {})("scale", "int f();")


def test_a_refused_call_raises_what_pytorch_raises():
    refused = {call_key(call_of("scale", "int f();")): "main.cpp: error: no"}
    with pytest.raises(RuntimeError, match=r"^Error building extension 'scale1': main\.cpp: error: no$"):
        prebuilt_load_inline({}, refused)("scale1", "int f();")


# ------------------------------------------------------------------------------------------------------ recording


def test_calls_are_recorded_under_every_name_and_in_the_constructor():
    body = f"""
{IMPORTS}import torch.utils.cpp_extension as extension
from torch.utils.cpp_extension import load_inline as build_it
print("loud" * 100_000)
first = load_inline(name="first", cpp_sources="int f();", cuda_sources="b", functions=["f"])
first.f(1).anything()
if torch.cuda.is_available():
    extension.load_inline("second", ["a"])
build_it("first", "int f();", "b", functions=["f"])
{MODEL}        self.here = torch.nn.Linear(2, 2).cuda().weight.to("cuda") + torch.ones(2, device="cuda:0")
        assert torch.cuda.get_device_properties(0).multi_processor_count
        self.extension = build_it(name=f"third_{{columns}}", cpp_sources="c")
"""
    recording = record(body)
    assert [call.name for call in recording.calls] == ["first", "second", "third_256"]
    assert recording.calls[0] == call_of("first", "int f();", "b", functions=["f"])
    assert not (recording.refusal or recording.remark or recording.timed_out)


def test_a_module_under_the_probe_can_touch_nothing(tmp_path):
    target = tmp_path / "file"
    body = f"""
{IMPORTS}import socket, subprocess
done = []
for attempt in (
    lambda: open("/etc/passwd").read(), lambda: open({str(target)!r}, "w"), lambda: open("/var/tmp/x", "w"),
    lambda: open("/dev/shm/x", "w"), socket.socket,
    lambda: subprocess.run(["true"]), os.fork, lambda: os.kill(os.getppid(), 0),
):
    try:
        attempt()
        done.append("done")
    except OSError as error:
        done.append("refused")
load_inline("result", " ".join(done), cuda_sources=sorted(os.environ))
"""
    recording = record(body)
    (call,) = recording.calls
    assert not target.exists()
    if set(ALL_PARTS) - {"process_namespace"} <= set(recording.confinement):
        assert set(call.cpp_sources[0].split()) == {"refused"}
    assert not [name for name in call.cuda_sources if "KEY" in name]


@pytest.mark.parametrize(
    ("ending", "remark"),
    [("os._exit(3)", ""), ("raise SystemExit(2)", "SystemExit: 2")],
)
def test_what_was_called_before_a_module_ends_stays(ending, remark):
    recording = record(f"{IMPORTS}load_inline('a', 'b')\n{ending}\n")
    assert [call.name for call in recording.calls] == ["a"]
    assert remark in recording.remark


def test_a_module_that_does_not_end_times_out(tmp_path, monkeypatch):
    monkeypatch.setattr(recording_module, "TIMEOUT_S", 0.5)
    solution = solution_of(ITEM, "load_inline = 1\nwhile True: pass\n", Language.PYTHON)
    (build,) = build_all([solution], {ITEM.name: ITEM}, store=tmp_path, timeout_s=60, workers=1, progress=False)
    assert build.status is BuildStatus.TIMEOUT
    assert "load_inline" in build.log


def read(said, timed_out=False):
    return recording_module._read(said, timed_out)


def test_a_constructor_that_does_not_end_is_left_to_the_judge():
    assert not read(b'{"phase": "module"}\n{"phase": "model"}\n', timed_out=True).timed_out
    assert read(b'{"phase": "module"}\n', timed_out=True).timed_out


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", "3", '{"call": {"name": 1}}', '{"call": 5}', "[" * 99_999, "\udcff"]
)
def test_forged_answers_end_the_list(line):
    good = json.dumps({"call": call_of("a", "b").message()})
    said = f'{{"phase": "module"}}\n{good}\n{line}\n{good}\n'
    assert read(said.encode("utf-8", "surrogateescape")).calls == [call_of("a", "b")]


def test_too_many_or_too_large_calls_are_refused(monkeypatch):
    lines = [
        json.dumps({"phase": "module"}),
        *(json.dumps({"call": call_of(f"n{i}", "b").message()}) for i in range(17)),
    ]
    said = "\n".join(lines).encode()
    assert "17 different" in read(said).refusal
    monkeypatch.setattr(recording_module, "MOST_BYTES", 1000)
    assert "bytes" in read(said).refusal


# ---------------------------------------------------------------------------------------------------------- flags


def test_flags_that_tune_code_pass():
    host = host_flags(["-O3 -std=c++17", "-ffast-math", "-D", "N=4", "-march=native", "-Wno-unused"])
    assert host.flags == ("-O3", "-ffast-math", "-DN=4", "-march=native", "-Wno-unused")
    assert host.std == 17 and host.for_this_cpu
    given = [
        "-O3",
        "--use_fast_math",
        "-U__CUDA_NO_HALF_OPERATORS__",
        "-Xptxas",
        "-O3,-v",
        "-maxrregcount=64",
        "-lineinfo",
    ]
    cuda = cuda_flags([*given, "-std=c++20", "--ptxas-options=-v", "-Xcompiler -O2,-fopenmp", "--threads", "4"])
    assert set(given[:3]) | {"-Xptxas=-O3,-v", "-Xcompiler=-fopenmp", "-Xcompiler=-O2"} <= set(cuda.flags)
    assert cuda.std == 20


@pytest.mark.parametrize(
    ("given", "sm", "expected"),
    [
        (["-arch=sm_80"], "90", "90"),
        (["-gencode", "arch=compute_70,code=sm_70"], "90", "90"),
        (["-gencode=arch=compute_90a,code=sm_90a"], "90", "90a"),
        (["-arch", "sm_90a", "-O3"], "90", "90a"),
        (["-arch", "sm_90a", "-O3"], "80", "80"),
        (["-arch=sm_90a -gencode=arch=compute_100a,code=sm_100a"], "100", "100a"),
    ],
)
def test_architectures_are_the_builds_own(given, sm, expected):
    assert architecture(given, sm) == expected
    assert not [flag for flag in cuda_flags(given).flags if "sm_" in flag]


@pytest.mark.parametrize(
    "flag",
    [
        "@file", "-I/etc", "-include", "-o", "-o/tmp/x", "-fplugin=x.so", "-Wl,-rpath,/x", "-wrapper", "-B/tmp",
        "/etc/passwd", "-x", "--sysroot=/", "-DX=$(id)", '-DX="a"', "-D`id`", "-save-temps", "-specs=x", "-isystem/",
        "-fdump-tree-all", "-D",
    ],
)  # fmt: skip
def test_everything_else_is_refused_by_name(flag):
    for check in (host_flags, cuda_flags, lambda given: cuda_flags(["-Xcompiler", *given])):
        with pytest.raises(FlagError, match="not allowed"):
            check([flag])
    with pytest.raises(FlagError, match="extra_ldflags"):
        libraries(["-lcublas", flag if not flag.startswith("-Wl") else "-Wl,--version-script=x"])


@pytest.mark.parametrize("flag", ["-ccbin=/x", "--compiler-bindir=/x", "-Xptxas=-o,x", "--options-file=x", "-rdc=true"])
def test_nvccs_own_ways_to_files_are_refused(flag):
    with pytest.raises(FlagError, match="extra_cuda_cflags"):
        cuda_flags([flag])


def test_libraries_among_compilers_flags_are_linked():
    call = call_of("a", "", "kernel", extra_cuda_cflags=["-O3 -lcublas", "-l", "cufft"], extra_cflags=["-lm"])
    assert cuda_flags(call.extra_cuda_cflags).flags == ("-O3",) and not host_flags(call.extra_cflags).flags
    found = plan(call)
    assert set(found.cuda_libraries) == {"cudart", "cublas", "cufft"} and found.system_libraries == ("m",)
    for check, argument in ((cuda_flags, "extra_cuda_cflags"), (host_flags, "extra_cflags")):
        with pytest.raises(FlagError, match=f"-lsecret' in {argument}"):
            check(["-lsecret"])


def test_libraries_and_folders():
    assert libraries(["-lcublas", "-L/x", "-lc10 -lm", "-l", "cudnn", "-Wl,-rpath,/x"]) == (("cublas", "cudnn"), ("m",))
    check_folders(["/torch/include/", "/torch/include/ATen"], ["/torch/include"])
    for folder in ("/torch/include2", "/etc", "cutlass/include"):
        with pytest.raises(FlagError, match="extra_include_paths"):
            check_folders([folder], ["/torch/include"])


# ------------------------------------------------------------------------------------------------------- compiling


def plan(call):
    tools = find_tools()
    return plan_of(call, tools.gxx, tools.nvcc, tools.torch)


def test_files_are_those_that_pytorch_would_write():
    call = call_of(
        "my-ext", "int f();", "int f() { return 1; }", functions={"f": 'says "f"'}, extra_cuda_cflags=["-O1"]
    )
    main, cuda = plan(call).units
    assert main.text.startswith("#include <torch/extension.h>\nint f();\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {")
    assert 'm.def("f", torch::wrap_pybind_function(f), "says \\"f\\"");' in main.text
    assert cuda.text.startswith("#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\nint f()")
    assert f"-DTORCH_EXTENSION_NAME={call.module_name}" in main.flags
    assert {"-O1", "arch=compute_90,code=sm_90", "-D__CUDA_NO_HALF_OPERATORS__"} <= set(cuda.flags)
    assert plan(call).cuda_libraries == ("cudart",) and plan(call).target == "sm_90"
    (bare,) = plan(call_of("a", "int f();", no_implicit_headers=True, functions=None)).units
    assert bare.text == "int f();\n"
    assert call.name not in str(main.command(find_tools().torch, FULL))


CPP = """
torch::Tensor scaled(torch::Tensor x, double factor) {
    TORCH_CHECK(x.dim() == 2, "two dimensions, please");
    return x * factor;
}
"""


@pytest.mark.slow
def test_a_real_extension_is_built_once_and_imported(tmp_path, monkeypatch):
    import torch

    arguments = {"name": "scale-ext", "cpp_sources": CPP, "functions": ["scaled"], "extra_cflags": ["-O1"]}
    source = f"{IMPORTS}extension = load_inline(**{arguments!r})\n{MODEL}"
    solution = solution_of(ITEM, source, Language.PYTHON)
    (first,) = build_all([solution], {ITEM.name: ITEM}, store=tmp_path, timeout_s=300, workers=1, progress=False)
    assert first.status is BuildStatus.INTERPRETED, first.log
    assert first.artifact is None and "torch" in first.toolchain
    paths = {key: tmp_path / path for key, path in first.extensions.items()}
    assert list(paths) == [call_key(call_of(**arguments))]
    load_inline = prebuilt_load_inline(paths, {})
    extension = load_inline(**arguments)
    assert extension is load_inline(**arguments)
    assert torch.equal(extension.scaled(torch.ones(2, 3), 2.5), torch.full((2, 3), 2.5))
    with pytest.raises(RuntimeError, match="two dimensions"):
        extension.scaled(torch.ones(2), 1.0)
    monkeypatch.setattr(extensions_module, "run_compiler", lambda *_: pytest.fail("compiled again"))
    again = build_extension(call_of(**arguments), find_tools(), Store(tmp_path), 300)
    assert [again.artifact] == list(first.extensions.values())


def rejected(tmp_path, **arguments):
    call = call_of(**{"name": "bad", "cpp_sources": "no C++ ;", "no_implicit_headers": True, **arguments})
    return build_extension(call, find_tools(), Store(tmp_path), 60)


def test_what_the_compiler_refuses_is_rejected_with_its_words(tmp_path):
    found = rejected(tmp_path)
    assert found.status is BuildStatus.REJECTED
    assert "error" in found.log and "main.cpp" in found.log
    assert found.command and str(tmp_path) not in found.log
    secret = tmp_path / ".env"
    secret.write_text("KEY secret-text\n")
    assert "secret-text" not in rejected(tmp_path, cpp_sources=f'#include "{secret}"\n').log


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"extra_cflags": ["@/etc/passwd"]}, "'@/etc/passwd' in extra_cflags is not allowed"),
        ({"extra_include_paths": ["/etc"]}, "extra_include_paths"),
        ({"cpp_sources": "\0"}, "null character"),
        ({"cpp_sources": "int x;", "extra_ldflags": ["-lnvidia-ml"]}, "nvidia-ml"),
    ],
)
def test_refusals_of_our_own_are_logs_too(tmp_path, monkeypatch, arguments, words):
    monkeypatch.setattr("hone.compile.installed_torch.InstalledTorch.library", lambda *_: None)
    found = rejected(tmp_path, **arguments)
    assert found.status is BuildStatus.REJECTED
    assert words in found.log


def test_compilers_that_take_too_long_are_a_timeout_and_not_kept(tmp_path):
    call = call_of("slow", "#include <iostream>\nint x;", no_implicit_headers=True)
    found = build_extension(call, find_tools(), Store(tmp_path), 0.001)
    assert found.status is BuildStatus.TIMEOUT
    assert not list(tmp_path.iterdir())


def test_a_missing_compiler_is_no_verdict(tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC", "no-such-compiler")
    found = build_extension(call_of("a", "", "kernel"), find_tools(), Store(tmp_path), 60)
    assert found.status is BuildStatus.NO_COMPILER
    assert "no-such-compiler" in found.log


def test_cuda_objects_can_say_what_went_wrong(tmp_path, monkeypatch):
    compiler = tmp_path / "nvcc"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo release 13 && exit\n'
        "for word; do last=$word; done; cp solution.cu $last\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("NVCC", str(compiler))
    solution = solution_of(ITEM, "// ends in a continued line \\", Language.CUDA)
    (found,) = build_all([solution], {ITEM.name: ITEM}, store=tmp_path, timeout_s=60, workers=1, progress=False)
    compiled = (tmp_path / found.artifact).read_text()
    assert compiled.endswith(CUDA_EPILOGUE) and "\\\n\n" in compiled
    assert {"hone_last_error", "hone_error_text"} <= set(compiled.replace("(", " ").split())


def test_equal_calls_are_equal_objects():
    assert call_of("a", "b") == Call("a", ("b",))
