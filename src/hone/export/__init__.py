"""A run in the forms of other tools: Inspect's log, flashinfer-bench's trace set, tables of answers.

Hone's own JSON lines remain the truth. What another form has no word for stands in its free fields.
"""
