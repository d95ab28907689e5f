import shutil
from pathlib import Path

import pytest

from hone.tables.stages import make_tables

from .rounds import big_kit, run_of_a_file
from .trainings import big_trainings, kernel_trainings
from .world import big_world


@pytest.fixture(scope="session")
def tables(tmp_path_factory) -> Path:
    """Tables of `big_world`, of `big_kit` for Astra, of `run_of_a_file`, and of two kits of trainings."""
    folder = big_world().make(tmp_path_factory.mktemp("tables"))
    improved = big_kit().make(tmp_path_factory.mktemp("astra"))
    for path in (*improved.glob("astra_*"), *improved.glob("search_*")):
        shutil.copy(path, folder)
    trained = big_trainings().make(tmp_path_factory.mktemp("salient"))
    for path in (*trained.glob("salient_*"), *trained.glob("device_*")):
        shutil.copy(path, folder)
    for path in kernel_trainings().make(tmp_path_factory.mktemp("kernels")).glob("gnn_*"):
        shutil.copy(path, folder)
    own = tmp_path_factory.mktemp("own")
    make_tables(run_of_a_file([1.5, 0.9, 1.0], device="NVIDIA H200"), own, own / "pages")
    for path in own.glob("own_workloads*"):
        shutil.copy(path, folder)
    return folder
