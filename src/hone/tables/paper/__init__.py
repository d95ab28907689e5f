"""A paper's tables and figures in its own shapes: a page each, our numbers beside the printed ones.

`kernelbench` describes the pages. One more table is one more `Grid` there: its rows, its columns and what all of its
cells share. `numbers` finds what stands in a cell, `grid` lays a description out, `write` makes pages of it.
"""
