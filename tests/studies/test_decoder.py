"""The decoder layer: its attention is exact, its kernels can be exchanged, and the rows are Amdahl's law."""

import csv
import math

import pytest
import torch

from hone.core.errors import ConfigError, MachineError
from hone.core.files import write_records
from hone.operators import OperatorError
from hone.records import Performance, Status, Timing
from hone.selection.choices import choose
from studies.decoder.kernels import by_place, operator_kernels, place_of, record_calls
from studies.decoder.layer import SIZES, DecoderLayer, attention, difference, torch_kernels
from studies.decoder.measure import LARGEST_DIFFERENCE, KnownTimes, Setting, measure
from studies.decoder.rows import (
    KERNEL_COLUMNS,
    LAYER_COLUMNS,
    KernelTime,
    Point,
    kernel_rows,
    layer_rows,
    wrong_layers,
)
from studies.decoder.timing import in_turns, median_interval
from tests.operators.kernels import (
    DEFINITIONS,
    MERGE_DEFINITION,
    NORM_DEFINITION,
    SILU_DEFINITION,
    SILU_WORKLOADS,
    TAKE_DEFINITION,
    TAKE_WORKLOADS,
    solution,
    workload,
)

SMALL = SIZES["small"]


@pytest.fixture
def layer():
    layer = DecoderLayer(SMALL, torch.float32, "cpu")
    layer.feed(5)
    return layer


def test_two_partitions_merged_are_the_attention_over_all_keys():
    queries, keys, values = torch.randn(5, 4, 16), torch.randn(1, 4, 13, 16), torch.randn(1, 4, 13, 16)
    first = attention(queries, keys[:, :, :8], values[:, :, :8], causal=False)
    second = attention(queries, keys[:, :, 8:], values[:, :, 8:], causal=True)
    seen = torch.arange(13) <= torch.arange(8, 13)[:, None]
    expected = torch.nn.functional.scaled_dot_product_attention(queries.transpose(0, 1)[None], keys, values, seen)
    torch.testing.assert_close(torch_kernels().merge(*first, *second), expected[0].transpose(0, 1))
    assert first[1].shape == (5, 4) and all(tensor.is_contiguous() for tensor in (*first, *second))


def test_operators_give_the_same_layer(layer, silu, norm, merge):
    output, residual = layer.forward(torch_kernels())
    expected = output, residual.clone()
    layer.reset()
    operators = by_place([silu, norm, merge], "float32")
    assert set(operators) == {"activation", "add_norm", "merge"}
    assert difference(layer.forward(operator_kernels(operators)), expected) < 1e-5
    changed = expected[0] * 1.5, expected[1]
    assert difference(changed, expected) == pytest.approx(0.5)
    assert difference((expected[0] * math.nan, expected[1]), expected) == math.inf


def test_calls_are_recorded_with_their_values(layer, silu, norm, merge):
    calls = record_calls(layer, by_place([silu, norm, merge], "float32"))
    assert {place: found.count for place, found in calls.items()} == {"add_norm": 2, "merge": 1, "activation": 1}
    assert calls["activation"].values[0].shape == (5, 2 * SMALL.intermediate)
    assert torch.equal(calls["add_norm"].values[0], layer._pristine[0]), "as they were before the call"


def test_rotation_turns_by_position():
    queries, keys = torch.randn(3, 4, 16), torch.randn(3, 4, 16)
    angles, positions = torch.arange(9)[:, None] * torch.rand(8), torch.tensor([0, 8, 5])
    table = torch.cat((angles.cos(), angles.sin()), dim=-1)
    turned, _ = torch_kernels().rotate(queries, keys, table, positions)
    plane = (
        torch.complex(queries[..., :8], queries[..., 8:]) * torch.polar(torch.ones(3, 8), angles[positions])[:, None]
    )
    torch.testing.assert_close(turned, torch.cat((plane.real, plane.imag), dim=-1))
    torch.testing.assert_close(turned[0], queries[0])


def test_a_log_sum_exp_to_base_two_is_noticed(layer, merge):
    class ToBaseTwo:
        contract, definition, qualified_name, factor = merge.contract, merge.definition, "hone::other", math.log(2.0)

        def __call__(self, v_a, s_a, v_b, s_b):
            values, lse = merge(v_a, s_a * self.factor, v_b, s_b * self.factor)
            return values, lse / self.factor

    output, _ = layer.forward(torch_kernels())
    layer.reset()
    torch.testing.assert_close(layer.forward(operator_kernels({"merge": ToBaseTwo()}))[0], output)
    other = ToBaseTwo()
    other.factor = 5.0
    with pytest.raises(OperatorError, match="log-sum-exp of two zeros"):
        layer.forward(operator_kernels({"merge": other}))


