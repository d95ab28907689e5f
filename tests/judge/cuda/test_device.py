"""What a GPU is capable of: its own account, and the table's rate for its kind."""

import pytest

from hone.core.errors import MachineError
from hone.judge.device.cuda.reference import Device

H200 = {
    "name": "NVIDIA H200", "capability": "9.0", "free_bytes": 1, "bandwidth_gbs": 4800.0, "sm_count": 132,
    "clock_khz": 1_980_000, "l2_bytes": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", ["NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB"])
def test_hoppers_peak_is_as_it_was_measured_with(name):
    found = Device.of(H200 | {"name": name})
    assert found == Device(1, 4800.0, 4096e-9 * 132 * 1_980_000 * 1e3, 2)


def test_an_a100_does_half_as_much_in_a_clock():
    found = Device.of(
        H200 | {"name": "NVIDIA A100-SXM4-40GB", "capability": "8.0", "sm_count": 108, "clock_khz": 1_410_000}
    )
    assert found.peak_gflops == pytest.approx(312e3, rel=0.01)  # by its data sheet


def test_a_gpu_that_the_table_lacks_is_no_hopper():
    with pytest.raises(MachineError, match=r"(?s)capability 12\.0; known: .*H200 \(9\.0\).*add an entry"):
        Device.of(H200 | {"name": "NVIDIA X", "capability": "12.0"})
