"""Edges in any order -> rows of a CSR, in bounded memory: partitioned on disk by row, then sorted bucket by bucket.

An edge is one int64 key, `row * num_nodes + column`, below 2^62. The stream is read twice: once to see how many keys
each group of rows will have, once to spill them into buckets of neighbouring rows that fit the memory. Sorting a
bucket gives rows, columns and duplicates at once, and buckets follow each other in the output. All file access is
sequential.

Beside the output this takes 8 bytes of disk for each key. It takes BYTES_A_CHUNK_EDGE of memory for each edge of a
chunk, then BYTES_A_BUCKET_KEY for each key of a bucket. Both stay below the bound, with one exception: a single group
of rows that is larger (one enormous hub) is sorted in memory all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hone.core.errors import SourceError
from hone.core.files import disk_errors
from hone.core.progress import Advance, progress_bar
from hone.gnn.datasets.streams import EdgeStream, GraphStreams
from hone.gnn.datasets.writing import ArrayFile

Array = np.ndarray[Any, np.dtype[Any]]
BYTES_A_CHUNK_EDGE = 128
"""Two ids as int64 and what the generator needs for them, two keys, and a mask or a copy of the keys."""
BYTES_A_BUCKET_KEY = 64
"""The key, its sorted and its deduplicated copy, its row, its column as int32, masks."""
GROUPS = 1 << 18
"""Most groups of rows that keys are counted by."""
EDGES_A_PART = 1 << 16
MAX_BUCKETS = 900
"""Open files; the usual limit of a process is 1024."""


@dataclass(frozen=True)
class Bucket:
    """Neighbouring rows whose keys are sorted together."""

    first_row: int
    end_row: int
    path: Path


@dataclass
class Entries:
    """What became of a stream's edges."""

    read: int = 0
    """Edges of the stream."""
    loops_read: int = 0
    """Of them, from a node to itself."""
    written: int = 0
    """Entries of the CSR."""
    loops_written: int = 0

    def repeats(self, streams: GraphStreams) -> int:
        """Edges of the stream that another one stands for; 0 where all count."""
        if not streams.deduplicate or streams.entries is not None:
            return 0
        others, loops = self.read - self.loops_read, self.loops_read if streams.self_loops else 0
        pairs = self.written - self.loops_written
        return others - (pairs // 2 if streams.symmetric else pairs) + loops - self.loops_written


def write_csr(streams: GraphStreams, folder: Path, memory_bytes: int) -> Entries:
    """Write `indptr.npy` and `indices.npy` into a folder; returns what became of the edges.

    Columns ascend within a row. Where the streams are not symmetric, a row holds the sources of a node's incoming
    edges. Raises SourceError for ids out of range and for fewer entries than `streams.entries`, MachineError.
    """
    chunk = max(memory_bytes // BYTES_A_CHUNK_EDGE, 1)
    chunks = -(-(streams.num_stream_edges or 0) // chunk)
    with progress_bar("edges counted", chunks, wanted=chunks > 0) as advance:
        groups, width, entries = _counted(streams, chunk, advance)
    buckets = _buckets(groups, width, streams.num_nodes, folder, memory_bytes // BYTES_A_BUCKET_KEY)
    with progress_bar("edges partitioned", chunks, wanted=chunks > 0) as advance:
        _spill(streams, chunk, buckets, advance)
    dropped = _surplus(streams, buckets, chunk)
    _write_rows(streams, buckets, dropped, folder, entries)
    return entries


def _checked(
    streams: GraphStreams, chunk: int, advance: Advance, entries: Entries | None = None
) -> Iterator[tuple[Array, Array]]:
    """The edges that count, their ids in range; `entries` counts what is read."""
    for sources, destinations in streams.edges(chunk):
        for ids in (sources, destinations):
            if len(ids) and (ids.min() < 0 or ids.max() >= streams.num_nodes):
                wrong = ids[(ids < 0) | (ids >= streams.num_nodes)][0]
                raise SourceError(
                    f"an edge has the node {wrong}; the graph's nodes are 0 to {streams.num_nodes - 1}",
                    where=streams.source.location,
                    remedy="number the nodes from 0 on; or the files are damaged: get them again",
                )
        kept = sources != destinations
        if entries is not None:
            entries.read += len(sources)
            entries.loops_read += len(sources) - int(kept.sum())
        if streams.self_loops:
            yield sources, destinations
        else:
            yield sources[kept], destinations[kept]
        advance()


def _keys(streams: GraphStreams, sources: Array, destinations: Array) -> Array:
    """(n,) int64 ascending, both directions where symmetric, each once where duplicates do not count."""
    count = len(sources)
    keys = np.empty(2 * count if streams.symmetric else count, np.int64)
    _combine(destinations, sources, streams.num_nodes, keys[:count])
    if streams.symmetric:
        _combine(sources, destinations, streams.num_nodes, keys[count:])
    keys.sort()
    return _unique(keys) if streams.deduplicate else keys


def _combine(rows: Array, columns: Array, num_nodes: int, out: Array) -> None:
    np.multiply(rows, num_nodes, out=out, dtype=np.int64)
    out += columns


def _unique(keys: Array) -> Array:
    """Sorted keys, each once; the same array where all are different."""
    if len(keys) < 2:
        return keys
    first = np.empty(len(keys), bool)
    first[0] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys if first.all() else keys[first]


def _counted(streams: GraphStreams, chunk: int, advance: Advance) -> tuple[Array, int, Entries]:
    """(groups,) keys of each group of neighbouring rows, duplicates included, the number of rows in a group, and how
    many edges were read."""
    entries = Entries()
    width = -(-streams.num_nodes // GROUPS)
    total = np.zeros(-(-streams.num_nodes // width), np.int64)
    for sources, destinations in _checked(streams, chunk, advance, entries):
        for rows in (destinations, sources) if streams.symmetric else (destinations,):
            total += np.bincount(rows // width, minlength=len(total))
    return total, width, entries


def _buckets(groups: Array, width: int, num_nodes: int, folder: Path, capacity: int) -> list[Bucket]:
    """Runs of groups with at most `capacity` keys and rows together, but never more buckets than files may be open."""
    load = groups + width
    capacity = max(capacity, -(-2 * int(load.sum()) // MAX_BUCKETS))
    starts, filled = [0], 0
    for group, size in enumerate(load.tolist()):
        if filled and filled + size > capacity:
            starts.append(group)
            filled = 0
        filled += size
    rows = [min(start * width, num_nodes) for start in [*starts, len(groups)]]
    return [Bucket(first, end, folder / f"bucket{number}.tmp") for number, (first, end) in enumerate(pairwise(rows))]


def _spill(streams: GraphStreams, chunk: int, buckets: list[Bucket], advance: Advance) -> None:
    """Append each chunk's sorted keys to the buckets; a bucket becomes a sequence of sorted runs."""
    ends = np.array([bucket.end_row for bucket in buckets[:-1]], np.int64) * streams.num_nodes
    with disk_errors(buckets[0].path.parent), ExitStack() as stack:
        files: list[BinaryIO] = [stack.enter_context(bucket.path.open("wb", buffering=0)) for bucket in buckets]
        for sources, destinations in _checked(streams, chunk, advance):
            keys = _keys(streams, sources, destinations)
            bounds = [0, *np.searchsorted(keys, ends).tolist(), len(keys)]
            for file, first, end in zip(files, bounds[:-1], bounds[1:], strict=True):
                _write_all(file, keys[first:end])


def _write_all(file: BinaryIO, keys: Array) -> None:
    """An unbuffered file may take less than it is given."""
    left = memoryview(keys.view(np.uint8).data)
    while left:
        left = left[file.write(left) :]


def _read(streams: GraphStreams, bucket: Bucket) -> Array:
    """A bucket's keys, ascending; the stable sort merges runs that are sorted already."""
    keys = np.fromfile(bucket.path, np.int64)
    keys.sort(kind="stable")
    return _unique(keys) if streams.deduplicate else keys


def _surplus(streams: GraphStreams, buckets: list[Bucket], chunk: int) -> Array:
    """(n,) keys that are left out so that exactly `streams.entries` remain; sorted. Empty where no number is set.

    The buckets are rewritten sorted and without duplicates, since the number is known only after all of them.
    """
    if streams.entries is None:
        return np.empty(0, np.int64)
    found = 0
    for bucket in buckets:
        keys = _read(streams, bucket)
        found += len(keys)
        with disk_errors(bucket.path), bucket.path.open("wb", buffering=0) as file:
            _write_all(file, keys)
    pairs, odd = divmod(found - streams.entries, 2)
    if pairs < 0 or odd:
        said = f"gives {found} entries, {streams.entries} are wanted"
        raise SourceError(said, where=streams.source.location, remedy="report this: the generator draws too few edges")
    return first_pairs(streams.edges, streams.num_nodes, pairs, chunk)


def first_pairs(edges: EdgeStream, num_nodes: int, pairs: int, chunk: int) -> Array:
    """Sorted keys, both directions, of the first so many different edges of the stream, however it is cut up."""
    parts: list[Array] = []
    held = 0
    for keys in _pair_keys(edges, num_nodes, chunk):
        parts.append(keys)
        held += len(keys)
        if held < pairs:
            continue
        parts = [np.concatenate(parts)]
        first = np.unique(parts[0], return_index=True)[1]
        first.sort()
        if len(first) >= pairs:
            return _both_directions(parts.pop()[first[:pairs]], num_nodes)
        parts, held = [parts[0][first]], len(first)  # few are drawn twice: a look or two more
    raise AssertionError("the stream has more different edges than were dropped of it")


def _both_directions(keys: Array, num_nodes: int) -> Array:
    """Sorted: the keys, and those with both nodes' places changed."""
    both = np.concatenate([keys, keys % num_nodes])
    both[len(keys) :] *= num_nodes
    both[len(keys) :] += keys // num_nodes
    both.sort()
    return both


def _pair_keys(edges: EdgeStream, num_nodes: int, chunk: int) -> Iterator[Array]:
    """Keys of edges between different nodes, the lower one first, in parts that take little memory."""
    for sources, destinations in edges(chunk):
        for first in range(0, len(sources), EDGES_A_PART):
            part = slice(first, first + EDGES_A_PART)
            low, high = np.minimum(sources[part], destinations[part]), np.maximum(sources[part], destinations[part])
            yield (low.astype(np.int64) * num_nodes + high)[low != high]


def _write_rows(streams: GraphStreams, buckets: list[Bucket], dropped: Array, folder: Path, entries: Entries) -> None:
    """Sort bucket after bucket into the two files, and count them; the buckets are gone afterwards."""
    with (
        ArrayFile(folder / "indptr.npy", np.int64) as indptr,
        ArrayFile(folder / "indices.npy", np.int32) as indices,
        progress_bar("rows sorted", len(buckets), wanted=len(buckets) > 1) as advance,
    ):
        indptr.append(np.zeros(1, np.int64))
        for bucket in buckets:
            keys = _read(streams, bucket)
            bucket.path.unlink()
            if len(dropped):
                keys = _without(keys, dropped)
            rows = keys // streams.num_nodes
            keys -= rows * streams.num_nodes
            entries.loops_written += int((keys == rows).sum())
            rows -= bucket.first_row
            degrees = np.bincount(rows, minlength=bucket.end_row - bucket.first_row)
            indptr.append(np.cumsum(degrees) + indices.rows)
            indices.append(keys.astype(np.int32))
            advance()
    entries.written = indices.rows


def _without(keys: Array, dropped: Array) -> Array:
    """Sorted keys without those of `dropped`; what is dropped within their range is among them."""
    first, end = np.searchsorted(dropped, [keys[0], keys[-1] + 1]) if len(keys) else (0, 0)
    return np.delete(keys, np.searchsorted(keys, dropped[first:end])) if end > first else keys
