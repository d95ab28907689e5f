"""What a process has left after it has been confined, tried in processes of their own."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from hone.machine.confinement import FULL, NOBODY, ORDINARY_USER, Confinement, readable_paths

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root needs it")
HEAD = """
import json, os, resource, sys
from hone.machine import syscalls
from hone.machine import confinement as c
def write(path, text="x"):
    with open(path, "w") as file:
        file.write(text)

def tries(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        return False
    return True
"""


def run(body, home):
    """What a script prints as JSON."""
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", HEAD + textwrap.dedent(body)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_private_folder_is_empty_and_gone_with_the_process(tmp_path):
    found = run(
        """
        shared = c.enter_shared_namespaces()
        folder = c.enter_private_folder()
        parts = c.confine(c.Confinement(1 << 30, private=folder), shared)
        import tempfile
        with tempfile.TemporaryDirectory() as made:
            within = made.startswith(folder)
        written = tries(write, "file", "x" * (32 << 20))
        too_much = tries(write, "more", "x" * (48 << 20))
        print(json.dumps([folder, os.getcwd(), sorted(os.listdir(folder)), parts, within, written, too_much]))
        """,
        tmp_path,
    )
    folder, current, names, parts, within, written, too_much = found
    if not folder:
        pytest.skip("this machine has no mount namespaces")
    assert current == folder and within and written and not too_much
    assert names == ["file", "more"]
    assert "private_folder" in parts and "private_folder" not in FULL
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_needed_is_not_hidden(tmp_path):
    body = """
        needed = sys.stdin.read() or {needed!r}
        c.enter_shared_namespaces()
        folder = c.enter_private_folder([needed])
        print(json.dumps([folder, os.path.exists(needed)]))
        """
    home, needed = tmp_path / "home", tmp_path / "needed"
    home.mkdir()
    needed.write_text("")
    folder, there = run(body.replace("{needed!r}", repr(str(needed))), home)
    assert there and folder in (str(home), "/tmp", "")
    assert not needed.is_relative_to(folder or "/nowhere")
    folder, there = run(body.replace("{needed!r}", repr(str(home))), home)
    assert there and (folder == "" or not home.is_relative_to(folder))


def test_packages_are_read_wherever_pip_has_put_them_and_nothing_else(tmp_path, monkeypatch):
    target, named, project = tmp_path / "target", tmp_path / "site-packages", tmp_path / "project"
    for folder in (target / "yaml-6.0.dist-info", named, project / "src", project / "tool-1.dist-info"):
        folder.mkdir(parents=True)
    (project / ".env").touch()
    monkeypatch.setattr(sys, "path", [*map(str, (target, named, project, project / "src", tmp_path / "gone")), ""])
    monkeypatch.chdir(target)  # the empty entry means the folder that one works in
    found = readable_paths(Confinement(1))
    assert {path for path in found if path.is_relative_to(tmp_path)} == {target, named}


def test_without_mounts_or_landlock_nothing_can_be_written(tmp_path):
    for broken in ("mount_memory", "landlock"):
        body = f"""
        syscalls.{broken} = lambda *_: False
        shared = c.enter_shared_namespaces()
        parts = c.confine(c.Confinement(1 << 30, private=c.enter_private_folder()), shared)
        written = tries(write, {str(tmp_path / "file")!r})
        print(json.dumps([parts, written, tries(write, "file")]))
        """
        parts, *written = run(body, tmp_path)
        assert "private_folder" not in parts and "syscall_filter" in parts
        assert written == [False, False]
        assert not [file for file in tmp_path.iterdir() if file.stat().st_size]


@pytest.fixture
def open_folder():
    """One that every user may write to; those of pytest are for their owner."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@needs_root
def test_root_becomes_an_ordinary_user_with_few_processes(open_folder):
    body = """
        ends_with_us, ours = os.pipe()
        def fork():
            if os.fork() == 0:
                os.close(ours)
                os.read(ends_with_us, 1)
                os._exit(0)
        c.enter_shared_namespaces()
        c.PROCESSES = 20
        c._can_use = lambda *_: bool(c.readable_paths(c.Confinement(1)))
        c.readable_paths(c.Confinement(1))  # while root can read Python's own folder, wherever it is
        parts = c.become_ordinary(c.Confinement(1 << 30, scratch={home!r}))
        parts += c.confine(c.Confinement(1 << 30, scratch={home!r}), parts)
        made = 0
        while made < 100 and tries(fork):
            made += 1
        written = tries(write, {home!r} + "/file")
        print(json.dumps([parts, os.getuid(), os.stat("/proc/self/status").st_uid, made, written]))
        """
    parts, user, owner, made, written = run(body.replace("{home!r}", repr(str(open_folder))), open_folder)
    assert "process_limit" in parts and "resource_limits" in parts
    assert user == owner == ORDINARY_USER
    assert made < 20 and written
    assert (open_folder / "file").stat().st_uid == ORDINARY_USER


@needs_root
def test_root_stays_where_the_ordinary_user_could_not_work(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    body = f"""
        c.enter_shared_namespaces()
        print(json.dumps([c.become_ordinary(c.Confinement(1 << 30, scratch={str(closed)!r})), os.getuid()]))
        """
    parts, user = run(body, tmp_path)
    assert parts == [] and user in (0, NOBODY)


def test_messages_keep_every_field():
    given = Confinement(5, ("a",), gpu=True, scratch="b", private="c")
    assert Confinement.read(json.loads(json.dumps(given.message()))) == given


def test_where_no_user_namespace_is_to_be_had_nobody_waits_for_one():
    """As in containers, whose rules forbid it."""
    code = "from hone.machine import syscalls as s; s.unshare = lambda _: False; print(s.enter_user_namespace(0, []))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "False\n"
