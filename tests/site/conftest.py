"""A small site, made once."""

import json

import pytest

from tests.site.world import site_run, small


@pytest.fixture(scope="session")
def world():
    return small()


@pytest.fixture(scope="session")
def run(world):
    return site_run(world.settings, world.records())


@pytest.fixture(scope="session")
def site(world, tmp_path_factory):
    return world.make(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def data(site):
    """Name of a data file -> what it puts, as a browser reads it."""

    def read(name):
        text = (site / f"data/{name}.js").read_text()
        head, _, rest = text.partition(",")
        assert head == f'hone.put("{name}"'
        return json.loads(rest.removesuffix(");\n"))

    return read
