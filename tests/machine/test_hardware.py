"""The table of GPU facts loads, is plausible, and its errors name entry and field."""

import itertools
from pathlib import Path

import pytest
import yaml

from hone.core.errors import ConfigError, MachineError
from hone.machine import gpus as machine
from hone.machine.hardware import DEFAULT, GPU, gpu, gpu_here, gpu_like, load_gpus
from hone.methods.hardware import FACTS, facts

TABLE = Path(__file__).parents[2] / "resources" / "hardware" / "gpus.yaml"
NAMES = tuple(load_gpus(TABLE))

# Shared memory of an SM and of a block in KB, threads of an SM: CUDA C++ Programming Guide, by compute capability.
LIMITS = {
    "7.5": (64, 64, 1024),
    "8.0": (164, 163, 2048),
    "8.6": (100, 99, 1536),
    "8.9": (100, 99, 1536),
    "9.0": (228, 227, 2048),
    "10.0": (228, 227, 2048),
}
PLAUSIBLE = {
    "sm_count": (20, 200),
    "memory_gb": (8, 300),
    "memory_bandwidth_gb_per_s": (200, 10_000),
    "fp32_tflops": (5, 150),
    "l2_cache_mb": (2, 256),
    "tdp_w": (50, 1500),
}


@pytest.fixture(scope="module")
def gpus():
    return load_gpus(TABLE)


def entry(gpus):
    return gpus["H200"].model_dump(exclude_none=True)


def test_table_holds_the_papers_gpus_and_newer_ones(gpus):
    assert {"L40S", "H100", "A100", "L4", "T4", "A10G", "H200", "B200"} <= set(gpus)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_in_the_range_of_their_unit(gpus, name):
    for field, (low, high) in PLAUSIBLE.items():
        value = getattr(gpus[name], field)
        assert low <= value <= high if value is not None else field == "tdp_w", field
    assert gpus[name].source.startswith("NVIDIA")
    assert name.split("_")[0] in gpus[name].product


@pytest.mark.parametrize("name", NAMES)
def test_limits_of_an_sm_follow_from_the_compute_capability(gpus, name):
    one = gpus[name]
    limits = (one.shared_memory_per_sm_kb, one.shared_memory_per_block_kb, one.max_threads_per_sm)
    assert limits == LIMITS[one.compute_capability]
    assert (one.registers_per_sm, one.max_threads_per_block, one.warp_size) == (65536, 1024, 32)


@pytest.mark.parametrize("name", NAMES)
def test_tensor_rates_are_dense_and_double_with_each_halving_of_the_type(gpus, name):
    one = gpus[name]
    rates = (one.tf32_tensor_tflops, one.fp16_tensor_tflops, one.fp8_tensor_tflops)
    known = [rate for rate in rates if rate is not None]
    for wide, narrow in itertools.pairwise(known):
        assert narrow == pytest.approx(2 * wide, rel=0.03)
    assert one.bf16_tensor_tflops in (None, one.fp16_tensor_tflops)
    assert (one.fp8_tensor_tflops is not None) == (float(one.compute_capability) >= 8.9)
    assert (one.tf32_tensor_tflops is not None) == (float(one.compute_capability) >= 8.0)


@pytest.mark.parametrize("name", NAMES)
def test_fp32_rate_needs_a_clock_that_exists(gpus, name):
    one = gpus[name]
    lanes = 64 if one.compute_capability in ("7.5", "8.0") else 128
    clock_ghz = one.fp32_tflops * 1000 / (one.sm_count * lanes * 2)
    assert 1.3 < clock_ghz < 2.6


@pytest.mark.parametrize("name", NAMES)
def test_tensor_rate_is_flops_of_a_clock_at_a_clock_that_exists(gpus, name):
    one = gpus[name]
    clock_ghz = one.fp16_tensor_tflops * 1000 / (one.sm_count * one.tensor_flops_per_clock_per_sm)
    assert 1.2 < clock_ghz < 2.6


def test_gpus_of_one_compute_capability_do_as_much_in_a_clock(gpus):
    found = {(one.compute_capability, one.tensor_flops_per_clock_per_sm) for one in gpus.values()}
    assert len(found) == len({capability for capability, _ in found})


