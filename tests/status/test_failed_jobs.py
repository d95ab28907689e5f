"""What a job leaves behind that met a full disk: one message with file and remedy, and no half-written file."""

import errno
import os
import platform

import pytest
import torch

from hone.core.errors import MachineError, RecordError
from hone.core.script import reported
from hone.gnn import checkpoint
from hone.gnn.distributed import _explanation
from hone.gnn.infer import _mapped
from tests.analysis.world import big_world


def full(after):
    """Something that fails like a full disk when it is called once more than `after` times."""
    left = [after]

    def call(*arguments):
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= 1

    return call


def test_tables_name_the_one_that_found_no_room(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", full(after=3))
    with pytest.raises(MachineError, match=r"errors\.csv: cannot write: No space left(.|\n)*remedy: free space"):
        big_world().make(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_checkpoint_stays_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "seed0.pt"
    checkpoint.save(path, {"epoch": 1})
    monkeypatch.setattr(os, "fsync", full(after=0))
    with pytest.raises(MachineError, match=r"seed0\.pt: cannot write: No space left"):
        checkpoint.save(path, {"epoch": 2})
    assert checkpoint.load(path)["epoch"] == 1
    assert list(tmp_path.iterdir()) == [path]


def test_states_of_layers_have_their_room_before_they_are_mapped(tmp_path, monkeypatch):
    """Without it the kernel ends the process by SIGBUS, and nobody says why."""
    assert _mapped(tmp_path / "layer0", 3, torch.zeros(1, 2)).shape == (3, 2)
    assert (tmp_path / "layer0").stat().st_size == 3 * 2 * 4
    monkeypatch.setattr(os, "posix_fallocate", full(after=0))
    with pytest.raises(MachineError, match=r"layer1: cannot write: No space left"):
        _mapped(tmp_path / "layer1", 3, torch.zeros(1, 2))


def test_of_several_processes_the_one_that_explains_itself_is_quoted(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("torchrun\nerror: seed0.pt: cannot write\n  remedy: free space\nroot cause\n")
    assert _explanation(log) == "error: seed0.pt: cannot write\n  remedy: free space"
    log.write_text("Traceback\nValueError: a bug\n")
    assert _explanation(log) == "Traceback\nValueError: a bug"


MACHINE = f"on {platform.node()}"
"""The first line of a log: behind an empty one Snakemake shows nothing of what the cluster says of a killed job."""


def failing(error, log):
    with pytest.raises((SystemExit, type(error))) as caught, reported([str(log)]):
        raise error
    first, _, said = log.read_text().partition("\n")
    assert first == MACHINE
    return caught.value, said


def test_a_log_holds_what_the_last_try_said(tmp_path, capsys):
    log = tmp_path / "train.log"
    log.write_text("error: of yesterday\n")
    with pytest.raises(SystemExit), reported([str(log)]):
        log.write_text("rank 0: epoch 1\n")  # what the processes of a training say
        raise RecordError("no such file", where="x.json", remedy="make it")
    message = "error: x.json: no such file\n  remedy: make it\n"
    assert log.read_text() == f"rank 0: epoch 1\n{message}"
    assert capsys.readouterr().err == message
    with reported([str(log)]):
        pass
    assert log.read_text() == f"{MACHINE}\n"


def test_a_full_disk_that_a_library_met_is_no_traceback(tmp_path):
    raised, said = failing(OSError(errno.ENOSPC, "No space left on device", "/scratch/x"), tmp_path / "l.log")
    assert isinstance(raised, SystemExit)
    assert said.startswith("error: /scratch/x: cannot write: No space left on device\n  remedy: free space")


@pytest.mark.parametrize("error", [ValueError("a bug"), OSError(errno.ENOENT, "No such file", "x")])
def test_any_other_error_is_in_the_log_with_its_traceback(tmp_path, error):
    raised, said = failing(error, tmp_path / "l.log")
    assert raised is error
    assert said.startswith("Traceback")
    assert str(error) in said.splitlines()[-1]
