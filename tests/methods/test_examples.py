"""The examples are right: launchers match the definition, C++ answers compute the reference, CUDA answers compile."""

import ast
import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from hone import launcher
from hone.core.errors import ConfigError
from hone.methods.examples import ANSWER_FILES, load_example
from hone.records import Argument, Definition, Language, Upstream

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "config" / "prompts" / "examples"
EXAMPLES = ("add", "fused_gelu", "tiled_matmul", "flash_attention")

# Sizes below a tile, above one and not divisible by any, so that every bounds check is met.
SIZES = {
    "add": {"rows": 7, "cols": 33},
    "fused_gelu": {"batch_size": 5, "features": 19},
    "tiled_matmul": {"rows": 37, "inner": 70, "cols": 131},
    "flash_attention": {"batch_size": 2, "heads": 3, "seq_len": 77, "head_dim": 20},
}
ATTENTION = ("batch_size", "heads", "seq_len", "head_dim")
# Axes of inputs, of parameters, of the output; names are those of the arguments.
SHAPES = {
    "add": ({"a": ("rows", "cols"), "b": ("rows", "cols")}, {}, ("rows", "cols")),
    "fused_gelu": ({"x": ("batch_size", "features")}, {"bias": ("features",)}, ("batch_size", "features")),
    "tiled_matmul": ({"a": ("rows", "inner"), "b": ("inner", "cols")}, {}, ("rows", "cols")),
    "flash_attention": (dict.fromkeys("qkv", ATTENTION), {}, ATTENTION),
}


def definition_of(name):
    """The definition that the example's problem has, its axes in order of first use."""
    inputs, parameters, output = SHAPES[name]

    def tensors(shapes):
        return tuple(Argument(name=key, shape=shape, dtype="float32") for key, shape in shapes.items())

    return Definition(
        name=f"examples/level1/1_{name}",
        source="examples",
        level=1,
        number=1,
        title=name,
        axes=SIZES[name],
        inputs=tensors(inputs),
        parameters=tensors(parameters),
        outputs=tensors({"out": output}),
        reference=problem(name),
        compulsory_bytes=0,
        flops=0,
        upstream=Upstream(repository="local", commit="local", path="problem.py", sha256="0" * 64),
    )


def problem(name):
    return (FOLDER / name / "problem.py").read_text()


def answer(name, language):
    return load_example(name, language, FOLDER).answer


def words(text):
    return re.sub(r"\s+", " ", text)


def reference(name, sizes):
    """Input tensors, parameter tensors and expected output, with the problem's constants replaced by `sizes`."""
    namespace = {}
    exec(problem(name), namespace)
    assert set(sizes) <= set(namespace)
    namespace.update(sizes)
    torch.manual_seed(1)
    model = namespace["Model"](*namespace["get_init_inputs"]())
    inputs = namespace["get_inputs"]()
    with torch.no_grad():
        return inputs, [value.detach() for value in model.state_dict().values()], model(*inputs)


