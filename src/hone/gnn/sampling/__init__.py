"""The C++ neighbour sampler: uniform, seeded for each batch, as many threads as wanted, slots that are used again."""

from hone.gnn.sampling.build import build_sampler
from hone.gnn.sampling.design import Design
from hone.gnn.sampling.handle import SamplerError
from hone.gnn.sampling.pages import in_large_pages
from hone.gnn.sampling.sampler import Sampler

__all__ = ["Design", "Sampler", "SamplerError", "build_sampler", "in_large_pages"]
