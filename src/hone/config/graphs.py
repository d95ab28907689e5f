"""What `graphs:` of the config may say: a class for each kind, whose graphs the module of that name reads.

To add a kind, write its class here, put it into `GraphEntry`, and write `hone/gnn/datasets/<kind>.py`, of which that
package says what it has. A class imports nothing of the reader's, because every job parses the config.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import unquote, urlsplit

from pydantic import Field, model_validator

from hone.config.section import Section
from hone.records.gnn import FeatureDtype


class _Prepared(Section):
    """What all kinds share."""

    feature_dtype: FeatureDtype = "float16"
    """Of the file, the copies and the model's first layer; `bfloat16` lies on disk as uint16."""
    memory_mib: int = Field(512, ge=1)
    """Preparing the graph holds at most so much in memory and 80 MiB more, beside the interpreter with its libraries
    (about 256 MiB). papers100M needs at least 512. Kinds whose graphs are small (synthetic, planetoid, musae, pyg)
    read them whole."""


class PublishedGraph(_Prepared):
    """What kinds share that read datasets in files."""

    raw_dir: str | None = None
    """Folder, zip archive or URL (`https://` or `file://`) with the files as they are published; absent: they are
    downloaded."""

    @property
    def remote(self) -> bool:
        """Whether the files come over the network."""
        return self.raw_dir is None or self.raw_dir.startswith(("http://", "https://"))

    @property
    def local(self) -> Path | None:
        """Folder or file on this machine; None for a `remote` one."""
        if self.raw_dir is None or self.remote:
            return None
        if self.raw_dir.startswith("file:"):
            return Path(unquote(urlsplit(self.raw_dir).path))
        return Path(self.raw_dir)


class NamedGraph(PublishedGraph):
    """A public dataset by its name, or one of your own in the same format."""

    KNOWN: ClassVar[tuple[str, ...]] = ()
    """Names that are downloaded."""
    UNFIT: ClassVar[Mapping[str, str]] = {}
    """Names that exist but cannot be trained on here -> why."""
    dataset: str | None = None
    """The public dataset's name; one of your own has another, or none."""
    verify: bool = True
    """Compare with what is published; `false` for files of another origin under a public dataset's name."""

    @model_validator(mode="after")
    def _found_somewhere(self) -> Self:
        known = f"{', '.join(self.KNOWN)} are downloaded by name"
        if self.dataset is not None and self.dataset in self.UNFIT:
            raise ValueError(f"dataset: {self.dataset} {self.UNFIT[self.dataset]}; {known}")
        if self.raw_dir is None and self.dataset not in self.KNOWN:
            said = f"dataset: there is no '{self.dataset}'" if self.dataset else "dataset: is missing"
            raise ValueError(f"{said}: {known}; for your own files write raw_dir: <folder, zip archive or URL>")
        return self

    @property
    def published(self) -> bool:
        """Whether the files must be those of a public dataset."""
        return self.verify and self.dataset in self.KNOWN


class _EdgesAsTold(_Prepared):
    """Of datasets whose edges may be directed, or there twice."""

    symmetric: bool = True
    """Each edge also counts backwards, as in SALIENT."""
    deduplicate: bool = True
    """An edge that is there several times counts once, as in SALIENT. With `false` and `symmetric`, what is there in
    both directions counts twice, and so does an edge from a node to itself."""
    self_loops: bool = True
    """Edges from a node to itself are kept."""


class _Split(_Prepared):
    """Of graphs without a split of their own: drawn at random within each class."""

    train_share: float = Field(0.6, gt=0, lt=1)
    """Of each class."""
    valid_share: float = Field(0.2, ge=0, lt=1)
    """Of each class; the rest is for testing."""

    @model_validator(mode="after")
    def _something_to_test(self) -> Self:
        if self.train_share + self.valid_share >= 1:
            raise ValueError("train_share and valid_share leave nothing for testing: their sum must be below 1")
        return self


class SyntheticGraph(_Split):
    """Planted classes: a degree-corrected stochastic block model with weak features; needs no network."""

    kind: Literal["synthetic"]
    nodes: int = Field(2000, ge=10)
    classes: int = Field(5, ge=2)
    mean_degree: float = Field(12.0, gt=0)
    """Of the symmetrised graph, before duplicates are dropped."""
    degree_sigma: float = Field(1.0, ge=0)
    """Standard deviation of the logarithm of expected degrees; 0: all nodes alike."""
    homophily: float = Field(0.8, ge=0, le=1)
    """Probability that an edge is drawn within a class, beside those that fall there by chance."""
    feature_dim: int = Field(32, ge=1)
    feature_signal: float = Field(0.25, ge=0)
    """Distance of a class's mean from the origin in each feature, in standard deviations of the noise."""
    seed: int = Field(0, ge=0)


class PlanetoidGraph(NamedGraph):
    """A citation graph as published with Planetoid: Cora, CiteSeer or PubMed."""

    KNOWN: ClassVar[tuple[str, ...]] = ("cora", "citeseer", "pubmed")
    kind: Literal["planetoid"]
    dataset: str | None = None
    """`cora`, `citeseer` or `pubmed`; of your own, the name in the files `ind.<dataset>.<part>`."""
    normalize: bool = False
    """Divide each node's features by their sum."""
    split: Literal["public", "full"] = "public"
    """`public`: 20 nodes of each class train; `full`: all labelled nodes that neither validate nor test, as in FastGCN
    (Chen et al. 2018) and PyTorch Geometric."""


