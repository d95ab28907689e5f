"""The parts of the comparison with packages' own functions that need no GPU."""

from pathlib import Path

import pytest
import torch

from hone.config.sources import FolderPackage, KernelsSource
from hone.core.errors import ConfigError, SourceError
from hone.records import Tolerance
from hone.sources.extraction.entry import Operator, Template
from hone.sources.extraction.packages import open_package
from studies.operators.package_sources import rendered, text_constant, write_sources
from studies.operators.upstream import COLUMNS, compare, mismatches
from studies.operators.upstream_child import _same_bits, worst_share

ROOT = Path(__file__).parents[2]
TEMPLATE = 'raise SystemExit("never executed")\nSOURCE = """void {{ name }}() { {{ body }} }"""\nCOUNT = 3\n'


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    (folder / "csrc").mkdir(parents=True)
    (folder / "include").mkdir()
    (folder / "csrc" / "norm.cu").write_text("// norm\n")
    (folder / "include" / "norm.h").write_text("// header\n")
    (folder / "texts.py").write_text(TEMPLATE)
    (folder / "more.py").write_text('BODY = "return;"\n')
    return FolderPackage(kind="folder", path=str(folder), include=("include",))


TEXT = Template(file="texts.py", variable="SOURCE", values={"name": "f"}, values_from={"body": "more.py:BODY"})


def test_sources_are_written_beside_the_unpacked_package(package, tmp_path):
    operators = {
        "norm": Operator(
            packages=("own",), sources=("csrc/norm.cu",), prelude="first.h", flags=("-O3",), name="norm", arguments=()
        ),
        "made": Operator(packages=("own",), template=TEXT, flags=("-O3", "-g"), name="f", arguments=("x", True)),
    }
    found = write_sources(operators, {"own": package}, tmp_path / "out")
    assert [path.name for path in found.sources] == ["hone_norm.cu", "hone_made.cu"]
    assert found.sources[0].read_text() == '#include <first.h>\n#include "norm.cu"\n'
    assert found.sources[1].read_text() == "void f() { return; }"
    assert found.flags == ("-O3", "-g")
    assert [path.relative_to(tmp_path / "out").as_posix() for path in found.include] == ["own/csrc", "own/include"]
    assert (tmp_path / "out/own/csrc/norm.cu").read_text() == "// norm\n"
    assert set(found.message()) == {"sources", "include", "flags"}


def test_a_package_without_what_is_asked_for(package, tmp_path):
    tree = open_package("own", package.model_copy(update={"include": (".",)}))
    assert rendered(TEXT, tree) == "void f() { return; }"
    with pytest.raises(SourceError, match="assigns no text to COUNT"):
        text_constant(tree, "texts.py", "COUNT")
    with pytest.raises(SourceError, match="no such file"):
        text_constant(tree, "text.py", "SOURCE")
    missing = Operator(packages=("own",), sources=("csrc/gone.cu",), name="gone", arguments=())
    with pytest.raises(SourceError, match=r"csrc/gone\.cu"):
        write_sources({"gone": missing}, {"own": package}, tmp_path / "out")


def test_the_worst_share_of_the_tolerance():
    tolerance = Tolerance(atol=0.1, rtol=0.1)
    wanted = torch.tensor([1.0, 0.0, -2.0])
    assert worst_share([wanted], [wanted], tolerance) == 0.0
    assert worst_share([wanted + 0.1], [wanted], tolerance) == pytest.approx(1.0)
    nan, inf = torch.tensor([float("nan")]), torch.tensor([float("inf")])
    assert worst_share([nan, inf], [nan, inf], tolerance) == 0.0
    assert worst_share([nan], [torch.tensor([0.0])], tolerance) == float("inf")
    assert worst_share([inf], [-inf], tolerance) == float("inf")
    assert worst_share([], [], tolerance) == 0.0
    assert not _same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))


def test_what_was_not_compared_or_is_off_counts_against_the_extraction():
    rows = [
        {"kernel": "a", "workload": "w", "difference_share": 0.0},
        {"kernel": "a", "workload": "x", "difference_share": 1.5},
        {"kernel": "a", "workload": "y", "difference_share": float("nan")},
        {"kernel": "b", "detail": "the entry names no operator"},
    ]
    said = mismatches(rows)
    assert len(said) == 3
    assert "a x: off by 1.5" in said[0]
    assert "b: not compared: the entry names no operator" in said[2]
    assert mismatches(rows[:1]) == []


def test_a_kernel_without_an_operator_is_built_but_not_compared(tmp_path):
    own = FolderPackage(kind="folder", path=str(ROOT / "resources/kernels/miniature"))
    source = KernelsSource(
        kind="kernels", path=str(ROOT / "config/kernels/miniature"), levels={1: 1}, packages={"own": own}
    )
    [row] = compare("miniature", source, tmp_path)
    assert set(row) <= set(COLUMNS)
    assert row["build_s"] > 0
    assert row["detail"] == "the entry names no operator"
    with pytest.raises(ConfigError, match="no kernel 'softmax'"):
        list(compare("miniature", source, tmp_path, kernels=["softmax"]))
