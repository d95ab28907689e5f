"""Small definitions made by hand, and a judge that works on one source text at a time."""

from pathlib import Path

import pytest

from hone.compile import build_all
from hone.compile.kernels import with_kernels
from hone.judge.device.cpu import bench as cpu_bench
from hone.judge.judging import judge_all
from hone.judge.runner import Zygote
from hone.records import (
    Argument,
    Definition,
    Language,
    Protocol,
    Solution,
    Tolerance,
    Trace,
    Upstream,
    Workload,
)

ROWS, COLUMNS, INNER = 64, 256, 128

SCALE = f"""
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.sigmoid(x) * self.weight

def get_inputs():
    return [torch.randn({ROWS}, {COLUMNS})]

def get_init_inputs():
    return [{COLUMNS}]
"""

MATMUL = f"""
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)

def get_inputs():
    return [torch.rand({ROWS}, {INNER}), torch.rand({INNER}, {COLUMNS})]

def get_init_inputs():
    return []
"""


def tensor(name, *shape, dtype="float32"):
    return Argument(name=name, shape=shape, dtype=dtype)


def definition(title, reference, axes, inputs, outputs, parameters=(), **others):
    return Definition(
        name=f"hand/level1/1_{title}",
        source="hand",
        level=1,
        number=1,
        title=title,
        axes=axes,
        inputs=inputs,
        parameters=parameters,
        outputs=outputs,
        reference=reference,
        compulsory_bytes=1,
        flops=others.pop("flops", 0),
        upstream=Upstream(repository="local", commit="local", path=f"{title}.py", sha256="0" * 64),
        **others,
    )


def scale_definition(**others):
    return definition(
        "scale",
        others.pop("reference", SCALE),
        {"rows": ROWS, "columns": COLUMNS},
        (tensor("x", "rows", "columns"),),
        (tensor("out", "rows", "columns"),),
        (tensor("weight", "columns"),),
        **others,
    )


def matmul_definition():
    return definition(
        "matmul",
        MATMUL,
        {"rows": ROWS, "inner": INNER, "columns": COLUMNS},
        (tensor("a", "rows", "inner"), tensor("b", "inner", "columns")),
        (tensor("out", "rows", "columns"),),
    )


def workload_of(item, dtype="float32", tolerance=1e-4):
    return Workload(
        definition=item.name,
        name="own",
        axes=item.axes,
        dtype=dtype,
        tolerance=Tolerance(atol=tolerance, rtol=tolerance),
    )


def solution_of(item, source, language=Language.CPP):
    entry = "ModelNew" if language in (Language.PYTHON, Language.TRITON) else "launch"
    return Solution(definition=item.name, language=language, entry_point=entry, source=source)


QUICK = Protocol(
    name="quick",
    correctness_trials=2,
    warmup_runs=1,
    timing_runs=5,
    timing_seconds=0.2,
    audit_every=2,
    run_timeout_s=2.0,
    memory_limit_gib=1.0,
)


class Bench:
    """Builds and judges with one store."""

    def __init__(self, store: Path) -> None:
        self.store = store

    def judge(self, item, *solutions, workload=None, **options) -> list[Trace]:
        """On one workload, or on a list of them."""
        chosen = workload if isinstance(workload, list) else [workload or workload_of(item)]
        return self.judge_many([item], solutions, {item.name: chosen}, **options)

    def judge_many(self, items, solutions, workloads=None, protocol=QUICK, **options) -> list[Trace]:
        known = {item.name: item for item in items}
        workloads = workloads or {name: [workload_of(item)] for name, item in known.items()}
        compiled = with_kernels(solutions, known, protocol.device)
        builds = build_all(compiled, known, store=self.store, timeout_s=60, workers=2, progress=False)
        by_solution = {build.solution: build for build in builds}
        options = {"store": self.store, "progress": False, **options}
        return judge_all(solutions, by_solution, known, workloads, protocol, **options)


class Lent:
    """A zygote as a session sees it: closing the session leaves it running."""

    def __init__(self, zygote: Zygote) -> None:
        self.spawn = zygote.spawn

    def close(self) -> None:
        """Its owner closes it."""


@pytest.fixture(scope="session")
def lend():
    """Makes zygotes that last: PyTorch is loaded once for all tests, as it is once for all solutions of a session."""
    kept: dict[tuple, Zygote] = {}

    def zygote(kind, threads, cpus):
        key = (kind, threads, tuple(cpus))
        kept[key] = kept.get(key) or Zygote(kind, threads, cpus)
        return Lent(kept[key])

    yield zygote
    for one in kept.values():
        one.close()


@pytest.fixture
def bench(tmp_path, monkeypatch, lend):
    monkeypatch.setattr(cpu_bench, "Zygote", lend)
    return Bench(tmp_path / "store")
