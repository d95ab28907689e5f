"""Modules whose calls are refused, are made late, or name files: all that they ask for is found, built or refused."""

import threading

import pytest

from hone.compile import build_all
from hone.compile import extension_rounds as rounds_module
from hone.compile import recording as recording_module
from hone.compile.extension_call import call_key, call_of
from hone.compile.outcome import fallback, first_refusal, module_raised, unbuilt
from hone.compile.recording import known_or_recorded_calls, record_calls
from hone.core.code import imported
from hone.core.store import Store
from hone.machine.hardware import DEFAULT, gpu
from hone.records import Build, BuildStatus, Language
from tests.judge.conftest import scale_definition, solution_of

ITEM = scale_definition()
IMPORTS = "import os, torch\nfrom torch.utils.cpp_extension import load_inline\n"
CASCADE = f"""{IMPORTS}
kernels = []
for number in range(9):
    try:
        kernels.append(load_inline(f"k{{number}}", f"int f{{number}}();"))
        break
    except RuntimeError as error:
        assert str(error).startswith(f"Error building extension 'k{{number}}': x.cu: error: no")
"""


def solution(source):
    return solution_of(ITEM, source, Language.PYTHON)


def built(tmp_path, monkeypatch, source, refuses=lambda call: False, status=BuildStatus.REJECTED):
    """The build of a module, by a compiler that refuses what it is told to; and how often the module was run."""
    runs = []

    def record(*arguments):
        runs.append(arguments)
        return record_calls(*arguments)

    def compiler(call, *_):
        if not refuses(call):
            return Build(solution=call_key(call), status=BuildStatus.BUILT, artifact=f"{call.name}.so")
        log = "a warning\nx.cu: error: no\n| here\n| there\n| more"
        return Build(solution=call_key(call), status=status, log=log, command=("nvcc",))

    monkeypatch.setattr(rounds_module, "build_extension", compiler)
    monkeypatch.setattr(recording_module, "record_calls", record)
    (found,) = build_all([solution(source)], {ITEM.name: ITEM}, store=tmp_path, timeout_s=60, workers=1, progress=False)
    return found, len(runs)


def keys(*calls):
    return {call_key(call_of(*arguments)) for arguments in calls}


def test_calls_behind_a_refused_one_are_built(tmp_path, monkeypatch):
    found, runs = built(tmp_path, monkeypatch, CASCADE, lambda call: call.name in ("k0", "k1"))
    assert found.status is BuildStatus.INTERPRETED and not found.log
    assert set(found.refused) == keys(("", "int f0();"), ("", "int f1();"))
    assert list(found.extensions.values()) == ["k2.so"]
    assert runs == 3
    assert fallback(found) and not unbuilt(found, solution(CASCADE))
    assert first_refusal(found) == "x.cu: error: no\n| here\n| there"


def test_rounds_end(tmp_path, monkeypatch):
    found, runs = built(tmp_path, monkeypatch, CASCADE, lambda call: True)
    assert runs == rounds_module.ROUNDS == len(found.refused)


def test_a_module_without_refusals_runs_once(tmp_path, monkeypatch):
    found, runs = built(tmp_path, monkeypatch, CASCADE)
    assert (runs, list(found.extensions.values()), found.refused) == (1, ["k0.so"], {})
    assert not fallback(found)


def test_calls_of_a_module_are_built_side_by_side(tmp_path, monkeypatch):
    barrier = threading.Barrier(2, timeout=300)
    source = f"{IMPORTS}load_inline('a', 'int f();')\nload_inline('b', 'int g();')\n"
    found, _ = built(tmp_path, monkeypatch, source, lambda call: barrier.wait() < 0)
    assert list(found.extensions.values()) == ["a.so", "b.so"]


def test_a_module_that_ends_at_a_refusal_says_so(tmp_path, monkeypatch):
    found, _ = built(tmp_path, monkeypatch, f"{IMPORTS}load_inline('a', 'b')\n", lambda call: True)
    assert found.status is BuildStatus.INTERPRETED and module_raised(found)
    assert "RuntimeError: Error building extension 'a': x.cu: error: no" in found.log


@pytest.mark.parametrize("status", [BuildStatus.TIMEOUT, BuildStatus.NO_COMPILER])
def test_a_compiler_that_says_nothing_about_the_call_decides_for_the_module(tmp_path, monkeypatch, status):
    source = f"{IMPORTS}load_inline('a', 'b')\nload_inline('c', 'd')\n"
    found, _ = built(tmp_path, monkeypatch, source, lambda call: call.name == "c", status)
    assert found.status is status
    assert "name='c'" in found.log and not found.extensions