def test_places_go_by_title_and_type(silu, norm):
    assert [place_of(title) for title in ("merge_state_v2", "Silu_And_Mul", "rmsnorm")] == ["merge", "activation", None]
    assert set(by_place([silu, norm], "float16")) == {"activation"}
    with pytest.raises(OperatorError, match=r"residual .* no counterpart"):
        operator_kernels({"activation": norm}).activation(torch.zeros(2, 8))


def point(**kernels):
    samples = {"torch": [150.0] * 3, "upstream": [100.0, 101.0, 99.0], "winner": [90.0, 91.0, 89.0]}
    return Point(16, "float16", "cuda", samples, kernels, dict.fromkeys(samples, 0.01))


def test_rows_are_amdahls_law():
    found = point(
        torch={},
        upstream={"add_norm": KernelTime("norm", 2, 10.0, "trace"), "merge": KernelTime("merge", 1, 5.0, "trial")},
        winner={"add_norm": KernelTime("norm", 2, 6.0, "trace"), "merge": KernelTime("merge", 1, 3.0, "trial")},
    )
    torch_row, base, winner = layer_rows(found)
    assert (base["kernels_share"], base["predicted_gain"], base["measured_gain"]) == (0.25, 1.0, 1.0)
    assert winner["predicted_gain"] == pytest.approx(100 / 90)
    assert winner["measured_gain"] == pytest.approx(100 / 90)
    assert winner["gain_low"] <= winner["measured_gain"] <= winner["gain_high"]
    assert (torch_row["predicted_gain"], torch_row["kernels_share"]) == (None, None)
    rows = kernel_rows(found)
    assert [(row["kernel_set"], row["kernel"]) for row in rows] == [
        ("upstream", "norm"), ("upstream", "merge"), ("winner", "norm"), ("winner", "merge"),
    ]  # fmt: skip
    assert rows[0]["share"] == 0.2 and rows[2]["predicted_gain"] == pytest.approx(100 / 92)
    assert set(winner) == set(LAYER_COLUMNS) and set(rows[0]) == set(KERNEL_COLUMNS)


def test_no_gain_is_predicted_beyond_the_whole_layer():
    slow, fast = KernelTime("norm", 2, 60.0, "trace"), KernelTime("norm", 2, 1.0, "trace")
    assert point(upstream={"add_norm": slow}, winner={"add_norm": fast}).predicted_gain("winner") is None


def test_a_layer_that_computes_something_else_is_told():
    rows = [{"kernel_set": "winner", "tokens": 4, "dtype": "float16", "difference": value} for value in (0.1, 0.001)]
    assert wrong_layers(rows, {"float16": 0.01}) == ["the layer with kernels 'winner' differs by 0.1 at 4 tokens"]
    assert wrong_layers([{**rows[0], "difference": math.nan}], {"float16": 0.01})


def test_turns_are_complete_and_intervals_hold_the_median():
    class Run:
        count = 0

        def run_us(self):
            Run.count += 1
            return float(Run.count)

    samples = in_turns({"a": Run(), "b": Run()}, turns=4)
    assert [len(values) for values in samples.values()] == [4, 4] and Run.count == 10
    low, high = median_interval([1.0, 2.0, 3.0, 4.0])
    assert low <= 2.5 <= high
    assert median_interval([2.0]) == (2.0, 2.0)


def test_times_of_the_judge_are_taken_at_the_same_shape_only(silu, trace):
    timed = trace.model_copy(
        update={
            "solution": silu.solution.id, "definition": SILU_DEFINITION.name, "workload": SILU_WORKLOADS[1].id,
            "performance": Performance(solution=Timing(samples_ms=(0.004,)), baselines={}),
        }
    )  # fmt: skip
    known = KnownTimes.of([timed, timed.model_copy(update={"status": Status.MACHINE_ERROR})], SILU_WORKLOADS)
    assert known.kernel_us(silu, [torch.zeros(5, 64)]) == pytest.approx(4.0)
    assert known.kernel_us(silu, [torch.zeros(5, 64).half()]) is None
    assert known.kernel_us(silu, [torch.zeros(5, 32)]) is None


def test_a_setting_that_cannot_be_measured_is_refused(silu):
    for layer_name, tokens, dtype, device, words in (
        ("large", (1,), "float16", "cpu", "no layer 'large'"),
        ("small", (1,), "float32", "cuda", "float32 on cuda"),
        ("small", (0,), "float32", "cpu", "one token or more"),
    ):
        with pytest.raises(ConfigError, match=words):
            Setting.of(layer_name, tokens, dtype, device, 1)
    if not torch.cuda.is_available():
        with pytest.raises(MachineError, match="no GPU"):
            Setting.of("small", (1,), "float16", "cuda", 1)
    setting = Setting.of("small", (1,), "bfloat16", "cpu", 1)
    with pytest.raises(MachineError, match="no kernel that takes bfloat16"):
        list(measure(setting, {"upstream": [silu]}, KnownTimes({}, ())))


