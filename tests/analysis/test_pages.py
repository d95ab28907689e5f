"""Trajectory pages: the versions in order, with what changed, why, and what it gave."""

import re

import pytest

from hone.analysis.pages import DIFF_LINES, fenced, wrapped, write_pages
from hone.records import Status

from .rounds import Kit, kernel, settings_for

BEFORE = "void launch() {\n  slow();\n}\n"
AFTER = "void launch() {\n  fast();\n}\n"


@pytest.fixture
def made() -> Kit:
    kit = Kit(settings_for(1, multi={"turns": 4, "astra": {"start_from": "best"}}), [kernel(1, "silu_and_mul")])
    kit.start("multi")
    kit.add("multi", 1, 1.5, 1.4, source=BEFORE)
    kit.add("multi", 2, Status.WRONG_VALUE, Status.WRONG_VALUE, source="void launch() { wrong(); }\n")
    kit.add("multi", 3, 2.0, 2.0, source=AFTER)
    kit.say("multi", 1, "planning", "Read 16 bytes at once.\n\n```cpp\nint hidden;\n```\nThen unroll <b>twice</b>.")
    kit.say("multi", 3, "coding", "not the reason")
    return kit


def page(kit: Kit, folder, experiment="multi") -> str:
    paths = write_pages(kit.settings, experiment, kit.records(), folder)
    assert [path.name for path in paths] == ["silu_and_mul.md", "index.md"]
    return paths[0].read_text(encoding="utf-8")


def test_versions_are_numbered_in_order_with_reason_change_and_effect(made, tmp_path):
    text = page(made, tmp_path)
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == [
        "0. the upstream kernel", "1. round 1", "2. round 2", "3. round 3"
    ]  # fmt: skip
    assert "Read 16 bytes at once." in text
    assert "int hidden" not in text
    assert "not the reason" not in text
    assert text.count("Why: nobody said so.") == 2
    assert "- on the suite: passed, right on 2 of 2, speedup 1.5 (1.5 to 1.5 by workload)" in text
    assert "- on all workloads: wrong_value, right on 0 of 3" in text
    assert "| k | 33 | 0 | 0 | 0 |" in text


def test_a_diff_is_against_the_version_that_the_round_started_from(made, tmp_path):
    text = page(made, tmp_path)
    assert "What changed since version 1: lines added 1, removed 1." in text
    assert "--- version 1\n+++ version 3\n" in text
    assert "-  slow();\n+  fast();\n" in text
    assert "| 3. round 3 | version 1 | passed | 2.000 | passed | 2.000 | 35 | 3 | winner |" in text


def test_a_version_that_is_not_evaluated_says_so(tmp_path):
    kit = Kit(settings_for(1, multi={"astra": {"evaluate": "winner"}}), [kernel(1, "silu_and_mul")])
    kit.start("multi")
    kit.add("multi", 1, 1.5, 1.4)
    kit.add("multi", 2, 1.2, None)
    text = page(kit, tmp_path)
    assert text.count("- on all workloads: not evaluated, as the winner alone is") == 1
    assert "| 2. round 2 | version 1 | passed | 1.200 | not_evaluated |  |" in text


def test_a_long_diff_is_cut_and_the_source_is_whole(made, tmp_path):
    long = "void launch() {\n" + "".join(f"  step({at});\n" for at in range(2 * DIFF_LINES)) + "}\n"
    made.candidates = made.candidates[:-1]
    made.add("multi", 3, 3.0, 3.0, source=long)
    text = page(made, tmp_path)
    assert re.search(r"\[\d+ more lines of the diff\]", text)
    assert f"  step({2 * DIFF_LINES - 1});" in text


def test_the_single_agent_s_own_words_and_the_lost_versions(tmp_path):
    kit = Kit(settings_for(1, single={"method": "astra_single", "turns": 4}), [kernel(1, "silu_and_mul")])
    kit.start("single")
    kit.add("single", 1, 1.5, 1.4)
    kit.no_code("single", 2)
    kit.say("single", 1, "single", "I unrolled the loop.\n\n```cpp\nvoid launch() {}\n")
    text = page(kit, tmp_path, "single")
    assert "Why, in the words of the role `single`:\n\n```text\nI unrolled the loop.\n```" in text
    assert "- no kernel, no_code: no code block" in text
    assert "- no kernel, missing: no candidate" in text
    refused = {"unanswered": True, "problem": "unanswered: HTTP 400: no"}
    kit.candidates[-1] = kit.candidates[-1].model_copy(update=refused)
    assert "- no kernel, unanswered: unanswered: HTTP 400: no" in page(kit, tmp_path, "single")


def test_a_note_for_later_kernels_closes_the_page(made, tmp_path):
    made.say("multi", 4, "experience", "Vector loads paid.")
    assert page(made, tmp_path).rstrip().endswith("Vector loads paid.\n```")


def test_the_index_lists_every_kernel(made, tmp_path):
    page(made, tmp_path)
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "[silu_and_mul](silu_and_mul.md) | recorded/demo | 3 | 2.000 | passed, right on 3 of 3, speedup 2" in index


def test_pages_are_the_same_every_time(made, tmp_path):
    assert page(made, tmp_path / "a") == page(made, tmp_path / "b")


def test_a_text_cannot_close_its_fence_and_long_ones_are_folded_and_cut():
    assert fenced("a\n````\nb", "text") == "`````text\na\n````\nb\n`````"
    folded = wrapped("word " * 2000)
    assert max(map(len, folded.splitlines())) <= 110
    assert folded.endswith("[…]")
