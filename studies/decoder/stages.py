"""The study of a decoder layer as a function of files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from hone.core.csv_table import Row, write_table
from hone.core.files import read_all
from hone.operators import Operator
from hone.operators.stages import load_operators
from hone.records import Definition, Trace, Workload
from studies.decoder import measure
from studies.decoder.kernels import place_at
from studies.decoder.rows import KERNEL_COLUMNS, LAYER_COLUMNS, kernel_rows, layer_rows, wrong_layers


def decoder_layer(
    choices: Path,
    definitions: Iterable[Path],
    workloads: Iterable[Path],
    evaluations: Iterable[Path],
    *,
    store: Path,
    layer: str,
    tokens: Sequence[int],
    dtype: str,
    device: str,
    turns: int,
    layers: Path,
    kernels: Path,
) -> tuple[list[Row], list[str]]:
    """Write both tables, again after each number of tokens; the layers' rows, and a line for each wrong layer.

    `choices` are those of `hone.selection.choices.choose`; only kernels for the device take part.
    Those that have no place in the layer are not loaded: some kernels of other sources cannot even be operators.
    """

    def stands(item: Definition) -> bool:
        return place_at(item, dtype) is not None

    setting, workloads = measure.Setting.of(layer, tokens, dtype, device, turns), list(workloads)
    kernel_sets: dict[str, list[Operator]] = {}
    for choice, operator in load_operators(choices, definitions, workloads, store=store, entries={}, wanted=stands):
        if operator.device_type == device:
            kernel_sets.setdefault(choice.kernel_set, []).append(operator)
    known = measure.KnownTimes.of(read_all(evaluations, Trace), read_all(workloads, Workload))
    layer_table: list[Row] = []
    kernel_table: list[Row] = []
    for point in measure.measure(setting, kernel_sets, known):
        layer_table += layer_rows(point)
        kernel_table += kernel_rows(point)
        write_table(layers, LAYER_COLUMNS, layer_table)
        write_table(kernels, KERNEL_COLUMNS, kernel_table)
    return layer_table, wrong_layers(layer_table, measure.LARGEST_DIFFERENCE)
