"""The choices that the sampler leaves open, all of which give the same batches: what the design study varies."""

from __future__ import annotations

from dataclasses import dataclass

MAPS = ("tagged", "direct", "cleared", "swiss", "stl")
"""From global to local ids, in the order of cpp/kinds.h. `tagged`: open addressing, entries of earlier batches count as
free. `direct`: an array with a value for each node of the graph. `cleared`: open addressing, set to zero for each
batch. `swiss`: control bytes compared sixteen at a time, as in SALIENT's map. `stl`: std::unordered_map."""
BOOKKEEPING = ("bits", "array", "set")
"""Which neighbours are taken already. `bits`: one bit each; `array`: a search through those taken; `set`:
std::unordered_set. In the order of cpp/kinds.h."""
DIRECT_NODES = 1 << 24
"""Up to here the direct map is worth its 4 bytes a node for each worker; above it is no faster than hashing."""


@dataclass(frozen=True)
class Design:
    """One sampler among those that could be; a library not built for the study has `tagged`, `direct` and `bits`."""

    map: str = "tagged"
    """One of MAPS."""
    bookkeeping: str = "bits"
    """One of BOOKKEEPING."""
    block: int = 16
    """Nodes that go through a step together while the next step's memory is on its way; 0: nothing is asked for."""
    rows_ahead: int = 16
    """Feature rows that are asked for before they are copied; 0: none."""
    fused: bool = False
    """Rows are copied while sampling goes on, not after it."""
    stream: bool = True
    """Rows are written past the caches."""


def best_design(num_nodes: int) -> Design:
    """What measurement chose for a graph of this size: see the table salient_sampler_study."""
    return Design(map="direct" if num_nodes <= DIRECT_NODES else "tagged")
