"""What forward returns is owed as the reference returns it: in its memory layout, computed, and kept apart.

The real hosts on a fake driver. What a solution puts off is done behind its runs, as part of their time.
"""

import os
import shutil
from pathlib import Path

import pytest
import torch

from hone.judge.child.cuda.candidate import CandidateHost

from ..conftest import tensor
from .rigs import HEAD, IN_PLACE, NORMAL, OUT, SCALE, SETS, batch, problem

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
    late = True
    def forward(self, x):
        return Later(x) if self.late else torch.sigmoid(x)
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
        (SIGMOID, {"body": "return torch._neg_view(-torch.sigmoid(x))"}, True),
        (SCALE, {"body": "return nn.Parameter(self.weight * torch.sigmoid(x))", "init": NORMAL}, False),
        (IN_PLACE, {"body": "x *= 0.5; return x.sum(1)"}, False),
    ],
    ids=["same", "turned", "turned_as_owed", "straight", "lazy", "negated", "parameter", "in_place"],
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


EXPANDED = problem("expanded", "return torch.sigmoid(x.mean(dim=1, keepdim=True)).expand(-1, 5)", OUT)
LAST = problem("last", "return torch.sigmoid(x)[:, -1]", (tensor("out", "rows"),))
GIVEN_TURNED = problem("given_turned", "return torch.sigmoid(x)", OUT, given="[torch.randn(COLUMNS, rows).T]")


@pytest.mark.parametrize(
    ("item", "body"),
    [
        (EXPANDED, "return torch.sigmoid(x.mean(dim=1, keepdim=True)).expand(-1, 5)"),
        (EXPANDED, "return torch.sigmoid(x.mean(dim=1, keepdim=True)).expand(-1, 5).contiguous()"),
        (LAST, "return torch.sigmoid(x)[:, -1]"),
        (LAST, "return torch.sigmoid(x[:, -1])"),
        (GIVEN_TURNED, "return torch.sigmoid(x)"),
    ],
    ids=["expanded", "not_expanded", "view", "no_view", "given_turned"],
)
def test_a_view_is_not_owed_and_neither_is_what_a_generators_layout_makes_of_a_result(rig, item, body):
    """Everybody gets contiguous inputs, so the reference's own code must be what is owed."""
    made = rig(item, body)
    assert made.measure().findings == ()
    assert not made.host._puts_off


def test_what_becomes_lazy_while_it_is_captured_is_captured_again_with_copies(rig):
    made = rig(SIGMOID, source=LAZY)
    made.host._model.late = False
    made.examine()
    assert not made.host._puts_off
    made.host._model.late = True
    batch(made, SETS)  # arguments for a batch
    made.host._puts_off = False
    assert made.subject.capture(SETS) == ""
    assert made.host._puts_off
    assert {type(item) for run in made.host._captured for item in run} == {torch.Tensor}


def test_a_kept_buffer_is_found_each_time_that_times_are_taken(rig):
    """They are taken once more when an existing kernel fails meanwhile."""
    made = rig(SIGMOID, "return self.out.copy_(torch.sigmoid(x))", init="self.out = torch.empty(6, 5)")
    assert made.measure().findings == ("reuses_outputs",)
    assert made.measure().findings == ("reuses_outputs",)


def test_kernelbenchs_own_loop_copies_nothing(rig, monkeypatch):
    made = rig(SIGMOID, source=LAZY)
    made.examine()
    assert made.host._puts_off
    monkeypatch.setattr(CandidateHost, "_forward", lambda *_: pytest.fail("a copy"))
    made.subject.prepare(9, [made.reference.scalars])
    assert made.subject.as_published(3, 1.0, flush=False)[0] >= 0


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
        copy_tree, copy2, copied = shutil.copytree, shutil.copy2, []

        def full(source, target, **options):
            if copied:
                raise OSError(28, "No space left on device")
            copied.append(target)
            return copy2(source, target, **options)

        (cache / "another.so").write_bytes(b"code")
        within = lambda *given: copy_tree(*given) if given[2:] else copy_tree(*given, copy_function=full)  # noqa: E731
        monkeypatch.setattr(shutil, "copytree", within)
    for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TMPDIR", "HOME"):
        monkeypatch.setenv(name, str(home))
    for name in ("TORCHINDUCTOR_COMPILE_THREADS", "USER"):
        monkeypatch.setenv(name, "as before")
    message = {"do": "warm", "gpu": "", "tf32": "off", "triton_cache": str(cache), "compiles": compiles}
    assert CandidateHost().act(message) == {"ok": True}
    chosen = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    assert chosen == (home / "compiled" if own else cache)
    assert (chosen / "inner/kernel.so").read_bytes() == b"code"
    assert (home / "compiled").exists() is own  # a copy that broke off takes no room
