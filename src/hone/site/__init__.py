"""The explorer: a run's records as a static site, from a leaderboard's cell down to the samples of one verdict.

    run         a run's records, each with the file and line that it stands on
    entries     one row an answer, of all methods
    answer      the page of one answer
    sources     source text as tokens, and where two texts differ
    board       the leaderboard, by clock and rule
    problems    statements, workloads, floors
    paths       turns and rounds as trees
    pairs       two sides on the same problems
    cases       ten answers to read, in sentences
    tables      the CSV files, with what their columns mean
    home        what ran and what came out
    writer      data files, pages, assets
    stages      the steps of the pipeline: files in, a folder out

The site computes no result: what it shows is out of records and tables.
"""
