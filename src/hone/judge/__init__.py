"""Verdicts on solutions: `judge_all` in `hone.judge.judging`.

Nothing is imported here: the processes that run solutions import single modules of this package and no more.
"""
