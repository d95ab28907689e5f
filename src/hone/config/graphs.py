"""What `graphs:` of the config may say: a class for each kind, whose graphs the module of that name reads.

To add a kind, write its class here, put it into `GraphEntry`, and write `hone/gnn/datasets/<kind>.py`, of which that
package says what it has. A class imports nothing of the reader's, because every job parses the config.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hone.config.section import Section
from hone.records.gnn import FeatureDtype


class _Prepared(Section):
    """What all kinds share."""

    feature_dtype: FeatureDtype = "float16"
    """Of the file, the copies and the model's first layer; `bfloat16` lies on disk as uint16."""
    memory_mib: int = Field(512, ge=1)
    """Preparing the graph holds at most so much in memory and 80 MiB more, beside the interpreter with its libraries
    (about 256 MiB). papers100M needs at least 512. Kinds whose graphs are small (synthetic, planetoid, musae) read
    them whole."""


class PublishedGraph(_Prepared):
    """What kinds share that read published files."""

    raw_dir: str | None = None
    """Folder with the files as they are published; absent: they are downloaded."""


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


class PlanetoidGraph(PublishedGraph):
    """Cora or CiteSeer as published with Planetoid."""

    kind: Literal["planetoid"]
    dataset: Literal["cora", "citeseer"]
    raw_dir: str | None = None
    """Folder with the files `ind.<dataset>.<part>`; absent: they are downloaded."""
    verify: bool = True
    """Compare checksums; `false` for files of another origin in the same format."""
    normalize: bool = False
    """Divide each node's features by their sum."""
    split: Literal["public", "full"] = "public"
    """`public`: 20 nodes of each class train; `full`: all labelled nodes that neither validate nor test, as in FastGCN
    (Chen et al. 2018) and PyTorch Geometric."""


class MusaeGraph(_Split, PublishedGraph):
    """Facebook pages that like each other, from MUSAE (SNAP's facebook-large); there is no official split."""

    kind: Literal["musae"]
    dataset: Literal["facebook"] = "facebook"
    raw_dir: str | None = None
    """Folder with one file each that ends in `edges.csv`, `features.json`, `target.csv`; absent: they are
    downloaded."""
    verify: bool = True
    """Compare checksums; `false` for files of another origin in the same format."""
    svd_dim: int | None = Field(128, ge=1)
    """Features are this many left singular vectors of the node-by-word matrix, times the singular values;
    `null`: the 4,714 columns of zeros and ones as they are."""
    split_seed: int = Field(0, ge=0)


class OGBGraph(PublishedGraph):
    """A node-classification graph of the Open Graph Benchmark, with its official split."""

    kind: Literal["ogb"]
    dataset: Literal["ogbn-arxiv", "ogbn-products", "ogbn-papers100M"]
    raw_dir: str | None = None
    """The dataset's unpacked folder, with `raw/` and `split/`; absent: it is downloaded (papers100M: 56 GB)."""
    sha256: dict[str, str] = Field(default_factory=dict)
    """File, relative to the folder -> checksum to compare; OGB itself publishes none."""
    verify: bool = True
    """Compare the numbers of nodes and edges with those that OGB publishes; `false` for another graph in its format."""
    symmetric: bool = True
    """Each edge also counts backwards, as in SALIENT."""
    deduplicate: bool = True
    """An edge that is there several times counts once, as in SALIENT."""


class Papers100MLikeGraph(_Prepared):
    """As many nodes, edges, features and seeds as ogbn-papers100M, and degrees like its own; labels are random."""

    kind: Literal["papers100m_like"]
    scale: float = Field(1.0, gt=0, le=1)
    """Share of the nodes, edges and seeds."""
    degree_sigma: float = Field(1.75, gt=0)
    """Standard deviation of the logarithm of expected degrees. At 1.75 a batch of 1024 seeds with fan-out 15, 10, 5
    has about half a million nodes, as on papers100M."""
    seed: int = Field(0, ge=0)
    device: Literal["cpu", "cuda"] = "cpu"
    """What draws it. A CPU needs `memory_mib` and, for all of it, hours; a GPU 70 GiB of its own memory and a minute
    or two. Their random numbers differ: another graph of the same law."""


GraphEntry = Annotated[
    SyntheticGraph | PlanetoidGraph | MusaeGraph | OGBGraph | Papers100MLikeGraph, Field(discriminator="kind")
]
