"""What is known of calls by reading alone: literal arguments in the source, and that a call cannot be built."""

import time

import pytest

from hone.compile.extension_call import call_of
from hone.compile.extension_screen import hopeless
from hone.compile.extension_sites import ANY_NAME, builds_extensions, literal_calls

HEAD = "import torch, textwrap, os\nfrom torch.utils.cpp_extension import load_inline\n"


def literal(body, handlers=False):
    return literal_calls(HEAD + body, handlers=handlers)


BINDING = "\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}"


@pytest.mark.parametrize(
    "body",
    [
        "A = 'int '\nB = A + 'f();'\ndef f():\n    return load_inline('n', [B], functions={'f': 'text'})",
        "class C:\n    text = 'int f();'\n    def f(self):\n"
        "        load_inline('n', [self.text], functions={'f': 'text'})",
        "class C:\n    def __init__(self):\n        self.text = 'int f();'\n    def f(self):\n"
        "        load_inline('n', [C.text], functions={'f': 'text'})",
        "def f():\n    size = 3\n    text = f'int f();'\n    load_inline('n', text, functions={'f': 'text'})",
        "def f():\n    text = '''\n    int f();\n    '''\n    load_inline('n', text.strip(), functions={'f': 'text'})",
        "def f():\n    text = textwrap.dedent('  int f();')\n    return torch.utils.cpp_extension.load_inline("
        "name='n', cpp_sources=text, functions={'f': 'text'}, verbose=os.x, build_directory=os.getcwd())",
        "def f():\n    def g():\n        return load_inline(name='n', cpp_sources=text, functions={'f': 'text'})\n"
        "    text = 'int f();'",
        "T = 'int {}();'\nname = 'f'\ndef f():\n    load_inline('n', f'int {name}();', functions={name: 'text'})",
    ],
)  # fmt: skip
def test_values_given_once_are_literals(body):
    assert literal(body) == [call_of("n", "int f();", functions={"f": "text"})]


def test_a_name_that_is_no_literal_may_be_any():
    (call,) = literal("def f():\n    load_inline(name=f'k{os.getpid()}', cpp_sources='int f();')")
    assert call == call_of(ANY_NAME, "int f();")


@pytest.mark.parametrize(
    "body",
    [
        "load_inline('n', 'at module level, where it is recorded')",
        "def f(text):\n    load_inline('n', text)",
        "def f():\n    text = 'a'\n    text = 'b'\n    load_inline('n', text)",
        "def f():\n    text = 'a'\n    text += 'b'\n    load_inline('n', text)",
        "text = 'a'\ndef f():\n    global text\n    load_inline('n', text)",
        "def f():\n    for text in 'ab':\n        load_inline('n', text)",
        "def f():\n    load_inline('n', f'{os.x}')",
        "def f():\n    load_inline('n', f'{3:04}')",
        "def f():\n    load_inline(*['n', 'a'])",
        "def f():\n    load_inline('n', **{'cpp_sources': 'a'})",
        "text = text\ndef f():\n    load_inline('n', text)",
        "def f():\n    load_inline('n', 3)",
        "def f():\n    torch.load('n', 'a')",
        "def f(",
    ],
)
def test_everything_else_is_left_to_the_run(body):
    assert literal(body) == []


def test_what_grows_without_end_is_no_literal():
    doubled = "a0 = 'x'\n" + "".join(f"a{n + 1} = a{n} + a{n}\n" for n in range(60))
    empty = "a0 = ''\n" + "".join(f"a{n + 1} = a{n} + a{n}\n" for n in range(60))
    started = time.process_time()
    assert literal(f"{doubled}def f():\n    load_inline('n', a60)") == []
    assert literal(f"{empty}def f():\n    load_inline('n', a60)") == [call_of("n", "")]
    assert time.process_time() - started < 5


def test_calls_after_except_are_wanted_only_if_something_failed():
    body = "def f():\n    try:\n        load_inline('n', 'a')\n    except Exception:\n        load_inline('n', 'b')"
    assert [call.cpp_sources for call in literal(body)] == [("a",)]
    assert [call.cpp_sources for call in literal(body, handlers=True)] == [("a",), ("b",)]


def test_an_import_alone_builds_nothing():
    assert not builds_extensions(HEAD + "x = torch.load('file')")
    assert builds_extensions(HEAD + "build = load_inline")
    assert builds_extensions("from torch.utils import cpp_extension as e\ne.load(name='a', sources=[])")


# ------------------------------------------------------------------------------------------------------- hopeless


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cpp_sources": "", "functions": ["work_it"]}, "'work_it' was not declared"),
        ({"cpp_sources": "// work_it\nint other();", "functions": ["work_it"]}, "'work_it' was not declared"),
        ({"cpp_sources": 'auto x = "work_it";', "functions": ["work_it"]}, "'work_it' was not declared"),
        ({"cpp_sources": "int work_it();" + BINDING, "functions": ["work_it"]}, "main.cpp: error: redefinition"),
        ({"cpp_sources": "int work_it();", "cuda_sources": "x" + BINDING, "functions": ["work_it"]}, "cuda.cu: error"),
        ({"cpp_sources": "int work_it();\n#if X\n#endif" + BINDING, "functions": ["work_it"]}, "redefinition"),
        ({"cpp_sources": "int work_it(); PYBIND11_MODULE( n , m) {}", "functions": ["work_it"]}, "PyInit_n"),
    ],
)
def test_what_no_compiler_builds_is_refused_with_its_reason(arguments, words):
    said = hopeless(call_of("n", **arguments))
    assert words in said and "error:" in said.splitlines()[0]


@pytest.mark.parametrize(
    "arguments",
    [
        {"cpp_sources": "int work_it();", "functions": ["work_it"]},
        {"cpp_sources": "int work_it();" + BINDING},
        {"cpp_sources": "#define D(x) int x##_it();\nD(work)", "functions": ["work_it"]},
        {"cpp_sources": "using namespace at;", "functions": ["work_it"]},
        {"cpp_sources": "", "functions": ["at::relu"]},
        {"cpp_sources": "", "functions": ["cudaMalloc"]},
        {"cpp_sources": "", "functions": ["exp", "getpid"]},
        {"cpp_sources": "int work_it();\n#ifdef X" + BINDING + "\n#endif", "functions": ["work_it"]},
        {"cpp_sources": "int work_it();\n/*" + BINDING + "*/", "functions": ["work_it"]},
        {"cpp_sources": "int work_it(); PYBIND11_MODULE(other, m) {}", "functions": ["work_it"]},
        {"cpp_sources": "#define PYBIND11_MODULE(a, b)\nint work_it();" + BINDING, "functions": ["work_it"]},
    ],
)
def test_what_is_not_certain_goes_to_the_compiler(arguments):
    assert hopeless(call_of("n", **arguments)) == ""
