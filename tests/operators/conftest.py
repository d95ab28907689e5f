"""Operators of the small kernels, each compiled once."""

import pytest

from hone.compile import build_all
from hone.operators import Operator
from tests.operators.kernels import DEFINITIONS, MERGE_DEFINITION, NORM_DEFINITION, SILU_DEFINITION, SILU_WORKLOADS
from tests.operators.kernels import solution as solution_of


@pytest.fixture(scope="session")
def small_store(tmp_path_factory):
    """A store with the three kernels, and their builds by definition."""
    store = tmp_path_factory.mktemp("operators") / "store"
    known = {item.name: item for item in DEFINITIONS}
    kernels = [solution_of(item) for item in DEFINITIONS]
    builds = build_all(kernels, known, store=store, timeout_s=120, workers=2, progress=False)
    assert all(build.artifact for build in builds), [build.log for build in builds]
    return store, {kernel.definition: build for kernel, build in zip(kernels, builds, strict=True)}


@pytest.fixture(scope="session")
def load(small_store):
    """Loads the operator of a definition."""
    store, builds = small_store

    def operator(definition, workloads=(), replaces=()):
        build = builds[definition.name]
        return Operator.load(definition, solution_of(definition), build, store, workloads, replaces)

    return operator


@pytest.fixture(scope="session")
def silu(load):
    return load(SILU_DEFINITION, SILU_WORKLOADS)


@pytest.fixture(scope="session")
def norm(load):
    return load(NORM_DEFINITION)


@pytest.fixture(scope="session")
def merge(load):
    return load(MERGE_DEFINITION)
