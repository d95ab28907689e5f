"""Static screening: what a solution's text says about it, without a compiler, a GPU or PyTorch.

Nothing of a source is executed. What is found is what the text shows: a hint for people and for the judge, no verdict.
"""

from hone.screen.kernels import kind_of_kernel, packages_needed
from hone.screen.screening import Screening, screen

__all__ = ["Screening", "kind_of_kernel", "packages_needed", "screen"]