HOPELESS = """
try:
    kernel = load_inline("a", "", "__global__ void f() {}", functions=["launch_it"])
except RuntimeError:
    kernel = load_inline("b", "int g();")
"""


def test_what_cannot_be_built_raises_in_the_first_run(tmp_path, monkeypatch):
    hopeless = call_of("a", "", "__global__ void f() {}", functions=["launch_it"])
    found, runs = built(tmp_path, monkeypatch, IMPORTS + HOPELESS, lambda call: call == hopeless)
    assert (runs, set(found.refused), list(found.extensions.values())) == (1, {call_key(hopeless)}, ["b.so"])


LAZY = """
SOURCE = "int f();"
class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
    def forward(self, x):
        try:
            return load_inline("lazy", SOURCE + "\\n").f(x)
        except RuntimeError:
            return load_inline("second", "int h();").h(x)
"""


def test_calls_in_forward_are_built_and_those_behind_them_if_they_are_refused(tmp_path, monkeypatch):
    found, _ = built(tmp_path, monkeypatch, IMPORTS + LAZY)
    assert set(found.extensions) == keys(("", "int f();\n"))
    found, runs = built(tmp_path, monkeypatch, IMPORTS + LAZY, lambda call: call.name == "lazy")
    assert set(found.refused) == keys(("", "int f();\n")) and set(found.extensions) == keys(("", "int h();"))
    assert runs <= 2


FILES = """
import tempfile
from torch.utils.cpp_extension import load
own = os.path.join(tempfile.gettempdir(), "own")  # /tmp, unless the project lies there
os.makedirs(own)
folder = tempfile.mkdtemp()
open("here.txt", "w").write("x" * 60_000_000)
open(os.path.join(folder, "a.h"), "w").write("int a();\\n#include \\"a.h\\"")
open(os.path.join(own, "b.h"), "w").write("int b();")
open(os.path.join(folder, "x.cpp"), "w").write('#include "a.h"\\n#include <vector>\\n#include "b.h"\\nint x();')
open(os.path.join(folder, "y.cu"), "w").write("int y();")
paths = [os.path.join(folder, name) for name in ("x.cpp", "y.cu")]
load("files", paths, ["-O2"], extra_include_paths=[own], build_directory=folder)
"""


def test_load_reads_the_files_that_the_module_has_written():
    recording = record_calls(solution(IMPORTS + FILES), ITEM.reference, 30, gpu(DEFAULT))
    if "private_folder" not in recording.confinement:
        pytest.skip("this machine has no mount namespaces")
    assert not recording.remark
    (call,) = recording.calls
    assert call.cpp_sources == ("int a();\n\n#include <vector>\nint b();\nint x();",)
    assert call.cuda_sources == ("int y();",) and call.with_cuda and call.no_implicit_headers
    assert call.extra_cflags == ("-O2",) and not call.extra_include_paths and call.functions is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("load('a', ['missing.cpp'])", "FileNotFoundError"),
        ("load('a', [], code='x')", "TypeError: load() got an unexpected keyword argument 'code'"),
        ("load_inline('a', 'b', code='x')", "TypeError: load_inline() got an unexpected keyword argument 'code'"),
        ("load('a', [], is_standalone=True)", "ValueError"),
        ("load('a', 3)", "TypeError"),
        ("open('big', 'wb').write(b'x' * (65 << 20))", "Error: [Errno 2"),
    ],
)
def test_what_cannot_be_read_or_written_raises_in_the_module(line, said):
    recording = record_calls(
        solution(f"{IMPORTS}from torch.utils.cpp_extension import load\n{line}"), ITEM.reference, 30, gpu(DEFAULT)
    )
    assert said in recording.remark and not recording.calls


@pytest.mark.parametrize("line", ["load('a', [], code='x')", "load('a', ['missing.cu'])", "load_inline('a', 3)"])
def test_a_call_that_pytorch_does_not_take_is_a_refused_one(tmp_path, monkeypatch, line):
    source = f"{IMPORTS}from torch.utils.cpp_extension import load\ntry:\n    {line}\nexcept Exception:\n    pass\n"
    found, runs = built(tmp_path, monkeypatch, source)
    assert found.status is BuildStatus.INTERPRETED and runs == 1
    assert fallback(found) and not unbuilt(found, solution(source))
    assert first_refusal(found).startswith("error: ")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(): return load_inline('a', 'b')", True),
        ("import torch.utils.cpp_extension as x\ndef f(files): return x.load('a', files)", True),
        ("from torch.utils.cpp_extension import load as build\ndef f(files): return build('a', files)", True),
        ("def f(file): return torch.load(file)", False),
        ("# load_inline() would do", False),
        ("load_inline = None", False),
    ],
)
def test_nobody_built_what_the_source_builds(tmp_path, monkeypatch, source, expected):
    found, _ = built(tmp_path, monkeypatch, IMPORTS + source)
    nothing = found.model_copy(update={"extensions": {}})
    assert unbuilt(nothing, solution(IMPORTS + source)) == expected
    assert not unbuilt(found.model_copy(update={"extensions": {"k": "x.so"}}), solution(IMPORTS + source))
    assert not unbuilt(found.model_copy(update={"refused": {"k": "no"}}), solution(IMPORTS + source))


