"""The pure parts: what is charged, what cannot be believed, speed of light, how many sets, what a plan holds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.judge.clocks.observation import (
    EARLY_SLACK_SHARE,
    GAP_FACTOR,
    LEAST_SLACK_MS,
    MOST_NOISE_MS,
    MOST_SLACK_SHARE,
    NOISE_FACTOR,
    SLACK_SHARE,
    STORE_SLACK_SHARE,
    Observation,
    Overhead,
    believable_busy_ms,
    floor_ms,
    unexplained_ms,
)
from hone.judge.device.cuda.events import _covered_ns
from hone.judge.device.cuda.plan import MEMORY_SHARE, check_memory, make_device_plan
from hone.judge.device.cuda.sets import ARENA_BYTES, MOST_SETS, PAGE, Region, set_count
from hone.judge.layout import Layout
from hone.judge.verdict import Verdict
from hone.records import Argument, Status

from ..conftest import COLUMNS, ROWS, matmul_definition, scale_definition, tensor, workload_of

quickly = settings(max_examples=80, deadline=None)
milliseconds = st.floats(0.0, 1e3)
overheads = st.builds(Overhead, milliseconds, milliseconds, milliseconds, milliseconds, milliseconds)
PLACES = ("wall_ms", "settle_ms", "store_ms", "early_ms")
NOISE = 1e-9
"""Of adding up numbers of up to a thousand."""


def slack_of(usual, claimed_ms):
    """What the two clocks may differ by, all places together; copying and showing have a share of their own besides."""
    noise_ms = max(LEAST_SLACK_MS, NOISE_FACTOR * min(usual.noise_ms, MOST_NOISE_MS))
    return min(noise_ms, MOST_SLACK_SHARE * claimed_ms) + SLACK_SHARE * claimed_ms


def share_of(usual, place):
    """What a place may take longer for itself alone."""
    shares = {"store_ms": STORE_SLACK_SHARE * usual.store_ms, "early_ms": EARLY_SLACK_SHARE * usual.early_ms}
    return shares.get(place, 0.0)


def honest(usual, claimed_ms, **later):
    """What the judge's clock shows of a solution that hides nothing; `later`: what a place takes longer than usual."""
    usual_ms = {
        "wall_ms": usual.wall_ms + claimed_ms, "settle_ms": usual.settle_ms, "store_ms": usual.store_ms,
        "early_ms": usual.early_ms,
    }  # fmt: skip
    return Observation(claimed_ms, **{place: known + later.get(place, 0.0) for place, known in usual_ms.items()})


@quickly
@given(overheads, milliseconds, st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4), st.floats(0.0, 0.99))
def test_noise_is_free_wherever_it_falls(usual, claimed_ms, parts, share):
    noise = share * slack_of(usual, claimed_ms)
    total = max(sum(parts), 1e-9)
    later = {
        place: noise * part / total + share * share_of(usual, place) for place, part in zip(PLACES, parts, strict=True)
    }
    assert unexplained_ms(honest(usual, claimed_ms, **later), usual) == 0.0


@quickly
@given(overheads, milliseconds, st.floats(0.0, 1.0))
def test_less_than_usual_is_free_and_pays_for_nothing(usual, claimed_ms, share):
    faster = {place: -share * getattr(usual, place) for place in PLACES[1:]}
    assert unexplained_ms(honest(usual, claimed_ms, **faster), usual) == 0.0
    hidden = 2 * slack_of(usual, claimed_ms)
    seen = honest(usual, claimed_ms, wall_ms=hidden, **faster)
    assert unexplained_ms(seen, usual) == pytest.approx(hidden, abs=NOISE)


@quickly
@given(overheads, st.floats(0.0, 30.0), st.sampled_from(PLACES))
def test_hidden_work_is_charged_in_full(usual, claimed_ms, where):
    hidden = slack_of(usual, claimed_ms) + share_of(usual, where) + 1.0
    late = honest(usual, claimed_ms, **{where: hidden})
    assert unexplained_ms(late, usual) == pytest.approx(hidden, abs=NOISE)


