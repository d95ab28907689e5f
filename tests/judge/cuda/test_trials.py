"""Trials on a GPU, and what processes say of themselves, against a simulated GPU."""

import math

import pytest

from hone.judge.device.cuda.batches import STREAM
from hone.judge.device.cuda.reference import NO_MEMORY
from hone.judge.device.cuda.sets import BatchShape
from hone.judge.device.cuda.trials import PRECISION_FLOOR, DeviceTrials
from hone.judge.findings import Findings
from hone.judge.procedure import Examination
from hone.judge.verdict import Verdict
from hone.records import Status

from .fakes import COPY_MS, IDLE_MS, POLL_MS, PROTOCOL, STORE_MS, TRIP_MS, Honest

ALL = ("as_given", "signed", "wide", "sparse")
MANY = PROTOCOL.model_copy(update={"distributions": ALL})
LENIENT = MANY.model_copy(update={"rule": "kernelbench"})


def examined(made, trials=4):
    """Findings after the trials."""
    findings = Findings()
    stand = DeviceTrials(made.reference, made.subject, findings)
    try:
        Examination(stand, made.protocol, findings).check(trials)
    finally:
        made.findings, made.scalars = findings, stand.scalars
    return findings


def refused(made, trials=4):
    with pytest.raises(Verdict) as caught:
        examined(made, trials)
    return caught.value


def test_an_honest_solution_passes_and_its_errors_are_recorded(bench):
    made = bench(protocol=MANY, baseline_error=2e-7)
    made.ground.exact_error = 3e-7
    findings = examined(made)
    assert made.ground.distributions == list(ALL)
    assert (findings.errors.wrong_fraction, findings.errors.max_abs_error) == (0.0, 0.0)
    assert (findings.errors.exact_error, findings.errors.baseline_exact_error) == (3e-7, 2e-7)
    assert {"correctness", "reference"} <= set(findings.phase_s)


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("trials", [1, 4, 6])
def test_all_distributions_get_their_turn_whatever_the_number_of_trials(bench, trials, copies):
    made = bench(protocol=MANY, copies=copies)
    examined(made, trials)
    assert made.ground.distributions == [ALL[number % 4] for number in range(max(trials, 4))]


def test_held_out_sizes_are_tried_as_well(bench):
    made = bench(protocol=MANY, sizes={"rows": 7})
    assert examined(made, 1).errors.wrong_fraction == 0.0
    assert made.reference.sets == 1


def test_a_distribution_that_the_reference_refuses_is_replaced(bench):
    made = bench(protocol=MANY, refuses=["wide"])
    assert examined(made, 8).errors.wrong_fraction == 0.0
    # Refused once, it is not tried again; each refusal is made up for by a trial on the usual values.
    expected = ["as_given", "signed", "wide", "as_given", "sparse", "as_given", "signed", "as_given", "sparse"]
    assert made.ground.distributions == expected


def test_seeds_are_drawn_from_the_workload_and_differ_between_trials(bench):
    class Notes(Honest):
        def compute(self, index):
            super().compute(index)
            seen.append(self.device.inputs[index])

    runs = []
    for _ in range(2):
        seen = []
        examined(bench(Notes, protocol=MANY))
        runs.append(seen)
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 4


def test_a_wrong_result_is_wrong_value_with_place_and_figures(bench):
    class Wrong(Honest):
        def compute(self, index):
            self.put(index, 0)

    made = bench(Wrong, protocol=MANY)
    found = refused(made)
    assert found.status is Status.WRONG_VALUE
    assert found.detail == "out[0] is 2, expected 1; 4 of 40 elements are outside the tolerance"
    assert made.findings.errors.wrong_fraction == 0.1


class WrongOnSigned(Honest):
    def compute(self, index):
        self.count = getattr(self, "count", 0) + 1
        self.put(index, 0) if self.count == 2 else super().compute(index)


def test_the_detail_names_values_and_sizes(bench):
    assert "expected 1 (signed values);" in refused(bench(WrongOnSigned, protocol=MANY)).detail
    held_out = bench(WrongOnSigned, protocol=MANY, sizes={"rows": 7, "columns": 3})
    assert "(signed values) at rows = 7, columns = 3;" in refused(held_out).detail


def test_doing_nothing_is_found_because_outputs_are_poisoned(bench):
    class Idle(Honest):
        def compute(self, index):
            pass

    for copies in (False, True):
        assert refused(bench(Idle, copies=copies)).status is Status.WRONG_VALUE


