"""Kernels as PyTorch operators: registered, checked, and put into the place of other packages' functions.

    operator = Operator.load(definition, solution, build, store, workloads, read_replacements(definition, folder))
    with replaced(operator) as swap: ...

Imports PyTorch when an operator is made, not before.
"""

from hone.operators.contract import Contract, OperatorError
from hone.operators.dropin import Counts, replaced
from hone.operators.operator import Operator
from hone.sources.extraction.replacement import Replacement, read_replacements

__all__ = ["Contract", "Counts", "Operator", "OperatorError", "Replacement", "read_replacements", "replaced"]
