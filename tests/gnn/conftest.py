"""A small prepared graph and the compiled sampler, each made once."""

import warnings

import pytest

from hone.config.graphs import SyntheticGraph
from hone.gnn.graph import Graph
from hone.gnn.prepare import prepare
from hone.gnn.sampling import build_sampler


@pytest.fixture(scope="session")
def small_graph(tmp_path_factory):
    """600 nodes in 4 planted classes, 360 of them to train on."""
    folder = tmp_path_factory.mktemp("graphs") / "small"
    entry = SyntheticGraph(
        kind="synthetic", nodes=600, classes=4, mean_degree=8, feature_dim=16, feature_signal=0.5,
        train_share=0.6, valid_share=0.2,
    )  # fmt: skip
    prepare("small", entry, folder)
    return Graph.open(folder)


@pytest.fixture(scope="session")
def compiled_store(tmp_path_factory):
    """Where what tests compile lies: WholeGraph's hook, too, of which a process loads one."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="session")
def library(compiled_store):
    """The compiled sampler."""
    return build_sampler(compiled_store)


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Graphs of tests are so small that several threads only wait for each other."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session", autouse=True)
def _torch_geometric_is_imported():
    """Importing it warns of torch.jit, which is not ours to mend."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import torch_geometric.nn  # noqa: F401
