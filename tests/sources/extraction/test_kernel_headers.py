"""Headers in each other's place: once, in order, guarded where nothing says whether they are compiled."""

import subprocess

import pytest

from hone.core.errors import SourceError
from hone.sources.extraction.headers import resolve, without_comments
from hone.sources.extraction.packages import Tree


def tree(name="p", include=("include",), **files):
    """A tree of headers in `include/`; `__` in a name is a slash, and `.h` is added."""
    paths = {f"include/{key.replace('__', '/')}.h": text.encode() for key, text in files.items()}
    return Tree(name, f"{name} 1.0", "1.0", "", include, paths)


def compiled(text, *flags):
    """What is left after the preprocessor, without line marks and blank lines."""
    command = ["g++", "-E", "-P", "-x", "c++", *flags, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line.strip()]


def test_each_file_once_and_system_headers_at_the_top():
    found = resolve(
        ["a.h"],
        [
            tree(
                a='#pragma once\n#include "b.h"\n#include <c.h>\n#include <cmath>\nint a;\n',
                b='#pragma once\n#include "c.h"\n#include <cmath>\n#include <vector>\nint b;\n',
                c="#pragma once\nint c;\n",
            )
        ],
    )
    assert found.system == ("<cmath>", "<vector>")
    assert found.text.split() == ["int", "c;", "int", "b;", "int", "a;"]
    assert found.origins == ("p 1.0: include/a.h", "p 1.0: include/b.h", "p 1.0: include/c.h")


def test_guards_go_and_other_conditions_stay():
    guarded = "#ifndef A_H\n#define A_H\n#if X\nint a;\n#else\nint b;\n#endif\n#endif  // A_H\n"
    assert "A_H" not in resolve(["a.h"], [tree(a=guarded)]).text
    two = "#ifndef A_H\n#define A_H\nint a;\n#endif\n#ifndef B\nint b;\n#endif\n"
    assert "A_H" in resolve(["a.h"], [tree(a=two)]).text
    alternative = "#ifndef A_H\n#define A_H\nint a;\n#else\nint b;\n#endif\n"
    assert "int b;" in resolve(["a.h"], [tree(a=alternative)]).text
    assert compiled(resolve(["a.h"], [tree(a=guarded)]).text, "-DX=1") == ["int a;"]


@pytest.mark.parametrize("flags", [(), ("-DOLD",)])
def test_a_file_of_several_branches_is_there_whatever_is_compiled(flags):
    header = '#ifdef OLD\n#include "c.h"\nint old;\n#else\n#include "c.h"\n#endif\n#include "c.h"\n#include "d.h"\n'
    found = resolve(["a.h"], [tree(a=header, c="#pragma once\nint c;\n", d='#include "c.h"\nint d;\n')])
    lines = compiled(found.text, *flags)
    assert lines.count("int c;") == 1
    assert lines[-1] == "int d;"
    assert lines.index("int c;") < lines.index("int d;")
    assert found.origins.count("p 1.0: include/c.h") == 1


def test_headers_that_include_each_other():
    found = resolve(["a.h"], [tree(a='#pragma once\n#include "b.h"\nint a;\n', b='#include "a.h"\nint b;\n')])
    assert compiled(found.text) == ["int b;", "int a;"]


def test_beside_the_including_file_first_then_the_packages_in_order():
    first = tree("first", a='#include "x.h"\n#include "deep/b.h"\n', deep__b='#include "x.h"\n#include "../y.h"\n')
    first.files["include/deep/x.h"] = b"int beside;\n"
    first.files["include/x.h"] = b"int top;\n"
    first.files["include/y.h"] = b"int up;\n"
    second = tree("second", x="int other;\n", z="int z;\n")
    assert compiled(resolve(["a.h", "z.h"], [first, second]).text) == [
        "int top;", "int beside;", "int up;", "int z;",
    ]  # fmt: skip


def test_what_is_missing_is_named():
    with pytest.raises(SourceError, match=r"nowhere\.h \(p 1\.0: include\): no such header"):
        resolve(["nowhere.h"], [tree()])
    with pytest.raises(SourceError, match=r'include/a\.h: includes "gone\.h", which is not in the packages'):
        resolve(["a.h"], [tree(a='#include "gone.h"\n')])
    optional = resolve(["a.h"], [tree(a='#ifdef HIP\n#include "gone.h"\n#include <hip.h>\n#endif\nint a;\n')])
    assert compiled(optional.text) == ["int a;"]
    assert optional.system == ()


def test_comments_go_and_texts_stay():
    text = (
        'int a; // one\nconst char* b = "// no /* comment */";\nint/* two\nlines */c = 1\'000; char d = \'"\'; // "x\n'
    )
    plain = without_comments(text)
    assert "one" not in plain
    assert "two" not in plain
    assert '"// no /* comment */"' in plain
    assert "int c = 1'000; char d = '\"';" in plain
    assert without_comments('R"(// kept)"') == 'R"(// kept)"'


def test_a_directive_may_go_on_in_the_next_line():
    found = resolve(["a.h"], [tree(a="#define F(x) \\\n  twice( \\\n    x)\nint a = F(1);\n")])
    assert compiled(found.text) == ["int a = twice( 1);"]
