"""The kind `products_like`: as `papers100m_like`; the law knows the size of either."""

from hone.gnn.datasets import papers100m_like

read = papers100m_like.read
