import shutil
from pathlib import Path

import pytest

from .rounds import big_kit
from .trainings import big_trainings, kernel_trainings
from .world import big_world


@pytest.fixture(scope="session")
def tables(tmp_path_factory) -> Path:
    """Tables of `big_world`, of `big_kit` for Astra, and of `big_trainings` and `kernel_trainings` for trainings."""
    folder = big_world().make(tmp_path_factory.mktemp("tables"))
    improved = big_kit().make(tmp_path_factory.mktemp("astra"))
    for path in (*improved.glob("astra_*"), *improved.glob("search_*")):
        shutil.copy(path, folder)
    trained = big_trainings().make(tmp_path_factory.mktemp("salient"))
    for path in (*trained.glob("salient_*"), *trained.glob("device_*")):
        shutil.copy(path, folder)
    for path in kernel_trainings().make(tmp_path_factory.mktemp("kernels")).glob("gnn_*"):
        shutil.copy(path, folder)
    return folder
