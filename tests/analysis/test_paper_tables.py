"""A paper's tables in its own shapes: known answers, every printed number in its cell, and never a blank."""

import re

import pytest

from hone.analysis.paper_numbers import Key, read_published
from hone.records import TORCH_BASELINES, Environment, Status
from hone.tables.paper import numbers
from hone.tables.paper.grid import HERE, PAPER, Grid, short
from hone.tables.paper.kernelbench import PAGES
from hone.tables.paper.numbers import WORDS
from hone.tables.paper.write import data_of, read_run, write_pages

from .world import GPUS, PUBLISHED, World, big_world, definition, settings_for

BY_PLACE = {page.place: page for page in PAGES}
R1 = {"openai/r1": "DeepSeek R1"}
ASKED = {"models": ["openai/r1", "recorded/demo"], "published_as": "one_shot"}


def made(folder, name="a", device="NVIDIA H100 80GB HBM3", settings=None, outcomes=(2.0, 0.5, Status.WRONG_VALUE)):
    """A run on four problems of level 1 with these outcomes of two models, and a fourth answer that is missing."""
    settings = settings or settings_for({1: 4}, R1, one=ASKED)
    world = World(settings, [definition(1, number) for number in range(1, 5)])
    environment = Environment(host="h", device=device, cores=2, python="3.11", torch="2.13.0", driver="1")
    for model in ASKED["models"]:
        for number, outcome in enumerate((*outcomes, "no_code"), start=1):
            extra = {} if outcome == "no_code" else {"environment": environment}
            world.add((f"mini/level1/{number}_problem", 0, 0), outcome, "one", model, **extra)
    return read_run(name, settings, world.make(folder / name))


@pytest.fixture(scope="module")
def one_run(tmp_path_factory):
    """`made` once."""
    return data(made(tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def all_methods(tmp_path_factory):
    """Every method, with samples, turns and archives."""
    world = big_world(levels={1: 3, 2: 2})
    return data(read_run("big", world.settings, world.make(tmp_path_factory.mktemp("big"))))


def data(*runs):
    return data_of(runs, PUBLISHED, GPUS)


def lines(section):
    return {labels: dict(zip(section.columns, cells, strict=True)) for labels, cells in section.lines}


def test_our_line_stands_below_the_printed_one(one_run):
    beside, alone = BY_PLACE["Table 1"].layout.sections(one_run)
    found = lines(beside)
    eager, compiled = ("over PyTorch eager", "Level 1"), ("over torch.compile", "Level 1")
    assert found["DeepSeek R1", PAPER][eager] == "12"
    assert found["DeepSeek R1", PAPER][compiled] == "38"
    assert re.fullmatch(r"25 \(\d+–\d+\)", found["DeepSeek R1", HERE][eager])
    assert found["DeepSeek R1", HERE][compiled] == "not timed"
    assert found["DeepSeek R1", HERE]["over PyTorch eager", "Level 2"] == "no problems"
    assert ("GPT-4o", HERE) not in found
    assert beside.notes == (
        "Without a line of ours (not asked): GPT-4o, OpenAI o1, DeepSeek V3, Claude 3.5 Sonnet, Llama 3.1-70B Inst. "
        "and Llama 3.1-405B Inst.",
    )
    assert lines(alone) == {("recorded/demo",): {eager: found["DeepSeek R1", HERE][eager]}}
    assert alone.notes[0] == "Without a column (no problems): Level 2 and Level 3."


def test_a_model_is_compared_only_where_the_config_says_what_was_published(tmp_path):
    settings = settings_for({1: 4}, R1, one={"models": ASKED["models"]})
    beside, alone = BY_PLACE["Table 1"].layout.sections(data(made(tmp_path, settings=settings)))
    assert {labels[-1] for labels, _ in beside.lines} == {PAPER}
    assert [labels for labels, _ in alone.lines] == [("openai/r1",), ("recorded/demo",)]


def test_runs_on_two_gpus_fill_table_14_and_the_figures_across_gpus(tmp_path):
    both = data(made(tmp_path), made(tmp_path, "b", "NVIDIA H200", outcomes=(0.5, 0.5, 0.5)))
    beside, *_ = BY_PLACE["Table 14"].layout.sections(both)
    found = lines(beside)
    assert found["Level 1", "H100", PAPER]["DeepSeek R1",] == "16"
    assert found["Level 1", "H100", HERE]["DeepSeek R1",].startswith("25 ")
    assert found["Level 1", "H200", HERE]["DeepSeek R1",].startswith("0 ")
    assert ("Level 1", "H200", PAPER) not in found
    assert "no run" in beside.notes[0]
    (across,) = BY_PLACE["Figures 8 and 9"].layout.sections(both)
    assert across.columns == (("H100",), ("H200",))
    assert dict(across.lines)["DeepSeek R1", "mini/level1/1_problem"] == ("2", "0.5")
    assert dict(across.lines)["DeepSeek R1", "mini/level1/3_problem"] == ("no correct kernel", "0.5")
    assert all(page.draw(both) for page in PAGES if page.draw and page.place not in ("Figure 4", "Figure 6"))
    # The first run's numbers count where both have one.
    (_, alone) = BY_PLACE["Table 1"].layout.sections(both)
    assert next(iter(alone.lines[0][1])).startswith("25 ")


def test_one_gpu_says_so_instead_of_a_comparison(one_run):
    (across,) = BY_PLACE["Figures 8 and 9"].layout.sections(one_run)
    assert across.lines == ()
    assert "the only device here is H100" in across.notes[0]


def test_answers_without_verdicts_are_no_share(tmp_path):
    settings = settings_for({1: 4}, R1, one=ASKED)
    world = World(settings, [definition(1, number) for number in range(1, 5)])
    (beside,) = BY_PLACE["Table 1"].layout.sections(data(read_run("a", settings, world.make(tmp_path))))
    assert {labels[-1] for labels, _ in beside.lines} == {PAPER}
    assert "Without a line of ours (no verdict): DeepSeek R1." in beside.notes


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"experiment": "few_shot"}, "not asked"),
        ({"model": "GPT-4o"}, "not asked"),
        ({"experiment": "one_shot_on_t4"}, "no run"),
        ({"experiment": "one_shot_on_t4", "model": "GPT-4o"}, "not asked"),
        ({"level": "2"}, "no problems"),
        ({"baseline": "torch_compile"}, "not timed"),
        ({"p": 1.25}, "not counted"),
        ({"k_or_turn": 2}, "too few"),
    ],
)
def test_why_there_is_no_number(one_run, changed, why):
    key = Key("one_shot", "DeepSeek R1", "1", "fast_p", 1.0, None, "torch_eager")
    assert one_run.find(key) is not None
    assert one_run.find(key._replace(**changed)) is None
    assert one_run.why_not(key._replace(**changed)) == why


