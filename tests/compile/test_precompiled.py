"""PyTorch's headers, precompiled: made once, used where they fit, and without any trace in the object."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from hone.compile import precompiled
from hone.compile.compiler import Compiled, run_compiler
from hone.compile.extension_call import call_of
from hone.compile.extension_sources import CORE, FULL, HEADER, KERNELS, SLIM, TYPES, plan_of
from hone.compile.extensions import find_tools
from hone.compile.precompiled import precompiled_folder
from hone.core.store import Store

TOOLS = find_tools()
# The header comes a second time here, as in most answers.
SOURCE = "#include <torch/extension.h>\ntorch::Tensor twice(torch::Tensor x) { return x * 2; }\n"


def main_unit(**arguments):
    call = call_of(**{"name": "module", "cpp_sources": SOURCE, "functions": ["twice"], **arguments})
    return plan_of(call, TOOLS.gxx, TOOLS.nvcc, TOOLS.torch).units[0]


def folder_of(unit, store, level=CORE, gxx=TOOLS.gxx):
    return precompiled_folder(unit, level, gxx, TOOLS.torch, Store(store))


@pytest.fixture
def instant(monkeypatch):
    """A compiler that takes no time; the list of its commands."""
    commands = []

    def compiler(command, product, *_):
        commands.append(command)
        product.write_bytes(b"precompiled")
        return Compiled(product, "", timed_out=False, seconds=0.0, breakdown="")

    monkeypatch.setattr(precompiled, "run_compiler", compiler)
    return commands


def compile_main(unit, folder, scratch):
    scratch.mkdir()
    (scratch / unit.file).write_text(unit.text)
    command = [*unit.command(TOOLS.torch, CORE, folder), "-Winvalid-pch", "-H"]
    opened = [SLIM, *TOOLS.torch.include_folders, *([folder] if folder else [])]
    return run_compiler(command, scratch / unit.object, 300, opened)


@pytest.mark.slow
def test_objects_are_the_same_to_the_byte(tmp_path):
    if "clang" in TOOLS.gxx.version:
        pytest.skip("Clang has no precompiled headers of this kind")
    folder = folder_of(main_unit(), tmp_path)
    other = main_unit(name="other")
    assert folder_of(other, tmp_path) == folder
    plain = compile_main(other, None, tmp_path / "plain")
    used = compile_main(other, folder, tmp_path / "used")
    assert f"! {folder}/{HEADER}.gch" in used.log and "ATen/core/TensorBody.h" not in used.log
    assert plain.artifact.read_bytes() == used.artifact.read_bytes()


def test_one_of_many_makes_it(tmp_path, instant):
    unit = main_unit()
    with ThreadPoolExecutor(8) as pool:
        folders = set(pool.map(lambda _: folder_of(unit, tmp_path), range(8)))
    assert len(instant) == 1 and len(folders) == 1
    assert (folders.pop() / f"{HEADER}.gch").read_bytes() == b"precompiled"


def test_what_changes_the_header_is_another_one(tmp_path, instant):
    units = [main_unit(), main_unit(extra_cflags=["-O2"]), main_unit(extra_cflags=["-O3"])]
    folders = {folder_of(unit, tmp_path) for unit in units} | {folder_of(units[0], tmp_path, KERNELS)}
    folders.add(folder_of(units[0], tmp_path, gxx=replace(TOOLS.gxx, version="g++ 99")))
    assert len(folders) == len(instant) == 5
    assert not re.search(r"-DTORCH_EXTENSION_NAME", str(instant))


@pytest.mark.parametrize(
    ("arguments", "level"),
    [
        ({"extra_cflags": ["-DTORCH_CHECK=x"]}, CORE),
        ({"extra_cflags": ["-ffast-math"]}, CORE),
        ({"no_implicit_headers": True, "cpp_sources": "#include <vector>\n"}, CORE),
        ({}, TYPES),
        ({}, FULL),
    ],
)
def test_unusual_commands_keep_the_old_way(tmp_path, instant, arguments, level):
    assert folder_of(main_unit(**arguments), tmp_path, level) is None
    assert not instant and not list(tmp_path.iterdir())


def test_sources_of_nvcc_and_clang_have_none(tmp_path, instant):
    cuda = plan_of(call_of("a", "", "kernel"), TOOLS.gxx, TOOLS.nvcc, TOOLS.torch).units[1]
    clang = replace(TOOLS.gxx, version="Debian clang version 14")
    assert folder_of(cuda, tmp_path) is None
    assert folder_of(main_unit(), tmp_path, gxx=clang) is None
    assert not instant


@pytest.mark.parametrize(
    ("breakdown", "timed_out", "tries"), [("", False, 1), ("No space left on device", False, 2), ("", True, 2)]
)
def test_a_refusal_is_kept_and_a_broken_machine_is_not(tmp_path, monkeypatch, breakdown, timed_out, tries):
    seen = []

    def compiler(*_):
        seen.append(1)
        return Compiled(None, "error", timed_out=timed_out, seconds=0.0, breakdown=breakdown)

    monkeypatch.setattr(precompiled, "run_compiler", compiler)
    assert [folder_of(main_unit(), tmp_path), folder_of(main_unit(), tmp_path)] == [None, None]
    assert len(seen) == tries


def test_slim_headers_are_packaged():
    assert {"hone_slim.h", "hone_core.h"} <= {path.name for path in Path(SLIM).glob("*.h")}
    assert shutil.which(TOOLS.gxx.program[0])
