"""Held-out sizes: checked against what the problem does, kept from whoever writes a solution."""

import pytest

from hone.config.sources import LocalSource
from hone.core.errors import SourceError
from hone.sources.fetch import fetch
from hone.sources.held_out import HeldOutError, read_entries
from hone.sources.inspect import define
from hone.sources.inspect_child import report
from hone.sources.problem import read_problem, without_held_out
from hone.sources.soundness import Soundness

PROBLEM = """import torch
from torch import nn
rows = 8
columns = 8
batch = 6
K = 3
half = columns // 2
class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
    def forward(self, x, y): return (x * self.weight).sum(0), y @ x
def get_inputs(): return [torch.randn(rows, columns), torch.randn(batch, K, rows)]
def get_init_inputs(): return [columns]
"""


def inspected(field, text=PROBLEM):
    return report("tiny", f"{text}held_out_sizes = {field}\n")


def define_text(folder, *texts):
    (folder / "level1").mkdir()
    for number, text in enumerate(texts, 1):
        (folder / f"level1/{number}_a.py").write_text(text)
    return define(fetch("tiny", LocalSource(kind="local", path=str(folder), levels={1: len(texts)})), Soundness())


@pytest.mark.usefixtures("in_process")
def test_a_problem_without_the_field_has_none_and_keeps_its_text_and_names(tmp_path):
    definition = define_text(tmp_path, PROBLEM)[0][0]
    assert definition.held_out == ()
    assert definition.reference == PROBLEM
    assert "rows" not in definition.axes  # 8 could be either


def test_sizes_that_the_problem_follows_are_kept_and_name_axes_of_one_size(tmp_path):
    field = [{"rows": 5, "columns": 7}, {"k": 2, "batch": 9}]
    definition = define_text(tmp_path, f"{PROBLEM}held_out_sizes = {field}\n")[0][0]
    assert definition.held_out == ({"rows": 5, "columns": 7}, {"k": 2, "batch": 9})
    assert {name: definition.axes[name] for name in ("rows", "columns", "batch", "k")} == {
        "rows": 8, "columns": 8, "batch": 6, "k": 3,
    }  # fmt: skip
    assert [argument.shape for argument in definition.inputs] == [("rows", "columns"), ("batch", "k", "rows")]
    assert definition.parameters[0].shape == ("columns",)
    assert [argument.shape for argument in definition.outputs] == [("columns",), ("batch", "k", "columns")]


def test_one_changed_axis_tells_two_of_one_size_apart():
    inspection = inspected([{"columns": 7}]).inspection
    assert inspection.inputs[0].follows == ("rows", "columns")


def test_equal_held_out_sizes_leave_the_names_open_and_are_refused():
    assert "'rows' is not an axis" in inspected([{"rows": 5, "columns": 5}]).error


@pytest.mark.usefixtures("in_process")
def test_what_is_shown_of_the_problem_lacks_the_sizes(tmp_path):
    definition = define_text(tmp_path, f"{PROBLEM}held_out_sizes = [\n    {{'rows': 5}},\n]\nend = 1\n")[0][0]
    assert definition.held_out == ({"rows": 5},)
    assert definition.reference == f"{PROBLEM}end = 1\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a = 1; held_out_sizes = [{'é': 1}]; b = 2\n", "a = 1; pass; b = 2\n"),
        ("held_out_sizes: list = []\r\nb = 'é'\r\n", "b = 'é'\r\n"),
        ("b = 'held_out_sizes'", "b = 'held_out_sizes'"),
    ],
)
def test_only_the_assignment_is_cut_out(text, left):
    assert without_held_out(text) == left


@pytest.mark.parametrize(
    "addition", ["held_out_sizes = []\nheld_out_sizes += [1]\n", "if True:\n    held_out_sizes = []\n"]
)
def test_a_field_that_cannot_be_cut_out_is_refused(addition):
    with pytest.raises(SourceError, match="uses held_out_sizes") as caught:
        read_problem("tiny", "level1/1_a.py", (PROBLEM + addition).encode(), repository="repo", commit="local")
    assert caught.value.where == "repo: level1/1_a.py"


@pytest.mark.parametrize(
    ("field", "said", "where"),
    [
        ({"rows": 5}, "is a dict, not a list", "held_out_sizes"),
        ([{"rows": 5}, ["rows"]], "is not a dictionary", "held_out_sizes[1]"),
        ([{}], "is not a dictionary", "held_out_sizes[0]"),
        ([{"row": 5}], "'row' is not an axis", "held_out_sizes[0]"),
        ([{1: 5}], "1 is not an axis", "held_out_sizes[0]"),
        ([{"rows": 5.0}], "float, not a whole number", "held_out_sizes[0]"),
        ([{"rows": True}], "bool, not a whole number", "held_out_sizes[0]"),
        ([{"rows": 0}], "is 0, less than 1", "held_out_sizes[0]"),
    ],
)
def test_a_wrong_form_is_named(field, said, where):
    with pytest.raises(HeldOutError) as caught:
        read_entries(field, {"rows": 8, "columns": 8})
    assert said in str(caught.value)
    assert caught.value.where == where
    assert caught.value.remedy


STALE = PROBLEM.replace("def get_inputs(): return [", "x = [torch.randn(8, 8)]\ndef get_inputs(): return [").replace(
    "[torch.randn(rows, columns),", "[x[0],"
)
RANK = PROBLEM.replace("(x * self.weight).sum(0), y @ x", "x.sum(0) if x.shape[0] == 8 else x")


@pytest.mark.parametrize(
    ("text", "field", "said"),
    [
        (PROBLEM, [{"half": 2}], "'half' is not an axis"),
        (PROBLEM, [{"columns": 7}, {"columns": 5, "batch": 0}], "less than 1"),
        (PROBLEM.replace("[columns]", "[8]"), [{"columns": 7}], "the problem fails with these sizes: RuntimeError"),
        (PROBLEM.replace("x * self.weight", "x"), [{"columns": 7}], ""),
        (STALE, [{"batch": 3}], ""),
        (STALE, [{"rows": 6}], "the problem fails with these sizes"),
        (RANK, [{"rows": 6}], "the number of outputs or of their dimensions changes"),
        (
            PROBLEM.replace("torch.randn(batch,", "torch.randn(6,"),
            [{"batch": 3}],
            "becomes (6, 3, 8) float32, not (3, 3, 8)",
        ),
        (PROBLEM.replace("y @ x", "(y @ x).double() if rows == 5 else y @ x"), [{"rows": 5}], "float64, not (6, 3, 8)"),
    ],
)
def test_sizes_that_the_problem_does_not_follow_are_refused(text, field, said):
    found = inspected(field, text)
    assert said in found.error
    assert bool(said) == (found.inspection is None) == bool(found.field) == bool(found.remedy)


def test_a_wrong_field_stops_the_definitions_with_file_field_and_remedy(tmp_path):
    with pytest.raises(SourceError, match="'row' is not an axis") as caught:
        define_text(tmp_path, PROBLEM, f"{PROBLEM}held_out_sizes = [{{'row': 1}}]\n")
    assert caught.value.where == f"{tmp_path}: level1/2_a.py: held_out_sizes[0]"
    assert "rows" in caught.value.remedy
