"""The small run of the explorer's tests."""

from tests.site.conftest import run, world

__all__ = ["run", "world"]
