"""What the text of answers tells of their verdicts, by hand."""

from hone.records import Solution, Status
from hone.tables.registry import TABLES
from tests.analysis.tables import read_table
from tests.analysis.world import World, definition, settings_for

PROBLEM = "mini/level1/1_problem"
MODULE = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"
KERNEL = "import triton\n@triton.jit\ndef kernel(x):\n    pass\n" + MODULE.format("kernel[(1,)](x)")
SOURCES = {
    "class ModelNew(:": Status.LOAD_ERROR,
    "class Other: pass": Status.PASSED,  # flagged, and wrongly
    MODULE.format("x + 1"): 3.0,  # no kernel of its own, and a finding says so
    MODULE.format("x + 2"): Status.WRONG_VALUE,
    KERNEL: 2.0,
    KERNEL + "# slow": Status.TIMEOUT,  # which no text tells
}


def table_of(folder):
    world = World(settings_for({1: 1}, one={"samples": len(SOURCES)}), [definition(1, 1)])
    for sample, (source, outcome) in enumerate(SOURCES.items()):
        solution = Solution(definition=PROBLEM, language="python", entry_point="ModelNew", source=source)
        world.solutions.append(solution)
        world._add_candidate((PROBLEM, 0, sample), "one", "recorded/demo", solution.id)
        found = {"findings": ("no_custom_kernel",)} if outcome == 3.0 else {}
        world._add_trace(solution.id, PROBLEM, outcome, **found)
    return read_table("screen_agreement", world.make(folder)).set_index(["foretells", "check"])


def test_each_check_is_held_against_the_verdicts(tmp_path):
    table = table_of(tmp_path)
    assert (table["answers"] == len(SOURCES)).all()
    columns = ["flagged", "borne_out", "outcomes"]
    expected = {
        ("no pass", "cannot be parsed"): (1, 1, 3),
        ("no pass", "no class ModelNew"): (1, 0, 3),
        ("no pass", "any of these"): (2, 1, 3),
        ("no credit", "no kernel of its own"): (3, 2, 4),
        ("no credit", "any of these"): (4, 3, 4),
        ("no credit", "TF32"): (0, 0, 4),
    }
    for place, counts in expected.items():
        assert tuple(table.loc[place, columns]) == counts, place
    both = table.loc[("no credit", "any of these")]
    assert (both["precision"], both["recall"]) == (0.75, 0.75)
    assert both["precision_low"] < 0.75 < both["precision_high"]
    assert table.loc[("no credit", "TF32"), ["precision", "precision_low"]].isna().all()


def test_the_page_says_what_each_share_is_of(tmp_path):
    page = TABLES["screen_agreement"].layout(table_of(tmp_path).reset_index()).set_index(["foretells", "check"])
    assert page.loc[("no credit", "any of these"), "precision"].startswith("75 % (")
    assert page.loc[("no credit", "any of these"), "precision"].endswith(": 3 of 4")
    assert page.loc[("no credit", "any of these"), "recall"] == "75 %: 3 of 4"
    assert ("no credit", "TF32") not in page.index


def test_a_run_without_sources_has_no_rows(tmp_path):
    world = World(settings_for({1: 1}, one={}), [definition(1, 1)])
    world.add((PROBLEM, 0, 0), 2.0)
    assert not len(read_table("screen_agreement", world.make(tmp_path)))
