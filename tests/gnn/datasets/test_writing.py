"""Arrays are whole or absent; a disk that is full says so before and during the work."""

import shutil

import numpy as np
import pytest
import torch

from hone.core.errors import MachineError
from hone.gnn.datasets import writing
from hone.gnn.datasets.writing import ArrayFile, as_stored, complete_folder, require_space


@pytest.mark.parametrize("columns", [None, 3])
def test_what_is_appended_is_what_numpy_reads(tmp_path, columns):
    generator = np.random.default_rng(0)
    chunks = [generator.standard_normal((rows, columns) if columns else rows) for rows in (5, 0, 1000)]
    with ArrayFile(tmp_path / "a.npy", np.float64, columns) as file:
        for chunk in chunks:
            file.append(chunk)
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.concatenate(chunks))
    assert file.rows == 1005


def test_an_empty_array_can_be_read(tmp_path):
    with ArrayFile(tmp_path / "a.npy", np.int64):
        pass
    assert np.load(tmp_path / "a.npy").shape == (0,)


@pytest.mark.parametrize("rows", [np.zeros(3, np.float32), np.zeros((3, 2), np.float64), np.zeros(3, np.int64)])
def test_other_types_and_shapes_are_refused(tmp_path, rows):
    with pytest.raises(TypeError), ArrayFile(tmp_path / "a.npy", np.float64) as file:
        file.append(rows)


def test_a_disk_that_fills_up_is_named(tmp_path):
    class Full:
        def write(self, content):
            raise OSError(28, "No space left on device")

        def close(self):
            pass

    file = ArrayFile(tmp_path / "a.npy", np.int64)
    file._handle.close()
    file._handle = Full()
    with pytest.raises(MachineError, match=r"a\.npy: cannot write: No space left"), file:
        file.append(np.zeros(3, np.int64))


def test_too_little_room_is_said_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(writing.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1 << 30))
    require_space(tmp_path / "not" / "there", 1 << 30)
    with pytest.raises(MachineError, match=r"has 1\.0 GiB free, 5\.0 GiB are needed"):
        require_space(tmp_path / "not" / "there", 5 << 30)


def test_a_folder_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "made" / "graph"
    with complete_folder(target) as folder:
        (folder / "a").write_text("new")
        assert not target.exists()
    assert (target / "a").read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_a_folder_is_replaced_and_its_readers_keep_the_old_one(tmp_path):
    target = tmp_path / "graph"
    target.mkdir()
    np.save(target / "a.npy", np.arange(4))
    old = np.load(target / "a.npy", mmap_mode="r")
    with complete_folder(target) as folder:
        (folder / "b").write_text("new")
    assert [path.name for path in target.iterdir()] == ["b"]
    assert old.tolist() == [0, 1, 2, 3]
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_leaves_the_old_folder_and_nothing_else(tmp_path):
    target = tmp_path / "graph"
    target.mkdir()
    (target / "a").write_text("old")
    with pytest.raises(KeyboardInterrupt), complete_folder(target) as folder:
        (folder / "a").write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [target]
    assert (target / "a").read_text() == "old"


def test_bfloat16_is_rounded_as_torch_does():
    values = np.random.default_rng(0).standard_normal(4096) * 10.0 ** np.arange(4096).clip(max=30)
    values = values.astype(np.float32)
    values[:6] = [0.0, -0.0, np.inf, -np.inf, 1.00390625, 3.3961775e38]
    stored = torch.from_numpy(as_stored(values.reshape(-1, 2), "bfloat16").view(np.int16)).view(torch.bfloat16)
    assert torch.equal(stored.reshape(-1), torch.from_numpy(values).bfloat16())
    nan = as_stored(np.array([[np.nan]]), "bfloat16")
    assert torch.from_numpy(nan.view(np.int16)).view(torch.bfloat16).isnan().all()


def test_what_has_the_type_already_is_not_copied():
    rows = np.zeros((2, 2), np.float16)
    assert as_stored(rows, "float16") is rows
    assert as_stored(rows, "float32").dtype == np.float32
