"""Compilers, parsers and the store of builds."""

import time
from pathlib import Path

import pytest

from hone.build import build_all
from hone.build import builds as builds_module
from hone.errors import RecordError
from hone.records import BuildStatus, Language, Solution
from hone.store import Store
from tests.judge.conftest import scale_definition, solution_of

ITEM = scale_definition()
GOOD = 'extern "C" void launch() {}\n'
MODULE = "class ModelNew:\n    pass\n"


def build(store, *solutions, timeout_s=60):
    return build_all(solutions, {ITEM.name: ITEM}, store=store, timeout_s=timeout_s, workers=2, progress=False)


def test_builds_keep_the_order_and_say_what_was_done(tmp_path):
    good, bad = solution_of(ITEM, GOOD), solution_of(ITEM, "no C++")
    first, second, third = build(tmp_path, bad, good, bad)
    assert [item.solution for item in (first, second, third)] == [bad.id, good.id, bad.id]
    assert (first.status, second.status) == (BuildStatus.REJECTED, BuildStatus.BUILT)
    assert "error" in first.log
    assert (tmp_path / second.artifact).read_bytes()[:4] == b"\x7fELF"
    assert "-march=native" in second.command and second.toolchain
    assert str(tmp_path) not in second.model_dump_json()


def test_a_source_is_compiled_once_whatever_it_is_for(tmp_path, monkeypatch):
    other = Solution(definition=ITEM.name, language=Language.CPP, entry_point="other", source=GOOD)
    (first,) = build(tmp_path, solution_of(ITEM, GOOD))
    monkeypatch.setattr(builds_module, "compile_source", lambda *_: pytest.fail("compiled again"))
    (second,) = build(tmp_path, other)
    assert second.solution == other.id
    assert second.artifact == first.artifact


@pytest.mark.parametrize("damage", ["truncate", "change", "remove"])
def test_a_damaged_entry_is_made_again(tmp_path, damage):
    solution = solution_of(ITEM, GOOD)
    (first,) = build(tmp_path, solution)
    artifact = tmp_path / first.artifact
    content = artifact.read_bytes()
    if damage == "truncate":
        (artifact.parent / "build.json").write_text("{")
    elif damage == "change":
        artifact.write_bytes(content[:-1] + b"?")
    else:
        artifact.unlink()
    with pytest.warns(RuntimeWarning, match="made again"):
        (second,) = build(tmp_path, solution)
    assert second.artifact == first.artifact
    assert artifact.read_bytes()
    assert build(tmp_path, solution)[0].status is BuildStatus.BUILT


def test_what_others_left_half_written_does_not_count(tmp_path):
    (first,) = build(tmp_path, solution_of(ITEM, GOOD))
    folder = (tmp_path / first.artifact).parent
    folder.rename(folder.parent / ".half")
    assert build(tmp_path, solution_of(ITEM, GOOD))[0].status is BuildStatus.BUILT


def test_two_writers_of_one_entry_agree(tmp_path):
    store = Store(tmp_path)
    (first,) = build(tmp_path, solution_of(ITEM, GOOD))
    artifact = tmp_path / first.artifact
    copy = tmp_path / "copy.so"
    copy.write_bytes(artifact.read_bytes())
    store.keep_build(artifact.parent.name, first, copy)
    assert store.build(artifact.parent.name) == first
    assert [path.name for path in artifact.parent.parent.iterdir()] == [artifact.parent.name]


def test_a_missing_compiler_is_named_and_not_remembered(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    (missing,) = build(tmp_path, solution_of(ITEM, GOOD))
    assert missing.status is BuildStatus.NO_COMPILER
    assert "no-such-compiler" in missing.log and "install" in missing.log
    monkeypatch.delenv("CXX")
    assert build(tmp_path, solution_of(ITEM, GOOD))[0].status is BuildStatus.BUILT


def test_a_compiler_that_does_not_end_is_killed_with_its_children(tmp_path, monkeypatch):
    compiler = tmp_path / "slow-compiler"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo slow 1 && exit\nsleep 300.25 & sleep 300.25\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    (timed_out,) = build(tmp_path / "store", solution_of(ITEM, GOOD), timeout_s=0.3)
    assert timed_out.status is BuildStatus.TIMEOUT
    assert not (tmp_path / "store").exists()
    time.sleep(0.1)
    arguments = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [text for text in arguments if b"300.25" in text]


def test_the_log_is_cut_and_the_environment_is_clean(tmp_path, monkeypatch):
    compiler = tmp_path / "loud-compiler"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo loud 1 && exit\nenv; yes error | head -c 9000000; exit 1\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("TEST_API_KEY", "secret")
    (rejected,) = build(tmp_path / "store", solution_of(ITEM, GOOD))
    assert rejected.status is BuildStatus.REJECTED
    assert len(rejected.log) == 20_000
    assert "secret" not in rejected.log


def test_cuda_needs_no_gpu(tmp_path, monkeypatch):
    compiler = tmp_path / "nvcc"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && printf "Cuda compiler driver\\nrelease 13.0\\n" && exit\n'
        "for word; do last=$word; done; cp solution.cu $last\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("NVCC", str(compiler))
    (found,) = build(tmp_path / "store", solution_of(ITEM, "__global__ void f() {}", Language.CUDA))
    assert found.status is BuildStatus.BUILT
    assert found.toolchain == "release 13.0"
    assert "arch=compute_90,code=sm_90" in found.command


@pytest.mark.parametrize(
    ("language", "source", "status", "words"),
    [
        (Language.PYTHON, MODULE, BuildStatus.INTERPRETED, ""),
        (Language.PYTHON, "x = 1\n", BuildStatus.INTERPRETED, ""),
        (Language.PYTHON, "def f(:\n", BuildStatus.REJECTED, "SyntaxError"),
        (Language.PYTHON, "x = '\\d'\n\0", BuildStatus.REJECTED, "null"),
        (Language.PYTHON, "(" * 10_000, BuildStatus.REJECTED, ""),
        (Language.TRITON, MODULE, BuildStatus.INTERPRETED, ""),
        (Language.TRITON, "x = 1\n", BuildStatus.REJECTED, "no class ModelNew"),
    ],
)
def test_interpreted_languages(tmp_path, language, source, status, words):
    (found,) = build(tmp_path, solution_of(ITEM, source, language))
    assert found.status is status
    assert words in found.log


def test_unknown_definition(tmp_path):
    with pytest.raises(RecordError, match="unknown definition"):
        build_all([solution_of(ITEM, GOOD)], {}, store=tmp_path, timeout_s=1, workers=1)


def test_real_nvcc_or_a_clear_message(tmp_path):
    (found,) = build(tmp_path, solution_of(ITEM, 'extern "C" void launch() {}', Language.CUDA))
    assert found.status in (BuildStatus.BUILT, BuildStatus.NO_COMPILER), found.log
    if found.artifact:
        assert b"launch" in (tmp_path / found.artifact).read_bytes()