@quickly
@given(overheads, milliseconds, milliseconds, milliseconds, milliseconds)
def test_nothing_is_given_back_and_no_more_is_charged_than_was_seen(usual, claimed_ms, wall_ms, settle_ms, store_ms):
    charged = unexplained_ms(Observation(claimed_ms, wall_ms, settle_ms, store_ms), usual)
    assert 0.0 <= charged <= wall_ms + settle_ms + store_ms


@quickly
@given(overheads, st.floats(3.0, 1e3), st.floats(0.0, 0.9))
def test_claiming_less_earns_no_more_than_the_slack(usual, true_ms, share):
    seen = honest(usual, true_ms)
    claimed = share * true_ms
    lie = Observation(claimed, seen.wall_ms, seen.settle_ms, seen.store_ms, seen.early_ms)
    assert claimed + unexplained_ms(lie, usual) >= true_ms - slack_of(usual, true_ms) - NOISE


def test_several_places_share_one_slack():
    usual = Overhead(0.1, 0.2, 0.3)
    assert unexplained_ms(Observation(1.0, 3.1, 3.2, 4.3), usual) == pytest.approx(2.0 + 3.0 + 4.0)
    little = 0.6 * slack_of(usual, 1.0)
    assert unexplained_ms(honest(usual, 1.0, wall_ms=little), usual) == 0.0
    assert unexplained_ms(honest(usual, 1.0, wall_ms=little, settle_ms=little), usual) == pytest.approx(2 * little)


@pytest.mark.parametrize(
    ("busy_ms", "run_ms", "gap_ms", "believable"),
    [
        (0.010, 0.0105, 0.0, True), (0.010, 0.012, 0.0, False), (0.010, 0.012, 0.001, True), (0.010, 0.005, 0.0, True),
        (0.001, 0.010, 0.001, False), (0.002, 0.0023, 0.0003, True), (0.001, 0.0023, 0.0003, False),
    ],
)  # fmt: skip
def test_kernels_must_fill_the_graph(busy_ms, run_ms, gap_ms, believable):
    assert believable_busy_ms(busy_ms, run_ms, gap_ms) is believable


@quickly
@given(st.floats(0.001, 0.05), st.floats(0.0003, 0.002))
def test_forged_kernel_times_gain_little_more_than_half_a_gap(busy_ms, gap_ms):
    run_ms = busy_ms + gap_ms  # as the baseline's: the gap is the device's
    lie = (run_ms - GAP_FACTOR * gap_ms) / 1.05 - 1e-6
    assert not believable_busy_ms(lie, run_ms, gap_ms)


@pytest.mark.parametrize(
    ("read", "written", "flops", "expected"),
    [
        (4_000_000_000, 0, 0, 1.0),
        (0, 4_000_000_000 + 50, 0, 1.0),
        (4_000_000_000, 50, 0, 1.0),  # outputs may stay in the L2 cache
        (2_000_000_000, 2_000_000_000 + 50, 0, 1.0),
        (0, 0, 10**12, 1.0),
        (4_000_000_000, 0, 3 * 10**12, 3.0),
        (0, 0, 0, 0.0),
    ],
)
def test_known_speeds_of_light(read, written, flops, expected):
    assert floor_ms(read, written, flops, bandwidth_gbs=4000.0, peak_gflops=1e6, l2_bytes=50) == pytest.approx(expected)


@quickly
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=10))
def test_covered_time_is_the_size_of_the_union(spans):
    intervals = sorted((start, start + length) for start, length in spans)
    assert _covered_ns(intervals) == len({at for start, end in intervals for at in range(start, end)})


# ------------------------------------------------------------------------------------------------------ sets

sizes = st.integers(0, 1 << 40)


@quickly
@given(sizes, sizes, sizes)
def test_sets_fit_and_are_few_enough(set_bytes, compulsory_bytes, memory_bytes):
    count = set_count(set_bytes, compulsory_bytes, memory_bytes)
    assert 1 <= count <= MOST_SETS
    assert count == 1 or count * set_bytes <= memory_bytes
    assert count <= 2 or count * set_bytes <= ARENA_BYTES


