"""Solutions in a folder: what a file is, what its comments say, and which of them an experiment takes."""

import pytest

from hone.config.experiments import Experiment
from hone.core.errors import ConfigError
from hone.core.files import read_records, write_records
from hone.methods.files import candidates, check_files
from hone.methods.stages import files
from hone.records import Candidate, Language, Solution
from hone.sources.solution_files import header, language_of, read_file, source_files

CPP = "// Adds.\n// definition: tiny/level1/1_Bias\n// group: honest\nvoid launch() {}\n"
PYTHON = "# Adds.\n# definition: tiny/level1/1_Bias\nclass ModelNew: ...\n"


@pytest.fixture
def folder(tmp_path):
    """Makes a folder of the files given by name."""

    def make(**contents):
        for name, content in contents.items():
            (tmp_path / name.replace("__", ".")).write_text(content)
        return tmp_path

    return make


def experiment(folder, **changes):
    values = {"method": "files", "source": "tiny", "levels": (1,), "files": str(folder)}
    return Experiment.model_validate(values | changes)


def taken(chosen, definition, batch=((1, 1),)):
    """(label, sample) of the candidates."""
    rows, _ = candidates("e", "reference/model", chosen, batch, [definition])
    return [(row.label, row.sample) for row in rows]


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.cu", Language.CUDA),
        ("a.cpp", Language.CPP),
        ("a.py", Language.PYTHON),
        ("a.triton.py", Language.TRITON),
        ("a.txt", None),
        ("a.py.txt", None),
    ],
)
def test_a_name_says_the_language(tmp_path, name, language):
    assert language_of(tmp_path / name) == language


def test_only_solutions_count_in_the_order_of_their_names(folder):
    made = folder(b__cu="", a__py="", a__triton__py="", B__cpp="", notes__md="")
    (made / "__init__.py").write_text("")
    (made / "folder.cu").mkdir()
    assert [path.name for path in source_files(made)] == ["B.cpp", "a.py", "a.triton.py", "b.cu"]


def test_a_header_ends_where_code_starts():
    comments = "\n// Reads: the clock, see https://example.org\n//expected: passed | timeout\n\n/// a: 1\n// a: 2\n"
    assert header(comments + "int x; // b: 1\n// c: 1\n", Language.CPP) == {"expected": "passed | timeout", "a": "1"}
    assert header("#include <a>\n// definition: x\n", Language.CUDA) == {}
    assert header("# group: 3\n// group: 4\n", Language.TRITON) == {"group": "3"}
    assert header("", Language.PYTHON) == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b"void launch() {}\n// definition: tiny/level1/1_Bias\n",
            ["a.cpp", "does not say", "// definition: <source>"],
        ),
        (b"// definition: tiny/level1/1_B\n// expected: passed | wrong_valu\n", ["'wrong_valu'", "'wrong_value'"]),
        (b"// definition: Bias\n", ["a.cpp", "'Bias' is not the name"]),
        (b"// definition: tiny/level1/1_B\xff\n", ["a.cpp", "cannot read"]),
    ],
)
def test_a_file_that_does_not_say_what_it_computes_is_named(tmp_path, content, words):
    (tmp_path / "a.cpp").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_file(tmp_path / "a.cpp")
    for word in words:
        assert word in str(caught.value)


def test_a_folder_without_solutions_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none: no such folder"):
        source_files(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"holds no solution"):
        source_files(tmp_path)


def test_samples_count_the_files_of_a_problem_by_name(folder, definition):
    other = definition.model_copy(update={"name": "tiny/level1/2_Other", "number": 2})
    made = folder(c__cpp=CPP, b__py=PYTHON, a__cpp=CPP.replace("1_Bias", "2_Other"), z__cpp=CPP)
    rows, kernels = candidates("e", "m", experiment(made), ((1, 1), (1, 2)), [definition, other])
    assert [(row.label, row.definition, row.sample) for row in rows] == [
        ("a.cpp", "tiny/level1/2_Other", 0),
        ("b.py", "tiny/level1/1_Bias", 0),
        ("c.cpp", "tiny/level1/1_Bias", 1),
        ("z.cpp", "tiny/level1/1_Bias", 2),
    ]
    assert len(kernels) == 3  # two files have the same content: one solution, two candidates
    assert [kernel.id for kernel in kernels] == sorted(kernel.id for kernel in kernels)
    assert {row.solution for row in rows} == {kernel.id for kernel in kernels}
    assert {kernel.entry_point for kernel in kernels} == {"launch", "ModelNew"}
    assert CPP in {kernel.source for kernel in kernels}


