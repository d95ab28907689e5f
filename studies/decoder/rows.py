"""Amdahl's law for a decoder layer: rows from times, nothing is measured here.

A layer of L microseconds in which a kernel takes n calls of k has the share n k / L. With a kernel of k' instead, it is
predicted to take L - n (k - k'), which is a gain of L / (L - n (k - k')).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hone.analysis.metrics import paired_ratio_interval
from hone.core.csv_table import Row
from studies.decoder.timing import median_interval

LAYER_COLUMNS = (
    "tokens", "dtype", "kernel_set", "operators", "layer_us", "low_us", "high_us", "kernels_share", "predicted_gain",
    "measured_gain", "gain_low", "gain_high", "difference", "device",
)  # fmt: skip
"""`kernels_share`: of the layer, by the kernels' own times; gains: over upstream's kernels; `difference`: of the
layer's results from those with PyTorch's operators, relative."""
KERNEL_COLUMNS = ("tokens", "dtype", "kernel", "calls", "kernel_set", "kernel_us", "source", "share", "predicted_gain")
"""`source`: `trace`, the judge's time at this very shape, from a cold cache; `trial`: calls in a row on warm data."""
BASE = "upstream"


@dataclass(frozen=True)
class KernelTime:
    """One place of the layer in one kernel set."""

    title: str
    calls: int
    kernel_us: float
    source: str

    @property
    def total_us(self) -> float:
        """Within one layer."""
        return self.calls * self.kernel_us


@dataclass(frozen=True)
class Point:
    """All that was measured for one number of tokens."""

    tokens: int
    dtype: str
    device: str
    layer_us: Mapping[str, Sequence[float]]
    """Kernel set -> samples; those of one turn have the same index."""
    kernels: Mapping[str, Mapping[str, KernelTime]]
    """Kernel set -> place -> its time."""
    differences: Mapping[str, float]

    def predicted_gain(self, kernel_set: str, places: Sequence[str] | None = None) -> float | None:
        """Over upstream, with the set's kernels in these places (None: all that both have); None where it has none."""
        base, mine = self.kernels.get(BASE, {}), self.kernels.get(kernel_set, {})
        shared = [place for place in mine if place in base and (places is None or place in places)]
        if not shared:
            return None
        layer_us = statistics.median(self.layer_us[BASE])
        left_us = layer_us - sum(base[place].total_us - mine[place].total_us for place in shared)
        return layer_us / left_us if left_us > 0 else None


def layer_rows(point: Point) -> list[Row]:
    """A row for each kernel set."""
    return [_layer_row(point, name, samples) for name, samples in point.layer_us.items()]


def _layer_row(point: Point, name: str, samples: Sequence[float]) -> Row:
    median_us, interval = statistics.median(samples), median_interval(samples)
    base = point.layer_us[BASE]
    gain = paired_ratio_interval(base, samples)
    kernels = point.kernels.get(name, {})
    return {
        "tokens": point.tokens, "dtype": point.dtype, "kernel_set": name,
        "operators": ", ".join(kernel.title for kernel in kernels.values()),
        "layer_us": median_us, "low_us": interval.low, "high_us": interval.high,
        "kernels_share": sum(kernel.total_us for kernel in kernels.values()) / median_us if kernels else None,
        "predicted_gain": point.predicted_gain(name),
        "measured_gain": statistics.median(base) / median_us, "gain_low": gain.low, "gain_high": gain.high,
        "difference": point.differences[name], "device": point.device,
    }  # fmt: skip


def kernel_rows(point: Point) -> list[Row]:
    """A row for each kernel of each set."""
    return [
        {
            "tokens": point.tokens, "dtype": point.dtype, "kernel": kernel.title, "calls": kernel.calls,
            "kernel_set": name, "kernel_us": kernel.kernel_us, "source": kernel.source,
            "share": kernel.total_us / statistics.median(point.layer_us[name]),
            "predicted_gain": point.predicted_gain(name, [place]),
        }
        for name, kernels in point.kernels.items()
        for place, kernel in kernels.items()
    ]  # fmt: skip


def wrong_layers(rows: Sequence[Row], limits: Mapping[str, float]) -> list[str]:
    """One line for each row whose layer computes something else than PyTorch's; `limits` by data type."""
    return [
        f"the layer with kernels '{row['kernel_set']}' differs by {row['difference']:.3g} at {row['tokens']} tokens"
        for row in rows
        if not float(row["difference"] or 0.0) <= limits[str(row["dtype"])]
    ]
