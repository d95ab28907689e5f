from pathlib import Path

import pytest

from .world import big_world


@pytest.fixture(scope="session")
def tables(tmp_path_factory) -> Path:
    """Tables of `big_world`."""
    return big_world().make(tmp_path_factory.mktemp("tables"))