# ------------------------------------------------------------------------------------- calls from the store


@pytest.fixture
def again(tmp_path, monkeypatch):
    """How often a module is run when its calls are asked for twice, and both recordings."""

    def ask(source, between=lambda: None, refused=None):
        runs = []

        def record(*arguments):
            runs.append(arguments)
            return record_calls(*arguments)

        monkeypatch.setattr(recording_module, "record_calls", record)
        found = []
        for _ in range(2):
            asked = solution(source), ITEM.reference, 60, gpu(DEFAULT), refused or {}, Store(tmp_path)
            found.append(known_or_recorded_calls(*asked))
            between()
        return len(runs), *found

    return ask


MODEL = """
class ModelNew(torch.nn.Module):
    def __init__(self, *_):
        super().__init__()
        {}
"""
TWO = f"{IMPORTS}load_inline('a', 'int f();', extra_cflags=['-O2'])\n" + MODEL.format("load_inline('b', 'int g();')")


def test_a_module_that_came_to_its_end_is_run_once(again):
    runs, first, second = again(TWO)
    assert (runs, len(first.calls), first.whole) == (1, 2, True)
    assert (second.calls, second.seconds, second.whole) == (first.calls, first.seconds, True)


def test_its_build_is_the_same_to_the_byte(tmp_path, monkeypatch):
    first, runs = built(tmp_path, monkeypatch, TWO)
    second, more = built(tmp_path, monkeypatch, TWO)
    assert (runs, more) == (1, 0)
    assert second.model_dump_json() == first.model_dump_json()


@pytest.mark.parametrize(
    "source",
    [
        f"{IMPORTS}load_inline('a', 'int f();')\nraise RuntimeError('no GPU')\n{MODEL.format('pass')}",
        IMPORTS + MODEL.format("raise OSError('no space')") + "load_inline('a', 'int f();')\n",
        IMPORTS + MODEL.format("load_inline('a', 'int f();'); os.kill(os.getpid(), 9)"),
        f"{IMPORTS}load_inline('a', 'int f();')\nos.kill(os.getpid(), 9)\n{MODEL.format('pass')}",
        f"{IMPORTS}load_inline('a', 'int f();')\nos._exit(0)\n{MODEL.format('pass')}",
        f"{IMPORTS}load_inline('a', 'int f();')\nload_inline(1, 2, 3, 4, 5, extra=6)\n{MODEL.format('pass')}",
        IMPORTS + MODEL.format("self.calls = 'load_inline'"),
    ],
    ids=["raises", "constructor raises", "dies there", "dies", "ends itself", "no such call", "no call"],
)
def test_a_run_that_may_have_gone_wrong_is_no_knowledge(again, source):
    runs, first, _ = again(source)
    assert (runs, first.whole) == (2, False)


def test_a_module_is_run_again_when_packages_change(again, monkeypatch):
    def install():
        monkeypatch.setattr(recording_module, "_packages", lambda: ["cupy 14.0"])

    assert again(TWO, between=install)[0] == 2


def test_a_module_is_run_again_where_python_lies_elsewhere(again, monkeypatch, tmp_path):
    assert again(TWO, between=lambda: monkeypatch.setattr(recording_module.sys, "prefix", str(tmp_path)))[0] == 2


def test_the_key_holds_all_code_that_runs_a_module():
    files = {file.name for module in recording_module.RUN_BY for file in imported(module)}
    assert {"extension_probe.py", "extension_call.py", "modules.py", "confinement.py", "syscalls.py"} <= files


def test_what_is_refused_is_another_question(again):
    again(TWO)
    runs, first, _ = again(TWO, refused={call_key(call_of("b", "int g();")): "error: no"})
    assert runs == 2 and not first.whole


def test_damaged_calls_are_recorded_anew(again, tmp_path):
    def damage():
        for path in (tmp_path / "calls").rglob("*.json"):
            path.write_text("{")

    with pytest.warns(RuntimeWarning, match="made again"):
        assert again(TWO, between=damage)[0] == 2
