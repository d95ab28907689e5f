"""Astra (arXiv 2509.07506): roles that improve an existing kernel in rounds, and the single agent beside them.

suite -> history -> evidence -> prompts: the shapes that the testing role asked for, what became of every version on
them, that as text, and the text in each role's template.
"""