def signature_of(source, cls, method):
    """Parameter names and annotations of one method."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == cls:
            found = next(item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == method)
            return ast.unparse(found.args)
    raise AssertionError(f"no class {cls}")


def test_every_folder_is_listed_here():
    assert sorted(path.name for path in FOLDER.iterdir() if path.is_dir()) == sorted(EXAMPLES)


@pytest.mark.parametrize("language", Language)
def test_all_examples_load(language):
    loaded = [load_example(name, language, FOLDER) for name in EXAMPLES]
    assert tuple(example.name for example in loaded) == EXAMPLES
    assert all("class Model(nn.Module)" in example.problem for example in loaded)
    assert len({example.answer for example in loaded}) == len(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_definition_describes_the_problem(name):
    definition = definition_of(name)
    inputs, parameters, expected = reference(name, SIZES[name])
    for tensors, arguments in (
        (inputs, definition.inputs),
        (parameters, definition.parameters),
        ([expected], definition.outputs),
    ):
        assert [tuple(tensor.shape) for tensor in tensors] == [definition.shape_of(item) for item in arguments]
    names = [argument.name for argument in definition.inputs]
    assert re.findall(r"(\w+): torch\.Tensor", signature_of(problem(name), "Model", "forward")) == names


@pytest.mark.parametrize("name", EXAMPLES)
def test_own_sizes_are_distinct_so_that_each_axis_has_one_name(name):
    namespace = {}
    exec(problem(name), namespace)
    sizes = [namespace[axis] for axis in SIZES[name]]
    assert len(set(sizes)) == len(sizes)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("language", [Language.CPP, Language.CUDA])
def test_launcher_is_the_definitions(name, language):
    assert launcher.signature(definition_of(name), language) + " {" in words(answer(name, language))


@pytest.mark.parametrize("name", EXAMPLES)
def test_cpp_answer_computes_the_reference(name, tmp_path):
    library = tmp_path / "answer.so"
    flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-std=c++17", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *flags, "-o", library, FOLDER / name / ANSWER_FILES[Language.CPP]], check=True)
    launch = getattr(ctypes.CDLL(str(library)), launcher.ENTRY_POINT)
    for factor in (1, 3):
        sizes = {axis: size * factor for axis, size in SIZES[name].items()}
        inputs, parameters, expected = reference(name, sizes)
        out = torch.full_like(expected, float("nan"))
        launch(
            *(ctypes.c_void_p(tensor.data_ptr()) for tensor in (*inputs, *parameters, out)),
            *(ctypes.c_int64(size) for size in sizes.values()),
        )
        torch.testing.assert_close(out, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", EXAMPLES)
def test_cuda_answer_compiles_where_nvcc_is(name, tmp_path):
    source = answer(name, Language.CUDA)
    assert "cudaStream_t stream) {" in source
    assert re.search(r"<<<[^>]*, stream>>>", source), "the kernel must run on the stream that it is given"
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        path = FOLDER / name / ANSWER_FILES[Language.CUDA]
        flags = ["-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC,-Wall,-Werror", "--Werror", "all-warnings"]
        subprocess.run([nvcc, *flags, "-o", tmp_path / "answer.so", path], check=True)


@pytest.mark.parametrize("name", EXAMPLES)
def test_python_answer_holds_the_same_kernel_as_the_cuda_answer(name):
    def kernel(source):
        return words(source[source.index("constexpr int") : source.index("__global__")]), words(
            re.search(r"__global__.*?\n}\n", source, re.DOTALL)[0]
        )

    assert kernel(answer(name, Language.PYTHON)) == kernel(answer(name, Language.CUDA))


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("language", [Language.PYTHON, Language.TRITON])
@pytest.mark.parametrize("method", ["__init__", "forward"])
def test_model_new_takes_what_model_takes(name, language, method):
    source = answer(name, language)
    assert signature_of(source, "ModelNew", method) == signature_of(problem(name), "Model", method)
    assert ("triton.jit" in source) == (language is Language.TRITON)
    assert ("load_inline(" in source) == (language is Language.PYTHON)


def test_unknown_example_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'fused_gelu'"):
        load_example("fused_glu", Language.CPP, FOLDER)


@pytest.mark.parametrize("missing", ["problem.py", "answer.cu"])
def test_missing_file_is_named_with_a_remedy(missing, tmp_path):
    shutil.copytree(FOLDER / "add", tmp_path / "add")
    (tmp_path / "add" / missing).unlink()
    with pytest.raises(ConfigError) as caught:
        load_example("add", Language.CUDA, tmp_path)
    assert caught.value.where.endswith(f"add/{missing}")
    assert caught.value.remedy


@pytest.mark.parametrize(("content", "message"), [(b"\xff\xfe", "not UTF-8"), (b" \n", "empty file")])
def test_unreadable_file_is_named(content, message, tmp_path):
    shutil.copytree(FOLDER / "add", tmp_path / "add")
    (tmp_path / "add" / "answer.cpp").write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        load_example("add", Language.CPP, tmp_path)
