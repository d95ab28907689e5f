import pytest
import torch

from hone.core.errors import RecordError
from hone.gnn import checkpoint


def test_what_is_saved_is_loaded(tmp_path):
    state = {"a": torch.arange(3), "nested": {"b": [torch.ones(2, dtype=torch.bfloat16), "text", 1.5, None]}}
    checkpoint.save(tmp_path / "deep" / "c.pt", state)
    found = checkpoint.load(tmp_path / "deep" / "c.pt")
    assert torch.equal(found["a"], state["a"])
    assert torch.equal(found["nested"]["b"][0], state["nested"]["b"][0])
    assert found["nested"]["b"][1:] == ["text", 1.5, None]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["c.pt"], "no temporary file is left"


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "c.pt"
    with pytest.raises(RecordError, match="no such file"):
        checkpoint.load(path)
    checkpoint.save(path, {"a": torch.zeros(1000)})
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"text"):
        path.write_bytes(broken)
        with pytest.raises(RecordError, match="not a checkpoint"):
            checkpoint.load(path)
    torch.save({"format": 0}, path)
    with pytest.raises(RecordError, match="of format 1"):
        checkpoint.load(path)


def test_code_in_a_checkpoint_is_not_run(tmp_path):
    class Evil:
        def __reduce__(self):
            return print, ("run",)

    torch.save({"format": 1, "evil": Evil()}, tmp_path / "c.pt")
    with pytest.raises(RecordError, match="not a checkpoint"):
        checkpoint.load(tmp_path / "c.pt")