def test_every_printed_number_stands_in_a_cell():
    printed = [number for number in read_published(PUBLISHED) if number.paper == "KernelBench"]
    shown = set()
    for page in PAGES:
        if isinstance(page.layout, Grid):
            models = {number.key.model for number in printed}
            shown |= {(table, key) for table in page.layout.tables for key in page.layout.keys(sorted(models))}
    assert {(number.table, number.key) for number in printed} - shown == set()
    assert {number.key.baseline for number in printed} <= {"", *TORCH_BASELINES}


def test_no_cell_of_any_page_is_blank_and_every_word_is_explained(all_methods, tmp_path):
    paths = write_pages(all_methods, tmp_path)
    assert len(paths) == len(PAGES) + 1
    for page in PAGES:
        text = (tmp_path / f"{page.name}.md").read_text()
        assert "nan" not in text
        for section in page.layout.sections(all_methods):
            for labels, cells in section.lines:
                assert all((*labels, *cells)), page.place
                assert len(cells) == len(section.columns)
                for word in set(cells) & WORDS.keys():
                    assert f"`{word}`: {WORDS[word]}." in text
            assert section.lines or section.notes
        assert page.title in (tmp_path / f"{page.name}.html").read_text()
        assert f"]({page.name}.md)" in (tmp_path / "index.md").read_text()


def test_fewer_turns_than_the_paper_s_are_marked(all_methods):
    beside, *_ = BY_PLACE["Table 2"].layout.sections(all_methods)
    assert lines(beside)["refinement G+E", HERE]["Level 1", "DeepSeek R1"].endswith(" @4")


def test_a_run_that_asked_no_model_has_no_page(tmp_path):
    settings = settings_for({1: 4}, gold={"method": "gold", "models": ["reference/model"]})
    world = World(settings, [definition(1, 1)])
    assert write_pages(data(read_run("a", settings, world.make(tmp_path))), tmp_path / "papers") == []
    assert list((tmp_path / "papers").iterdir()) == []


def test_labels_are_said_in_as_few_words_as_tell_them_apart():
    everything = [(level, gpu) for level in "12" for gpu in ("L4", "T4", "H100")]
    assert short([("1", "L4"), ("2", "L4")], everything) == ["L4"]
    assert short([("2", "L4"), ("2", "T4"), ("2", "H100")], everything) == ["2"]
    assert short([("1", "L4"), ("2", "L4"), ("2", "T4"), ("2", "H100")], everything) == ["1 (L4)", "2"]


def test_names_of_unpublished_experiments_follow_from_how_they_ask():
    settings = settings_for(
        one={},
        many={"samples": 4},
        twice={},
        shots={"method": "few_shot"},
        told={"hardware": "H100"},
        turns={"method": "refine", "turns": 2, "feedback": ["execution", "profile"]},
    )
    again, run = (numbers.RunTables(name, settings, {}) for name in "ab")  # the same config on two GPUs
    named = {name: data(again, run).labelled(run, name, "recorded/demo") for name in settings.experiments}
    assert {name: found.experiment for name, found in named.items()} == {
        "one": "one_shot", "many": "one_shot", "twice": "one_shot", "shots": "few_shot", "told": "hardware_h100",
        "turns": "refine_gep",
    }  # fmt: skip
    assert named["many"].model == named["one"].model == "recorded/demo"
    assert named["twice"].model == "recorded/demo (twice)"
