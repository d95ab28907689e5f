"""The tables of a run, a module for each: its row, how rows come from records, its caption, figures and finding.

`registry` lists them; pages, figures, the summary, the report and the rules of Snakemake read that list.
"""
