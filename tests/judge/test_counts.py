"""Is an output right? Known answers of the comparison on a CPU."""

import math

import numpy as np
import pytest

from hone.judge.counts import Tally
from hone.records import Tolerance
from hone.records.layout import Slot

CLOSE = Tolerance(atol=1e-3, rtol=1e-3)


def tally(dtype, expected, got, tolerance=CLOSE):
    expected, got = np.asarray(expected), np.asarray(got)
    found = Tally()
    found.add(
        Slot("out", dtype, expected.shape, 0),
        expected.reshape(-1).view(np.uint8),
        got.reshape(-1).view(np.uint8),
        tolerance,
    )
    return found


def floats(*values):
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize(
    ("expected", "got", "wrong"),
    [
        ((1.0, 2.0), (1.0, 2.0), 0),
        ((1000.0,), (1000.9,), 0),
        ((1000.0,), (1001.1,), 1),
        ((0.0,), (0.0009,), 0),
        ((math.nan,), (math.nan,), 0),
        ((math.nan, 1.0), (1.0, math.nan), 2),
        ((math.inf, -math.inf), (math.inf, -math.inf), 0),
        ((math.inf,), (-math.inf,), 1),
        ((math.inf,), (3e38,), 1),
        ((1.0,), (math.inf,), 1),
    ],
)
def test_floats(expected, got, wrong):
    assert tally("float32", floats(*expected), floats(*got)).wrong == wrong


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_a_signalling_nan_in_untouched_memory_is_wrong_without_a_warning(dtype):
    bits = {"float16": np.uint16(0x7D01), "float32": np.uint32(0x7FA00001), "bfloat16": np.uint16(0x7FA1)}[dtype]
    assert tally(dtype, np.zeros(4096, bits.dtype), np.full(4096, bits)).wrong == 4096


def test_integers_and_booleans_must_be_equal():
    assert tally("int64", np.array([10**9]), np.array([10**9 + 1])).wrong == 1
    assert tally("int64", np.array([2**62 + 1]), np.array([2**62])).wrong == 1
    assert tally("bool", np.array([True]), np.array([2], dtype=np.uint8)).wrong == 1
    assert tally("bool", np.array([True, False]), np.array([True, False])).wrong == 0


def test_half_types():
    ones = floats(1.0, -2.5)
    bfloat = (ones.view(np.uint32) >> 16).astype(np.uint16)
    assert tally("bfloat16", bfloat, bfloat + np.uint16(1), Tolerance(atol=0, rtol=1e-2)).wrong == 0
    assert tally("bfloat16", bfloat, bfloat + np.uint16(1)).wrong == 2
    assert tally("float16", ones.astype(np.float16), (ones + 1).astype(np.float16)).wrong == 2


def test_figures_and_sentence():
    expected = np.arange(6, dtype=np.float32).reshape(2, 3)
    got = expected.copy()
    got[1, 2] = 7.0
    found = tally("float32", expected, got)
    figures = found.figures()
    assert (figures.max_abs_error, figures.wrong_fraction) == (2.0, 1 / 6)
    assert figures.max_rel_error == pytest.approx(0.4)
    assert found.sentence() == "out[1, 2] is 7, expected 5; 1 of 6 elements are outside the tolerance"
