"""From a folder of entries to definitions with stand-alone sources, and workloads."""

import ctypes
import shutil
from pathlib import Path

import pytest
import torch

from hone.compile import build_all
from hone.compile.kernels import kernel_solution
from hone.config.settings import load
from hone.config.sources import FolderPackage
from hone.core.errors import ConfigError, SourceError
from hone.core.files import read_records, write_records
from hone.launcher import signatures
from hone.records import Definition, Language, Tolerance, Upstream
from hone.sources.extraction.define import _definition, _workloads, define
from hone.sources.extraction.entry import parse_entry
from hone.sources.extraction.fetch import KernelFile, entry_paths, fetch, read_entries
from studies.operators.upstream_child import WorkloadRun, worst_share
from tests.sources.extraction.conftest import ENTRY

ROOT = Path(__file__).parents[3]
MINIATURE = ROOT / "config/kernels/miniature"
OWN = FolderPackage(kind="folder", path=str(ROOT / "resources/kernels/miniature"))


def rewrite(source, *changes):
    """Replace parts of the entry's text."""
    path = Path(source.path) / "1_scale.yaml"
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def test_an_entry_becomes_a_definition_and_a_workload_for_each_shape_and_type(source):
    files = fetch("own", source)
    [definition], workloads = define(files, baselines=("torch_eager", "upstream", "current"))
    assert definition.name == "own/level1/1_scale"
    assert definition.axes == {"rows": 4, "columns": 8, "both": 16}
    assert definition.baselines == ("torch_eager", "upstream"), "what it does not have is left out"
    assert definition.kernel_language is Language.CPP
    assert definition.compulsory_bytes == 2 * 4 * 16 * 4
    assert definition.upstream.path == "include/scale.h"
    assert [(load.name, load.axes["both"], load.dtype, load.held_out) for load in workloads] == [
        ("usual_float32", 16, "float32", False),
        ("odd_float32", 10, "float32", True),
    ]
    assert workloads[0].tolerance == Tolerance(atol=1e-6, rtol=1e-6)
    namespace = {}
    exec(definition.reference, namespace)
    assert namespace["get_inputs"]()[0].shape == (4, 16)


@pytest.mark.usefixtures("in_process")
def test_the_stand_alone_source_has_what_it_needs_and_no_more(source):
    [definition], _ = define(fetch("own", source))
    text = definition.kernels["upstream"]
    assert "include/scale.h" in text.split("#include")[0], "where it comes from stands on top"
    for word in ("void scale(", "T twice(", "#include <cstdint>", *signatures(definition, Language.CPP)):
        assert word in text, word
    for word in ('#include "', "unused", "nobody calls", "#pragma once"):
        assert word not in text, word


@pytest.mark.usefixtures("in_process")
def test_an_entry_without_data_types_has_one_launcher(source):
    rewrite(
        source,
        ("dtypes: [float32]\n", ""),
        ("{name: x, axes: [rows, both]}", "{name: x, axes: [rows, both], dtype: float32}"),
        ("{name: y, axes: [rows, both]}", "{name: y, axes: [rows, both], dtype: float32}"),
        ("own::scale<scalar_t>", "own::scale<float>"),
    )
    [definition], workloads = define(fetch("own", source))
    assert definition.dtypes == ()
    text = definition.kernels["upstream"]
    assert signatures(definition, Language.CPP)[0] in text
    assert "void launch(const float* x, double factor, float* y, int64_t rows" in text
    assert "scalar_t" not in text
    assert [(load.name, load.dtype) for load in workloads] == [("usual", "float32"), ("odd", "float32")]


@pytest.mark.usefixtures("in_process")
def test_what_was_fetched_is_enough_to_define(source, tmp_path):
    write_records(tmp_path / "own.jsonl", fetch("own", source))
    shutil.rmtree(source.packages["small"].path)
    [definition], workloads = define(read_records(tmp_path / "own.jsonl", KernelFile))
    assert "T twice(" in definition.kernels["upstream"]
    assert len(workloads) == 2
    with pytest.raises(SourceError, match=r"packages: .*no such folder"):
        fetch("own", source)


