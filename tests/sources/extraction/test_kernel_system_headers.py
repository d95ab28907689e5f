"""Headers that no package has: known ones stay, libraries nobody calls go, and what is missing is named."""

from pathlib import Path

import pytest

from hone.core.errors import SourceError
from hone.sources.extraction.define import define
from hone.sources.extraction.fetch import fetch
from hone.sources.extraction.headers import resolve
from hone.sources.extraction.system_headers import known, needed
from tests.sources.extraction.test_kernel_headers import tree

PLACES = {"<tvm/ffi/optional.h>": "p 1.0: include/a.h"}


@pytest.mark.parametrize("header", ["cmath", "source_location", "cuda.h", "cuda/functional", "cub/cub.cuh", "mma.h"])
def test_what_compilers_and_the_toolkit_have(header):
    assert known(header)


@pytest.mark.parametrize("header", ["tvm/ffi/optional.h", "torch/extension.h", "cutlass/cutlass.h", "helpers.h"])
def test_what_they_do_not_have(header):
    assert not known(header)


@pytest.mark.parametrize(
    ("header", "text", "kept"),
    [
        ("<curand.h>", "float x = 1;", False),
        ("<curand_kernel.h>", "curandState state;", True),
        ("<cub/cub.cuh>", "using namespace cub;", True),
        ("<cub/cub.cuh>", "int cubic;", True),  # too much rather than too little
        ("<cub/cub.cuh>", "int scuba;", False),
        ("<cuda_fp8.h>", "float x;", True),  # nobody can tell what a header of many names is for
        ("<vector>", "float x;", True),
        ("<tvm/ffi/optional.h>", "#include <optional>\nstd::optional<int> x;", False),
    ],
)
def test_what_is_of_no_use_is_left_out(header, text, kept):
    assert needed([header], text, PLACES) == ([header] if kept else [])


def test_a_header_that_is_used_and_missing_is_an_error():
    with pytest.raises(SourceError, match=r"p 1\.0: include/a\.h: includes <tvm/ffi/optional\.h>, which is not in"):
        needed(["<tvm/ffi/optional.h>"], "tvm::ffi::Optional<float> bias;", PLACES)


def test_the_file_that_includes_a_header_is_known():
    found = resolve(["a.h"], [tree(a='#include "b.h"\n#include <far/away.h>\n', b="#include <far/away.h>\n")])
    assert found.places == {"<far/away.h>": "p 1.0: include/b.h"}


@pytest.mark.usefixtures("in_process")
def test_an_entry_says_which_header_is_missing(source, package):
    path = Path(package.path) / "include/helpers/rows.h"
    path.write_text(
        path.read_text().replace("#include <cstdint>", "#include <cstdint>\n#include <elsewhere/twice.hpp>")
    )
    with pytest.raises(SourceError, match=r"1_scale\.yaml: kernels\.upstream: .*rows\.h: includes <elsewhere/twice\.h"):
        define(fetch("own", source))
