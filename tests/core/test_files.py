"""Record files: whole or not at all, and errors that name file, line and field."""

import errno
import os

import pytest

from hone.core import files
from hone.core.errors import MachineError, RecordError
from hone.core.files import (
    read_record,
    read_records,
    require_writable,
    write_new_text,
    write_records,
    write_text,
)
from hone.records import Message


def messages(count):
    return [Message(role="user", content=f"line {number}\nwith a break") for number in range(count)]


def test_records_survive_a_file(tmp_path):
    write_records(tmp_path / "deep" / "m.jsonl", messages(3))
    assert read_records(tmp_path / "deep" / "m.jsonl", Message) == messages(3)


def test_an_empty_list_is_an_empty_file(tmp_path):
    write_records(tmp_path / "m.jsonl", [])
    assert read_records(tmp_path / "m.jsonl", Message) == []


def test_a_truncated_line_is_named(tmp_path):
    file = tmp_path / "m.jsonl"
    write_records(file, messages(2))
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(RecordError) as caught:
        read_records(file, Message)
    assert f"{file}:2: not a Message" in str(caught.value)
    assert "remedy" in str(caught.value)


def test_a_wrong_field_is_named(tmp_path):
    file = tmp_path / "m.jsonl"
    file.write_text('{"role": "king", "content": "x"}\n')
    with pytest.raises(RecordError, match="role: Input should be"):
        read_records(file, Message)


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_an_unreadable_file_is_named(tmp_path, content):
    file = tmp_path / "m.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(RecordError, match=r"m\.json"):
        read_record(file, Message)


def test_a_folder_that_cannot_be_written_is_named_before_anything_runs(tmp_path, monkeypatch):
    require_writable(tmp_path / "not" / "yet")
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(MachineError, match=rf"{tmp_path}: cannot be written to"):
        require_writable(tmp_path / "not" / "yet")


@pytest.mark.parametrize("below", [".", "not/yet"])
def test_a_file_in_the_place_of_a_folder_is_named_before_anything_runs(tmp_path, below):
    (tmp_path / "ledger").write_text("")
    with pytest.raises(MachineError, match=rf"{tmp_path}/ledger: a file stands where a folder is needed\n  remedy: "):
        require_writable(tmp_path / "ledger" / below)


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "free space"), (errno.EROFS, "read-only")])
def test_a_disk_that_refuses_leaves_the_old_file(tmp_path, monkeypatch, number, words):
    file = tmp_path / "m.txt"
    write_text(file, "old")

    def refuse(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(MachineError, match=words):
        write_text(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_the_first_of_two_writers_stays(tmp_path, monkeypatch):
    """The other one comes while ours is being written."""
    file = tmp_path / "deep/file"
    link = files._link

    def beaten(source, target):
        target.write_text("theirs")
        link(source, target)

    assert write_new_text(file, "ours") and file.read_text() == "ours"
    assert not write_new_text(file, "later") and file.read_text() == "ours"
    file.unlink()
    monkeypatch.setattr(files, "_link", beaten)
    assert not write_new_text(file, "ours")
    assert file.read_text() == "theirs"
    assert [path.name for path in file.parent.iterdir()] == ["file"], "nothing is left beside it"


def test_a_disk_without_hard_links_gets_a_new_file_all_the_same(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("pathlib.Path.hardlink_to", refused)
    file = tmp_path / "file"
    assert write_new_text(file, "ours") and file.read_text() == "ours"
    assert not write_new_text(file, "later") and file.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [file]