def test_a_place_without_an_upstream_kernel_is_pytorchs(silu, norm):
    setting = Setting.of("small", (1, 3), "float32", "cpu", 2)
    first, second = measure(setting, {"upstream": [silu], "winner": [silu, norm]}, KnownTimes({}, ()))
    assert (first.tokens, second.tokens) == (1, 3)
    assert {name: sorted(kernels) for name, kernels in first.kernels.items()} == {
        "torch": [], "upstream": ["activation"], "winner": ["activation", "add_norm"],
    }  # fmt: skip
    assert set(first.layer_us) == {"torch", "upstream", "winner"}
    assert max(first.differences.values()) < 1e-4


@pytest.fixture
def files(tmp_path, trace):
    """Definitions, workloads, solutions and evaluations, of which one is faster than upstream on one definition."""
    faster = solution(SILU_DEFINITION, "// faster\n" + SILU_DEFINITION.kernels["upstream"])
    workloads = [*SILU_WORKLOADS, workload(NORM_DEFINITION), workload(MERGE_DEFINITION)]
    performance = Performance(solution=Timing(samples_ms=(0.001,)), baselines={"upstream": Timing(samples_ms=(0.002,))})
    traces = [
        trace.model_copy(
            update={
                "solution": faster.id, "definition": item.definition, "workload": item.id, "performance": performance,
            }
        )
        for item in SILU_WORKLOADS
    ]  # fmt: skip
    for name, records in (
        ("definitions", DEFINITIONS), ("workloads", workloads), ("solutions", [faster]), ("evaluations", traces),
    ):  # fmt: skip
        write_records(tmp_path / f"{name}.jsonl", records)
    return {name: [tmp_path / f"{name}.jsonl"] for name in ("definitions", "workloads", "solutions", "evaluations")}


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def measured(files, small_store, tmp_path, command):
    """Chooses kernels from the files as they are, and runs the study on them."""

    def run(tokens="1"):
        store, _ = small_store
        choose(**files, store=store, timeout_s=120, workers=2, output=tmp_path / "choices.jsonl")
        options = {
            "choices": tmp_path / "choices.jsonl", "store": store, "layer": "small", "tokens": tokens,
            "dtype": "float32", "device": "cpu", "turns": 3, "output": tmp_path / "layer.csv",
            **{name: files[name][0] for name in ("definitions", "workloads", "evaluations")},
        }  # fmt: skip
        return command("decoder", *(word for name, value in options.items() for word in (f"--{name}", value)))

    return run


def test_from_files_to_tables(measured, tmp_path):
    result = measured("1,4")
    assert result.exit_code == 0, (result.output, result.exception)
    rows = table(tmp_path / "layer.csv")
    assert [(row["tokens"], row["kernel_set"]) for row in rows] == [
        (tokens, name) for tokens in ("1", "4") for name in ("torch", "upstream", "winner")
    ]
    assert all(float(row["layer_us"]) > 0 for row in rows)
    kernels = table(tmp_path / "layer_kernels.csv")
    assert len(kernels) == 2 * 2 * 3 and {row["source"] for row in kernels} == {"trial"}
    assert "held: " in result.output


def test_kernels_without_a_place_in_the_layer_are_not_loaded(measured, files, tmp_path):
    write_records(files["definitions"][0], [TAKE_DEFINITION, SILU_DEFINITION])
    write_records(files["workloads"][0], [*TAKE_WORKLOADS, *SILU_WORKLOADS])
    result = measured()
    assert result.exit_code == 0, (result.output, result.exception)
    assert {row["kernel"] for row in table(tmp_path / "layer_kernels.csv")} == {"silu_and_mul"}
    write_records(files["definitions"][0], [TAKE_DEFINITION])
    none_left = measured().exception
    assert isinstance(none_left, MachineError) and "no kernel that takes float32 has a place" in str(none_left)


def test_a_kernel_that_has_a_place_and_cannot_be_an_operator_ends_the_study(measured, files):
    odd = workload(SILU_DEFINITION, "odd", width=9)
    write_records(files["workloads"][0], [odd, *SILU_WORKLOADS])
    problem = measured().exception
    assert isinstance(problem, OperatorError) and "axis width is in no input" in str(problem)


def test_limits_are_known_for_every_type_of_a_layer():
    assert set(LARGEST_DIFFERENCE) == {"float32", "float16", "bfloat16"}
