"""Layouts, and arenas that notice writes outside."""

import os

import numpy as np
import pytest

from hone.judge.device.cpu.arena import Arena
from hone.records.layout import ALIGNMENT, Layout


def test_layout_keeps_guards_between_tensors():
    layout = Layout.of([("a", "float32", (3,)), ("b", "bool", ()), ("c", "bfloat16", (0, 5)), ("d", "int64", (1024,))])
    ends = [slot.offset + slot.nbytes for slot in layout.slots]
    starts = [slot.offset for slot in layout.slots[1:]] + [layout.nbytes]
    assert all(start - end >= ALIGNMENT for start, end in zip(starts, ends, strict=True))
    assert sum(end - start for start, end in layout.gaps()) + layout.tensor_bytes == layout.nbytes
    assert Layout.read(layout.message()) == layout
    with pytest.raises(KeyError):
        Layout.of([("a", "complex64", (1,))])


def test_arena_notices_writes_outside_and_changed_tensors():
    layout = Layout.of([("a", "float32", (5,)), ("b", "int8", (3,))])
    one, two = Arena(layout), Arena(layout)
    byte = one.poison()
    two.copy_from(one)
    assert one.guards_hold(byte)
    assert two.differing(one) == []
    two.raw(layout.slots[1])[2] ^= 1
    assert two.differing(one) == ["b"]
    os.pwrite(one.fd, b"x", layout.slots[0].offset + layout.slots[0].nbytes)
    assert not one.guards_hold(byte)
    with pytest.raises(PermissionError):
        os.ftruncate(one.fd, 0)
    one.close()
    two.close()


def test_poison_of_floats_is_nan():
    arena = Arena(Layout.of([("a", "float32", (5,))]))
    arena.poison()
    assert np.isnan(arena.raw(arena.layout.slots[0]).view(np.float32)).all()
    arena.close()