@pytest.mark.parametrize(
    ("mine", "baseline", "passes"),
    [
        (PRECISION_FLOOR["float32"], 0.0, True),
        (1.01 * PRECISION_FLOOR["float32"], 0.0, False),
        (15.9e-5, 1e-5, True),
        (16.1e-5, 1e-5, False),
        (5e-4, 1e-7, False),  # TF32
        (math.inf, 1e-7, False),
        (math.nan, 1e-7, False),
    ],
)
def test_a_smaller_number_format_is_imprecise(bench, mine, baseline, passes):
    made = bench(protocol=MANY, baseline_error=baseline)
    made.ground.exact_error = mine
    if passes:
        assert examined(made).errors.exact_error == mine
        return
    found = refused(made)
    assert found.status is Status.IMPRECISE
    assert "is allowed" in found.detail
    assert made.findings.errors.baseline_exact_error == baseline


def test_kernelbenchs_rule_knows_neither_precision_nor_distributions_nor_inputs(bench):
    class Writes(Honest):
        def compute(self, index):
            super().compute(index)
            self.device.inputs[index] += 1

    made = bench(Writes, protocol=LENIENT)
    made.ground.exact_error = 0.1
    assert examined(made).errors.exact_error is None
    assert set(made.ground.distributions) == {"as_given"}
    strict = refused(bench(Writes, protocol=MANY))
    assert strict.status is Status.INPUT_CHANGED
    assert "'x'" not in strict.detail and "wrote to x" in strict.detail


def test_writing_outside_the_outputs_is_a_runtime_error(bench):
    class Outside(Honest):
        def compute(self, index):
            super().compute(index)
            self.device.guards = False

    assert refused(bench(Outside)).status is Status.RUNTIME_ERROR


def test_numbers_passed_by_value_reach_the_solution_before_it_runs(bench):
    class Scaled(Honest):
        def compute(self, index):
            factors.append((self.scalars[0].get("factor"), self.device.inputs[index]))
            super().compute(index)

    factors = []
    made = bench(Scaled, scalars=lambda seed: {"factor": seed})
    examined(made)
    assert all(factor == given for factor, given in factors)
    assert made.scalars == [{"factor": factors[-1][1]}]


# -------------------------------------------------------------------------------------- the processes' own words


def test_overheads_are_those_of_empty_batches(bench):
    made = bench(copies=True)
    for sets in (1, 2, 16):
        stream, graph = (made.subject.overhead(BatchShape(mode, sets), sets) for mode in ("stream", "graph"))
        # What the device's clock shows of an empty batch, gates and steps, is no overhead: solutions claim it too.
        assert (stream.wall_ms, graph.wall_ms) == (pytest.approx(TRIP_MS), pytest.approx(POLL_MS))
        assert stream.settle_ms == graph.settle_ms == pytest.approx(IDLE_MS)
        assert stream.store_ms == graph.store_ms == pytest.approx(STORE_MS + sets * COPY_MS)
    assert bench().subject.overhead(STREAM, 16).store_ms == 0.0  # launchers write to the outputs themselves


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        ({"kind": "run", "text": "boom"}, Status.RUNTIME_ERROR, "boom"),
        (
            {"kind": "run", "text": "an illegal memory access was encountered"},
            Status.RUNTIME_ERROR,
            "cannot be written",
        ),
        ({"kind": "memory", "text": "no"}, Status.OUT_OF_MEMORY, "no"),
        ({"kind": "run", "text": "CUDA out of memory. Tried"}, Status.OUT_OF_MEMORY, "Tried"),
        ({"kind": "shape", "text": "2 outputs"}, Status.WRONG_SHAPE, "2 outputs"),
        ({"kind": "load", "text": "no ModelNew"}, Status.LOAD_ERROR, "ModelNew"),
        ({"kind": "passed", "text": 7}, Status.RUNTIME_ERROR, "7"),
        ({}, Status.RUNTIME_ERROR, ""),
    ],
)
def test_what_a_solutions_process_reports_becomes_a_status(bench, error, status, words):
    class Reports(Honest):
        def time(self, message):
            return (0.1, {"error": error}) if self.loaded else super().time(message)

    found = refused(bench(Reports))
    assert found.status is status
    assert words in found.detail


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"kind": "memory", "text": "CUDA out of memory"}, Status.NOT_JUDGED),
        ({"kind": "run", "text": "no module", "missing": "einops"}, Status.NOT_JUDGED),
        ({"kind": "run", "text": "cublas"}, Status.MACHINE_ERROR),
    ],
)
def test_a_reference_that_fails_is_never_the_solutions_fault(bench, error, status):
    made = bench()
    made.ground.act = lambda message: {"error": error}
    assert refused(made).status is status


def test_a_reference_without_memory_says_who_holds_it(bench):
    made = bench()
    account = "CUDA out of memory. Tried to allocate 8 GiB. Process 77 has 9 GiB. "
    text = account + "If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF"
    made.ground.act = lambda message: {"error": {"kind": "memory", "text": text}}
    detail = refused(made).detail
    assert detail == f"{NO_MEMORY}: CUDA out of memory. Tried to allocate 8 GiB. Another process has 9 GiB."
    assert made.reference.alive  # it can go on with less
