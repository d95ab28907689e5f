"""The operators of a step that a campaign can replace: the device system's own, and kernels with the launchers of
`config/kernels/graph_ops`.

A layer is counted from the features; layer l reads hop (layers - 1 - l) of a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hone.gnn.device.native import MapView
from hone.records import Language

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.device.memory import BatchRoom, DeviceGraph, HopRoom
    from hone.gnn.device.native import Library
    from hone.gnn.device.places.spread import Features
    from hone.records import Definition


NOTED = {"mean_of_states", "gradient_of_states"}
"""The operator that notes what passes of a state, and the one that reads it."""


class Operators:
    """The builtin ones, of the library."""

    in_place = True
    """Whether `gradient_of_states` may be given one matrix as states and as gradient."""
    noting = True
    """Whether `mean_of_states` notes what passes ReLU and dropout, so that `gradient_of_states` reads no states."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def draw_neighbours(self, batch: BatchRoom, graph: DeviceGraph, progress: Tensor) -> None:
        """The last hop's draw, whose nodes need no numbers, in the midst of sampling; `progress` is the sampler's."""
        without_map = MapView(None, 1)
        self._library.call("draw", progress, graph.view, without_map, batch.nodes, batch.hops[-1].view, 1)

    def begin(self, batch: BatchRoom, features: Features) -> None:
        """On a batch that has been sampled, before the others; they can all be captured."""

    def mean_of_features(self, batch: BatchRoom, features: Features, out: Tensor) -> None:
        """The first layer's input; features (nodes, width) -> out (rows, 2 * width)."""
        is_half = int(features.dtype == torch.float16)
        hop, width = batch.hops[-1].view, features.shape[1]
        if isinstance(features, torch.Tensor):
            self._library.call("mean_of_features", hop, batch.nodes, features, is_half, width, out)
        else:
            self._library.call("mean_of_spread_features", hop, batch.nodes, features.view, is_half, width, out)

    def mean_of_states(
        self, batch: BatchRoom, layer: int, share: float, states: Tensor, out: Tensor, notes: Tensor | None = None
    ) -> None:
        """A later layer's input; states (sources, width) -> out (rows, 2 * width). `share` is dropped.

        `notes` (sources, width / 8) uint8, where operators are `noting`: a bit for each element that passes.
        """
        dropout = batch.dropout(layer - 1, share)
        self._library.call("mean_of_states", hop_of(batch, layer).view, states, states.shape[1], dropout, notes, out)

    def gradient_of_states(
        self, batch: BatchRoom, layer: int, share: float, out_gradient: Tensor, states: Tensor, gradient: Tensor,
        notes: Tensor | None = None,
    ) -> None:  # fmt: skip
        """Its backward: out_gradient (rows, 2 * width), states (sources, width) -> gradient (sources, width).

        With the `notes` of `mean_of_states` in place of what the states themselves say.
        """
        hop, dropout = hop_of(batch, layer), batch.dropout(layer - 1, share)
        self._library.call(
            "gradient_of_states", hop.view, hop.offsets, hop.readers, out_gradient, states, notes, states.shape[1],
            dropout, gradient,
        )  # fmt: skip


