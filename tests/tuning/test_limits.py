"""What a GPU cannot launch, by the compiler's figures, is known before anything runs."""

import pytest

from hone.compile.resources import split_resources
from hone.machine.hardware import gpu
from hone.records import Build, BuildStatus
from hone.tunables import declared
from hone.tuning.limits import objection

SPACE = declared("// tune: BLOCK in 128, 512, 1024, 2048\n// threads: BLOCK\n// shared: BLOCK * 128\n")
PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
    0 bytes stack frame, {spills} bytes spill stores, {spills} bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers, {shared} bytes smem, 16 bytes cmem[0]
"""


def build(registers=32, shared=0, spills=0):
    _, resources = split_resources(PTXAS.format(registers=registers, shared=shared, spills=spills))
    return Build(solution="s", status=BuildStatus.BUILT, artifact="k.so", resources=resources)


@pytest.mark.parametrize(
    ("made", "block", "words"),
    [
        (build(), 128, ""),
        (build(registers=64), 1024, ""),
        (build(registers=65), 1024, "73728 registers a block"),
        (build(registers=65), 512, ""),
        (build(), 2048, "bytes of shared memory"),
        (build(shared=230_000), 128, "246384 bytes of shared memory, and a block has at most 232448"),
        (build(spills=8), 128, "16 bytes of registers spilled, and 0 with the first values"),
    ],
)
def test_limits_of_an_h100(made, block, words):
    said = objection(made, SPACE, {"BLOCK": block}, gpu("H100"), build())
    assert (words in said) if words else (said == "")


def test_a_kernel_that_spills_from_the_start_is_measured_by_that():
    assert objection(build(spills=8), SPACE, {"BLOCK": 128}, gpu("H100"), build(spills=8)) == ""
    assert objection(build(spills=8), SPACE, {"BLOCK": 128}, gpu("H100")) == ""


def test_too_many_threads_are_named():
    space = declared("// tune: BLOCK in 128, 2048\n// threads: BLOCK\n")
    assert "2048 threads" in objection(build(), space, {"BLOCK": 2048}, gpu("H100"))


def test_on_a_cpu_nothing_is_pruned():
    assert objection(build(spills=8), SPACE, {"BLOCK": 2048}, None, build()) == ""
