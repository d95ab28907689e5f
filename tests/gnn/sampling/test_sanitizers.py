"""The workers under the compilers' sanitizers: a program of their own, on a small graph."""

import os
import subprocess
from pathlib import Path

import pytest

from hone.compile.toolchain import toolchain_for
from hone.gnn.sampling.build import SOURCES
from hone.records import Language

pytestmark = pytest.mark.slow  # compiles the samplers twice

PROGRAM = Path(__file__).with_name("selftest.cpp")
KINDS = {
    "address and undefined behaviour": ("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "thread": ("-fsanitize=thread",),
}


@pytest.mark.parametrize("flags", KINDS.values(), ids=KINDS.keys())
def test_the_workers_are_clean(tmp_path, flags):
    program = tmp_path / "selftest"
    compiler = toolchain_for(Language.CPP).program
    warnings = ("-Wall", "-Wextra", "-Werror")
    command = [
        *compiler,
        "-std=c++17",
        "-O1",
        "-g",
        *warnings,
        "-pthread",
        *flags,
        f"-I{SOURCES}",
        PROGRAM,
        "-o",
        program,
    ]
    subprocess.run(list(map(str, command)), check=True, timeout=300)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    options = {"ASAN_OPTIONS": "detect_leaks=1", "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run([program], env=clean | options, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "same batches\n"), done.stderr