def test_known_numbers_of_sets():
    assert set_count(1 << 20, 1 << 20, 80 << 30) == MOST_SETS  # short runs: as many as there may be
    assert set_count(800 << 20, 200_000_000, 80 << 30) == 20  # limited by what all may take together
    assert set_count(40 << 20, 128_000_000, 80 << 30) == 94  # 32 us a run, 3 ms a batch
    assert set_count(20 << 30, 20 << 30, 80 << 30) == 2
    assert set_count(20 << 30, 20 << 30, 30 << 30) == 1
    assert set_count(0, 0, 0) == 1


@quickly
@given(st.lists(st.integers(0, 3_000_000), min_size=1, max_size=3), st.integers(1, 128))
def test_regions_are_whole_pages_and_just_large_enough(lengths, count):
    layout = Layout.of((f"t{place}", "uint8", (length,)) for place, length in enumerate(lengths))
    region = Region(layout, count)
    assert region.nbytes % PAGE == 0
    assert 0 <= region.nbytes - count * layout.nbytes < PAGE
    assert Region.read(region.message()) == region


# ----------------------------------------------------------------------------------------------------- plans


def planned(item, sizes=None, **options):
    return make_device_plan(item, workload_of(item, **options), sizes or {})


def test_a_plan_has_the_workloads_types_and_sizes():
    plan = planned(scale_definition(), dtype="bfloat16")
    assert plan.order == ["x"]
    assert [(slot.dtype, slot.shape) for slot in plan.inputs.slots] == [("bfloat16", (ROWS, COLUMNS))]
    assert plan.compulsory_bytes == 2 * (2 * ROWS * COLUMNS + COLUMNS)


def test_held_out_sizes_replace_the_problems_own():
    item = scale_definition(held_out=({"rows": 7},))
    plan = planned(item, item.held_out[0])
    assert plan.inputs.slots[0].shape == (7, COLUMNS)
    assert (plan.definition.axes["rows"], plan.sizes) == (7, {"rows": 7})
    assert {name: region.count for name, region in plan.regions(80 << 30).items()} == {
        "inputs": 1, "outputs": 1, "parameters": 1, "gate": 1
    }  # fmt: skip


def test_regions_share_a_part_of_the_free_memory():
    plan = planned(matmul_definition())
    regions = plan.regions(80 << 30)
    assert regions["inputs"].count == regions["outputs"].count == MOST_SETS
    assert (regions["parameters"].count, regions["gate"].count) == (1, 1)
    assert regions["gate"].layout.tensor_bytes >= 3 * 1024  # a word for each run, the last run's, one of no meaning
    for free in (1 << 20, 5 << 20, 50 << 20):
        regions = plan.regions(free)
        count = regions["inputs"].count
        assert count == 1 or count * (plan.inputs.nbytes + 3 * plan.outputs.nbytes) <= MEMORY_SHARE * free


def test_launchers_get_tensors_numbers_and_sizes_in_order():
    axes = {"rows": 2, "columns": 3}
    item = scale_definition().model_copy(
        update={"axes": axes, "inputs": (tensor("x", "rows"), Argument(name="factor", kind="scalar", dtype="float32"))}
    )
    assert planned(item, {"columns": 9}).native_signature() == [
        {"name": "x"}, {"name": "factor", "dtype": "float32"}, {"name": "weight"}, {"name": "out"},
        {"name": "rows", "value": 2}, {"name": "columns", "value": 9},
    ]  # fmt: skip
    assert [slot.name for slot in planned(item).inputs.slots] == ["x"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"requires": ("no_such_package",)}, "no_such_package"),
        ({"inputs": (tensor("x", dtype="complex64"),)}, "complex64"),
    ],
)
def test_what_no_plan_can_be_made_for_is_not_judged(changes, words):
    with pytest.raises(Verdict, match=words) as caught:
        planned(scale_definition().model_copy(update=changes))
    assert caught.value.status is Status.NOT_JUDGED


def test_too_little_memory_is_said_with_numbers():
    plan = planned(scale_definition())
    need = 3 * plan.inputs.tensor_bytes + 2 * plan.parameters.tensor_bytes + 3 * plan.outputs.tensor_bytes
    check_memory(plan, need)
    with pytest.raises(Verdict, match="GiB") as caught:
        check_memory(plan, need - 1)
    assert caught.value.status is Status.NOT_JUDGED
