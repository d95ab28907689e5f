# A diagonal matrix times a matrix: row i is scaled by element i of the diagonal. Nothing is compiled.
# definition: kernelbench_v01/level1/12_Matmul_with_diagonal_matrices_
# expected: passed
from torch import nn


class ModelNew(nn.Module):
    def forward(self, diagonal, matrix):
        return matrix * diagonal[:, None]
