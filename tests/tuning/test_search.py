"""The search on a made-up machine: what is tried, how the field is halved, and that equal seeds give equal searches."""

import itertools

import pytest

from hone.tunables import declared
from hone.tuning import search as searches
from hone.tuning.search import GENERATION, UNUSABLE, Measured, Plan, together

SPACE = declared("// tune: A in 0, 1, 2, 3, 4, 5, 6, 7\n// tune: B in 0, 1, 2, 3, 4, 5, 6, 7\n// where: A + B < 12\n")


class Machine:
    """The nearer to (5, 3), the faster; the first timing puts (0, 7) in front by mistake."""

    def __init__(self, broken=lambda point: False):
        self.asked = []
        self.broken = broken

    def __call__(self, points, rung):
        self.asked.append((rung, [tuple(point.values()) for point in points]))
        return [self.one(point, rung) for point in points]

    def one(self, point, rung):
        if self.broken(point):
            return Measured(None, 0)
        if rung == 0 and tuple(point.values()) == (0, 7):
            return Measured(100.0, 1)
        return Measured(1 / (1 + abs(point["A"] - 5) + abs(point["B"] - 3)), 1)

    def on(self, rung):
        return [point for at, points in self.asked if at == rung for point in points]


def search(space, machine, plan, seed):
    """One by itself."""
    (found,) = together([searches.search(space, plan, seed)], lambda rung, asked: {0: machine(asked[0], rung)})
    return found


@pytest.mark.parametrize(
    ("kernels", "finalists", "rungs"), [(11, 3, [6, 3]), (44, 3, [23, 12, 6]), (1, 3, None), (2, 3, [1]), (7, 3, [4])]
)
def test_a_plan_keeps_to_its_budget_and_uses_most_of_it(kernels, finalists, rungs):
    plan = Plan.within(kernels, finalists)
    if rungs is None:
        assert plan is None
        return
    assert plan.kernels <= kernels < Plan(plan.field + 1, min(finalists, plan.field + 1)).kernels
    assert plan.field == rungs[0]
    assert all(later == -(-earlier // 2) for earlier, later in itertools.pairwise(plan.rungs))
    assert plan.rungs[-1] > plan.finalists or len(plan.rungs) == 1


def test_a_search_keeps_to_its_plan_and_repeats_no_point():
    machine, plan = Machine(), Plan.within(60, 3)
    found = search(SPACE, machine, plan, seed=1)
    for rung, size in enumerate(plan.rungs):
        points = machine.on(rung)
        assert len(points) == len(set(points)) == size
    assert len(machine.on(None)) == plan.finalists
    assert sum(step.measured.evaluations for step in found.steps) == plan.kernels <= 60
    assert all(a + b < 12 for a, b in machine.on(0))
    assert machine.on(0)[0] == (0, 0)


def test_the_faster_half_goes_on_and_the_judges_protocol_decides():
    machine = Machine()
    found = search(SPACE, machine, Plan.within(90, 3), seed=3)
    best = sorted((abs(a - 5) + abs(b - 3) for a, b in machine.on(0)))
    last = {abs(a - 5) + abs(b - 3) for a, b in machine.on(None)}
    assert (0, 7) not in machine.on(None) or (0, 7) not in machine.on(0)
    assert best[0] in last
    winner = found.winner.values
    assert abs(winner["A"] - 5) + abs(winner["B"] - 3) == best[0]


def test_equal_seeds_search_alike_and_others_do_not():
    runs = []
    for seed in (1, 1, 2):
        machine = Machine()
        search(SPACE, machine, Plan.within(60, 3), seed)
        runs.append(machine.asked)
    assert runs[0] == runs[1] != runs[2]


def test_the_optimiser_finds_more_than_chance_does():
    """Most of its later proposals are nearer to the optimum than the mean of all points."""
    machine = Machine()
    search(SPACE, machine, Plan.within(60, 3), seed=0)
    far = [abs(a - 5) + abs(b - 3) for a, b in machine.on(0)]
    mean = sum(abs(p["A"] - 5) + abs(p["B"] - 3) for p in SPACE.points) / len(SPACE.points)
    late = far[2 * GENERATION :]
    assert sum(late) / len(late) < mean


def test_what_cannot_run_costs_no_evaluation_and_others_take_its_place():
    machine, plan = Machine(broken=lambda point: point["B"] > 4), Plan.within(30, 3)
    found = search(SPACE, machine, plan, seed=1)
    assert sum(step.measured.evaluations for step in found.steps) == plan.kernels
    assert found.winner.values["B"] <= 4


def test_a_kernel_that_is_never_right_ends_with_its_first_generation():
    machine = Machine(broken=lambda point: True)
    assert search(SPACE, machine, Plan.within(60, 3), seed=1).winner is None
    assert len(machine.asked) == 1


def test_a_space_of_few_points_is_tried_whole():
    small = declared("// tune: A in 4, 5\n// tune: B in 3, 4\n")
    machine = Machine()
    found = search(small, machine, Plan.within(60, 2), seed=1)
    assert sorted(machine.on(0)) == [(4, 3), (4, 4), (5, 3), (5, 4)]
    assert found.winner.values == {"A": 5, "B": 3}


def test_unusable_points_are_limited():
    machine, plan = Machine(broken=lambda point: (point["A"], point["B"]) != (0, 0)), Plan(2, 1)
    search(SPACE, machine, plan, seed=1)
    assert len(machine.on(0)) <= UNUSABLE * plan.field


def test_searches_that_are_made_together_are_those_that_are_made_alone():
    """Also where one of them ends early, and others are a rung behind it."""
    plan, seeds = Plan.within(60, 3), (1, 2, 3, 4)
    machines = [Machine(broken=lambda point: False), Machine(lambda point: point["B"] > 4), Machine(), Machine(bool)]
    calls = []

    def measure(rung, asked):
        calls.append((rung, sorted(asked)))
        return {number: machines[number](points, rung) for number, points in asked.items()}

    found = together([searches.search(SPACE, plan, seed) for seed in seeds], measure)
    together_asked = [machine.asked for machine in machines]
    alone = []
    for machine, seed in zip(machines, seeds, strict=True):
        machine.asked = []
        alone.append(search(SPACE, machine, plan, seed))
    assert [each.steps for each in found] == [each.steps for each in alone]
    assert together_asked == [machine.asked for machine in machines]
    assert calls[0] == (0, [0, 1, 2, 3])
    assert len(calls) < sum(map(len, together_asked))
    assert found[3].winner is None, "not one of its points is right"


def test_no_search_at_all():
    assert together([], lambda rung, asked: {}) == []
