"""Figures come from the CSV files alone, are the same to the byte every time, and say what they show."""

import html
import io
import itertools
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from rich.console import Console

from hone.analysis.frames import CATEGORIES
from hone.analysis.kernelbench_figures import OUTCOMES
from hone.analysis.plotting import NothingToShow, spaced
from hone.core.errors import RecordError
from hone.records import Status
from hone.tables.registry import FIGURES, TABLES, caption_of
from hone.tables.show import show
from hone.tables.stages import draw, make_figures
from hone.tables.summary import write_summary

from .rounds import Kit, kernel
from .rounds import settings_for as rounds_settings
from .tables import frame_of, read_table, table_of
from .world import World, settings_for

LIMIT_BYTES = 100_000


@pytest.fixture(scope="module")
def figures(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    assert [path.name for path in make_figures(tables, folder)] == [f"{name}.svg" for name in FIGURES]
    return folder


def texts(path):
    """What the outlined letters of an SVG file spell: it stands in comments."""
    return [html.unescape(text) for text in re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8"))]


SOME = ("kernelbench_fast_p", "salient_scaling", "judge_cost")
"""Curves with bands, points with labels, bars."""


def test_another_process_writes_the_same_bytes(tables, figures, tmp_path):
    made = (
        "import sys; from pathlib import Path; from hone.tables import stages; "
        "stages.FIGURES = {name: stages.FIGURES[name] for name in sys.argv[3:]}; "
        "stages.make_figures(*map(Path, sys.argv[1:3]))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", made, tables, tmp_path, *SOME], env=environment, check=True)
    assert {path.stem for path in tmp_path.iterdir()} == set(SOME)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (figures / path.name).read_bytes(), path.name


def test_no_figure_has_a_date(figures):
    for path in figures.iterdir():
        assert not re.search(rb"\d{4}-\d\d-\d\dT|CreationDate", path.read_bytes()), path.name


@pytest.mark.parametrize("name", FIGURES)
def test_files_are_small_and_letters_are_outlines(figures, name):
    assert (figures / f"{name}.svg").stat().st_size < LIMIT_BYTES
    assert (figures / f"{name}.pdf").stat().st_size < LIMIT_BYTES
    root = ElementTree.parse(figures / f"{name}.svg").getroot()
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert "text" not in tags
    assert "image" not in tags
    known = {element.get("id") for element in root.iter()}
    used = re.findall(r"(?:url\(|href=\")#(\w+)", (figures / f"{name}.svg").read_text(encoding="utf-8"))
    assert set(used) <= known


@pytest.mark.parametrize("name", FIGURES)
def test_names_are_readable_and_recorded_stays_recorded(figures, name):
    shown = " ".join(texts(figures / f"{name}.svg"))
    if name != "judge_cost" and not name.startswith(
        ("salient_", "gnn_", "published_")
    ):  # the others have a model's name
        assert "(recorded answers)" in shown or "recorded/demo" in shown
        assert not re.search(r"(?<!recorded/)demo(?! \(recorded)", shown)


def test_captions_hold_n_units_and_baseline(figures):
    fast = texts(figures / "kernelbench_fast_p.svg")
    assert "one, level 1 (n = 10)" in fast
    assert "p (times as fast as PyTorch eager)" in fast
    assert "openai/o4-mini: published" in fast
    assert "some answers unresolved: bounds only" in fast
    assert "cost (US dollars)" in texts(figures / "llm_cost.svg")
    assert "level 1 (n = 10)" in texts(figures / "kernelbench_errors.svg")


def test_share_axes_run_from_zero_to_one(tables):
    for name in ("kernelbench_fast_p", "kernelbench_sampling", "kernelbench_refinement"):
        for axis in draw(name, read_table(table_of(name), tables)).axes:
            assert axis.get_ylim() == pytest.approx((-0.03, 1.03))


def test_bars_of_outcomes_fill_the_axis(tables):
    table = read_table("kernelbench_errors", tables)
    figure = draw("kernelbench_errors", table)
    assert len(figure.axes) == len(table[["experiment", "model"]].drop_duplicates())
    for axis in figure.axes:
        assert axis.get_xlim() == (0, 1)
        assert sum(bar.get_width() for bar in axis.patches) == pytest.approx(len(axis.get_yticks()))
    (legend,) = figure.legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert len(shown) == table[table["count"] > 0]["category"].nunique()
    assert shown == [name for name, _ in OUTCOMES.values() if name in shown]


def seen(colour):
    """Lightness, red-green and yellow-blue part of a colour, as CIELAB; the input is linear light."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ colour
    root = np.cbrt(np.clip(xyz / [0.9505, 1, 1.089], 0.008856, None))
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


VISION = {
    "usual": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.052]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.9689]]
    ),
}
"""What remains of linear light without one kind of cone (Machado and others, 2009)."""


@pytest.mark.parametrize("vision", VISION)
def test_outcomes_can_be_told_apart_by_everyone(vision):
    linear = {name: np.array(to_rgb(colour)) ** 2.2 for name, colour in OUTCOMES.values()}
    lab = {name: seen(np.clip(VISION[vision] @ light, 0, 1)) for name, light in linear.items()}
    for (one, first), (other, second) in itertools.combinations(lab.items(), 2):
        assert np.linalg.norm(first - second) > 15, (one, other)
    assert set(OUTCOMES) == set(CATEGORIES)
    others = [colour[0] for name, colour in lab.items() if name != "correct"]
    assert min(abs(lightness - lab["correct"][0]) for lightness in others) > 4


def test_labels_stand_at_the_edge_alone_and_ticks_are_level(tables):
    for name in ("kernelbench_fast_p", "kernelbench_sampling", "kernelbench_refinement"):
        figure = draw(name, read_table(table_of(name), tables))
        shown = [axis for axis in figure.axes if axis.get_visible()]
        rows, columns = shown[0].get_gridspec().nrows, shown[0].get_gridspec().ncols
        assert sum(axis.get_xlabel() != "" for axis in shown) <= columns
        assert sum(axis.get_ylabel() != "" for axis in shown) <= rows
        assert {label.get_rotation() for axis in shown for label in axis.get_xticklabels()} == {0.0}
        assert not any("_" in axis.get_title() for axis in shown)


def test_no_two_bands_of_a_panel_have_one_colour(tables):
    for name in ("kernelbench_fast_p", "kernelbench_sampling", "kernelbench_refinement"):
        for axis in draw(name, read_table(table_of(name), tables)).axes:
            filled = [tuple(band.get_facecolor()[0]) for band in axis.collections if len(band.get_facecolor())]
            assert len(filled) == len(set(filled))


def test_ticks_that_would_touch_are_left_out():
    assert spaced([0, 0.5, 0.8, 1, 1.5, 2, 3]) == [0, 0.5, 1, 1.5, 2, 3]
    assert spaced([1.0]) == [1.0]


def test_tables_without_rows_have_no_figures_no_pages_and_no_place_in_the_summary(tmp_path):
    World(settings_for({1: 4}, one={}), []).make(tmp_path)
    assert make_figures(tmp_path, tmp_path / "figures") == []
    assert list((tmp_path / "figures").iterdir()) == list((tmp_path / "pages").iterdir()) == []
    write_summary(tmp_path, tmp_path / "figures", tmp_path / "summary.md")
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == "# Results\n\nNothing was measured yet.\n"


def test_figures_need_their_tables(tmp_path):
    with pytest.raises(RecordError, match="run the pipeline first"):
        make_figures(tmp_path, tmp_path)


def test_summary_lists_everything_with_links_that_exist(tables, figures, tmp_path):
    page = tmp_path / "pages" / "summary.md"
    write_summary(tables, figures, page)
    links = re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert len(set(links)) == 2 * len(TABLES) + 2 * len(FIGURES)
    assert page.read_text(encoding="utf-8").index("- ") < page.read_text(encoding="utf-8").index("## Tables")
    assert all((page.parent / link).is_file() for link in links)
    assert all(caption_of(name) in page.read_text(encoding="utf-8") for name in FIGURES)


def test_summary_links_the_trajectory_pages(tables, figures, tmp_path):
    page, folder = tmp_path / "summary.md", tmp_path / "pages" / "astra" / "multi"
    write_summary(tables, figures, page, [folder])
    assert "- [multi](pages/astra/multi/index.md)" in page.read_text(encoding="utf-8")
    write_summary(tables, figures, page)
    assert "Trajectories" not in page.read_text(encoding="utf-8")


def test_summary_links_the_paper_s_tables_where_there_are_any(tmp_path):
    tables = World(settings_for({1: 4}, one={}), []).make(tmp_path / "tables")
    page, index = tmp_path / "summary.md", tmp_path / "papers/index.md"
    write_summary(tables, tmp_path / "figures", page, papers=index)
    assert "papers" not in page.read_text(encoding="utf-8")
    index.parent.mkdir()
    index.touch()
    write_summary(tables, tmp_path / "figures", page, papers=index)
    assert "](papers/index.md)" in page.read_text(encoding="utf-8")


def test_the_trajectory_marks_failures_losses_winners_and_the_paper(tables, figures):
    shown = texts(figures / "astra_trajectory.svg")
    for words in ("multi: recorded/demo", "failed", "no verdict, or no credited time", "astra: published"):
        assert words in shown
    rounds = read_table("astra_rounds", tables)
    axes = [axis for axis in draw("astra_trajectory", rounds).axes if axis.get_visible()]
    assert [axis.get_title() for axis in axes] == ["silu_and_mul", "merge_attn_states", "rmsnorm"]
    for axis in axes:
        low, high = axis.get_ylim()
        timed = rounds[rounds["kernel"] == axis.get_title()]["speedup"]
        assert low < min(1, timed.min())
        assert high > max(1, timed.max())


def test_the_winner_so_far_is_the_suite_s_choice_and_not_the_best_by_luck():
    kit = Kit(rounds_settings(1, multi={"turns": 3}), [kernel(1, "silu_and_mul")])
    kit.start("multi")
    kit.add("multi", 1, 1.5, 1.1)
    kit.add("multi", 2, 1.2, 3.0)
    (axis,) = draw("astra_trajectory", frame_of("astra_rounds", kit.run())).axes
    (step,) = [line for line in axis.lines if line.get_drawstyle() == "steps-post"]
    assert list(step.get_ydata()) == pytest.approx([1.0, 1.1, 1.1])


def test_a_trajectory_without_all_evaluations_shows_its_suite_and_says_so():
    options = {"turns": 4, "astra": {"evaluate": "winner"}}
    kit = Kit(rounds_settings(1, multi=options, every={"turns": 4}), [kernel(1, "silu_and_mul")])
    for name in ("multi", "every"):
        kit.start(name)
        kit.add(name, 1, 1.5, 1.1)
        kit.add(name, 2, 1.2, None if name == "multi" else 3.0)
        kit.add(name, 3, Status.WRONG_VALUE, None if name == "multi" else Status.WRONG_VALUE)
    (axis,) = draw("astra_trajectory", frame_of("astra_rounds", kit.run())).axes
    shown = {line.get_label(): list(line.get_ydata()) for line in axis.lines}
    assert shown["multi: recorded/demo, on the suite"] == pytest.approx([1.0, 1.5, 1.2])
    assert shown["every: recorded/demo"] == pytest.approx([1.0, 1.1, 3.0])
    assert "no verdict, or no credited time" not in shown
    assert axis.get_ylabel() == "speedup on all workloads or the suite"
    kit.settings.experiments.pop("every")
    (axis,) = draw("astra_trajectory", frame_of("astra_rounds", kit.run())).axes
    assert axis.get_ylabel() == "speedup on the suite"


def test_shapes_show_held_out_workloads_hollow_and_the_floor(tables, figures):
    shown = texts(figures / "astra_shapes.svg")
    for words in ("multi: recorded/demo, held out", "upstream", "current", "failed or no verdict"):
        assert words in shown
    speedup, share = draw("astra_shapes", read_table("astra_shapes", tables)).axes[:2]
    assert share.get_ylim()[0] == 0
    assert share.get_ylim()[1] > 1
    hollow = [line for line in speedup.lines if line.get_label().endswith("held out")]
    assert hollow
    assert all(line.get_markerfacecolor() == "none" for line in hollow)


def test_shapes_without_a_floor_have_speedups_alone(tables):
    table = read_table("astra_shapes", tables).assign(bandwidth_share=float("nan"))
    assert len(draw("astra_shapes", table).axes) == table["kernel"].nunique()


def test_the_terminal_table_fits_and_shows_bounds(tables):
    output = io.StringIO()
    show(tables, Console(width=80, file=output))
    text = output.getvalue()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "recorded/demo" in text
    assert re.search(r"one +recorded/demo +1 +10 +60% \(31–83\)", text)
    assert "fast_1.5" in text
    assert "? (" in text
    assert "answers without a verdict" in text


def test_the_terminal_table_of_nothing(tmp_path):
    World(settings_for({1: 4}, one={}), []).make(tmp_path)
    output = io.StringIO()
    show(tmp_path, Console(width=80, file=output))
    assert output.getvalue() == f"fast_p has no rows; verdicts on kernels of your own: {tmp_path}/own_kernels.md\n"


def test_builtins_alone_are_not_drawn(tables):
    frame = read_table("gnn_kernels", tables).assign(used="builtin", speedup=float("nan"))
    with pytest.raises(NothingToShow):
        draw("gnn_kernels", frame)