@pytest.mark.usefixtures("in_process")
def test_a_data_type_without_a_tolerance_takes_the_sources(source):
    rewrite(source, ("tolerances:\n  float32: {rtol: 1.0e-6, atol: 1.0e-6}\n", ""))
    _, workloads = define(fetch("own", source), Tolerance(atol=0.5, rtol=0.25))
    assert {load.tolerance.atol for load in workloads} == {0.5}


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("torch.randn(ROWS, BOTH)", "torch.randn(BOTH, ROWS)", r"usual: the reference's inputs are x \(16, 4\)"),
        ("torch.randn(ROWS, BOTH)", "torch.randn(4, 16)", r"odd: the reference's inputs are x \(4, 16\)"),
        (
            "return 2 * x * factor",
            "return (2 * x * factor).sum()",
            r"outputs are  \(\) float32, the entry says  \(4, 16",
        ),
        ("return 2 * x * factor", "return x @ x", "the sizes of usual: fails: RuntimeError"),
        ("torch.randn(ROWS, BOTH)", "torch.randn(rows, BOTH)", r"'rows'(?s:.)*constants ROWS, COLUMNS, BOTH"),
        ("[torch.randn(ROWS, BOTH), 3.0]", "[torch.randn(ROWS, BOTH), 3]", "factor .* int64, the entry says"),
        ("class Model(", "class Mode(", "does not define Model"),
        ("headers: [scale.h]", "headers: [scales.h]", r"kernels\.upstream: scales\.h .*no such header"),
        ("packages: [small]", "packages: [smal]", r"'smal' is not among the source's packages; did you mean 'small'"),
    ],
)
def test_a_wrong_entry_is_told_with_its_place(source, old, new, expected):
    rewrite(source, (old, new))
    with pytest.raises(SourceError, match=expected) as caught:
        define(fetch("own", source))
    assert "1_scale.yaml" in str(caught.value)


@pytest.mark.usefixtures("in_process")
def test_a_reference_with_parameters_is_refused(source):
    rewrite(source, ("      def forward", "      weight = torch.nn.Linear(1, 1)\n\n      def forward"))
    rewrite(
        source, ("      weight =", "      def __init__(self):\n          super().__init__()\n          self.linear =")
    )
    with pytest.raises(SourceError, match="has parameters"):
        define(fetch("own", source))


def test_the_folder_must_be_complete(source):
    (Path(source.path) / "3_more.yaml").write_text(ENTRY)
    with pytest.raises(SourceError, match="should have entries 1 to 1, but has 1, 3"):
        fetch("own", source)
    with pytest.raises(SourceError, match="no such folder"):
        fetch("own", source.model_copy(update={"path": "/nowhere"}))


def test_the_config_names_packages_and_one_level(source):
    values = {
        "sources": {"own": source.model_dump(mode="json") | {"levels": {"2": 1}}},
        "experiments": {"gold": {"method": "gold", "source": "own", "levels": [1]}},
        "judge": {"device": "cpu"},
    }
    with pytest.raises(ConfigError, match=r"sources\.own\.levels: a folder of kernels is one level"):
        load(values)
    values["sources"]["own"] |= {"levels": {"1": 1}, "packages": {"small": {"kind": "pypi", "name": "small"}}}
    with pytest.raises(ConfigError, match=r"sources\.own\.packages\.small\.sha256: is missing"):
        load(values)


@pytest.mark.usefixtures("in_process")
def test_types_and_in_place_arguments_reach_the_launchers(source):
    rewrite(
        source,
        ("dtypes: [float32]", "dtypes: [float16, float32]"),
        ("language: cpp", "language: cuda\nflags: [-use_fast_math]"),
        ("{name: x, axes: [rows, both]}", "{name: x, axes: [rows, both], in_place: true}"),
        ("{name: y, axes: [rows, both]}", "{name: y, axes: [rows, both], dtype: float32}"),
    )
    [definition], workloads = define(fetch("own", source))
    text = definition.kernels["upstream"]
    assert "static void launcher(scalar_t* x, double factor, float* y," in text
    assert 'extern "C" void launch_float16(__half* x, double factor, float* y,' in text
    assert "launcher<__half>(x, factor, y, rows, columns, both, stream);" in text
    assert definition.compiler_flags == ("-use_fast_math",)
    assert [load.dtype for load in workloads] == ["float16", "float32"] * 2
    assert workloads[0].tolerance == Tolerance(atol=1e-4, rtol=1e-4)