def test_a_measured_copy_is_slower_than_the_memory(gpus):
    measured = [one for one in gpus.values() if one.copy_bandwidth_gb_per_s is not None]
    assert measured
    assert all(one.copy_bandwidth_gb_per_s < one.memory_bandwidth_gb_per_s for one in measured)


# ---------------------------------------------------------------------------------------------- this machine's GPU


@pytest.mark.parametrize(
    ("device", "capability", "name"),
    [
        ("NVIDIA A100-SXM4-80GB", "8.0", "A100_80GB"),
        ("NVIDIA A100-PCIE-40GB", "8.0", "A100"),
        ("NVIDIA H200", "9.0", "H200"),
        ("NVIDIA H200 NVL", "9.0", "H100"),
        ("NVIDIA B200", "10.0", "B200"),
    ],
)
def test_a_device_is_found_by_its_name_else_by_its_capability(gpus, monkeypatch, device, capability, name):
    assert gpu_like(device, capability, TABLE) == gpus[name]
    seen = machine.Gpu("GPU-1", device, "", 0, capability)
    monkeypatch.setattr(machine, "visible_gpus", lambda: (seen,))
    assert gpu_here() == gpus[name]


def test_an_unknown_device_is_named_with_what_is_known(monkeypatch):
    with pytest.raises(
        MachineError, match=r"'NVIDIA X' with compute capability 12\.0(.|\n)*B200 \(10\.0\)(.|\n)*add an entry"
    ):
        gpu_like("NVIDIA X", "12.0", TABLE)
    monkeypatch.setattr(machine, "visible_gpus", lambda: (machine.Gpu("GPU-1", "NVIDIA X", "", 0, "12.0"),))
    assert gpu_here() == gpu(DEFAULT)


def test_without_a_gpu_the_default_is_built_for(monkeypatch):
    def none():
        raise MachineError("no NVIDIA GPU is visible")

    monkeypatch.setattr(machine, "visible_gpus", none)
    assert gpu_here() == gpu("H200")


# ----------------------------------------------------------------------------------------------------- prompts


def test_every_fact_that_a_prompt_may_state_has_a_label():
    unsaid = {"device", "tensor_flops_per_clock_per_sm", "copy_bandwidth_gb_per_s", "shortest_kernel_us", "source"}
    assert {field for field, _, _ in FACTS} | unsaid == set(GPU.model_fields)


def test_facts_carry_units_and_leave_out_what_is_absent():
    said = dict(facts(gpu("T4", TABLE)))
    assert said["Memory bandwidth"] == "320 GB/s"
    assert said["FP32 peak"] == "8.1 TFLOP/s"
    assert said["Compute capability"] == "7.5"
    assert not any("TF32" in label or "FP8" in label for label in said)
    assert dict(facts(gpu("A10G", TABLE)))["FP32 peak"] == "35 TFLOP/s"
    assert all("None" not in value for name in NAMES for _, value in facts(gpu(name, TABLE)))


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(ConfigError, match="no GPU 'A100_80'; did you mean 'A100_80GB'") as caught:
        gpu("A100_80", TABLE)
    assert "B200" in caught.value.remedy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sm_count": 0}, "X.sm_count"),
        ({"compute_capability": 9.0}, "X.compute_capability"),
        ({"l2_cache_gb": 1}, "X.l2_cache_gb: Extra inputs"),
        ({"source": ""}, "X.source"),
    ],
)
def test_wrong_entry_names_entry_and_field(gpus, change, message, tmp_path):
    path = tmp_path / "gpus.yaml"
    path.write_text(yaml.safe_dump({"X": entry(gpus) | change}))
    with pytest.raises(ConfigError, match=message) as caught:
        load_gpus(path)
    assert caught.value.where == str(path)


@pytest.mark.parametrize(
    ("content", "message"), [("- a", "must hold"), ("a: [", "not a YAML file"), ("X:", "X: Input should be")]
)
def test_malformed_table_is_a_clear_error(content, message, tmp_path):
    path = tmp_path / "gpus.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        load_gpus(path)


def test_missing_table_is_a_clear_error(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        load_gpus(tmp_path / "gpus.yaml")
