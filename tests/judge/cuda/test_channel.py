"""Descriptors through a real socket, and what a process on a GPU may open: each in a process of its own."""

import json
import os
import resource
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hone.judge.runner import Runner, RunnerEndedError, RunnerForgedError, RunnerTimeoutError
from hone.judge.wire import Channel, ClosedError, GarbledError, SilentError
from hone.machine.confinement import Confinement, readable_paths, writable_paths


@pytest.fixture
def ends():
    left, right = socket.socketpair()
    yield Channel(left), Channel(right)
    left.close()
    right.close()


@pytest.fixture
def files():
    """Two open files of nobody else's."""
    opened = [os.memfd_create(name) for name in ("one", "two")]
    yield opened
    for descriptor in opened:
        os.close(descriptor)


def same_files(one, other):
    return [os.fstat(number).st_ino for number in one] == [os.fstat(number).st_ino for number in other]


def close(descriptors):
    for descriptor in descriptors:
        os.close(descriptor)


# ------------------------------------------------------------------------------------------------- the channel


def test_descriptors_arrive_in_order_as_files_of_their_own(ends, files):
    here, there = ends
    here.send_descriptors(files)
    found = there.receive_descriptors(2, 1.0)
    assert same_files(found, files) and not set(found) & set(files)
    here.send({"a": 1})  # messages go on behind them
    assert there.receive(1.0) == {"a": 1}
    close(found)


def test_too_few_descriptors_are_garbled(ends, files):
    here, there = ends
    here.send_descriptors(files)
    with pytest.raises(GarbledError, match="2 files instead of 3"):
        there.receive_descriptors(3, 1.0)


def test_a_message_in_the_descriptors_place_is_garbled(ends):
    here, there = ends
    here.send({"error": "no memory"})
    with pytest.raises(GarbledError):
        there.receive_descriptors(2, 1.0)


def test_who_sends_none_is_silent_and_who_has_gone_is_closed(ends, files):
    here, there = ends
    with pytest.raises(SilentError):
        there.receive_descriptors(1, 0.01)
    here.close()
    with pytest.raises(ClosedError):
        there.receive_descriptors(1, 1.0)
    with pytest.raises(ClosedError):
        there.send_descriptors(files)


# -------------------------------------------------------------------------------------------------- the runner


@contextmanager
def runner_beside(serve):
    """A runner whose process is a thread that gets the other end."""
    mine, theirs = socket.socketpair()
    ending, report = os.pipe()
    errors, written = os.pipe()
    os.write(report, b'{"code": 3}')
    close([report, written])
    os.set_blocking(errors, False)
    other = threading.Thread(target=serve, args=(Channel(theirs),))
    other.start()
    runner = Runner(Channel(mine), ending, errors)
    try:
        yield runner
    finally:
        runner.end()
        other.join()
        theirs.close()


def test_a_runner_hands_its_files_over(files):
    asked = []

    def serve(channel):
        asked.append(channel.receive(5))
        channel.send_descriptors(files)

    with runner_beside(serve) as runner:
        found = runner.take_descriptors(2, 5.0)
    assert asked == [{"do": "hand_over"}]
    assert same_files(found, files)
    close(found)


def test_a_runner_is_given_files_when_it_is_ready_for_them(files):
    found = []

    def serve(channel):
        message = channel.receive(5)
        channel.send({"ready": True})
        found.extend(channel.receive_descriptors(message["count"], 5))
        channel.send({"ok": True})
        channel.send({"next": channel.receive(5)["do"]})

    with runner_beside(serve) as runner:
        runner.give_descriptors({"do": "map", "count": 2}, files, 5.0)
        assert runner.ask({"do": "load"}, 5.0) == {"next": "load"}  # no answer is left over
    assert same_files(found, files)
    close(found)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda channel: channel.close(), RunnerEndedError),
        (lambda channel: channel.send({"error": {"kind": "run", "text": "no"}}), RunnerForgedError),
        (lambda channel: channel.receive(5), RunnerTimeoutError),
    ],
)
def test_a_runner_that_hands_nothing_over(answer, error):
    def serve(channel):
        channel.receive(5)
        with suppress(ClosedError):
            answer(channel)

    with runner_beside(serve) as runner, pytest.raises(error):
        runner.take_descriptors(1, 0.2)


def test_a_runner_that_ends_before_it_is_ready(files):
    with runner_beside(Channel.close) as runner, pytest.raises(RunnerEndedError) as caught:
        runner.give_descriptors({"do": "map"}, files, 5.0)
    assert caught.value.code == 3


# ------------------------------------------------------------------------------------------------- confinement


@pytest.mark.parametrize(
    "confinement",
    [
        Confinement(1 << 30),
        Confinement(1 << 30, ("/a", "/b"), gpu=True),
        Confinement(5, memory_only=True, gpu=True),
        Confinement(7, ("/a",), gpu=True, scratch="/scratch"),
    ],
)
def test_confinement_survives_the_way_to_the_zygote(confinement):
    assert Confinement.read(json.loads(json.dumps(confinement.message()))) == confinement


