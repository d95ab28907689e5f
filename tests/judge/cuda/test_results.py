"""What forward returns is owed as the reference returns it: in its memory layout, computed, and kept apart.

The real hosts on a fake driver. What a solution puts off is done behind its runs, as part of their time.
"""

import os
from pathlib import Path

import pytest
import torch

from hone.judge.child.cuda.candidate import CandidateHost

from ..conftest import tensor
from .rigs import HEAD, IN_PLACE, NORMAL, OUT, SCALE, batch, problem

SIGMOID = problem("sigmoid", "return torch.sigmoid(x)", OUT)
TURNED = problem("turned", "return torch.sigmoid(x).t().contiguous().t()", OUT)
LAZY = (
    HEAD
    + """
class Later(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        made = torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)
        made.given = x
        return made
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        done = [torch.sigmoid(item.given) if isinstance(item, Later) else item for item in args]
        return func(*done, **(kwargs or {}))
class ModelNew(nn.Module):
    def forward(self, x):
        return Later(x)
"""
)


def returned_by(made):
    """What the solution's process holds after a batch behind gates: the results of its runs."""
    return [item for run in made.host._returned for item in ([run] if isinstance(run, torch.Tensor) else run)]


@pytest.mark.parametrize(
    ("item", "given", "puts_off"),
    [
        (SIGMOID, {"body": "return torch.sigmoid(x)"}, False),
        (SIGMOID, {"body": "return torch.sigmoid(x).t().contiguous().t()"}, True),
        (TURNED, {"body": "return torch.sigmoid(x).t().contiguous().t()"}, False),
        (TURNED, {"body": "return torch.sigmoid(x)"}, True),
        (SIGMOID, {"source": LAZY}, True),
        (SCALE, {"body": "return nn.Parameter(self.weight * torch.sigmoid(x))", "init": NORMAL}, False),
        (IN_PLACE, {"body": "x *= 0.5; return x.sum(1)"}, False),
    ],
    ids=["same", "turned", "turned_as_owed", "straight", "lazy", "parameter", "in_place"],
)
def test_what_a_result_leaves_to_its_reader_is_part_of_its_time(rig, item, given, puts_off):
    made = rig(item, **given)
    found = made.measure()
    assert found.findings == ()
    assert made.host._puts_off is puts_off
    for result in returned_by(made):
        assert type(result) in (torch.Tensor, torch.nn.Parameter)
        assert [list(result.stride())] == made.reference.strides
    assert found.clock.runs_per_sample > 1 and found.clock.charged_ms < found.solution.latency_ms


def test_a_column_of_one_element_has_no_layout(rig):
    """Strides of dimensions of size one mean nothing, and PyTorch gives whatever it likes."""
    axes = {"rows": 6, "columns": 5, "one": 1}
    item = problem("narrow", "return torch.sigmoid(x)[:, :1].contiguous()", (tensor("out", "rows", "one"),), axes=axes)
    made = rig(item, "return torch.sigmoid(x)[:, :1].contiguous().as_strided((6, 1), (1, 7))")
    batch(made, 1)
    assert not made.host._puts_off


# ---------------------------------------------------------------------------------- what compilers have left


@pytest.mark.parametrize(("compiles", "room", "own"), [(False, True, True), (False, False, False), (True, True, False)])
def test_a_judged_process_has_its_own_copy_of_what_was_compiled(
    fake_driver, monkeypatch, tmp_path, compiles, room, own
):
    """Tuners write beside what they find. The process that compiles writes to the folder itself."""
    home, cache = tmp_path / "home", tmp_path / "cache"
    (cache / "inner").mkdir(parents=True)
    (cache / "inner/kernel.so").write_bytes(b"code")
    home.mkdir()
    if not room:
        (home / "compiled").write_text("in the way")
    for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TMPDIR", "HOME"):
        monkeypatch.setenv(name, str(home))
    for name in ("TORCHINDUCTOR_COMPILE_THREADS", "USER"):
        monkeypatch.setenv(name, "as before")
    message = {"do": "warm", "gpu": "", "tf32": "off", "triton_cache": str(cache), "compiles": compiles}
    assert CandidateHost().act(message) == {"ok": True}
    chosen = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    assert chosen == (home / "compiled" if own else cache)
    assert (chosen / "inner/kernel.so").read_bytes() == b"code"
