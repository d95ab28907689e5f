"""What the checks say: known answers on short sources, on the files of tests/judge/idioms, and on hostile text."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hone.records import Language
from hone.screen import Screening, screen
from hone.sources.solution_files import header, language_of, source_files

ROOT = Path(__file__).parents[2]
IDIOMS = {path.name: path for path in source_files(ROOT / "tests/judge/idioms")}
INLINE = "from torch import nn\nfrom torch.utils.cpp_extension import load_inline\n"
REFERENCE = """
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
    def forward(self, x, y):
        return x + y
def get_inputs():
    return [torch.rand(3), torch.rand(3)]
def get_init_inputs():
    return [3]
"""


def model(init="self, n", forward="self, x, y", base="nn.Module"):
    init_lines = f"    def __init__({init}):\n        super().__init__()\n" if init else ""
    return f"from torch import nn\nclass ModelNew({base}):\n{init_lines}    def forward({forward}):\n        return x\n"


def idiom(name):
    source = IDIOMS[name].read_text()
    definition = header(source, language_of(IDIOMS[name]))["definition"]
    problem = (ROOT / f"resources/problems/{definition}.py").read_text()
    return screen(source, name, definition=definition, reference=problem)


def of_way(*ways):
    """Screenings of the idioms of some ways."""
    lines = {name: header(path.read_text(), language_of(path)) for name, path in IDIOMS.items()}
    return {name: idiom(name) for name in IDIOMS if lines[name]["way"] in ways}


@pytest.mark.parametrize(
    ("source", "constructor", "forward"),
    [
        (model(), True, True),
        (model(init="self, n, m"), False, True),
        (model(init="self, n, m=1", forward="self, *tensors"), True, True),
        (model(init="", forward="self, x"), False, False),
        (model(init="self, *n", forward="self, x, y, z"), True, False),
        (model(init="", base="nn.Linear"), None, True),
        ("class Base:\n    def __init__(self, n): pass\n" + model(init="", base="Base"), True, True),
        ("ModelNew = make()", None, None),
    ],
)
def test_arguments_are_held_against_what_the_problem_gives(source, constructor, forward):
    found = screen(source, reference=REFERENCE)
    assert (found.has_model, found.constructor_fits, found.forward_fits) == (True, constructor, forward)


def test_without_a_reference_nothing_is_said_of_arguments():
    assert screen(model()).constructor_fits is None


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("'m', cpp_sources='int f();', cuda_sources='int f() {}', functions=['f']", ""),
        ("'m', 'int f();', 'int f() {}', functions={'f': 'text'}", ""),
        ("'m', cpp_sources='', cuda_sources='int f() {}', functions=['f']", "does not declare"),
        ("'m', cpp_sources='// int f();', cuda_sources='int f() {}', functions=['f']", "does not declare"),
        ("'m', cpp_sources='int f2();', cuda_sources='', functions='f'", "does not declare"),
        ("'m', cpp_sources=unknown(), cuda_sources='int f() {}', functions=['f']", ""),
        ("'m', cpp_sources=f'int {name}();', cuda_sources='', functions=['f']", ""),
        ("'m', 'int f();', 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}', functions=['f']", "PYBIND11_MODULE"),
        ("'m', 'int f();', '// PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}', functions=['f']", ""),
        ("'m', 'int f();', 'PYBIND11_MODULE(m, module) {}', functions=['f']", "PYBIND11_MODULE"),
        ("'m', 'int f();', 'PYBIND11_MODULE(other, module) {}', functions=['f']", ""),
        ("'m', '', 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}'", ""),
        ("'m', '', 'int f() {}'", "neither"),
        ("'m', '', 'TORCH_LIBRARY(a, m) {}'", ""),
        ("'m', '', 'int f() {}', is_python_module=False", ""),
        ("*everything", ""),
        ("**everything", ""),
    ],
)
def test_builds_that_cannot_be(arguments, reason):
    said = screen(f"{INLINE}load_inline({arguments})").unbuildable
    assert reason in said and bool(said) == bool(reason)


def test_texts_are_folded_through_names_attributes_and_operators():
    body = "A = 'int g();'\nB = A + ' int f();'\nclass C:\n    def __init__(self):\n        self.cpp = B.strip()\n"
    call = "        load_inline('m', self.cpp, 'int f() {}', functions=['%s'])\n"
    assert screen(INLINE + body + call % "f").unbuildable == ""
    assert "does not declare" in screen(INLINE + body + call % "h").unbuildable


@pytest.mark.parametrize(
    ("code", "hidden"),
    [
        ("try:\n    CALL\nexcept Exception:\n    pass", True),
        ("try:\n    CALL\nexcept Exception as error:\n    raise RuntimeError() from error", False),
        ("try:\n    pass\nexcept Exception:\n    CALL", False),
        ("try:\n    CALL\nfinally:\n    pass", False),
        ("def build():\n    return CALL\ntry:\n    m = build()\nexcept RuntimeError:\n    m = None", True),
        ("def build():\n    return CALL\nm = build()", False),
        ("import contextlib\nwith contextlib.suppress(Exception):\n    CALL", True),
        ("CALL", False),
    ],
)
def test_a_try_that_goes_on_hides_a_failure(code, hidden):
    found = screen(INLINE + code.replace("CALL", "load_inline('m', 'int f();', functions=['f'])"))
    assert (found.builds, found.build_failure_is_hidden) == (1, hidden)


@pytest.mark.parametrize(
    ("configuration", "default"),
    [
        ("blocks, threads", True),
        ("dim3(a, b), dim3(c, d)", True),
        ("blocks, threads, f(1, 2), 0", True),
        ("blocks, threads, 0, nullptr", True),
        ("blocks, threads, 0, (cudaStream_t)0", True),
        ("blocks, threads, 0, stream", False),
        ("blocks, threads, 0, at::cuda::getCurrentCUDAStream()", False),
    ],
)
def test_the_stream_of_a_launch(configuration, default):
    source = f"CUDA = '''__global__ void k() {{}}\nvoid f() {{ k<<<{configuration}>>>(); }}'''"
    found = screen(source)
    assert (found.launches, found.default_stream_only) == (1, default)
    assert screen(source.replace("k<<<", "// k<<<")).launches == 0
    direct = screen(f"void f() {{ k<<<{configuration}>>>(); }}", language=Language.CUDA)
    assert (direct.kinds, direct.default_stream_only) == (("cuda",), default)


def test_kernels_that_nothing_reaches():
    build = INLINE + "ext = load_inline('m', 'int f(); int g();', 'int f() {} int g() {}', functions=['f', 'g'])\n"
    direct = "class ModelNew(nn.Module):\n    def forward(self, x):\n        return ext.f(x)\n"
    through = "run = ext.f\ndef helper(x):\n    return run(x)\n" + direct.replace("ext.f", "helper")
    never = direct.replace("ext.f(x)", "x")
    assert screen(build + direct).unreached == screen(build + through).unreached == ("g",)
    assert screen(build + never).unreached == ("f", "g")
    called = build.replace("'int f() {} int g() {}'", "'int g() {} int f() { return g(); }'")
    assert screen(called + direct).unreached == (), "in C++, by one that is reached"


def test_what_stands_for_a_solution():
    assert screen("None", reference=REFERENCE).stands_for == "no_text"
    same = REFERENCE.replace("Model(", "ModelNew(").replace("return x", "# a comment\n        return x")
    assert screen(same, reference=REFERENCE).stands_for == "reference"
    assert screen(same.replace("x + y", "x - y"), reference=REFERENCE).stands_for == "code"
    assert screen(REFERENCE, reference=REFERENCE).stands_for == "reference"
    layer = "class Layer:\n    width = %d\n"
    assert screen(layer % 1 + same, reference=layer % 1 + REFERENCE).stands_for == "reference"
    assert screen(layer % 2 + same, reference=layer % 1 + REFERENCE).stands_for == "code", "a layer was replaced"


def test_idioms_are_recognised():
    """Way of writing -> what the screening of all of its files says, and of no file where it must not."""
    assert all(found.own_graph for found in of_way("own_graph").values())
    assert all(found.own_stream for found in of_way("own_stream").values())
    assert all(found.legacy_constructors for found in of_way("legacy_constructor").values())
    assert all(found.unbuildable for found in of_way("unbuildable").values())
    assert all(found.build_failure_is_hidden for found in of_way("fallback", "working_try").values())
    assert all("forward" in found.build_places for found in of_way("build_in_forward").values())
    assert all(found.build_places == ("constructor",) for found in of_way("build_in_constructor").values())
    assert all(found.default_stream_only for found in of_way("default_stream", "shared_memory").values())
    assert not any(found.default_stream_only for found in of_way("current_stream").values())
    assert all("tf32" in found.switches for found in of_way("tf32").values())
    assert all("autocast" in found.switches for found in of_way("autocast").values())
    assert all("half" in found.switches for found in of_way("half").values())
    assert all(found.parse_error for found in of_way("syntax_error").values())
    assert not any(found.has_model for found in of_way("no_model").values())
    assert all(found.constructor_fits is False for found in of_way("other_arguments").values())


def test_idioms_without_a_kernel_are_those_that_expect_the_finding():
    """The text has no kind of kernel, or an extension that only calls libraries: that one only its run shows."""
    only_calls = {"cpp_only.py", "cublas_among_cuda_flags.py", "cublas_own_handle.py"}
    for name, path in IDIOMS.items():
        lines, found = header(path.read_text(), language_of(path)), idiom(name)
        if "passed" in lines["expected"]:
            expected = not found.kinds or name in only_calls
            assert ("no_custom_kernel" in lines.get("findings", "")) == expected, name


def test_no_idiom_is_accused_of_what_it_does_not_do():
    unbuildable = {*of_way("unbuildable"), "fallback_hides_failure.py"}
    for name in IDIOMS:
        found = idiom(name)
        assert bool(found.unbuildable) == (name in unbuildable), name
        assert found.stands_for == "code" and not found.unreached, name
        assert found.forward_fits is not False, name


HOSTILE = {
    "nested": "x = " + "(" * 50_000 + ")" * 50_000,
    "operators": "x = " + "+".join(["1"] * 30_000),
    "attributes": "x = a" + ".b" * 20_000,
    "null": "x = '\0'",
    "surrogate": "x = '\udcff'",
    "huge": "x = 1\n" * 700_000 + "y" * 1_000_000,
    "doubling": "a0 = 'int f();' * 1\n" + "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(200))
    + f"{INLINE}load_inline('m', a200, a200, functions=['f'])",
    "circle": f"a = b + 'x'\nb = a + 'y'\n{INLINE}load_inline('m', a, b, functions=['f'])",
    "launches": "c = '''#include <a>\n" + "k<<<" * 20_000 + "'''",
    "brackets": "c = '''#include <a>\nk<<<" + "(" * 1_000_000 + ">>>'''",
    "comments": "c = '''#include <a>\n" + "/*" * 300_000 + "'''",
    "texts": "\n".join(f"c{i} = '#include <{i}>'" for i in range(30_000)),
    "bases": "class ModelNew(ModelNew): pass",
    "callers": INLINE + "def f():\n    f()\n    load_inline('m', '')\nf()",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_screened_like_any_other(name):
    start = time.process_time()
    found = screen(HOSTILE[name], name, reference=REFERENCE)
    assert time.process_time() - start < 30
    assert Screening.model_validate_json(found.model_dump_json()) == found


def test_screening_loads_no_pytorch():
    code = "import sys, hone.screen as s; s.screen('import torch'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=600).returncode == 0
