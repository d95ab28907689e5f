"""Baselines that are timed once for a workload: what is measured, kept and put beside a solution's times."""

from types import SimpleNamespace

import pytest

from hone.config.settings import load
from hone.core.errors import ConfigError
from hone.judge.case import Case
from hone.judge.device.cuda.alone import WARM_UPS, TimedAlone, beside, published_beside
from hone.judge.findings import Findings
from hone.judge.procedure import usable_baselines
from hone.judge.verdict import Verdict
from hone.records import (
    COMPILE_OPTIONS,
    TIMED_ALONE,
    TORCH_BASELINES,
    AsPublished,
    BaselineTimes,
    Build,
    BuildStatus,
    Clock,
    Language,
    Performance,
    Status,
    Timing,
)

from ..conftest import scale_definition, solution_of, workload_of
from .fakes import PROTOCOL
from .rigs import OUT, problem

ITEM = scale_definition()
NAME, OTHER = "torch_cudagraphs", "torch_compile_max_autotune"


class Ground:
    """A reference's process whose runs get faster while it warms up."""

    def __init__(self, problem="", fails_at=None):
        self.problem, self.fails_at = problem, fails_at
        self.runs, self.closed, self.compiled = 0, 0, []

    def prepare_compiled(self, name):
        self.compiled.append(name)
        return self.problem

    def fresh_run_ms(self, _):
        self.runs += 1
        if self.runs == self.fails_at:
            raise Verdict(Status.MACHINE_ERROR, "it ended")
        return 100.0 if self.runs <= WARM_UPS else 2.0

    def published_ms(self, *_, **__):
        return 5.0

    def close(self):
        self.closed += 1


@pytest.fixture
def case(tmp_path, monkeypatch):
    """A case whose store is empty, on a machine with a GPU."""
    machine = SimpleNamespace(device="H", torch="2", driver="5")
    monkeypatch.setattr("hone.judge.device.cuda.alone.environment_of", lambda _: machine)
    solution = solution_of(ITEM, "class ModelNew: ...", Language.PYTHON)
    return Case(
        solution, Build(solution=solution.id, status=BuildStatus.INTERPRETED), ITEM, workload_of(ITEM), tmp_path
    )


def alone(ground, **update):
    return TimedAlone(PROTOCOL.model_copy(update={"timing_runs": 4, **update}), lambda _: ground)


def test_it_is_timed_warm_and_once_for_all(case):
    ground = Ground()
    found = alone(ground, as_published="v0").times(case, ("torch_eager", NAME, "upstream"))
    assert found == {NAME: BaselineTimes(name=NAME, timing=Timing(samples_ms=(2.0,) * 4), published_ms=5.0)}
    assert (ground.compiled, ground.runs, ground.closed) == ([NAME], WARM_UPS + 4, 1)
    again = Ground()
    assert alone(again, as_published="v0").times(case, (NAME,)) == found
    assert again.compiled == []


@pytest.mark.parametrize("update", [{"tf32": "on"}, {"model_mode": "eval"}, {"timing_runs": 5}, {"as_published": "v0"}])
def test_another_way_of_running_it_is_timed_anew(case, update):
    alone(Ground()).times(case, (NAME,))
    ground = Ground()
    alone(ground, **update).times(case, (NAME,))
    assert ground.compiled == [NAME]


@pytest.mark.parametrize("ground", [Ground(problem="no compiler"), Ground(fails_at=2), Ground(fails_at=WARM_UPS + 2)])
def test_what_fails_is_told_and_tried_again(case, ground):
    found = alone(ground).times(case, (NAME,))[NAME]
    assert (found.timing, ground.closed) == (None, 1)
    assert "no compiler" in found.problem or NAME in found.problem
    assert alone(Ground()).times(case, (NAME,))[NAME].timing is not None


def test_a_process_that_does_not_start_costs_the_baseline_alone(case):
    def fails(_):
        raise Verdict(Status.NOT_JUDGED, "no memory")

    found = TimedAlone(PROTOCOL, fails).times(case, (NAME, OTHER))
    assert [item.problem for item in found.values()] == [
        f"the baseline {name} has no process: no memory" for name in (NAME, OTHER)
    ]


def performance():
    clock = Clock(
        source="events", mode="graph", baseline_modes={"torch_eager": "graph"}, runs_per_sample=1, solution_wall_ms=1.0
    )
    return Performance(
        solution=Timing(samples_ms=(1.0,)), baselines={"torch_eager": Timing(samples_ms=(2.0,))}, clock=clock
    )


def test_they_stand_beside_the_others_in_a_trace():
    timed = BaselineTimes(name=NAME, timing=Timing(samples_ms=(4.0,)), published_ms=6.0)
    known = {NAME: timed, OTHER: BaselineTimes(name=OTHER, problem="no compiler")}
    found = beside(performance(), known)
    assert (found.speedup(NAME), found.speedup("torch_eager")) == (4.0, 2.0)
    assert (found.clock.timed_alone, found.clock.baseline_modes[NAME]) == ((NAME,), "stream")
    published = AsPublished(
        version="v0", trials=1, solution_ms=1.0, baselines_ms={"torch_eager": 3.0}, solution_wall_ms=1.0
    )
    assert published_beside(published, known).baselines_ms == {"torch_eager": 3.0, NAME: 6.0}
    assert beside(performance(), {}) == performance()


def test_they_are_not_timed_in_turns(case):
    class Nothing:
        def __init__(self):
            self.problems = {}

    class Compiles:
        def compile_baseline(self):
            return ""

    names = usable_baselines(case, ("torch_eager", "torch_compile", NAME), Compiles(), Nothing(), Findings())
    assert names == ["torch_eager", "torch_compile"]


def test_every_compiled_baseline_has_its_options():
    assert {"torch_eager", *COMPILE_OPTIONS} == set(TORCH_BASELINES)
    assert set(TIMED_ALONE) < set(COMPILE_OPTIONS)


def test_on_a_cpu_there_are_none_of_them():
    with pytest.raises(ConfigError, match=f"{OTHER} needs judge.device: cuda"):
        load({
            "sources": {"s": {"kind": "local", "path": "resources/problems/miniature", "levels": {1: 1}}},
            "experiments": {"gold": {"method": "gold", "source": "s", "levels": [1]}},
            "judge": {"name": "x"},
            "baselines": ["torch_eager", OTHER],
        })  # fmt: skip


def test_a_process_compiles_by_the_name_and_runs_on_new_inputs(rig):
    made = rig(problem("plus", "return x + 1", OUT), "return 1 + x")
    made.ask("compile", baseline=NAME, options={"backend": "eager"})
    first = made.ground._hidden.sets[0]["x"].clone()
    assert made.reference.fresh_run_ms(NAME) > 0
    assert not bool((made.ground._hidden.sets[0]["x"] == first).all())
