"""What an entry may say, and what is said about one that is wrong."""

from pathlib import Path

import pytest
import yaml

from hone.core.errors import SourceError
from hone.sources.extraction.entry import parse_entry
from hone.sources.extraction.names import parse_name
from tests.sources.extraction.conftest import ENTRY

ROOT = Path(__file__).parents[3]
COMMITTED = sorted(ROOT.glob("config/kernels/*/*.yaml"))


def changed(**changes):
    """The entry with other values at its top level; None removes a key."""
    values = yaml.safe_load(ENTRY) | changes
    return yaml.safe_dump({key: value for key, value in values.items() if value is not None}, sort_keys=False)


def operator(**changes):
    return {
        "packages": ["p"], "sources": ["f.cuh"], "name": "f", "function": "f<scalar_t>", "arguments": ["x", "y"],
    } | changes  # fmt: skip


def complaint(**changes):
    with pytest.raises(SourceError) as caught:
        parse_entry(changed(**changes), "1_scale.yaml")
    assert "1_scale.yaml" in str(caught.value)
    return str(caught.value)


def test_sizes_of_products_follow_and_keep_the_launchers_order():
    entry = parse_entry(ENTRY, "here")
    assert list(entry.sizes(entry.workloads[0]).items()) == [("rows", 4), ("columns", 8), ("both", 16)]
    assert entry.dtypes_of(entry.workloads[0]) == ("float32",)


def test_a_formula_gives_the_sizes_of_its_axis():
    entry = parse_entry(ENTRY.replace("2 * columns", "(columns + 3) // 4"), "here")
    assert [entry.sizes(shape)["both"] for shape in entry.workloads] == [2, 2]
    assert entry.formulas == {"both": "(columns + 3) // 4"}


def test_what_an_operator_is_given():
    arguments = ["x", {"tensor": "y", "shape": ["rows * both", 1]}, {"shape": [4]}, "rows * 2", None, True, 1, 0.5]
    found = parse_entry(changed(operator=operator(arguments=arguments)), "here").operator.arguments
    assert [type(item).__name__ for item in found] == [
        "str", "OperatorTensor", "OperatorTensor", "str", "NoneType", "bool", "int", "float",
    ]  # fmt: skip


def test_names_of_files():
    assert parse_name("config/kernels/own/12_silu_and_mul.yaml") == (12, "silu_and_mul")
    assert parse_name("silu.yaml") is None
    assert parse_name("1_silu.yml") is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"dtypes": ["int8"]}, "dtypes: 'int8' is not one of float16, bfloat16, float32"),
        ({"dtypes": []}, "x: needs a dtype, because the entry has no dtypes that it could follow"),
        ({"flgs": ["-O3"]}, "flgs: unknown key"),
        ({"reference": None}, "reference: Field required"),
        ({"outputs": []}, "outputs: there is none, and no input is in_place"),
        ({"outputs": [{"name": "x", "axes": ["rows"]}]}, "'x' stands for two things"),
        ({"outputs": [{"name": "y", "axes": ["depth"]}]}, "y: 'depth' is not among the axes"),
        ({"axes": {"rows": None, "columns": None, "both": "columns ** 2"}}, "axes.both: 'columns ** 2' is no formula"),
        (
            {"axes": {"rows": None, "columns": None, "both": "2 * column"}},
            "'column' of '2 * column' is not among the axes",
        ),
        ({"axes": {"rows": None, "columns": "2 * both", "both": "2 * rows"}}, "a formula of a formula"),
        (
            {"axes": {"rows": None, "columns": None, "both": "columns / 3"}},
            "workloads.usual.axes: 'columns / 3' gives no size at columns = 8: columns / 3 is not whole",
        ),
        ({"language": "triton"}, "language: cuda or cpp, not triton"),
        (
            {"outputs": [{"name": "y", "axes": ["rows"], "dtype": "float8_e5m2"}]},
            "language: cpp has no type for float8_e5m2",
        ),
        ({"workloads": [{"name": "usual", "axes": {"rows": 4}}]}, "workloads.usual.axes: needs exactly rows, columns"),
        (
            {"workloads": [{"name": "usual", "axes": {"rows": 4, "columns": 2}, "dtypes": ["float16"]}]},
            "'float16' is not among the entry's dtypes",
        ),
        ({"workloads": [{"name": "usual", "axes": {"rows": 0, "columns": 2}}]}, "workloads.0.axes.rows"),
        ({"inputs": [{"name": "x"}]}, "needs axes, or scalar"),
        ({"inputs": [{"name": "x", "scalar": "float64", "axes": ["rows"]}]}, "a scalar has a type alone"),
        ({"inputs": [{"name": "X", "axes": ["rows"]}]}, "must start with a small letter"),
        ({"kernels": {"current": {"packages": ["p"], "headers": ["h"], "body": ""}}}, "there is no 'upstream'"),
        ({"operator": operator(sources=[])}, "operator: function: needs sources, and no template"),
        ({"operator": operator(arguments=["x", "z"])}, "arguments: 'z' is neither an input, an output nor an axis"),
        ({"operator": operator(arguments=[{"shape": ["depth"]}])}, "'depth' is neither an input, an output nor an"),
        ({"operator": operator(arguments=[{"tensor": "factor", "shape": [1]}])}, "'factor' is no tensor of the entry"),
        ({"operator": operator(arguments=["rows ** 2"])}, "operator.arguments: 'rows ** 2' is no formula"),
    ],
)
def test_what_is_wrong_is_named(changes, expected):
    assert expected in complaint(**changes)


def test_text_that_is_no_entry():
    with pytest.raises(SourceError, match="is not YAML"):
        parse_entry("a: [", "here")
    with pytest.raises(SourceError, match="key: value"):
        parse_entry("- a\n", "here")


def test_several_mistakes_are_named_at_once():
    said = complaint(dtypes=["int8"], flgs=1)
    assert "int8" in said
    assert "flgs" in said


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_committed_entries_are_valid_and_keep_something_back(path):
    entry = parse_entry(path.read_text(encoding="utf-8"), str(path))
    assert parse_name(path)
    held_out = [shape for shape in entry.workloads if shape.held_out]
    assert 0 < len(held_out) < len(entry.workloads) / 2
    assert not entry.workloads[0].held_out, "the first workload gives the definition its sizes, which are shown"
    assert set(entry.tolerances) == set(entry.dtypes)
    used = {dtype for shape in entry.workloads for dtype in entry.dtypes_of(shape)}
    assert used == set(entry.dtypes), "every launcher is judged"


def test_committed_entries_are_numbered_from_one():
    for folder in (ROOT / "config/kernels").iterdir():
        numbers = sorted(parse_name(path)[0] for path in folder.glob("*.yaml"))
        assert numbers == list(range(1, len(numbers) + 1))
