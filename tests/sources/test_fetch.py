import os
import subprocess

import pytest

from hone.config.sources import KernelBenchSource, LocalSource
from hone.core.errors import MachineError, SourceError
from hone.sources import git
from hone.sources.fetch import fetch

GOOD = "class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"


def run(folder, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, "-C", str(folder), *arguments]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


@pytest.fixture
def upstream(tmp_path):
    """A repository with two commits: 3 + 1 problems, then one problem less and one without Model."""
    folder = tmp_path / "upstream"
    for name in ("level1/1_a.py", "level1/2_b.py", "level1/10_c.py", "level2/1_d.py"):
        path = folder / "KernelBench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GOOD + f"# {name}\n")
    for number in range(3, 10):
        (folder / f"KernelBench/level1/{number}_x.py").write_text(GOOD)
    (folder / "KernelBench/level1/notes.md").write_text("not a problem")
    (folder / "KernelBench/level1/11_link.py").symlink_to("1_a.py")
    run(tmp_path, "init", "--quiet", str(folder))
    run(folder, "add", ".")
    run(folder, "commit", "--quiet", "-m", "one")
    return folder


def source(folder, commit=None, levels=None):
    return KernelBenchSource(
        kind="kernelbench",
        url=str(folder),
        commit=commit or run(folder, "rev-parse", "HEAD"),
        levels=levels or {1: 10, 2: 1},
    )


def test_all_problems_of_the_commit_come_in_order_with_their_bytes(upstream):
    files = fetch("kb", source(upstream))
    assert [(file.level, file.number) for file in files] == [(1, n) for n in range(1, 11)] + [(2, 1)]
    assert files[9].text == GOOD + "# level1/10_c.py\n"
    assert files[9].path == "KernelBench/level1/10_c.py"
    assert {file.commit for file in files} == {run(upstream, "rev-parse", "HEAD")}


def test_an_old_commit_is_read_from_a_bare_clone_whatever_the_branch_holds_now(upstream, tmp_path):
    first = run(upstream, "rev-parse", "HEAD")
    (upstream / "KernelBench/level1/1_a.py").write_text("changed")
    run(upstream, "commit", "--quiet", "-am", "two")
    run(tmp_path, "clone", "--quiet", "--bare", str(upstream), "bare.git")
    for url in (tmp_path / "bare.git", f"file://{tmp_path}/bare.git"):
        assert fetch("kb", source(url, first))[0].text == GOOD + "# level1/1_a.py\n"


def test_a_relative_path_and_a_preset_git_folder_do_no_harm(upstream, monkeypatch):
    wanted = source(upstream)
    monkeypatch.chdir(upstream.parent)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert len(fetch("kb", wanted.model_copy(update={"url": "upstream"}))) == 11


def test_a_wrong_commit_is_refused_with_the_branches_that_exist(upstream):
    tip = run(upstream, "rev-parse", "HEAD")
    with pytest.raises(SourceError, match=f"has no commit {'0' * 40}; its branches: main {tip}"):
        fetch("kb", source(upstream, "0" * 40))


def test_the_id_of_something_else_than_a_commit_is_refused(upstream):
    with pytest.raises(SourceError, match="has no commit"):
        fetch("kb", source(upstream, run(upstream, "rev-parse", "HEAD^{tree}")))


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({1: 12}, "level 1 should have problems 1 to 12, but 10 are there; missing: 11-12"),
        ({1: 8}, "unexpected: 9-10"),
        ({2: 1, 4: 3}, "level 4 .* 0 are there; missing: 1-3"),
    ],
)
def test_wrong_counts_name_the_numbers(upstream, levels, said):
    with pytest.raises(SourceError, match=said):
        fetch("kb", source(upstream, levels=levels))


def test_a_problem_without_model_is_named(upstream):
    (upstream / "KernelBench/level2/1_d.py").write_text("def get_inputs(): ...\n")
    run(upstream, "commit", "--quiet", "-am", "broken")
    with pytest.raises(SourceError, match=r"KernelBench/level2/1_d\.py: does not define Model and get_init_inputs"):
        fetch("kb", source(upstream))


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("{tmp}/absent", "no such folder"),
        ("{tmp}", "not a git repository"),
        ("https://127.0.0.1:1/x.git", "check the address and the network"),
        ("--upload-pack=touch {tmp}/owned", "no such folder"),
    ],
)
def test_a_place_without_repository_is_refused_with_a_remedy(tmp_path, url, remedy):
    with pytest.raises(SourceError, match="cannot be fetched") as caught:
        fetch("kb", source(url.format(tmp=tmp_path), "0" * 40))
    assert remedy in caught.value.remedy
    assert not (tmp_path / "owned").exists()


def test_a_server_that_hangs_is_given_up(upstream, monkeypatch, tmp_path):
    wanted = source(upstream)
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\ncase "$*" in *fetch*) sleep 60;; esac\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    with pytest.raises(SourceError, match=r"took longer than 0\.2 s"):
        fetch("kb", wanted, timeout_s=0.2)


def test_without_git_the_machine_is_to_blame(upstream, monkeypatch):
    wanted = source(upstream)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MachineError, match="git is not installed"):
        fetch("kb", wanted)


def test_contents_of_any_bytes_survive(upstream):
    odd = b"# \xc3\xa9\r\n\n" + GOOD.encode()
    (upstream / "KernelBench/level2/1_d.py").write_bytes(odd)
    (upstream / "KernelBench/level2/empty.txt").write_bytes(b"")
    run(upstream, "add", ".")
    run(upstream, "commit", "--quiet", "-m", "odd")
    head = run(upstream, "rev-parse", "HEAD")
    with git.snapshot(str(upstream), head, 60) as bare:
        assert git.read_folder(bare, head, "KernelBench/level2", 60) == {
            "KernelBench/level2/1_d.py": odd,
            "KernelBench/level2/empty.txt": b"",
        }
        assert git.read_folder(bare, head, "KernelBench/level9", 60) == {}
    assert not bare.exists()


def local(folder, levels):
    return LocalSource(kind="local", path=str(folder), levels=levels)


def test_a_local_folder_is_read_and_checked(tmp_path):
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1/1_a.py").write_text(GOOD)
    (tmp_path / "level1/README.md").write_text("")
    file = fetch("mine", local(tmp_path, {1: 1}))[0]
    assert (file.name, file.path, file.commit) == ("mine/level1/1_a", "level1/1_a.py", "local")
    with pytest.raises(SourceError, match="missing: 2"):
        fetch("mine", local(tmp_path, {1: 2}))
    with pytest.raises(SourceError, match="has no folder level2"):
        fetch("mine", local(tmp_path, {1: 1, 2: 1}))
    (tmp_path / "level1/1_b.py").write_text(GOOD)
    with pytest.raises(SourceError, match="twice: 1"):
        fetch("mine", local(tmp_path, {1: 1}))
    with pytest.raises(SourceError, match="no such folder"):
        fetch("mine", local(tmp_path / "absent", {1: 1}))
