"""Lines of code: neither blank nor comment."""

import pytest

from hone.analysis.source_lines import lines_of_code
from hone.records import Language

CUDA = """// one kernel
#include <cuda_fp16.h>

/* a comment
   over lines */
__global__ void f(float* x) {  // with words behind
  x[0] = 1; /* and more */
  const char* text = "// no comment /* nor here";
  char mark = '"';  /* "odd */
  /* before */ x[1] = 2;
}
"""


def test_comments_and_blank_lines_do_not_count():
    assert lines_of_code(CUDA, Language.CUDA) == 7


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("\n\n  \n", 0),
        ("// only\n/* words */\n", 0),
        ("/* open", 1),
        ("int x; // a\nint y;", 2),
        ("a /* b\n c */ d", 2),
    ],
)
def test_edges_of_c(source, lines):
    assert lines_of_code(source, Language.CPP) == lines


def test_python_has_its_own_comments():
    assert lines_of_code("# words\nx = '# no comment'\n\ny = 1  # words\n", Language.TRITON) == 2
