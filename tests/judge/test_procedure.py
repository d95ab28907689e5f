"""The procedure of judging on a stand that is a fake: which trials there are, and what each of them decides."""

from types import SimpleNamespace

import pytest

from hone.judge.baselines import BaselineFailedError
from hone.judge.counts import Counts
from hone.judge.findings import Findings
from hone.judge.procedure import YARDSTICKS, Examination, Figures, profile, take_times, usable_baselines
from hone.judge.stand import Trial
from hone.judge.verdict import Verdict
from hone.records import Performance, Protocol, Status, Timing

ALL = ("as_given", "signed", "wide", "sparse")
STRICT = Protocol(
    name="strict", device="cuda", distributions=ALL, correctness_trials=4, warmup_runs=1, timing_runs=3,
    timing_seconds=1.0, audit_every=2, run_timeout_s=1.0,
)  # fmt: skip
LENIENT = STRICT.model_copy(update={"rule": "kernelbench"})
FLOOR = 5e-5


def trial(wrong=0, *, by_tolerance=None, **others):
    first = "out[0] is 2, expected 1" if wrong else ""
    counts = Counts(elements=10, wrong=wrong, max_abs_error=float(wrong), first_wrong=first)
    return Trial(counts=counts, wrong_by_tolerance=by_tolerance, **others)


class FakeStand:
    """Answers each distribution as it is told to; `refused`: those that the reference cannot take."""

    seed, precision_floor = 42, FLOOR

    def __init__(self, refused=(), place="", usable=ALL, **answers):
        self.refused, self.place, self._usable, self.answers = refused, place, usable, answers
        self.tried = []
        self.exact = []
        self.seeds = []

    def usable(self, distributions):
        return [name for name in distributions if name in self._usable]

    def trial(self, seed, forward_seed, distribution, *, exact):
        self.tried.append(distribution)
        self.exact.append(exact)
        self.seeds.append((seed, forward_seed))
        return None if distribution in self.refused else self.answers.get(distribution, trial())


def check(stand, trials=4, protocol=STRICT):
    """Findings, and the verdict if there is one."""
    findings = Findings()
    try:
        Examination(stand, protocol, findings).check(trials)
    except Verdict as verdict:
        return findings, verdict
    return findings, None


@pytest.mark.parametrize("trials", [1, 4, 6])
def test_distributions_take_turns_and_each_comes_once_at_least(trials):
    stand = FakeStand()
    assert check(stand, trials)[1] is None
    assert stand.tried == [ALL[number % 4] for number in range(max(trials, 4))]
    assert stand.exact == [number < 4 for number in range(len(stand.tried))]  # precision once for each


def test_what_the_device_cannot_give_is_left_out():
    stand = FakeStand(usable=("as_given",))
    check(stand, 2)
    assert (stand.tried, stand.exact) == (["as_given"] * 2, [True, False])


def test_a_refused_distribution_is_made_up_for_and_not_tried_again():
    stand = FakeStand(refused=("wide",))
    assert check(stand, 8)[1] is None
    own = ["as_given", "signed", "wide", "as_given", "sparse"]
    assert stand.tried == [*own, "as_given", "signed", "as_given", "sparse"]
    assert stand.seeds[2] == stand.seeds[3]


def test_seeds_are_the_workloads_and_no_two_trials_share_them():
    one, other = FakeStand(), FakeStand()
    check(one)
    check(other)
    assert one.seeds == other.seeds
    assert len({seed for pair in one.seeds for seed in pair}) == 8


def test_kernelbenchs_rule_has_values_as_given_alone_and_no_precision():
    stand = FakeStand(as_given=trial(changed=["x"]))
    assert check(stand, 3, LENIENT)[1] is None
    assert (stand.tried, set(stand.exact)) == (["as_given"] * 3, {False})


def test_elements_of_all_trials_are_counted_and_the_first_wrong_one_is_named():
    findings, verdict = check(FakeStand(signed=trial(3)))
    assert verdict.status is Status.WRONG_VALUE
    assert verdict.detail.startswith("out[0] is 2, expected 1 (signed values); 3 of 40 elements")
    assert (findings.errors.wrong_fraction, findings.errors.max_abs_error) == (3 / 40, 3.0)
    held_out = check(FakeStand(place="rows = 7", as_given=trial(1)))[1]
    assert "expected 1 at rows = 7;" in held_out.detail


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (trial(1, guards_hold=False), Status.RUNTIME_ERROR),
        (trial(1, changed=["x"]), Status.INPUT_CHANGED),
        (trial(error=0.1, own_error=1e-7), Status.IMPRECISE),
        (trial(1, error=0.1, own_error=1e-7), Status.WRONG_VALUE),  # wrong says more
    ],
)
def test_the_worst_is_said(given, status):
    assert check(FakeStand(as_given=given))[1].status is status