class SelectedOperators(Operators):
    """Some of them out of shared objects; the others are the library's.

    Definitions promise more than the builtins need: pointers begin at multiples of 16 bytes, an output is no input, and
    there is room for one source more than a batch can have. `SagePass` and `begin` see to it.
    """

    in_place = False

    def __init__(self, library: Library, objects: Mapping[str, str], definitions: Mapping[str, Definition]) -> None:
        """`objects`: operator -> path. Raises OperatorError when one cannot be loaded."""
        super().__init__(library)
        from hone.operators.contract import Contract
        from hone.operators.native import NativeLibrary

        self._kernels = {
            name: NativeLibrary(Contract(definitions[name], {}), Language.CUDA, Path(path))
            for name, path in objects.items()
        }
        self._definitions = definitions
        self.noting = not NOTED & set(objects)
        """No selected kernel writes notes, or reads them."""

    def draw_neighbours(self, batch: BatchRoom, graph: DeviceGraph, progress: Tensor) -> None:
        """As the builtin."""
        if "draw_neighbours" not in self._kernels:
            return super().draw_neighbours(batch, graph, progress)
        hop = batch.hops[-1]
        index = hop.view.index
        batch.filled[index, :1].copy_(batch.sizes[index : index + 1])
        given = {**_rows(batch, hop), "indptr": graph.indptr, "indices": graph.indices, "nodes": batch.nodes}
        given |= {"progress": progress, "hop": index}
        sizes = {"offsets": len(graph.indptr), "edges": len(graph.indices), "words": len(progress)}
        return self._launch("draw_neighbours", given, sizes)

    def begin(self, batch: BatchRoom, features: Features) -> None:
        """Copies what kernels read of the batch to where they may expect it."""
        batch.filled[:, :2].copy_(batch.sizes.unfold(0, 2, 1))
        batch.filled[-1, 1].fill_(len(features))  # the last hop's nodes are not numbered: it reads the table itself
        batch.keys_apart[:, 0].copy_(batch.keys)

    def mean_of_features(self, batch: BatchRoom, features: Features, out: Tensor) -> None:
        """As the builtin; `features` are of the type that the kernel is for."""
        if "mean_of_features" not in self._kernels:
            return super().mean_of_features(batch, features, out)
        given = {**_rows(batch, batch.hops[-1]), "nodes": batch.nodes, "features": features, "out": out}
        return self._launch("mean_of_features", given, {"table": len(features)})

    def mean_of_states(
        self, batch: BatchRoom, layer: int, share: float, states: Tensor, out: Tensor, notes: Tensor | None = None
    ) -> None:
        """As the builtin; a selected kernel takes no notes."""
        if "mean_of_states" not in self._kernels:
            return super().mean_of_states(batch, layer, share, states, out, notes)
        hop = hop_of(batch, layer)
        given = {**_rows(batch, hop), **_dropout(batch, layer, share), "states": states, "out": out}
        return self._launch("mean_of_states", given, {"room": hop.sources + 1})

    def gradient_of_states(
        self, batch: BatchRoom, layer: int, share: float, out_gradient: Tensor, states: Tensor, gradient: Tensor,
        notes: Tensor | None = None,
    ) -> None:  # fmt: skip
        """As the builtin, but for `gradient`, which is not `states`; a selected kernel reads no notes."""
        if "gradient_of_states" not in self._kernels:
            return super().gradient_of_states(batch, layer, share, out_gradient, states, gradient, notes)
        hop = hop_of(batch, layer)
        given = {**_rows(batch, hop), **_dropout(batch, layer, share), "begins": hop.offsets, "readers": hop.readers}
        given |= {"out_gradient": out_gradient, "states": states, "gradient": gradient}
        return self._launch("gradient_of_states", given, {"room": hop.sources + 1})

    def _launch(self, name: str, given: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        """Raises OperatorError where the definition has arguments or axes that nobody knows."""
        from hone.operators.contract import OperatorError

        item = self._definitions[name]
        known = {**sizes, "count": given["count"], "fanout": given["fanout"], "sizes": 2, "keys": 1}
        for table in (given[name] for name in ("features", "states") if name in given):
            known |= {"width": table.shape[1], "both": 2 * table.shape[1]}
        wanted = [*(argument.name for argument in (*item.inputs, *item.parameters, *item.outputs)), *item.axes]
        unknown = [word for word in wanted if word not in given and word not in known]
        if unknown:
            raise OperatorError(f"nobody knows what {', '.join(unknown)} is", where=item.name)
        values = [given[argument.name] for argument in (*item.inputs, *item.parameters)]
        outputs = [given[argument.name] for argument in item.outputs]
        axes = {axis: known[axis] for axis in item.axes}
        dtype = item.dtypes[0] if item.dtypes else ""
        self._kernels[name].launch(values, outputs, axes, dtype, given["degrees"].device)


def hop_of(batch: BatchRoom, layer: int) -> HopRoom:
    """The hop that a layer reads."""
    return batch.hops[len(batch.hops) - 1 - layer]


def _rows(batch: BatchRoom, hop: HopRoom) -> dict[str, Any]:
    """What every operator reads of a hop."""
    number = hop.view.index
    return {
        "neighbours": hop.neighbours, "degrees": hop.degrees, "filled": batch.filled[number], "count": hop.rows,
        "fanout": hop.view.fanout,
    }  # fmt: skip


def _dropout(batch: BatchRoom, layer: int, share: float) -> dict[str, Any]:
    view = batch.dropout(layer - 1, share)
    return {"key": batch.keys_apart[layer - 1], "scale": view.scale, "threshold": view.threshold}