@pytest.mark.usefixtures("in_process")
def test_results_of_eight_bits(source):
    rewrite(
        source,
        ("language: cpp", "language: cuda"),
        ("{name: y, axes: [rows, both]}", "{name: y, axes: [rows, both], dtype: float8_e4m3fn}"),
        ("return 2 * x * factor", "return (2 * x * factor).to(torch.float8_e4m3fn)"),
    )
    [definition], _ = define(fetch("own", source))
    text = definition.kernels["upstream"]
    assert "#include <cuda_fp8.h>" in text
    assert 'extern "C" void launch_float32(const float* x, double factor, __nv_fp8_e4m3* y,' in text
    assert definition.compulsory_bytes == 4 * 16 * (4 + 1)


def test_the_miniature_compiles_and_computes_what_its_reference_says(tmp_path):
    [definition], workloads = define(read_entries("miniature", entry_paths(MINIATURE), {"own": OWN}))
    solution = kernel_solution(definition, "upstream")
    [build] = build_all(
        [solution], {definition.name: definition}, store=tmp_path, timeout_s=120, workers=1, progress=False
    )
    assert build.artifact, build.log
    library = ctypes.CDLL(str(tmp_path / build.artifact))
    assert "layer_norm" not in solution.source
    for workload in workloads:
        run = WorkloadRun(definition, workload, "cpu")
        arguments = run.copy()
        run.launch(library, arguments, None)
        assert worst_share(run.results(arguments), run.exact(), workload.tolerance) < 1
        other = run.copy()
        run.launch(library, other, None)
        assert run.compared(arguments, other)["identical"]


def references():
    """Every committed reference at a small size of each of its data types."""
    for path in sorted(ROOT.glob("config/kernels/sglang/*.yaml")):
        entry = parse_entry(path.read_text(encoding="utf-8"), str(path))
        small = min(entry.workloads, key=lambda shape: torch.Size(entry.sizes(shape).values()).numel())
        for dtype in entry.dtypes:
            yield pytest.param(path, entry, small, dtype, id=f"{path.stem}-{dtype}")


@pytest.mark.parametrize(("path", "entry", "shape", "dtype"), list(references()))
def test_committed_references_agree_with_themselves_in_float64(path, entry, shape, dtype):
    upstream = Upstream(repository="r", commit="local", path="p", sha256="")
    file = KernelFile(
        source="s", number=1, title=path.stem, path=str(path), text="", resolved={}, upstream=upstream
    )  # fmt: skip
    definition: Definition = _definition(file, entry, ())
    usual = next(
        load for load in _workloads(definition, entry, Tolerance(atol=0, rtol=0)) if load.name.startswith(shape.name)
    )
    run = WorkloadRun(definition, usual.model_copy(update={"dtype": dtype}), "cpu")
    given = run.copy()
    with torch.no_grad():
        returned = run._model(*(given[item.name] for item in definition.inputs))
    returned = [returned] if isinstance(returned, torch.Tensor) else list(returned)
    got = [*returned, *(given[item.name] for item in definition.inputs if item.in_place)]
    exact = run.exact()
    assert [str(item.dtype)[6:] for item in got] == [
        item.dtype_at(dtype) for item in (*definition.outputs, *(one for one in definition.inputs if one.in_place))
    ]
    assert worst_share(got, exact, entry.tolerances[dtype]) < 1


def test_attention_states_without_an_answer_are_nan_and_empty_ones_leave_the_other():
    path = ROOT / "config/kernels/sglang/3_merge_attn_states.yaml"
    entry = parse_entry(path.read_text(encoding="utf-8"), str(path))
    module = {"TOKENS": 3, "HEADS": 32, "HEAD_DIM": 4}
    exec(entry.reference, module)
    v_a, s_a, v_b, s_b = module["get_inputs"]()
    merged, log_sum = module["Model"]()(v_a, s_a, v_b, s_b)
    pair = torch.arange(96).reshape(3, 32) % 64
    assert torch.equal(merged[pair == 5], v_b[pair == 5])
    assert torch.equal(log_sum[pair == 9], s_a[pair == 9])
    undefined = (pair == 17) | (pair == 23)
    assert merged[undefined].isnan().all()
    assert log_sum[undefined].isnan().all()
    assert merged[~undefined].isfinite().all()
