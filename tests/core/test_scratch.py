"""A scratch folder lives as long as its owner, and not long after one that was killed."""

import errno
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from hone.core import scratch
from hone.core.scratch import ScratchFolder, sweep

OWNER = """
import sys
from hone.core.scratch import ScratchFolder
folder = ScratchFolder("test")
print(folder.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def owner(place):
    """Another process that holds a folder: (process, folder)."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen([sys.executable, "-c", OWNER], env=environment, **pipes) as process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_folder_goes_with_its_context_and_no_descriptor_stays(place):
    before = descriptors()
    with ScratchFolder("test") as name:
        assert Path(name).parent == place
        assert Path(name).name.startswith("hone-test-")
        (Path(name) / "file").touch()
        sweep(place)
        assert (Path(name) / "file").exists()
    assert not list(place.iterdir())
    assert descriptors() == before


def test_cleaning_twice_is_harmless(place):
    folder = ScratchFolder("test")
    folder.cleanup()
    folder.cleanup()
    assert not list(place.iterdir())


def test_a_folder_is_removed_only_when_its_owner_is_dead(place, owner):
    process, folder = owner
    (folder / "deep").mkdir()
    (folder / "deep/file").touch()
    sweep(place)
    assert (folder / "deep/file").exists()
    process.kill()
    process.wait()
    assert folder.is_dir()
    sweep(place)
    assert not folder.exists()


def test_the_first_folder_of_a_process_removes_those_of_the_dead(place, owner):
    process, folder = owner
    process.kill()
    process.wait()
    with ScratchFolder("test") as name:
        assert [str(path) for path in place.iterdir()] == [name]
    assert not folder.exists()


def test_what_was_not_made_here_is_left_alone(place, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "file").touch()
    with ScratchFolder("test") as name:
        ours = Path(name).name.rpartition("-")[0]
    (place / f"{ours}-file").touch()
    (place / f"{ours}-link").symlink_to(elsewhere)
    (place / "hone-test-0000000g-other_host").mkdir()
    (place / "hone-judge-abcdefgh").mkdir()
    before = sorted(place.iterdir())
    sweep(place)
    assert sorted(place.iterdir()) == before
    assert (elsewhere / "file").exists()


def test_where_nothing_can_be_locked_nothing_is_taken_for_dead(place, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(scratch.fcntl, "flock", refuse)
    with ScratchFolder("test") as name:
        sweep(place)
        assert Path(name).is_dir()
    assert not list(place.iterdir())


def test_a_folder_that_was_handed_out_is_never_swept(place):
    ended = threading.Event()

    def sweep_on():
        while not ended.is_set():
            sweep(place)

    sweeper = threading.Thread(target=sweep_on)
    sweeper.start()
    try:
        for _ in range(200):
            with ScratchFolder("test") as name:
                (Path(name) / "file").touch()
                assert (Path(name) / "file").exists()
    finally:
        ended.set()
        sweeper.join()
    assert not list(place.iterdir())


def test_a_full_disk_is_told_as_before(place, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(place / "missing"))
    with pytest.raises(FileNotFoundError):
        ScratchFolder("test")
