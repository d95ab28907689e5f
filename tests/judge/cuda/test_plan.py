"""The pure parts of a GPU's plan: how many sets, how large regions are, what a plan holds, covered time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.judge.device.cuda.events import _covered_ns
from hone.judge.device.cuda.plan import MEMORY_SHARE, check_memory, make_device_plan
from hone.judge.device.cuda.sets import ARENA_BYTES, MOST_SETS, PAGE, Region, set_count
from hone.judge.verdict import Verdict
from hone.records import Argument, Status
from hone.records.layout import Layout

from ..conftest import COLUMNS, ROWS, matmul_definition, scale_definition, tensor, workload_of

quickly = settings(max_examples=80, deadline=None)


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
