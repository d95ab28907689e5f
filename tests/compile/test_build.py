"""Compilers, parsers and the store of builds."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hone.compile import build_all, confined
from hone.compile import builds as builds_module
from hone.compile.toolchain import cpu_target, toolchain_for
from hone.core.errors import MachineError, RecordError
from hone.core.store import Store
from hone.machine.environment import cpu_model
from hone.records import BuildStatus, Language, Solution
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


# ------------------------------------------------------------------------------- the machine's failures, confinement


def compiler_that(tmp_path, monkeypatch, script, variable="CXX"):
    compiler = tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo compiler 1 && exit\n{script}\n')
    compiler.chmod(0o755)
    monkeypatch.setenv(variable, str(compiler))


@pytest.mark.parametrize(
    "script",
    [
        "kill -9 $$",
        "echo 'as: x.o: No space left on device'; exit 1",
        "echo 'cc1plus: virtual memory exhausted: Cannot allocate memory'; exit 1",
        "echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 1",
        "echo 'solution.cpp:1:2: internal compiler error: in f, at g.cc:1'; exit 1",
        "echo '/usr/bin/ld: cannot find -lgomp'; exit 1",
        "echo \"nvcc fatal : cannot find the host compiler 'g++'\"; exit 1",
    ],
)
def test_a_compiler_that_the_machine_broke_ends_the_call(tmp_path, monkeypatch, script):
    solution = solution_of(ITEM, GOOD)
    compiler_that(tmp_path, monkeypatch, script)
    with pytest.raises(MachineError, match="broke down") as caught:
        build(tmp_path / "store", solution)
    assert caught.value.where == str(tmp_path / "compiler") and caught.value.remedy
    assert not (tmp_path / "store").exists()


def test_what_was_built_before_the_compiler_broke_stays(tmp_path, monkeypatch):
    compiler_that(tmp_path, monkeypatch, "grep -q launch solution.cpp || kill -9 $$; cp solution.cpp kernel.so")
    good, broken = solution_of(ITEM, GOOD), solution_of(ITEM, "broken")
    with pytest.raises(MachineError):
        build_all([good, broken], {ITEM.name: ITEM}, store=tmp_path / "store", timeout_s=9, workers=1)
    assert len(list((tmp_path / "store").rglob("build.json"))) == 1


def test_a_source_that_breaks_a_sound_compiler_is_refused(tmp_path, monkeypatch):
    compiler_that(tmp_path, monkeypatch, "grep -q bomb solution.cpp && kill -9 $$; cp solution.cpp kernel.so")
    (build,) = build_all(
        [solution_of(ITEM, "bomb")], {ITEM.name: ITEM}, store=tmp_path / "store", timeout_s=9, workers=1
    )
    assert build.status is BuildStatus.REJECTED


def test_a_source_cannot_pass_itself_off_as_a_broken_machine(tmp_path):
    texts = ("#error No space left", 'static_assert(0, "No space left");', "wrong; // No space left")
    for found in build(tmp_path, *(solution_of(ITEM, text) for text in texts)):
        assert found.status is BuildStatus.REJECTED
        assert "No space left" in found.log


def test_an_object_beyond_the_size_limit_is_the_sources_doing(tmp_path):
    (found,) = build(tmp_path, solution_of(ITEM, '__asm__(".data\\n.fill 600000000, 1, 1\\n.text");'))
    assert found.status is BuildStatus.REJECTED, found.log


def test_builds_say_for_which_machine_they_are(tmp_path):
    native, module = build(tmp_path, solution_of(ITEM, GOOD), solution_of(ITEM, MODULE, Language.PYTHON))
    assert native.target == cpu_target() and cpu_model() in native.target
    assert module.target == ""


@pytest.mark.parametrize("directive", ['#include "@"', '__asm__(".incbin \\"@\\"");'])
def test_compilers_cannot_read_the_users_files(tmp_path, directive):
    secret = tmp_path / ".env"
    secret.write_text("// KEY=secret-text\n")
    (found,) = build(tmp_path / "store", solution_of(ITEM, f"{directive.replace('@', str(secret))}\n{GOOD}"))
    if not has_landlock():
        pytest.skip("this machine's kernel has no Landlock")
    assert found.status is BuildStatus.REJECTED
    assert "secret-text" not in found.log


def has_landlock():
    code = "from hone.machine import syscalls as s; s.prctl(s.PR_SET_NO_NEW_PRIVS, 1); exit(not s.landlock([]))"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_folders_around_the_users_files_are_not_opened(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    compiler = home / "bin" / "compiler"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("LIBRARY_PATH", f"{tmp_path}:{home / 'lib'}::lib")
    opened = confined.readable(str(compiler), [home])
    assert {home / "bin", home / "lib", compiler} <= set(opened)
    assert not {home, tmp_path, Path(), Path("lib")} & set(opened)
    assert home in confined.readable(str(compiler), [tmp_path / "project"])


def header_user(folder):
    source = f'#include "{folder}/mine.h"\nextern "C" int found() {{ return mine(); }}\n'
    return Solution(definition="hone/mine", language=Language.CPP, entry_point="found", source=source)


@pytest.mark.parametrize("own", [True, False])
def test_own_code_that_was_refused_is_tried_again_once_the_machine_is_mended(tmp_path, own):
    """What others wrote is refused for good: the source is what is wrong there."""
    folder, store = tmp_path / "headers", Store(tmp_path / "store")
    folder.mkdir()
    toolchain = toolchain_for(Language.CPP).with_flags((), [folder])

    def build():
        return builds_module.build_one(header_user(folder), toolchain, store, 60.0, own=own)

    if own:  # an earlier version kept it
        builds_module.build_one(header_user(folder), toolchain, store, 60.0)
    assert build().status is BuildStatus.REJECTED
    (folder / "mine.h").write_text("inline int mine() { return 7; }\n")
    mended = build()
    assert (mended.status is BuildStatus.BUILT) == own
    assert not own or (store.root / mended.artifact).is_file()
    assert build() == mended


def test_a_compiler_reads_a_folder_that_is_opened_for_it_and_no_other(tmp_path):
    folder = tmp_path / "headers"
    folder.mkdir()
    (folder / "mine.h").write_text("inline int mine() { return 7; }\n")
    opened, closed = (
        builds_module.build_one(
            header_user(folder), toolchain_for(Language.CPP).with_flags((), folders), Store(tmp_path / name), 60.0
        )
        for name, folders in (("opened", [folder]), ("closed", []))
    )
    assert opened.status is BuildStatus.BUILT
    if not has_landlock():
        pytest.skip("this machine's kernel has no Landlock")
    assert closed.status is BuildStatus.REJECTED
