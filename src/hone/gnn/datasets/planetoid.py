"""Citation graphs in the files of Planetoid (Yang et al. 2016, arXiv 1603.08861), with their public split.

The files are pickles of Python 2, which may name any function to be called. Read here are only those types that the
published ones hold: numpy arrays, scipy's CSR matrices, and a dictionary of lists.
"""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hone.config.graphs import PlanetoidGraph
from hone.core.errors import SourceError
from hone.gnn.datasets.download import check_sha256, downloaded, own_folder
from hone.gnn.datasets.streams import GraphStreams, edge_chunks, row_chunks
from hone.gnn.graph import UNLABELLED
from hone.records import GraphSource

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Array = np.ndarray[Any, np.dtype[Any]]
COMMIT = "af6abf468a772cc055bec88c52e4d6f51b7c37e3"
URL = f"https://raw.githubusercontent.com/kimiyoung/planetoid/{COMMIT}/data"
NUM_VALID = 500
"""Of the public split: the nodes after the training nodes."""
PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
SHA256 = {
    "ind.cora.x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
    "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "ind.pubmed.allx": "git:3b86bccf08111c37c632a9dd8ab63db25ea76361",
    "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
}
"""Files of the repository at COMMIT."""
DAMAGED = "get the file again"


def read(entry: PlanetoidGraph, downloads: Path) -> GraphStreams:
    """The graph of a config's entry. Self-loops are left out, as in PyG; duplicates count once.

    Split: the nodes of `x` train (of the split `full` all that are left), the next 500 validate, those of `test.index`
    test. CiteSeer's nodes that have neither features nor label get zeros and no label. Raises SourceError: a file
    missing, another checksum, no such pickle, sizes that do not agree.
    """
    folder = fetch(entry, downloads)
    dataset = entry.dataset or _only_dataset(folder)
    names = {part: f"ind.{dataset}.{part}" for part in PARTS}
    known = {name: SHA256[name] for name in names.values() if entry.published}
    checksums = {name: check_sha256(folder / name, wanted) for name, wanted in known.items()}
    features, one_hot, test, num_train = _nodes({part: folder / name for part, name in names.items()})
    num_nodes = len(features)
    if entry.normalize:
        features = features / np.maximum(features.sum(axis=1, keepdims=True), 1)
    labels = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), UNLABELLED).astype(np.int64)
    valid = np.arange(num_train, num_train + NUM_VALID)
    train = np.arange(num_train)
    if entry.split == "full":
        train = np.setdiff1d(np.flatnonzero(labels != UNLABELLED), np.concatenate([valid, test]))
    sources, destinations = _edges(folder / names["graph"])
    return GraphStreams(
        num_nodes=num_nodes,
        feature_dim=features.shape[1],
        num_classes=one_hot.shape[1],
        edges=edge_chunks(sources, destinations),
        features=row_chunks(features),
        labels=row_chunks(labels),
        splits={"train": train, "valid": valid, "test": test},
        source=GraphSource(
            kind=entry.kind,
            location=entry.raw_dir or URL,
            parameters={"dataset": dataset, "normalize": entry.normalize, "split": entry.split},
            sha256=checksums,
        ),
        self_loops=False,
        num_stream_edges=len(sources),
    )


def fetch(entry: PlanetoidGraph, downloads: Path) -> Path:
    """The folder with the files, fetched and unpacked first where the entry names none."""
    if entry.raw_dir is not None:
        place = own_folder(entry, downloads)
        holding = {path.parent for path in place.rglob(f"ind.{entry.dataset or '*'}.graph")}
        return holding.pop() if len(holding) == 1 else place
    folder = downloads / "planetoid" / COMMIT[:12]
    for name in (f"ind.{entry.dataset}.{part}" for part in PARTS):
        downloaded(f"{URL}/{name}", folder / name, SHA256[name])
    return folder


def _only_dataset(folder: Path) -> str:
    """The name in a folder's files where the config has none."""
    names = sorted(path.name.removeprefix("ind.").removesuffix(".graph") for path in folder.glob("ind.*.graph"))
    if len(names) != 1:
        said = f"has {len(names)} files ind.<dataset>.graph, not one"
        remedy = "put the files there, or correct raw_dir"
        if names:
            remedy = f"write dataset: with one of {', '.join(names)}"
        raise SourceError(said, where=str(folder), remedy=remedy)
    return names[0]