def test_what_the_experiment_does_not_select_is_left_out(folder, definition):
    elsewhere = {"b__cpp": "other/level1/1_Bias", "c__cpp": "tiny/level2/1_Bias", "d__cpp": "tiny/level1/7_Late"}
    made = folder(a__cpp=CPP, **{name: f"// definition: {where}\n" for name, where in elsewhere.items()})
    assert taken(experiment(made, limit=3), definition) == [("a.cpp", 0)]
    assert taken(experiment(made, problems=("level1/1",)), definition) == [("a.cpp", 0)]
    assert taken(experiment(made), definition) == [("a.cpp", 0)]  # level1/7 belongs to another batch
    assert taken(experiment(made, levels=(2,)), definition) == []


def test_a_misspelt_definition_is_named_with_the_nearest(folder, definition):
    made = experiment(folder(a__cpp=CPP.replace("1_Bias", "1_Bais")))
    with pytest.raises(ConfigError, match=r"a\.cpp: no definition .* did you mean 'tiny/level1/1_Bias'"):
        taken(made, definition)


def test_a_problem_that_the_source_does_not_have_is_found_before_anything_runs(folder):
    made = experiment(folder(a__cpp=CPP, b__cpp=CPP.replace("level1/1_", "level1/9_")))
    with pytest.raises(ConfigError, match=r"b\.cpp: the source has no problem level1/9"):
        check_files(made, [(1, 1)])
    check_files(made, [(1, 1), (1, 9)])


def test_the_stage_writes_both_files(folder, definition, tmp_path):
    chosen = experiment(folder(a__cpp=CPP))
    write_records(tmp_path / "definitions.jsonl", [definition])
    out = {"candidates": tmp_path / "candidates.jsonl", "solutions": tmp_path / "solutions.jsonl"}
    files("e", "m", chosen, [(1, 1)], [tmp_path / "definitions.jsonl"], **out)
    (row,) = read_records(out["candidates"], Candidate)
    (kernel,) = read_records(out["solutions"], Solution)
    assert (row.method, row.label, row.solution) == ("files", "a.cpp", kernel.id)
    assert (kernel.language, kernel.source) == (Language.CPP, CPP)


TUNED = {"kind": "tuned", "budget": {"evaluations": 8}}


def test_a_file_s_parameters_have_their_first_values_where_nothing_is_tuned(folder):
    made = folder(a__cpp=CPP.replace("void", "// tune: BLOCK in 8, 16\nvoid"))
    source = read_file(made / "a.cpp").solution.source
    assert "#define BLOCK 8 " in source and "tune:" not in source


@pytest.mark.parametrize(
    ("content", "words"),
    [(CPP, "declares no parameters"), ("// tune: BLOCK = 8\n" + CPP, "its parameters cannot be read: line 1")],
)
def test_a_search_needs_parameters_that_can_be_read(folder, content, words):
    made = folder(a__cpp=content)
    with pytest.raises(ConfigError, match=words) as caught:
        check_files(experiment(made, strategy=TUNED), [(1, 1)])
    assert "a.cpp" in str(caught.value)


def test_a_search_is_for_compiled_languages(folder):
    made = folder(a__py=PYTHON.replace("class", "# tune: BLOCK in 8\nclass"))
    with pytest.raises(ConfigError, match="declares no parameters"):
        check_files(experiment(made, strategy=TUNED), [(1, 1)])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"strategy": {"kind": "tuned", "budget": {}}}, "needs budget"),
        ({"strategy": {"kind": "tuned", "budget": {"evaluations": 8, "answers": 1}}}, "asks no model"),
        ({"strategy": TUNED, "method": "gold", "files": None}, "tuned needs method: files"),
    ],
)
def test_a_search_that_cannot_be_is_named(folder, changes, words):
    with pytest.raises(ValueError, match=words):
        experiment(folder(a__cpp=CPP), **changes)
