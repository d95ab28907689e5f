"""Tests of hone.llm; `python -m tests.llm.campaign` runs the long one."""
