"""A verdict in words: every number has its unit or its baseline, every status and finding its sentence."""

from typing import get_args

import pytest

from hone.records import Finding, Status
from hone.records.trace import AsPublished, ErrorFigures
from hone.solutions.verdict import DETAIL_LINES, FINDINGS, STATUSES, verdict_lines
from tests.analysis.world import settings_for, trace

SETTINGS = settings_for(baselines=("torch_eager", "torch_compile"), one={})


def said(found):
    return "\n".join(verdict_lines(found, "kernel.cpp"))


def test_every_status_and_finding_has_its_sentence():
    assert set(STATUSES) == set(Status)
    assert set(FINDINGS) == set(get_args(Finding))
    assert all(sentence.endswith(".") for sentence in (*STATUSES.values(), *FINDINGS.values()))


def test_a_timed_verdict_says_how_fast_over_each_baseline_and_how_sure():
    lines = said(trace(SETTINGS, "s", "d", speedup=0.39))
    assert lines.startswith("kernel.cpp: passed\n")
    for name in SETTINGS.baselines:
        assert f"0.39 times {name} (95% interval 0." in lines


def test_a_finding_is_explained_and_credits_nothing():
    lines = said(trace(SETTINGS, "s", "d", speedup=40.0, findings=("below_floor", "slow_times")))
    assert FINDINGS["below_floor"] in lines
    assert FINDINGS["slow_times"] in lines
    assert lines.count("earns no speedup") == 1
    assert "earns no speedup" not in said(trace(SETTINGS, "s", "d", speedup=2.0))


def test_the_published_clock_stands_beside_the_own():
    published = AsPublished(
        version="v0", trials=3, solution_ms=1.0, baselines_ms={"torch_eager": 3.0}, solution_wall_ms=2.0
    )
    lines = said(trace(SETTINGS, "s", "d", speedup=2.0, as_published=published, status_as_published=Status.PASSED))
    assert "2.00 times torch_eager" in lines
    assert "3.00 times torch_eager by KernelBench's own loop (v0)" in lines
    assert "passed by KernelBench's rule" in lines


def test_errors_are_told_beside_the_baselines():
    errors = ErrorFigures(
        max_abs_error=1e-3, max_rel_error=0.5, wrong_fraction=0.25, exact_error=2e-7, baseline_exact_error=1e-7
    )
    lines = said(trace(SETTINGS, "s", "d", Status.WRONG_VALUE, errors=errors))
    assert "0.001 absolute, 0.5 relative; 25.000% of the elements outside the tolerance" in lines
    assert "2e-07 from the exact result; the baseline's is 1e-07" in lines


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PASSED])
def test_another_verdict_says_what_was_wrong(status):
    lines = said(trace(SETTINGS, "s", "d", status))
    assert STATUSES[status] in lines
    assert f"why | <b>{status}</b>" in lines
    assert "speedup" not in lines


def test_a_verdict_fits_on_one_screen():
    lines = said(trace(SETTINGS, "s", "d", Status.COMPILE_ERROR, detail="error\n" * 200)).splitlines()
    assert len(lines) < DETAIL_LINES + 8
    assert "--json shows all" in "\n".join(lines)