def test_only_a_gpu_and_a_compilers_folder_can_be_written_to():
    assert writable_paths(Confinement(1, ("/a",))) == []
    devices = writable_paths(Confinement(1, gpu=True))
    assert devices[-1] == Path("/proc/self")
    assert all(str(path).startswith("/dev/nvidia") for path in devices[:-1])
    compiling = writable_paths(Confinement(1, gpu=True, scratch="/scratch"))
    assert compiling == [*devices, Path("/scratch"), Path("/dev/null")]


def test_a_gpu_makes_the_drivers_files_readable_and_nothing_of_the_users():
    plain, gpu = readable_paths(Confinement(1, ("/a",))), readable_paths(Confinement(1, ("/a",), gpu=True))
    assert set(plain) < set(gpu) and Path("/a") in plain
    assert Path("/proc/driver/nvidia") in set(gpu) - set(plain)
    for paths in (plain, gpu):
        assert not {Path("/"), Path("/proc"), Path("/sys"), Path("/etc"), Path("/home"), Path.home()} & set(paths)


def python(text, *arguments):
    """What a fresh process prints, as JSON: what is done there cannot be undone."""
    done = subprocess.run([sys.executable, "-c", text, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SOCKETS = """
import json, os, socket, sys
from hone.machine import syscalls
installed = syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
installed = installed and syscalls.forbid_processes_and_sockets(os.getpid(), local=sys.argv[1] == "local")
found = {}
def attempt(name, act):
    try:
        act()
        found[name] = True
    except PermissionError:
        found[name] = False
for family in ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET"):
    attempt(family, lambda: socket.socket(getattr(socket, family), socket.SOCK_DGRAM).close())
attempt("fork", lambda: os.fork() or os._exit(0))
attempt("exec", lambda: os.execv("/bin/true", ["true"]))
attempt("memfd", lambda: os.memfd_create("x"))
attempt("signal to itself", lambda: os.kill(os.getpid(), 0))
attempt("signal to its parent", lambda: os.kill(os.getppid(), 0))
print(json.dumps({"installed": installed, **found}))
"""


@pytest.mark.parametrize("local", [True, False])
def test_the_filter_lets_only_local_sockets_through_and_only_for_a_gpu(local):
    found = python(SOCKETS, "local" if local else "none")
    expected = {"installed", "signal to itself"} | ({"AF_UNIX"} if local else set())
    assert {name for name, allowed in found.items() if allowed} == expected


LANDLOCK = """
import json, sys
from pathlib import Path
from hone.machine import syscalls
from hone.machine.confinement import Confinement, confine
parts = confine(Confinement(1 << 30, (sys.argv[1],), gpu=True, scratch=sys.argv[2]), [])
found = {"landlock": "read_only_files" in parts}
for name, act in {
    "read": lambda: Path(sys.argv[1], "file").read_text(),
    "change": lambda: Path(sys.argv[1], "file").write_text("x"),
    "make": lambda: Path(sys.argv[1], "more").write_text("x"),
    "scratch": lambda: Path(sys.argv[2], "new").write_text("x"),
    "elsewhere": lambda: Path(sys.argv[3]).read_text(),
}.items():
    try:
        act()
        found[name] = True
    except PermissionError:
        found[name] = False
print(json.dumps(found))
"""


def test_a_compiling_process_writes_to_its_folder_alone(tmp_path):
    folders = [tmp_path / name for name in ("readable", "scratch")]
    for folder in folders:
        folder.mkdir()
        (folder / "file").write_text("text")
    secret = tmp_path / "secret"
    secret.write_text("key")
    found = python(LANDLOCK, *map(str, folders), str(secret))
    expected = (
        {"landlock", "read", "scratch"} if found["landlock"] else {"read", "change", "make", "scratch", "elsewhere"}
    )
    assert {name for name, allowed in found.items() if allowed} == expected


LIMITS = """
import json, resource, sys
from hone.machine.confinement import Confinement, confine
confine(Confinement(1 << 28, gpu=sys.argv[1] == "gpu", memory_only=True), [])
try:
    bytearray(1 << 29)
    held = False
except MemoryError:
    held = True
limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS)]
print(json.dumps([held, *limits]))
"""


def test_on_a_gpu_address_space_is_free_and_private_memory_is_not():
    held, data, address_space = python(LIMITS, "gpu")
    assert held and data > 1 << 28
    assert address_space == resource.getrlimit(resource.RLIMIT_AS)[0]
    held, data, address_space = python(LIMITS, "cpu")
    assert held and address_space > 1 << 28
    assert data == resource.getrlimit(resource.RLIMIT_DATA)[0]
