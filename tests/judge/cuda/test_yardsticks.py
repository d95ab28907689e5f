"""What precision is measured against: in float64, row by row, or the reference itself, and never silently nothing."""

import pytest
import torch

from hone.judge.child.cuda import yardsticks
from hone.judge.child.cuda.yardsticks import Yardsticks
from hone.judge.procedure import Figures
from hone.records import Status, Tolerance

from ..conftest import tensor, workload_of
from .rigs import OUT, STRICT, problem, refused

WEIGHT = "self.weight = nn.Parameter(torch.randn(COLUMNS, COLUMNS))"
SOLUTIONS_WEIGHT = "self.weight = nn.Parameter(torch.randn(5, 5))"
PRODUCT = problem(
    "product", "return x @ self.weight", OUT, parameters=(tensor("weight", "columns", "columns"),), init=WEIGHT
)  # fmt: skip
CENTRED = problem(
    "centred", "y = x @ self.weight; return y - y.mean(dim=0)", OUT,
    parameters=(tensor("weight", "columns", "columns"),), init=WEIGHT,
)  # fmt: skip
SQUARE = problem(
    "square", "return x @ y", OUT, inputs=(tensor("x", "rows", "columns"), tensor("y", "rows", "columns")),
    given="[torch.randn(5, 5), torch.randn(5, 5)]", axes={"rows": 5, "columns": 5},
)  # fmt: skip
KINDS = pytest.mark.parametrize("kind", ["exact", "sliced", "float32"])
LOOSE = Tolerance(atol=1.0, rtol=1.0)
AS_GIVEN = STRICT.model_copy(update={"distributions": ("as_given",)})


@pytest.fixture
def only(monkeypatch):
    """Leaves no better yardstick than this kind."""

    def choose(kind):
        if kind != "exact":
            monkeypatch.setattr(yardsticks, "_free_bytes", lambda: 0)
        if kind == "float32":
            monkeypatch.setattr(Yardsticks, "_by_rows", lambda *_: None)

    return choose


def loosely(item):
    """Its workload with a tolerance that lets everything pass, so that precision alone decides."""
    return workload_of(item).model_copy(update={"tolerance": LOOSE})


@KINDS
def test_each_kind_measures_what_is_known(rig, only, kind):
    only(kind)
    made = rig(PRODUCT, "return 1.25 * (x @ self.weight)", init=SOLUTIONS_WEIGHT, workload=loosely(PRODUCT))
    answer = made.trial()
    assert answer["yardstick"] == kind
    assert 0 < answer["baseline_error"] < 1e-6
    assert made.compare()["exact_error"] == pytest.approx(0.25, rel=1e-5)


@KINDS
def test_bfloat16_products_are_imprecise_by_any_kind(rig, only, kind):
    only(kind)
    body = "return (x.bfloat16() @ self.weight.bfloat16()).float()"
    made = rig(PRODUCT, body, init=SOLUTIONS_WEIGHT, workload=loosely(PRODUCT))
    found = refused(made.examine)
    assert found.status is Status.IMPRECISE
    assert "relative error 0.00" in found.detail


@KINDS
def test_another_order_of_operations_is_precise_by_any_kind(rig, only, kind):
    only(kind)
    made = rig(PRODUCT, "return (x.unsqueeze(2) * self.weight).flip(1).sum(1)", init=SOLUTIONS_WEIGHT)
    errors = made.examine().errors
    assert errors.yardstick == kind
    assert errors.exact_error < 1e-6


@pytest.mark.parametrize("item", [CENTRED, SQUARE])
def test_rows_that_depend_on_each_other_are_not_taken_apart(rig, only, item):
    only("sliced")
    names = "x, y" if item is SQUARE else "x"
    body = "return x @ y" if item is SQUARE else "y = x @ self.weight; return y - y.mean(0)"
    made = rig(item, body, names=names, init="" if item is SQUARE else SOLUTIONS_WEIGHT)
    assert made.trial()["yardstick"] == "float32"


def test_a_reference_that_cannot_be_computed_in_float64_is_measured_against_itself(rig):
    item = problem("fixed", "return (x @ torch.ones(5, 5, dtype=torch.float32))", OUT)
    made = rig(item, "return x @ x.new_ones(5, 5)")
    assert made.trial()["yardstick"] == "float32"
    assert made.compare()["exact_error"] < 1e-6


def test_where_there_is_no_size_to_compare_with_nothing_is_claimed(rig, only):
    only("float32")
    made = rig(problem("nothing", "return x * 0", OUT), "return torch.zeros_like(x)", protocol=AS_GIVEN)
    errors = made.examine().errors
    assert (errors.yardstick, errors.exact_error) == ("none", None)


def test_precision_is_not_looked_at_under_the_public_rule(rig):
    lenient = STRICT.model_copy(update={"rule": "kernelbench"})
    made = rig(PRODUCT, "return x @ self.weight", init=SOLUTIONS_WEIGHT, protocol=lenient)
    errors = made.examine().errors
    assert (errors.yardstick, errors.exact_error) == (None, None)


def test_the_worst_yardstick_of_all_trials_is_noted():
    figures = Figures()
    for kind, worst in [("exact", "exact"), (None, "exact"), ("float32", "float32"), ("sliced", "float32")]:
        figures.note_yardstick(kind)
        assert figures.record().yardstick == worst
    figures.note_yardstick("none")
    assert figures.record().yardstick == "none"


