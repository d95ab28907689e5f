"""Astra (arXiv 2509.07506): roles that improve an existing kernel in rounds, and the single agent beside them.

suite      the shapes that the testing role asked for
history    what became of every version on them
evidence   that as text
prompts    the text in each role's template
"""
