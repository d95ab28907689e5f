"""A kernel's own parameters, searched: an optimiser proposes, the judge decides, and no model is asked.

`search` knows no machine, `trials` compiles, prunes and times, `limits` says what no GPU can launch, `stages` reads and
writes files.
"""