@pytest.mark.parametrize("count", [4, 5, 6, 100, 4096])
def test_rows_are_spread_from_the_first_to_the_last(count):
    rows = yardsticks._spread(count)
    assert (rows[0], rows[-1], len(rows)) == (0, count - 1, yardsticks.SLICES)
    assert list(rows) == sorted(set(rows))


@pytest.mark.parametrize("dtype", list(yardsticks.ROUNDING))
def test_one_rounding_moves_every_number_by_about_its_last_bit(dtype):
    values = (torch.rand(1000) + 0.5).to(dtype)
    moved = yardsticks._one_rounding(values)
    off = ((moved - values).double() / values.double()).abs()
    assert moved.dtype is dtype
    assert 0 < float(off.max()) <= 2.1 * torch.finfo(dtype).eps
    assert yardsticks._one_rounding(3) == 3


def test_what_rounding_explains_is_right_here_and_wrong_by_the_tolerance_alone(rig):
    tight = workload_of(PRODUCT).model_copy(update={"tolerance": Tolerance(atol=1e-12, rtol=1e-12)})
    body = "return (x.double() @ self.weight.double()).float()"
    findings = rig(PRODUCT, body, init=SOLUTIONS_WEIGHT, workload=tight).examine()
    assert (findings.errors.wrong_fraction, findings.status_as_published) == (0.0, Status.WRONG_VALUE)
    loose = rig(PRODUCT, body, init=SOLUTIONS_WEIGHT, workload=loosely(PRODUCT)).examine()
    assert loose.status_as_published is Status.PASSED


# ------------------------------------------------------------------ references that are less precise than solutions

OFF_AT_ONE = "y = x * 1.0; y[0, 0] += 0.05 * (x.dtype == torch.float32); return y"
"""A reference whose error is all in one element, as one of TF32 products has it where they cancel."""
LARGE = {"axes": {"rows": 60, "columns": 50}, "given": "[torch.randn(60, 50) + 3]"}
TIGHT = Tolerance(atol=1e-4, rtol=1e-4)


def test_what_is_near_to_the_exact_result_is_right_and_wrong_as_published(rig):
    item = problem("off_at_one", OFF_AT_ONE, OUT, **LARGE)
    made = rig(item, "return x * 1.0", workload=workload_of(item).model_copy(update={"tolerance": TIGHT}))
    findings = made.examine()
    assert (findings.errors.wrong_fraction, findings.status_as_published) == (0.0, Status.WRONG_VALUE)
    assert made.measure().clock.mode == "graph"  # audits of timed runs look at it in the same way


def test_what_is_far_from_both_is_wrong(rig):
    item = problem("off_at_one", OFF_AT_ONE, OUT, **LARGE)
    made = rig(
        item, "y = x * 1.0; y[0, 0] += 0.1; return y",
        workload=workload_of(item).model_copy(update={"tolerance": TIGHT}),
    )  # fmt: skip
    found = refused(made.examine)
    assert found.status is Status.WRONG_VALUE
    assert "4 of 12000 elements" in found.detail


def test_initial_states_that_are_no_parameters_are_in_float64_too(rig):
    item = problem("state", "return torch.cat([x, self.state])[:-1]", OUT, init="self.state = torch.ones(1, 5)")
    made = rig(item, "return x * 1")
    assert made.trial()["yardstick"] == "exact"


def test_results_that_one_rounding_moves_far_have_no_yardstick(rig, only):
    only("float32")
    item = problem("noise", "y = x * 1e4 + 1e4; return y - y.mean(dim=1, keepdim=True) - (x - x.mean(dim=1, "
                   "keepdim=True)) * 1e4", OUT)  # fmt: skip
    made = rig(item, "return x * 0", workload=loosely(item), protocol=AS_GIVEN)
    assert made.examine().errors.yardstick == "none"


def test_the_yardstick_in_float32_does_without_tf32(rig, only, monkeypatch):
    only("float32")
    seen, plain = [], Yardsticks._in_own_type

    def watched(self, *given):
        seen.append((torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32))
        return plain(self, *given)

    monkeypatch.setattr(Yardsticks, "_in_own_type", watched)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    usual = STRICT.model_copy(update={"tf32": "default"})
    rig(PRODUCT, "return x @ self.weight", init=SOLUTIONS_WEIGHT, protocol=usual).trial()
    assert set(seen) == {(False, False)}
    assert torch.backends.cudnn.allow_tf32


def test_float64_is_not_asked_about_results_that_are_wrong_everywhere(rig, monkeypatch):
    item = problem("off_at_one", OFF_AT_ONE, OUT, **LARGE)
    made = rig(item, "return x * 1.0", workload=workload_of(item).model_copy(update={"tolerance": TIGHT}))
    made.examine()
    asked, exactly = [], Yardsticks._exact_results
    monkeypatch.setattr(Yardsticks, "_exact_results", lambda *given: asked.append(1) or exactly(*given))
    made.subject.prepare(9, [{}, {}])
    made.reference.refresh(5, 9, 2)
    made.reference.reveal(0, 2)
    assert made.reference.compare(audit=[0, 1])["wrong"] == 2 * 3000  # nobody has written anything
    assert asked == []
    made.subject.run(2, made.reference)
    made.subject.store()
    assert made.reference.compare(audit=[0, 1])["wrong"] == 0
    assert len(asked) == 2