def _nodes(paths: dict[str, Path]) -> tuple[Array, Array, Array, int]:
    """(nodes, d) float32 features, (nodes, classes) one-hot labels, (test,) ids, and how many nodes train.

    `allx` holds the features of all nodes but the test nodes, in order; `tx` those of the test nodes, in the order of
    `test.index`, which leaves out numbers where a node has none.
    """
    train, known, test = (_matrix(paths[part]) for part in ("x", "allx", "tx"))
    known_labels, test_labels = _array(paths["ally"]), _array(paths["ty"])
    index = _test_index(paths["test.index"])
    agree = (
        len(known) == len(known_labels)
        and len(test) == len(test_labels) == len(index)
        and known.shape[1:] == test.shape[1:]
        and known_labels.shape[1:] == test_labels.shape[1:]
        and index.min(initial=len(known)) == len(known)
        and len(train) + NUM_VALID <= len(known)
    )
    if not agree:
        said = "the numbers of nodes in x, allx, ally, tx, ty and test.index do not agree"
        raise SourceError(said, where=str(paths["test.index"].parent), remedy="get the files again")
    num_nodes = int(index.max(initial=len(known) - 1)) + 1
    features = np.zeros((num_nodes, known.shape[1]), np.float32)
    labels = np.zeros((num_nodes, known_labels.shape[1]), np.int64)
    features[: len(known)], features[index] = known, test
    labels[: len(known)], labels[index] = known_labels, test_labels
    return features, labels, index, len(train)


def _edges(path: Path) -> tuple[Array, Array]:
    graph = _unpickled(path)
    if not isinstance(graph, dict):
        raise SourceError("holds no dictionary of neighbours", where=str(path), remedy=DAMAGED)
    sources = np.repeat(np.array(list(graph), np.int64), [len(ids) for ids in graph.values()])
    return sources, np.array([node for ids in graph.values() for node in ids], np.int64)


def _test_index(path: Path) -> Array:
    try:
        return np.array(path.read_text(encoding="ascii").split(), np.int64)
    except FileNotFoundError:
        raise SourceError("no such file", where=str(path), remedy="put it there, or correct raw_dir") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise SourceError(f"holds no list of nodes: {error}", where=str(path), remedy=DAMAGED) from None


def _matrix(path: Path) -> Array:
    """A pickled sparse matrix, dense, as float32."""
    found = _unpickled(path)
    if not isinstance(found, _csr_type()):
        raise SourceError("holds no sparse matrix", where=str(path), remedy=DAMAGED)
    return np.asarray(found.toarray(), np.float32)


def _array(path: Path) -> Array:
    found = _unpickled(path)
    if not isinstance(found, np.ndarray) or found.ndim != 2:
        raise SourceError("holds no matrix", where=str(path), remedy=DAMAGED)
    return found


class _Unpickler(pickle.Unpickler):
    """Builds arrays, CSR matrices and dictionaries; refuses every other name."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("scipy.sparse.csr", "csr_matrix"):
            return _csr_type()
        known = {
            ("numpy.core.multiarray", "_reconstruct"): _empty_array,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
            ("collections", "defaultdict"): defaultdict,
            ("__builtin__", "list"): list,
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not read")
        return known[module, name]


def _csr_type() -> type[csr_matrix]:
    from scipy.sparse import csr_matrix

    return csr_matrix


def _empty_array(*_: Any) -> Array:
    """What numpy's own function of that name gives: an array that its state is then set on."""
    return np.ndarray((0,), np.int8)


def _unpickled(path: Path) -> Any:
    try:
        return _Unpickler(io.BytesIO(path.read_bytes()), encoding="latin1").load()
    except FileNotFoundError:
        raise SourceError("no such file", where=str(path), remedy="put it there, or correct raw_dir") from None
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        raise SourceError(f"truncated or not such a pickle: {error}", where=str(path), remedy=DAMAGED) from None
