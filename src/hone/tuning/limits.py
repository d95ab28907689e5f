"""Which kernels a GPU cannot launch, by what the compiler says of them: these are not timed."""

from __future__ import annotations

from hone.machine.hardware import GPU
from hone.records import Build
from hone.tunables import Tunable, Values, evaluate

REGISTER_STEP = 8
"""A thread's registers are given out in steps of so many."""


def objection(build: Build, space: Tunable, values: Values, gpu: GPU | None, first: Build | None = None) -> str:
    """Why a built kernel is not worth timing; empty where nothing speaks against it.

    `gpu`: None on a CPU, where nothing does. `first`: the build with the first values; a kernel that spills more bytes
    than that one is left out.
    """
    if gpu is None or not build.resources:
        return ""
    shared = max(item.shared_bytes for item in build.resources) + (
        evaluate(space.shared, values) if space.shared else 0
    )
    most = 1024 * gpu.shared_memory_per_block_kb
    if shared > most:
        return f"{shared} bytes of shared memory, and a block has at most {most}"
    if space.threads:
        threads = evaluate(space.threads, values)
        if not 1 <= threads <= gpu.max_threads_per_block:
            return f"{threads} threads, and a block has 1 to {gpu.max_threads_per_block}"
        each = max(item.registers for item in build.resources)
        needed = _up(each, REGISTER_STEP) * _up(threads, gpu.warp_size)
        if needed > gpu.registers_per_sm:
            return f"{needed} registers a block, and a multiprocessor has {gpu.registers_per_sm}"
    allowed = _spilled(first) if first is not None else None
    if allowed is not None and _spilled(build) > allowed:
        return f"{_spilled(build)} bytes of registers spilled, and {allowed} with the first values"
    return ""


def _spilled(build: Build) -> int:
    return sum(item.spill_store_bytes + item.spill_load_bytes for item in build.resources)


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
