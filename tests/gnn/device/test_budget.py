"""Which placement is chosen: known answers for sizes that are not there."""

import pytest

from hone.config.models import FAMILIES
from hone.core.errors import MachineError
from hone.gnn.device.places.budget import (
    GIB,
    HOST_RESERVE_BYTES,
    RESERVE_BYTES,
    FreeMemory,
    MemoryDemand,
    cached_rows,
    chosen,
    gpu_bytes,
    host_bytes,
    inference_reserve,
    least,
    memory_demand,
    training_reserve,
)

DEMAND = MemoryDemand(kept=3 * GIB, places=1 * GIB, indices=12 * GIB, row=256, rows=104 * GIB // 1024, reserve=4 * GIB)
"""26 GiB of features: with everything on the GPU 45 GiB, with edges there 20, with neither 8."""


@pytest.mark.parametrize(
    ("gpu", "host", "world", "peers", "expected"),
    [
        (139, 0, 1, False, "gpu"),
        (45, 0, 8, True, "gpu"),
        (44, 100, 2, True, "sharded"),
        (33, 0, 2, True, "sharded"),
        (32, 100, 2, True, "host_features"),
        (24, 0, 8, True, "sharded"),
        (44, 100, 2, False, "host_features"),
        (44, 4, 1, False, "host_features"),
        (20, 28, 1, False, "host_features"),
        (19, 29, 1, False, "host"),
        (8, 40, 1, False, "host"),
    ],
)
def test_auto_takes_the_fastest_place_that_fits(gpu, host, world, peers, expected):
    found = FreeMemory(gpu * GIB, host * GIB, world, peers)
    assert chosen("auto", DEMAND, found) == expected
    assert chosen(expected, DEMAND, found) == expected


@pytest.mark.parametrize(
    ("wanted", "gpu", "host", "said"),
    [
        ("auto", 7, 900, "placement gpu needs 45.0 GiB of GPU memory, 7.0 GiB are free; placement host_features"),
        ("auto", 8, 39, "placement host needs 40.0 GiB of host memory, 39.0 GiB are available"),
        ("auto", 20, 27, "placement host_features needs 28.0 GiB of host memory, 27.0 GiB are available"),
        ("gpu", 40, 900, "placement gpu needs 41.0 GiB of GPU memory"),
        ("sharded", 900, 900, "needs two or more GPUs of one machine"),
        ("host", 7, 900, "placement host needs 8.0 GiB of GPU memory"),
    ],
)
def test_what_fits_nowhere_is_refused(wanted, gpu, host, said):
    with pytest.raises(MachineError, match="graph") as error:
        chosen(wanted, DEMAND, FreeMemory(gpu * GIB, host * GIB), where="graph")
    assert said in str(error.value)
    assert ("write placement: auto" in error.value.remedy) == (wanted != "auto")


def test_who_asks_for_the_gpu_needs_no_reserve():
    assert chosen("gpu", DEMAND, FreeMemory(41 * GIB, 0)) == "gpu"


def test_what_the_gpu_has_left_is_a_cache_and_the_rest_lies_on_the_host():
    found = FreeMemory(33 * GIB, 100 * GIB)
    assert cached_rows("host_features", DEMAND, found) * 256 == 13 * GIB
    assert host_bytes("host_features", DEMAND, found) == 13 * GIB + HOST_RESERVE_BYTES
    assert cached_rows("host", DEMAND, found) * 256 == 25 * GIB
    assert host_bytes("host", DEMAND, found) == 13 * GIB + HOST_RESERVE_BYTES
    assert cached_rows("host", DEMAND, FreeMemory(900 * GIB, 0)) == DEMAND.rows
    assert cached_rows("host_features", DEMAND, FreeMemory(GIB, 0)) == 0
    for place in ("gpu", "sharded"):
        assert (cached_rows(place, DEMAND, found), host_bytes(place, DEMAND, found)) == (0, 0)
    assert gpu_bytes("sharded", DEMAND, 4) == (4 + 3 + 1 + 12) * GIB + 26 * GIB // 4


def test_processes_share_a_machine_and_agree_on_the_least():
    assert least([("a", 5, 100, False)]) == FreeMemory(5, 100)
    together = least([("a", 5, 100, True), ("a", 4, 90, True)])
    assert together == FreeMemory(4, 45, 2, True)
    apart = least([("a", 5, 100, True), ("b", 4, 90, True)])
    assert apart == FreeMemory(4, 90, 2, False)
    assert not least([("a", 5, 100, True), ("a", 5, 100, False)]).peers


def test_needs_are_those_of_papers100m(small_graph):
    info = small_graph.info.model_copy(
        update={"num_nodes": 111_059_956, "num_edges": 3_228_124_712, "feature_dim": 128}
    )
    demand = memory_demand(info, training_reserve("sage", FAMILIES["sage"].published, info, 19))
    assert demand.features / GIB == pytest.approx(26.48, abs=0.01)
    assert demand.indices / GIB == pytest.approx(12.03, abs=0.01)
    assert RESERVE_BYTES + GIB < demand.reserve < RESERVE_BYTES + 4 * GIB
    assert memory_demand(info.model_copy(update={"feature_dim": 121}), 0).row == 256
    few, many = (
        inference_reserve("sage", FAMILIES["sage"].published, info, fanouts)
        for fanouts in ([(5, 5)], [(5, 5), (20, 20, 20)])
    )
    assert RESERVE_BYTES < few < many
    assert demand.reserve < training_reserve("gat", FAMILIES["gat"].published, info, 9) < 20 * GIB
