"""Solutions to shared objects: `build_all`. Needs compilers, but neither torch nor a GPU."""

from hone.compile.builds import build_all

__all__ = ["build_all"]