class MusaeGraph(_Split, NamedGraph):
    """A social or web graph of MUSAE (Rozemberczki et al. 2021); there is no official split."""

    KNOWN: ClassVar[tuple[str, ...]] = (
        *("facebook", "github", "chameleon", "crocodile", "squirrel"),
        *("twitch-de", "twitch-en", "twitch-es", "twitch-fr", "twitch-pt", "twitch-ru", "twitch-tw"),
    )
    kind: Literal["musae"]
    dataset: str | None = "facebook"
    """`facebook`, `github`, `chameleon`, `crocodile`, `squirrel` or `twitch-` with a language. Of your own: files that
    end in `edges.csv`, `features.json` and `target.csv`, and any other name, or the one that these begin with."""
    target: str | None = None
    """Column of `target.csv` with the classes; absent: the one that MUSAE has."""
    bins: int | None = Field(None, ge=2)
    """The target is a number, and its quantiles are so many classes. Absent: as many classes as different values, but 5
    for the Wikipedia graphs (chameleon, crocodile, squirrel), whose target is traffic."""
    svd_dim: int | None = Field(128, ge=1)
    """Features are this many left singular vectors of the node-by-word matrix, times the singular values;
    `null`: columns of zeros and ones as they are, 4,714 for facebook."""
    split_seed: int = Field(0, ge=0)


class OGBGraph(_EdgesAsTold, NamedGraph):
    """A node-classification graph of the Open Graph Benchmark with its official split, or in its format."""

    KNOWN: ClassVar[tuple[str, ...]] = ("ogbn-arxiv", "ogbn-products", "ogbn-papers100M")
    UNFIT: ClassVar[Mapping[str, str]] = {
        "ogbn-mag": "has several types of nodes and edges, for which there is no model here",
        "ogbn-proteins": "has no node features and 112 labels a node, for which there is no model here",
    }
    kind: Literal["ogb"]
    dataset: str | None = None
    """`ogbn-arxiv`, `ogbn-products` or `ogbn-papers100M` (56 GB to download); of your own, any name or none."""
    sha256: dict[str, str] = Field(default_factory=dict)
    """File, relative to the folder with `raw/` and `split/` -> checksum to compare; OGB itself publishes none."""
    num_classes: int | None = Field(None, ge=2)
    """Absent: what OGB, or `meta_dict.pt` beside the folder, says, or else the labels."""
    split: str | None = None
    """Folder below `split/`; absent: the published one, or the only one."""


class PyGGraph(_Split, _EdgesAsTold, PublishedGraph):
    """A `Data` of PyTorch Geometric in a file of `torch.save`: x, edge_index, y and masks of the splits."""

    kind: Literal["pyg"]
    raw_dir: str
    """The file, a folder or zip archive with it, or a URL (`https://` or `file://`)."""
    split: Literal["masks", "random"] = "masks"
    """`masks`: train_mask, val_mask and test_mask; `random`: drawn within each class by the shares and the seed."""
    mask_column: int = Field(0, ge=0)
    """Of masks with a column for each of several splits."""
    split_seed: int = Field(0, ge=0)
    num_classes: int | None = Field(None, ge=2)
    """Absent: as the labels say."""
    trusted: bool = False
    """Load a file that holds more than tensors and plain values. This runs code that the file names."""


class _LikeGraph(_Prepared):
    """As many nodes, edges, features and seeds as a public graph, and degrees like its own; labels are random."""

    scale: float = Field(1.0, gt=0, le=1)
    """Share of the nodes, edges and seeds."""
    seed: int = Field(0, ge=0)
    device: Literal["cpu", "cuda"] = "cpu"
    """What draws it. A CPU needs `memory_mib` and, for all of papers100M, hours; a GPU 70 GiB of its own memory and a
    minute or two. Their random numbers differ: another graph of the same law."""


class Papers100MLikeGraph(_LikeGraph):
    """A graph of ogbn-papers100M's size."""

    kind: Literal["papers100m_like"]
    degree_sigma: float = Field(1.75, gt=0)
    """Standard deviation of the logarithm of expected degrees. At 1.75 a batch of 1024 seeds with fan-out 15, 10, 5
    has about half a million nodes, as on papers100M."""


class ProductsLikeGraph(_LikeGraph):
    """A graph of ogbn-products' size."""

    kind: Literal["products_like"]
    degree_sigma: float = Field(1.35, gt=0)
    """Standard deviation of the logarithm of expected degrees. At 1.35 a batch of 1000 seeds with fan-out 10, 10, 10
    has about half a million nodes, as LABOR (arXiv 2210.13339) counts on products."""


LikeGraph = Papers100MLikeGraph | ProductsLikeGraph
GraphEntry = Annotated[
    SyntheticGraph | PlanetoidGraph | MusaeGraph | OGBGraph | PyGGraph | Papers100MLikeGraph | ProductsLikeGraph,
    Field(discriminator="kind"),
]