@pytest.mark.parametrize(
    ("error", "own_error", "passes"),
    [
        (FLOOR, 0.0, True),
        (1.1 * FLOOR, 0.0, False),
        (15e-5, 1e-5, True),
        (17e-5, 1e-5, False),
        (float("nan"), 0, False),
    ],
)
def test_precision_is_measured_by_the_references_own(error, own_error, passes):
    assert STRICT.precision_factor == 16
    findings, verdict = check(FakeStand(wide=trial(error=error, own_error=own_error, yardstick="exact")))
    assert (verdict is None) == passes
    assert findings.errors.baseline_exact_error == own_error
    if not passes:
        assert verdict.status is Status.IMPRECISE
        assert "(wide values); the reference has" in verdict.detail


def test_the_worst_yardstick_of_all_trials_is_recorded():
    stand = FakeStand(as_given=trial(yardstick="exact"), signed=trial(yardstick="float32"), wide=trial())
    assert check(stand)[0].errors.yardstick == "float32"
    figures = Figures()
    for kind in (None, *reversed(YARDSTICKS)):
        figures.note_yardstick(kind)
    assert figures.record().yardstick == "none"


# ------------------------------------------------------------------------------------------ KernelBench's own rule


@pytest.mark.parametrize(
    ("as_given", "published"),
    [
        (trial(), Status.PASSED),
        (trial(1), Status.WRONG_VALUE),
        (trial(0, by_tolerance=2), Status.WRONG_VALUE),  # right with what is added for rounding
        (trial(0, by_tolerance=0), Status.PASSED),
    ],
)
def test_the_published_status_is_by_the_tolerance_alone(as_given, published):
    assert check(FakeStand(as_given=as_given))[0].status_as_published is published


def test_other_values_and_held_out_sizes_have_no_part_in_the_published_status():
    findings, verdict = check(FakeStand(sparse=trial(1)))
    assert (findings.status_as_published, verdict.status) == (Status.PASSED, Status.WRONG_VALUE)
    held_out = check(FakeStand(place="rows = 7"))[0]
    assert (held_out.status_as_published, held_out.only_held_out, findings.only_held_out) == (None, True, False)


def test_one_wrong_trial_is_enough_whatever_follows():
    stand = FakeStand()
    answers = iter([trial(0, by_tolerance=1), *[trial()] * 3])
    stand.trial = lambda *_, exact: next(answers)
    assert check(stand)[0].status_as_published is Status.WRONG_VALUE


def test_what_is_imprecise_passes_as_published():
    findings, verdict = check(FakeStand(as_given=trial(error=1.0, own_error=0.0)))
    assert (findings.status_as_published, verdict.status) == (Status.PASSED, Status.IMPRECISE)


# ----------------------------------------------------------------------------------------------- what comes after


class Kernels:
    """Existing kernels beside a reference."""

    def __init__(self, **problems):
        self.problems = problems

    def drop(self, error):
        self.problems[error.name] = f"the baseline {error.name} failed"


def test_baselines_that_do_not_work_are_left_out_with_a_remark():
    findings = Findings()
    asked = SimpleNamespace(baselines_of=lambda wanted: [name for name in wanted if name != "unknown"])
    reference = SimpleNamespace(compile_baseline=lambda: "torch_compile: no compiler")
    wanted = ("torch_eager", "torch_compile", "upstream", "unknown")
    names = usable_baselines(asked, wanted, reference, Kernels(upstream="upstream is wrong"), findings)
    assert names == ["torch_eager"]
    assert findings.remark == "torch_compile: no compiler\nupstream is wrong"


def test_times_are_taken_again_without_a_kernel_that_fails_meanwhile(monkeypatch):
    asked, made = [], Performance(solution=Timing(samples_ms=(1.0,)), baselines={})

    def measure(stand, names, protocol):
        asked.append((stand, list(names)))
        if "upstream" in names:
            raise BaselineFailedError("upstream", "it crashed")
        return made

    monkeypatch.setattr("hone.judge.procedure.measure_of", lambda _: measure)
    findings, stands = Findings(), iter(("first", "second"))
    kernels = Kernels()
    assert take_times(lambda: next(stands), ("torch_eager", "upstream"), kernels, STRICT, findings) is made
    assert asked == [("first", ["torch_eager", "upstream"]), ("second", ["torch_eager"])]
    assert findings.remark == "the baseline upstream failed"


@pytest.mark.parametrize(("copies", "table"), [(True, "its own"), (False, "the reference's")])
def test_a_launcher_has_the_references_table(copies, table):
    process = SimpleNamespace(copies_outputs=copies, profile=lambda: "its own")
    assert profile(SimpleNamespace(profile=lambda: "the reference's"), process) == table


def test_what_fails_only_under_the_profiler_has_passed():
    def fails():
        raise Verdict(Status.RUNTIME_ERROR, "no")

    process = SimpleNamespace(copies_outputs=True, profile=fails)
    assert profile(SimpleNamespace(), process) == "the solution could not be profiled: no"
