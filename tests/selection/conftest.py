"""Selected kernels run in the same small trainings as the builtins."""

from tests.gnn.conftest import _one_thread, library, small_graph  # noqa: F401  fixtures
