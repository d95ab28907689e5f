"""Verdicts on solutions: `judge_all` in `hone.judge.judging`, `gold_solution` in `hone.judge.gold`.

Nothing is imported here: the processes that run solutions import single modules of this package and no more.
"""
